/*
 * Deadlock between roles: runs the programs of all roles without time. Streams and hosts go on
 * while they can; a collective goes on when every role that it meets has reached it, a message when
 * both its ends have. Ranks of a role move as one, so a cycle of ranks shows as a cycle of roles.
 */
#include <string.h>

#include "schedule/schedule-private.h"

#define NO_ITEM G_MAXUINT32

typedef struct
{
  ScheduleItems items;
  guint         host;     /* next item of the host program */
  guint32      *next;     /* item after this one on its stream */
  guint32      *sequence; /* of a collective: its number on its communicator */
  guint32      *head;     /* of each stream: first item that is not done */
  guint8       *happened; /* events */
  guint32      *joined;   /* of each communicator: collectives that this role has reached */
  guint8       *begun;    /* messages whose call has started */
} RoleState;

typedef struct
{
  const Schedule *schedule;
  guint           n_comms, n_streams, n_roles;
  guint         **meets;   /* [comm][role]: the first role that this one meets there */
  guint32        *members; /* [comm * n_roles + first role]: roles that meet */
  guint32        *arrived; /* likewise: at the collective that is next */
  guint32        *done;    /* likewise: collectives behind them */
  RoleState      *roles;
  Partners       *partners; /* of the section's messages */
  StopPoll       *poll;
} Progress;

static guint
find_root (guint *parent, guint role)
{
  while (parent[role] != role)
    role = parent[role] = parent[parent[role]];
  return role;
}

/* Joins the roles that share a group; the lowest role of a set stands for it. */
guint *
schedule_comm_roles (const Schedule *self, CommRef comm)
{
  MeshGroup group = schedule_comm_info (self, comm)->group;
  guint    *roots = g_new (guint, self->n_roles);

  for (guint role = 0; role < self->n_roles; role++)
    roots[role] = role;
  for (guint rank = 0; rank < self->n_ranks; rank++)
    {
      guint leader = mesh_group_member (group, rank, 0);
      guint a = find_root (roots, schedule_role_of_rank (self, rank));
      guint b = find_root (roots, schedule_role_of_rank (self, leader));

      roots[MAX (a, b)] = MIN (a, b);
    }
  for (guint role = 0; role < self->n_roles; role++)
    roots[role] = find_root (roots, role);
  return roots;
}

/* ---- state ----------------------------------------------------------------------------------- */

static void
role_state_init (RoleState *self, const Progress *all, guint role, ScheduleSection section)
{
  g_autofree guint32 *tail = g_new (guint32, all->n_streams);
  g_autofree guint32 *counts = g_new0 (guint32, all->n_comms);

  self->items = schedule_items (all->schedule, role, section);
  self->host = 0;
  self->next = g_new (guint32, self->items.n);
  self->sequence = g_new0 (guint32, self->items.n);
  self->head = g_new (guint32, all->n_streams);
  self->happened = g_new0 (guint8, schedule_n_events (all->schedule, role, section));
  self->joined = g_new0 (guint32, all->n_comms);
  self->begun = g_new0 (guint8, self->items.n);
  for (guint s = 0; s < all->n_streams; s++)
    self->head[s] = tail[s] = NO_ITEM;
  for (guint i = 0; i < self->items.n; i++)
    {
      const ScheduleItem *item = &self->items.items[i];

      self->next[i] = NO_ITEM;
      if (item->kind == ITEM_COLLECTIVE)
        self->sequence[i] = counts[item->ref]++;
      if (item->stream == SCHEDULE_NONE)
        continue;
      if (tail[item->stream] == NO_ITEM)
        self->head[item->stream] = i;
      else
        self->next[tail[item->stream]] = i;
      tail[item->stream] = i;
    }
}

static void
role_state_clear (RoleState *self)
{
  g_free (self->next);
  g_free (self->sequence);
  g_free (self->head);
  g_free (self->happened);
  g_free (self->joined);
  g_free (self->begun);
}

static void
progress_init (Progress *self, const Schedule *schedule, StopPoll *poll)
{
  *self = (Progress){ .schedule = schedule,
                      .poll = poll,
                      .n_comms = schedule_n_comms (schedule),
                      .n_streams = schedule_n_streams (schedule),
                      .n_roles = schedule->n_roles };
  self->meets = g_new (guint *, self->n_comms);
  self->members = g_new0 (guint32, (gsize) self->n_comms * self->n_roles);
  self->arrived = g_new0 (guint32, (gsize) self->n_comms * self->n_roles);
  self->done = g_new0 (guint32, (gsize) self->n_comms * self->n_roles);
  self->roles = g_new0 (RoleState, self->n_roles);
  for (guint c = 0; c < self->n_comms; c++)
    {
      self->meets[c] = schedule_comm_roles (schedule, c);
      for (guint role = 0; role < self->n_roles; role++)
        self->members[c * self->n_roles + self->meets[c][role]]++;
    }
}

static void
progress_clear (Progress *self)
{
  for (guint c = 0; c < self->n_comms; c++)
    g_free (self->meets[c]);
  g_free (self->meets);
  g_free (self->members);
  g_free (self->arrived);
  g_free (self->done);
  g_free (self->roles);
}

/* ---- running --------------------------------------------------------------------------------- */

/*
 * TRUE once the collective at INDEX is behind ROLE: a communicator runs its collectives in the
 * order of issue.
 */
static gboolean
run_collective (Progress *self, guint role, guint index)
{
  RoleState *state = &self->roles[role];
  CommRef    comm = state->items.items[index].ref;
  guint      set = comm * self->n_roles + self->meets[comm][role];

  if (state->sequence[index] == self->done[set] && state->joined[comm] == self->done[set])
    {
      state->joined[comm]++;
      self->arrived[set]++;
    }
  if (self->arrived[set] == self->members[set])
    {
      self->arrived[set] = 0;
      self->done[set]++;
    }
  return state->sequence[index] < self->done[set];
}

/*
 * All messages of a call begin when its first is reached; one is behind ROLE when its other end has
 * begun.
 */
static gboolean
run_message (Progress *self, guint role, guint index)
{
  RoleState *state = &self->roles[role];
  guint      other = partners_role (self->partners, role, &state->items.items[index]);

  for (guint i = index; !state->begun[i]; i++)
    {
      state->begun[i] = TRUE;
      if (!state->items.items[i].more)
        break;
    }
  return self->roles[other].begun[partners_item (self->partners, role, index)];
}

static gboolean
run_item (Progress *self, guint role, guint index)
{
  RoleState          *state = &self->roles[role];
  const ScheduleItem *item = &state->items.items[index];

  switch ((ItemKind) item->kind)
    {
    case ITEM_COLLECTIVE:
      return run_collective (self, role, index);
    case ITEM_P2P:
      return run_message (self, role, index);
    case ITEM_WAIT:
      return state->happened[item->ref];
    case ITEM_RECORD:
      state->happened[item->ref] = 1;
      return TRUE;
    default:
      return TRUE;
    }
}

/* Goes on with ROLE as far as it can. TRUE when anything moved. */
static gboolean
run_role (Progress *self, guint role)
{
  RoleState *state = &self->roles[role];
  guint      from = state->host;
  gboolean   moved;

  while (state->host < state->items.n && !stop_poll (self->poll))
    {
      const ScheduleItem *item = &state->items.items[state->host];

      if (item->kind == ITEM_HOST_WAIT && !state->happened[item->ref])
        break;
      if (item->kind == ITEM_TAKE) /* of a section that has run to its end */
        state->happened[item->ref] = 1;
      state->host++;
    }
  moved = state->host != from;
  for (guint s = 0; s < self->n_streams; s++)
    while (state->head[s] < state->host && !stop_poll (self->poll)
           && run_item (self, role, state->head[s])) /* NO_ITEM is never below */
      {
        state->head[s] = state->next[state->head[s]];
        moved = TRUE;
      }
  return moved;
}

/* ---- verdict --------------------------------------------------------------------------------- */

static gboolean
report_stuck (const Progress *self, ScheduleSection section, DiagList *diags)
{
  gboolean stuck = FALSE;

  for (guint role = 0; role < self->n_roles; role++)
    for (guint s = 0; s < self->n_streams; s++)
      {
        const RoleState *state = &self->roles[role];
        guint32          head = state->head[s];
        g_autofree char *place = NULL;

        if (head == NO_ITEM)
          continue;
        stuck = TRUE;
        if (head >= state->host
            || (state->items.items[head].kind != ITEM_COLLECTIVE
                && state->items.items[head].kind != ITEM_P2P))
          continue; /* only follows from what stands elsewhere */
        place = schedule_item_place (self->schedule, role, section, head);
        diag_error (diags, NULL, NULL, "deadlock: %s: the other ranks of '%s' never reach it",
                    place, schedule_comm_info (self->schedule, state->items.items[head].ref)->name);
      }
  return stuck;
}

static gboolean
check_section (Progress *self, ScheduleSection section, DiagList *diags)
{
  gboolean moved = TRUE, sound;

  memset (self->arrived, 0, (gsize) self->n_comms * self->n_roles * sizeof *self->arrived);
  memset (self->done, 0, (gsize) self->n_comms * self->n_roles * sizeof *self->done);
  for (guint role = 0; role < self->n_roles; role++)
    role_state_init (&self->roles[role], self, role, section);
  self->partners = partners_new (self->schedule, section, self->poll);
  while (moved && !self->poll->cut)
    {
      moved = FALSE;
      for (guint role = 0; role < self->n_roles; role++)
        moved |= run_role (self, role);
    }
  sound = !self->poll->cut && !report_stuck (self, section, diags);
  for (guint role = 0; role < self->n_roles; role++)
    role_state_clear (&self->roles[role]);
  partners_free (self->partners);
  return sound;
}

gboolean
schedule_check_progress (const Schedule *self, StopPoll *poll, DiagList *diags)
{
  Progress progress;
  gboolean sound = TRUE;

  progress_init (&progress, self, poll);
  for (guint s = 0; s < schedule_n_sections (self) && sound; s++)
    sound = check_section (&progress, (ScheduleSection) s, diags);
  progress_clear (&progress);
  return sound;
}
