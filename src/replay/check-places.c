#include "replay/check-places.h"

static gboolean
uses_drives (const Schedule *schedule, guint role)
{
  for (guint b = 0; b < schedule_n_buffers (schedule, role); b++)
    if (schedule_buffer_info (schedule, role, b)->place == PLACE_NVME)
      return TRUE;
  for (guint s = 0; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (schedule, role, (ScheduleSection) s);

      for (guint i = 0; i < items.n; i++)
        if (items.items[i].kind == ITEM_MOVE
            && (move_from (items.items[i].collective) == PLACE_NVME
                || move_to (items.items[i].collective) == PLACE_NVME))
          return TRUE;
    }
  return FALSE;
}

gboolean
check_places (const Cluster *cluster, const Schedule *schedule, const char *name, DiagList *diags)
{
  g_autofree gboolean *drives = g_new (gboolean, schedule_n_roles (schedule));

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    drives[role] = uses_drives (schedule, role);
  for (guint rank = 0; rank < cluster_n_gpus (cluster); rank++)
    {
      guint              node = cluster_node_of_gpu (cluster, rank);
      const NodeProfile *profile = cluster_node_profile (cluster, node);

      if (!drives[schedule_role_of_rank (schedule, rank)] || profile->nvme_bytes.value > 0)
        continue;
      diag_error (diags, NULL,
                  "give its profile 'nvme_read', 'nvme_write' and 'nvme_bytes', or another place",
                  "strategy '%s' uses NVMe drives, but node '%s' has none", name, profile->id);
      return FALSE;
    }
  return TRUE;
}
