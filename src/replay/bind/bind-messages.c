/* Pipeline stages' messages in the graph that folding refines: one op a sender and receiver. */
#include "replay/bind/bind-private.h"

guint
bind_group_index (MeshGroup group, guint32 rank)
{
  return mesh_group_index (group, rank);
}

guint32
bind_group_member (MeshGroup group, guint32 rank, guint index)
{
  return mesh_group_member (group, rank, index);
}

static MeshGroup
comm_group (const BindGraph *self, CommRef comm)
{
  return schedule_comm_info (self->schedule, comm)->group;
}

/* ---- what roles send and get ----------------------------------------------------------------- */

static GraphSend *
find_send (GArray *sends, CommRef comm, guint peer)
{
  for (guint i = 0; i < sends->len; i++)
    {
      GraphSend *send = &g_array_index (sends, GraphSend, i);

      if (send->comm == comm && send->peer == peer)
        return send;
    }
  return NULL;
}

static void
note_send (GArray *sends, const ScheduleItem *item)
{
  GraphSend *send = find_send (sends, item->ref, item->peer);

  if (send == NULL)
    {
      GraphSend fresh = { .comm = item->ref, .peer = item->peer };

      g_array_append_val (sends, fresh);
      send = &g_array_index (sends, GraphSend, sends->len - 1);
    }
  bind_graph_note_size (&send->use, item->bytes);
}

static void
note_end (GArray *ends, const ScheduleItem *item)
{
  const GraphEnd fresh = { item->ref, item->peer, item->collective };

  for (guint i = 0; i < ends->len; i++)
    {
      const GraphEnd *end = &g_array_index (ends, GraphEnd, i);

      if (end->comm == fresh.comm && end->peer == fresh.peer && end->way == fresh.way)
        return;
    }
  g_array_append_val (ends, fresh);
}

static void
note_message (BindGraph *self, guint role, const ScheduleItem *item)
{
  note_end (self->ends[role], item);
  if (item->collective == MESSAGE_SEND)
    note_send (self->sends[role], item);
}

void
bind_graph_note_messages (BindGraph *self)
{
  guint n_roles = schedule_n_roles (self->schedule);

  self->sends = g_new (GArray *, n_roles + 1);
  self->ends = g_new (GArray *, n_roles + 1);
  for (guint role = 0; role < n_roles; role++)
    {
      self->sends[role] = g_array_new (FALSE, FALSE, sizeof (GraphSend));
      self->ends[role] = g_array_new (FALSE, FALSE, sizeof (GraphEnd));
      for (ScheduleSection s = 0; s < SECTION_N; s++)
        {
          ScheduleItems items = schedule_items (self->schedule, role, s);

          if (stop_poll_now (self->poll))
            items.n = 0;
          for (guint i = 0; i < items.n; i++)
            if (items.items[i].kind == ITEM_P2P)
              note_message (self, role, &items.items[i]);
        }
    }
}

/* ---- ops ------------------------------------------------------------------------------------- */

/*
 * Messages to members at the same distance are of one colour: a rank's messages to two peers are
 * never of one class.
 */
static void
add_message (BindGraph *self, GraphSend *send, guint32 from)
{
  MeshGroup                  group = comm_group (self, send->comm);
  guint32                    to = bind_group_member (group, from, send->peer);
  guint                      op = self->ops->len;
  guint                      distance = send->peer + group.size - bind_group_index (group, from);
  g_autofree CollectiveCost *costs = g_new (CollectiveCost, send->use.sizes->len);
  g_autoptr (CollectivePlan) plan =
      collective_plan_new_message (self->cluster, from, to, &self->options);
  guint64 colour = colour_mix (colour_mix (COLOUR_MESSAGE, send->comm), distance % group.size);

  bind_graph_collect_costs (&send->use, plan, costs);
  g_assert (send->use.n_algorithms == 1);
  for (guint i = 0; i < send->use.sizes->len; i++)
    colour = colour_mix_cost (colour, &costs[i]);
  bind_graph_add_variant (self, &costs[0], op, colour);
  bind_graph_add_edge (self, bind_graph_op (self, op), from, RELATION_SENDER, 1);
  bind_graph_add_edge (self, bind_graph_op (self, op), to, RELATION_RECEIVER, 1);
  bind_graph_add_costs (self, &send->use, costs, collective_plan_payload (plan));
}

void
bind_graph_add_messages (BindGraph *self)
{
  self->first_message = g_new (guint32, self->n_ranks);
  for (guint r = 0; r < self->n_ranks; r++)
    {
      GArray *sends = self->sends[schedule_role_of_rank (self->schedule, r)];

      self->first_message[r] = self->ops->len;
      for (guint i = 0; i < sends->len && !stop_poll (self->poll); i++)
        add_message (self, &g_array_index (sends, GraphSend, i), r);
    }
}

guint
bind_graph_message (const BindGraph *self, CommRef comm, guint32 from, guint32 to)
{
  GArray    *sends = self->sends[schedule_role_of_rank (self->schedule, from)];
  GraphSend *send = find_send (sends, comm, bind_group_index (comm_group (self, comm), to));

  g_assert (send != NULL);
  return self->first_message[from]
         + (guint) (send - (const GraphSend *) (gconstpointer) sends->data);
}

void
bind_graph_clear_messages (BindGraph *self)
{
  for (guint role = 0; role < schedule_n_roles (self->schedule); role++)
    {
      for (guint i = 0; i < self->sends[role]->len; i++)
        g_array_unref (g_array_index (self->sends[role], GraphSend, i).use.sizes);
      g_array_unref (self->sends[role]);
      g_array_unref (self->ends[role]);
    }
  g_free (self->sends);
  g_free (self->ends);
  g_free (self->first_message);
}
