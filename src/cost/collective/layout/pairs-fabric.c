#include "cost/collective/layout/pairs-fabric-private.h"

#include "hardware/sites/sites.h"

/* ---- sprayed: by who hangs under the same uplinks -------------------------------------------- */

/* N members of a node that send, or receive, behind the same uplink; G_MAXUINT32: behind none. */
typedef struct
{
  guint   slot, n;
  guint32 up, down;
} End;

/* In order of slots. */
typedef struct
{
  GArray *ends;  /* End */
  guint  *first; /* [slot]: of its ends; one more than there are slots */
  guint   n;     /* members */
} Ends;

static void
ends_init (Ends *self, guint n_slots)
{
  *self = (Ends){ .ends = g_array_new (FALSE, FALSE, sizeof (End)),
                  .first = g_new0 (guint, n_slots + 1) };
}

static void
ends_clear (Ends *self)
{
  g_array_unref (self->ends);
  g_free (self->first);
}

static void
ends_empty (Ends *self)
{
  g_array_set_size (self->ends, 0);
  self->n = 0;
}

/* A member of SLOT by CARD. */
static void
ends_add (Ends *self, const Exits *exits, guint slot, guint card, guint level)
{
  const FabricPort port =
      cluster_fabric_port (exits->context->sum->cluster, exits->members->nodes[slot].node, card);
  const End end = { slot, 1, port.up[level], port.down[level] };
  End *last = self->ends->len > 0 ? &g_array_index (self->ends, End, self->ends->len - 1) : NULL;

  self->n++;
  if (last != NULL && last->slot == slot && last->up == end.up)
    last->n++;
  else
    g_array_append_val (self->ends, end);
}

/* Where messages to CLASS_ leave on LANE and arrive, as LEVEL of the fabric sees it. */
static void
find_ends (const Exits *exits, guint class_, guint lane, guint level, Ends *out, Ends *in)
{
  const Members *members = exits->members;

  ends_empty (out);
  ends_empty (in);
  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      const MemberNode *node = &members->nodes[slot];

      out->first[slot] = out->ends->len;
      in->first[slot] = in->ends->len;
      for (guint i = node->first; i < node->first + node->n; i++)
        {
          ends_add (out, exits, slot, (guint) exits_get (exits, i, class_, lane).card, level);
          if (exits_class (exits, i) == class_)
            ends_add (in, exits, slot, (guint) exits_entry (exits, i, lane), level);
        }
    }
  out->first[members->n_nodes] = out->ends->len;
  in->first[members->n_nodes] = in->ends->len;
}

/* Members of OTHERS that are on END's node, or hang under its uplink, where UNDER do in all. */
static guint
count_near (const Ends *others, guint under, const End *end)
{
  guint n = under;

  for (guint k = others->first[end->slot]; k < others->first[end->slot + 1]; k++)
    {
      const End *own = &g_array_index (others->ends, End, k);

      n += own->up == end->up ? 0 : own->n;
    }
  return n;
}

/* Each end loads its uplink, or its way DOWN, with what it exchanges with OTHERS beyond it. */
static void
add_crossings (LoadSum *sum, const Ends *self, const Ends *others, gboolean down, double bytes)
{
  g_autofree guint *under = g_new0 (guint, others->ends->len + 1);
  Numbering         uplinks;

  numbering_init (&uplinks);
  for (guint i = 0; i < others->ends->len; i++)
    {
      const End *end = &g_array_index (others->ends, End, i);

      if (end->up != G_MAXUINT32)
        under[numbering_get (&uplinks, end->up)] += end->n;
    }
  for (guint i = 0; i < self->ends->len; i++)
    {
      const End    *end = &g_array_index (self->ends, End, i);
      const guint32 number =
          end->up != G_MAXUINT32 ? numbering_find (&uplinks, end->up) : NUMBERING_NONE;
      const guint same = number != NUMBERING_NONE ? under[number] : 0;

      if (end->up != G_MAXUINT32)
        load_sum_add (sum, down ? end->down : end->up,
                      bytes * end->n * (others->n - count_near (others, same, end)));
    }
  numbering_clear (&uplinks);
}

/* The links between sites: every member of one sends to every member of another. */
static void
add_sites (const Exits *exits, double bytes)
{
  LoadSum          *sum = exits->context->sum;
  const Members    *members = exits->members;
  const guint       n = cluster_n_sites (sum->cluster);
  g_autofree guint *on = g_new0 (guint, n + 1);

  for (guint slot = 0; n > 0 && slot < members->n_nodes; slot++)
    on[cluster_site_of_node (sum->cluster, members->nodes[slot].node)] += members->nodes[slot].n;
  for (guint from = 0; from < n; from++)
    for (guint to = 0; to < n; to++)
      if (from != to)
        load_sum_add (sum, cluster_wan_link (sum->cluster, from, to).resource,
                      bytes * on[from] * on[to]);
}

/* One flow of each pair of nodes asks of TCP what all of its pairs of members do. */
static void
note_flows (const Exits *exits, double bytes)
{
  const Members *members = exits->members;

  for (guint a = 0; cluster_n_sites (exits->context->sum->cluster) > 0 && a < members->n_nodes; a++)
    for (guint b = 0; b < members->n_nodes; b++)
      load_sum_note_flow (exits->context->sum, members->nodes[a].node, members->nodes[b].node,
                          bytes);
}

/* ---- otherwise: pair by pair ----------------------------------------------------------------- */

static void
add_pair (const Exits *exits, guint from, guint to, guint lane, double bytes)
{
  LoadSum          *sum = exits->context->sum;
  const MemberNode *nodes = exits->members->nodes;
  const guint       a = nodes[exits->slots[from]].node, b = nodes[exits->slots[to]].node;
  const guint       in = (guint) exits_entry (exits, to, lane);
  const Exit        exit = exits_get (exits, from, exits_class (exits, to), lane);
  const guint       flows = exits->context->flows;
  FabricLink        links[FABRIC_MAX];
  guint n = cluster_route_fabric (sum->cluster, a, (guint) exit.card, b, in, flows, links);

  for (guint k = 0; k < n; k++)
    load_sum_add (sum, links[k].resource, links[k].share * bytes);
}

void
pairs_add_fabric (const Exits *exits, double bytes)
{
  if (cluster_routing_is_symmetric (exits->context->sum->cluster))
    {
      LoadSum *sum = exits->context->sum;
      Ends     out, in;

      ends_init (&out, exits->members->n_nodes);
      ends_init (&in, exits->members->n_nodes);
      for (guint lane = 0; lane < exits->lanes; lane++)
        for (guint level = 0; level < FABRIC_LEVELS; level++)
          for (guint class_ = 0; class_ < exits->n_classes; class_++)
            {
              find_ends (exits, class_, lane, level, &out, &in);
              add_crossings (sum, &out, &in, FALSE, bytes / exits->lanes);
              add_crossings (sum, &in, &out, TRUE, bytes / exits->lanes);
            }
      ends_clear (&out);
      ends_clear (&in);
      add_sites (exits, bytes);
    }
  else
    {
      const guint n = exits->members->n_gpus;

      for (guint i = 0; i < n; i++)
        for (guint j = 0; j < n; j++)
          for (guint lane = 0; exits->slots[i] != exits->slots[j] && lane < exits->lanes; lane++)
            add_pair (exits, i, j, lane, bytes / exits->lanes);
    }
  note_flows (exits, bytes / exits->lanes);
}
