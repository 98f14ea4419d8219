/* What an engine op was in the schedule. */
#include "replay/run/replay-private.h"

ReplayOp
replay_op (const Replay *self, OpId op)
{
  guint64         tag = engine_op_record (self->run->engine, op)->tag;
  guint           period = tag_period (tag), rank = tag_rank (tag), item = tag_item (tag), place;
  ScheduleSection section = period_section (period);
  const ScheduleItem *what = &bound_items (self->bound, rank, section).items[item];
  const Program      *program = self->bound->program_of[rank];
  const ProgramItem  *compiled = &g_array_index (program->items[section], ProgramItem, item);

  if ((tag & TAG_MARKER) != 0)
    what = &self->markers[what->stream];
  else if (tag_fused (tag, &place))
    {
      const FusedGroup *group = &g_array_index (program->groups, FusedGroup, compiled->group);

      what = &g_array_index (program->fused, FusedOp, group->first + place).item;
    }
  return (ReplayOp){
    .item = what,
    .rank = rank,
    .section = section,
    .period = period > 0 ? period - 1 : 0,
    .step = compiled->step,
    .index = item,
  };
}

static const BoundPair *
op_pair (const Replay *self, const ReplayOp *what)
{
  return binding_pair_of (self->bound->binding,
                          binding_end (self->bound->binding, what->rank, what->item));
}

/* What a collective or a message costs; NULL for other ops. */
static const BoundCost *
op_cost (const Replay *self, const ReplayOp *what)
{
  const ScheduleItem *item = what->item;

  if (item->kind == ITEM_P2P)
    return binding_pair_cost (self->bound->binding, op_pair (self, what), item->bytes);
  if (item->kind != ITEM_COLLECTIVE)
    return NULL;
  return binding_cost (self->bound->binding,
                       binding_group_of (self->bound->binding, item->ref, what->rank),
                       (CollectiveKind) item->collective, item->bytes);
}

void
replay_op_members_into (const Replay *self, OpId op, GArray *members)
{
  ReplayOp what = replay_op (self, op);

  g_array_set_size (members, 0);
  if (what.item->kind == ITEM_COLLECTIVE)
    {
      const BoundGroup *group = binding_group_of (self->bound->binding, what.item->ref, what.rank);
      const GArray     *all = self->bound->binding->members;

      g_array_append_vals (members, &g_array_index (all, guint32, group->first_member),
                           group->n_members);
    }
  else if (what.item->kind == ITEM_P2P)
    {
      const BoundPair *pair = op_pair (self, &what);

      g_array_append_vals (members, &pair->from, 1);
      if (pair->to != pair->from)
        g_array_append_vals (members, &pair->to, 1);
    }
  else
    g_array_append_val (members, what.rank);
}

gboolean
replay_op_has_member (const Replay *self, const ReplayOp *what, guint rank)
{
  if (what->item->kind == ITEM_COLLECTIVE)
    {
      const BoundGroup *group =
          binding_group_of (self->bound->binding, what->item->ref, what->rank);
      const guint32 *members =
          &g_array_index (self->bound->binding->members, guint32, group->first_member);

      for (guint i = 0; i < group->n_members; i++)
        if (members[i] == rank)
          return TRUE;
      return FALSE;
    }
  if (what->item->kind == ITEM_P2P)
    return op_pair (self, what)->from == rank || op_pair (self, what)->to == rank;
  return what->rank == rank;
}

GArray *
replay_op_members (const Replay *self, OpId op)
{
  GArray *members = g_array_new (FALSE, FALSE, sizeof (guint));

  replay_op_members_into (self, op, members);
  return members;
}

gboolean
replay_op_crosses (const Replay *self, OpId op)
{
  ReplayOp         what = replay_op (self, op);
  const BoundCost *cost = op_cost (self, &what);

  return cost != NULL && binding_plan (self->bound->binding, cost->plan)->inter > 0;
}

static const char *
item_label (const ScheduleItem *item)
{
  if (item->label != NULL)
    return item->label;
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      return item->kernel->name;
    case ITEM_COLLECTIVE:
      return collective_kind_name ((CollectiveKind) item->collective);
    case ITEM_P2P:
      return schedule_message_name ((ScheduleMessage) item->collective);
    case ITEM_MOVE:
      return move_kind_name (item->collective);
    case ITEM_HOST_OP:
      return item->host->name;
    default:
      return "op";
    }
}

const char *
replay_op_name (const Replay *self, OpId op)
{
  return item_label (replay_op (self, op).item);
}

char *
replay_op_label (const Replay *self, OpId op)
{
  const ScheduleItem *item = replay_op (self, op).item;
  const char         *unit =
      item->unit != SCHEDULE_NONE ? schedule_unit_name (self->bound->schedule, item->unit) : NULL;

  return unit != NULL ? g_strdup_printf ("%s %s", item_label (item), unit)
                      : g_strdup (item_label (item));
}

gboolean
replay_op_choice (const Replay *self, OpId op, CollectiveAlgorithm *algorithm,
                  CollectiveProtocol *protocol, guint *channels)
{
  ReplayOp         what = replay_op (self, op);
  const BoundCost *cost = op_cost (self, &what);

  if (cost == NULL)
    return FALSE;
  *algorithm = cost->algorithm;
  *protocol = cost->protocol;
  *channels = cost->channels;
  return cost->channels > 0;
}

char *
replay_tag_label (const Replay *self, guint64 tag)
{
  guint               rank = tag_rank (tag);
  const ScheduleItem *item =
      &bound_items (self->bound, rank, period_section (tag_period (tag))).items[tag_item (tag)];
  const ScheduleBuffer *buffer;
  g_autoptr (GString)   text = g_string_new (NULL);

  if (item->kind != ITEM_ALLOC)
    return g_strdup ("initial state");
  buffer = schedule_buffer_info (self->bound->schedule,
                                 binding_rank (self->bound->binding, rank)->role, item->ref);
  g_string_append (text, buffer->label);
  if (item->unit != SCHEDULE_NONE)
    g_string_append_printf (text, ", %s", schedule_unit_name (self->bound->schedule, item->unit));
  if (item->phase != PHASE_NONE)
    g_string_append_printf (text, ", %s", schedule_phase_name ((SchedulePhase) item->phase));
  return g_string_free (g_steal_pointer (&text), FALSE);
}
