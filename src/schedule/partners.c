/* Which send goes with which receive: the n-th of an ordered pair of members on a communicator. */
#include "schedule/schedule-private.h"

struct _Partners
{
  const Schedule *schedule;
  ScheduleSection section;
  GHashTable    **lists; /* [role]: key_of -> GArray of items */
  guint32       **items; /* [role][item]: the partner's item, or SCHEDULE_NONE */
  guint32        *first; /* [role]: its lowest rank */
};

static gint64
key_of (CommRef comm, ScheduleMessage way, guint peer)
{
  return ((gint64) comm << 33) | ((gint64) way << 32) | peer;
}

static guint
own_index (const Partners *self, guint role, CommRef comm)
{
  MeshGroup group = schedule_comm_info (self->schedule, comm)->group;

  return mesh_group_index (group, self->first[role]);
}

/* Ranks of a role have partners of one role: the same data rank of another stage. */
guint
partners_role (const Partners *self, guint role, const ScheduleItem *item)
{
  MeshGroup group = schedule_comm_info (self->schedule, item->ref)->group;

  return schedule_role_of_rank (self->schedule,
                                mesh_group_member (group, self->first[role], item->peer));
}

static GHashTable *
list_messages (ScheduleItems items, StopPoll *poll)
{
  GHashTable *lists =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, (GDestroyNotify) g_array_unref);

  if (stop_poll_now (poll))
    items.n = 0;
  for (guint32 i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      gint64              key;
      GArray             *list;

      if (item->kind != ITEM_P2P)
        continue;
      key = key_of (item->ref, (ScheduleMessage) item->collective, item->peer);
      list = g_hash_table_lookup (lists, &key);
      if (list == NULL)
        {
          list = g_array_new (FALSE, FALSE, sizeof (guint32));
          g_hash_table_insert (lists, g_memdup2 (&key, sizeof key), list);
        }
      g_array_append_val (list, i);
    }
  return lists;
}

/* The partners of the messages of one list. */
static void
match_list (Partners *self, guint role, const ScheduleItem *like, const GArray *list)
{
  guint  partner = partners_role (self, role, like);
  gint64 key = key_of (like->ref, like->collective == MESSAGE_SEND ? MESSAGE_RECEIVE : MESSAGE_SEND,
                       own_index (self, role, like->ref));
  const GArray *others = g_hash_table_lookup (self->lists[partner], &key);

  for (guint n = 0; n < list->len && others != NULL && n < others->len; n++)
    self->items[role][g_array_index (list, guint32, n)] = g_array_index (others, guint32, n);
}

static void
match_role (Partners *self, guint role, StopPoll *poll)
{
  ScheduleItems items = schedule_items (self->schedule, role, self->section);

  if (stop_poll_now (poll))
    items.n = 0;
  self->items[role] = g_new (guint32, items.n);
  for (guint i = 0; i < items.n; i++)
    self->items[role][i] = SCHEDULE_NONE;
  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      gint64              key;
      const GArray       *list;

      if (item->kind != ITEM_P2P)
        continue;
      key = key_of (item->ref, (ScheduleMessage) item->collective, item->peer);
      list = g_hash_table_lookup (self->lists[role], &key);
      if (g_array_index (list, guint32, 0) == i) /* the whole list at its first message */
        match_list (self, role, item, list);
    }
}

Partners *
partners_new (const Schedule *schedule, ScheduleSection section, StopPoll *poll)
{
  Partners *self = g_new0 (Partners, 1);

  self->schedule = schedule;
  self->section = section;
  self->lists = g_new0 (GHashTable *, schedule->n_roles);
  self->items = g_new0 (guint32 *, schedule->n_roles);
  self->first = g_new0 (guint32, schedule->n_roles);
  for (guint rank = schedule->n_ranks; rank-- > 0;)
    self->first[schedule_role_of_rank (schedule, rank)] = rank;
  for (guint role = 0; role < schedule->n_roles; role++)
    self->lists[role] = list_messages (schedule_items (schedule, role, section), poll);
  for (guint role = 0; role < schedule->n_roles; role++)
    match_role (self, role, poll);
  return self;
}

void
partners_free (Partners *self)
{
  for (guint role = 0; role < self->schedule->n_roles; role++)
    {
      g_hash_table_unref (self->lists[role]);
      g_free (self->items[role]);
    }
  g_free (self->lists);
  g_free (self->items);
  g_free (self->first);
  g_free (self);
}

guint
partners_item (const Partners *self, guint role, guint item)
{
  return self->items[role][item];
}
