#include "predict/trace/memory-use.h"

#include <string.h>

void
memory_use_clear (MemoryUse *self)
{
  g_free (self->place);
  g_free (self->peak_op);
  g_free (self->overflow_op);
}

void
memory_use_keep (MemoryUse *self)
{
  self->place = g_strdup (self->place);
  self->peak_op = g_strdup (self->peak_op);
  self->overflow_op = g_strdup (self->overflow_op);
}

static void
fill_memory (MemoryUse *use, const Replay *replay, const PoolStats *stats, char *place)
{
  use->capacity = stats->capacity;
  use->allocated = stats->allocated.bytes;
  use->reserved = stats->reserved.bytes;
  use->device = stats->device.bytes;
  use->waiting = stats->device.waiting;
  use->cached = stats->device.cached;
  use->n_retries = stats->n_retries;
  memcpy (use->by_category, stats->device.by_category, sizeof use->by_category);
  use->place = place;
  use->peak_op =
      stats->device.bytes > 0 ? replay_tag_label (replay, stats->device.tag) : g_strdup ("");
  use->fits = !stats->overflowed;
  use->excess = stats->device.bytes > stats->capacity ? stats->device.bytes - stats->capacity : 0;
  if (stats->overflowed)
    use->overflow_op = replay_tag_label (replay, stats->overflow.tag);
}

static char *
place_of (const Replay *replay, guint rank)
{
  const Schedule *schedule = replay_schedule (replay);

  if (schedule_n_stages (schedule) == 1)
    return g_strdup_printf ("rank %u", rank);
  return g_strdup_printf ("rank %u (stage %u of %u)", rank,
                          schedule_role_stage (schedule, schedule_role_of_rank (schedule, rank)),
                          schedule_n_stages (schedule));
}

/* A pool, and where it is. */
typedef struct
{
  const PoolStats *stats;
  guint            id;   /* of a rank or a node */
  const char      *make; /* of the node */
} PoolPlace;

static gint64
head_room (const PoolStats *stats)
{
  return (gint64) (stats->capacity - stats->device.bytes);
}

/*
 * Whether A is to be told of before B: pools may differ in size, and node 0 is no better than
 * another. One that holds something comes first, then the one with the least head-room, the one
 * that had more allocated, the smaller one, and the one whose make comes first.
 */
static gboolean
is_tighter (const PoolPlace *a, const PoolPlace *b)
{
  const PoolStats *x = a->stats, *y = b->stats;

  if ((x->device.bytes > 0) != (y->device.bytes > 0))
    return x->device.bytes > 0;
  if (head_room (x) != head_room (y))
    return head_room (x) < head_room (y);
  if (x->allocated.bytes != y->allocated.bytes)
    return x->allocated.bytes > y->allocated.bytes;
  return x->capacity != y->capacity ? x->capacity < y->capacity : strcmp (a->make, b->make) < 0;
}

static void
note_pool (PoolPlace *tightest, const Replay *replay, PoolId pool, guint node, guint id)
{
  PoolPlace place = { engine_pool_stats (replay_engine (replay), pool), id,
                      cluster_node_profile (replay_cluster (replay), node)->id };

  if (tightest->stats == NULL || is_tighter (&place, tightest))
    *tightest = place;
}

/*
 * Activations, and the temporaries of kernels and losses, grow with the tokens that a rank has of a
 * micro-batch: the longest sequence of the one of most is named, where the GPU had room without.
 */
static void
name_sequence (MemoryUse *use, const Replay *replay, guint rank)
{
  const ResolvedScenario *resolved = replay_resolved (replay);
  const SequenceLengths  *lengths = resolved->lengths;
  const PlanBatches      *batches = resolved->input.batches;
  const guint64 of_tokens = use->by_category[POOL_ACTIVATION] + use->by_category[POOL_WORKSPACE];
  double        most = 0;
  guint         row;

  if (lengths == NULL || use->fits || use->device - of_tokens > use->capacity)
    return;
  row = mesh_group_index (mesh_all (&resolved->input.mesh), rank) / batches->sharing;
  for (guint micro = 0; micro < sequence_lengths_n_micros (lengths, row); micro++)
    {
      const guint   at = sequence_lengths_at (lengths, row, micro);
      const guint   ranks = MAX (sequence_lengths_ranks (lengths, at), batches->sharing);
      const GArray *batch = sequence_lengths_batch (lengths, at);
      const double  tokens = (double) sequence_lengths_tokens (batch) / ranks;

      if (tokens <= most)
        continue;
      most = tokens;
      use->sequence = g_array_index (batch, gint64, 0);
      use->sequence_ranks = ranks;
    }
}

void
memory_use_read_hbm (MemoryUse *self, const Replay *replay, guint stage)
{
  const Schedule *schedule = replay_schedule (replay);
  PoolPlace       tightest = { 0 };

  for (guint i = 0; i < replay_n_ranks (replay); i++)
    {
      const ReplayRank *rank = replay_rank (replay, i);

      if (stage == MEMORY_USE_ALL || schedule_role_stage (schedule, rank->role) == stage)
        note_pool (&tightest, replay, rank->hbm,
                   cluster_node_of_gpu (replay_cluster (replay), rank->rank), rank->rank);
    }
  g_assert (tightest.stats != NULL);
  fill_memory (self, replay, tightest.stats, place_of (replay, tightest.id));
  name_sequence (self, replay, tightest.id);
}

void
memory_use_read_rank (MemoryUse *self, const Replay *replay, guint32 rank)
{
  const guint role = schedule_role_of_rank (replay_schedule (replay), rank);
  guint       i = 0;

  for (guint k = 0; k < replay_n_ranks (replay); k++)
    if (replay_rank (replay, k)->role == role
        && (replay_rank (replay, i)->role != role || replay_rank (replay, k)->rank <= rank))
      i = k;
  g_assert (replay_rank (replay, i)->role == role);
  fill_memory (self, replay,
               engine_pool_stats (replay_engine (replay), replay_rank (replay, i)->hbm),
               place_of (replay, rank));
}

void
memory_use_read_nodes (MemoryUse *self, const Replay *replay,
                       PoolId (*pool_of) (const Replay *replay, guint i, guint *node))
{
  PoolPlace tightest = { 0 };

  for (guint i = 0; i < replay_n_host_pools (replay); i++)
    {
      guint  node;
      PoolId pool = pool_of (replay, i, &node);

      note_pool (&tightest, replay, pool, node, node);
    }
  g_assert (tightest.stats != NULL);
  fill_memory (self, replay, tightest.stats, g_strdup_printf ("node %u", tightest.id));
}
