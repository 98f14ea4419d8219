/*
 * Logs of nccl-tests out of arbitrary bytes, as text and as JSON, whatever they look like: rows that are whole, or diagnostics, never both
 * and never neither.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <unistd.h>

#include "analysis/nccl-log.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

typedef GPtrArray *(*Load) (const char *file, const MeasurementContext *context, DiagList *diags);

static void
check_rows (const GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    {
      const Measurement *row = g_ptr_array_index (rows, i);

      g_assert (row->bytes > 0 && row->time_us > 0 && isfinite (row->time_us));
      g_assert (row->kind < COLLECTIVE_N_KINDS && row->id != NULL && row->collective != NULL);
      g_assert (row->cluster.name != NULL || row->cluster.nodes > 0);
    }
}

static void
check_load (Load load, const char *file, ProfileSet *profiles, const char *name)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GPtrArray)    rows = NULL;
  g_autofree char         *said = NULL;
  ClusterOptions           cluster = { 0 };
  const MeasurementContext context = { &cluster, profiles, COLLECTIVE_ALL_REDUCE, FALSE };

  option_table_defaults (cluster_options, &cluster);
  cluster.name = g_strdup (name);
  if (name == NULL)
    cluster.node = g_strdup ("dgx-h100");
  rows = load (file, &context, diags);
  said = diag_list_format (diags, FALSE);
  option_table_clear (cluster_options, &cluster);
  g_assert ((rows == NULL) == diag_list_has_errors (diags));
  g_assert (g_utf8_validate (said, -1, NULL));
  if (rows != NULL)
    check_rows (rows);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  /* Names in messages are kept for good: one name. */
  g_autofree char       *name = g_strdup_printf ("shardsim-fuzz-log-%d", (int) getpid ());
  g_autofree char       *file = g_build_filename (g_get_tmp_dir (), name, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  g_assert (g_file_set_contents (file, (const char *) data, (gssize) size, NULL));
  measurement_file_kind (file);
  check_load (nccl_log_load, file, profiles, "2 x dgx-h100");
  check_load (nccl_log_load, file, profiles, NULL);
  check_load (nccl_json_load, file, profiles, NULL);
  g_unlink (file);
  return 0;
}
