/* Where lengths come from, and documents that are packed into sequences. */
#include "model/layer/flops.h"
#include "scenario/resolved-private.h"

#define D "%" G_GINT64_FORMAT

/*
 * Tokens of a balanced sequence over those of the window where nothing is said. [estimate: the
 * paper takes as many as memory allows, and does not say how many. Four sequences a step of the
 * lengths `magi` are balanced to 1.03 by this, to 1.00 by twice the window; it measured 1.05]
 */
#define BALANCED_ROOM 1.25

gint64
resolved_sequence_parts (const Resolution *self)
{
  const MeshOptions *mesh = &self->scenario->mesh;

  return mesh->sp == 1 ? MAX (mesh->tp, 1) : 1;
}

LengthDraw
resolved_length_draw (const Resolution *self)
{
  const TrainingOptions *training = &self->training;

  return (LengthDraw){ .distribution = training_lengths_drawn (training),
                       .median = (double) training->lengths_median,
                       .tail = (double) training->lengths_tail,
                       .seed = (guint32) training->lengths_seed };
}

char *
resolved_lengths_file (const Resolution *self)
{
  const char *name = self->training.lengths, *base = self->scenario->base_dir;

  return base != NULL && !g_path_is_absolute (name) ? g_build_filename (base, name, NULL)
                                                    : g_strdup (name);
}

static gint64
context_ranks (const Resolution *self)
{
  return MAX (self->scenario->mesh.cp, 1);
}

/* What tokens of a sequence are a multiple of: two chunks for each context rank. */
static gint64
sequence_unit (const Resolution *self)
{
  const gint64 cp = context_ranks (self);

  return cp * (cp > 1 ? 2 : 1) * resolved_sequence_parts (self);
}

static gboolean
is_balanced (const Resolution *self)
{
  return self->training.partition == PARTITION_WLB;
}

static gint64
room_of (const Resolution *self)
{
  const gint64 unit = sequence_unit (self);
  const gint64 room = self->training.tokens_per_rank > 0
                          ? self->training.tokens_per_rank * context_ranks (self)
                          : (gint64) (BALANCED_ROOM * (double) self->training.seq_len);

  return room / unit * unit;
}

gboolean
resolved_check_packing (const Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const TrainingOptions *training = &self->training;
  const OptionMarks     *marks = scenario_marks (self->scenario, training_options);
  const OptionMarks     *mesh_marks = scenario_marks (self->scenario, mesh_options);
  const SourceMark      *partition = option_mark (marks, "partition", NULL);
  const char            *name = is_balanced (self) ? "wlb" : "packed";
  const gint64           sequences = training->grad_accum * training->micro_batch
                           * cluster_n_gpus (self->view.cluster)
                           / mesh_replica (&self->scenario->mesh);

  if (mesh_context_heads (&self->scenario->mesh) > 1)
    diag_error (diags, option_mark (mesh_marks, "context", NULL),
                "take 'context' ring or all-gather",
                "'partition: %s' cuts sequences over context ranks, which here divide heads", name);
  else if (is_balanced (self) && training->micro_batch > 1)
    diag_error (diags, option_mark (marks, "micro_batch", "partition", NULL),
                "set 'micro_batch' to 1, and 'grad_accum' to the sequences of a data rank",
                "'partition: wlb' makes one sequence a micro-batch, 'micro_batch' is " D,
                training->micro_batch);
  else if (!training->causal || shape->index_topk > 0 || shape->window_is_chunk)
    diag_error (diags, partition, "take 'partition: even'",
                "'partition: %s' is modelled for causal attention, full or in sliding windows",
                name);
  else if (training->seq_len % sequence_unit (self) != 0)
    diag_error (
        diags, option_mark (marks, "seq_len", NULL),
        "context ranks have two chunks each of a packed sequence, which tensor ranks divide",
        "'seq_len' of " D " is no multiple of " D, training->seq_len, sequence_unit (self));
  else if (room_of (self) < training->seq_len)
    diag_error (diags, option_mark (marks, "tokens_per_rank", NULL),
                "a document may be as long as the window: give at least 'seq_len' / 'cp'",
                "context ranks of " D " tokens hold " D ", a document may have " D,
                training->tokens_per_rank, room_of (self), training->seq_len);
  else if (sequences > PACKED_SEQUENCES)
    diag_error (diags, partition, "take fewer micro-batches: 'grad_accum'",
                D " packed sequences a step are more than a table of them holds (%d)", sequences,
                PACKED_SEQUENCES);
  else
    return TRUE;
  return FALSE;
}

/* FLOPs of a document by its tokens and by their square, as model FLOPs of a token have them. */
static DocumentWork
work_of (const Resolution *self, const ModelShape *shape)
{
  const gint64 longest = MAX (self->training.seq_len, 2);
  const double least =
      flops_forward_per_token (shape, &self->training, &self->scenario->mesh, FLOPS_CAUSAL, 1);
  const double most = flops_forward_per_token (shape, &self->training, &self->scenario->mesh,
                                               FLOPS_CAUSAL, longest);
  const double attention = (most - least) / (double) (longest - 1);

  return (DocumentWork){ .attention = attention, .linear = least - attention };
}

static DocumentSharding
sharding_of (const Resolution *self)
{
  const DocumentSharding asked = (DocumentSharding) self->training.document_sharding;

  if (asked != SHARDING_AUTO)
    return asked;
  return is_balanced (self) ? SHARDING_ADAPTIVE : SHARDING_PER_SEQUENCE;
}

const SequenceLengths *
resolved_pack_lengths (const Resolution *self, const ModelShape *shape, DiagList *diags)
{
  const TrainingOptions *training = &self->training;
  const MeshOptions     *mesh = &self->scenario->mesh;
  const guint         n_ranks = (guint) (cluster_n_gpus (self->view.cluster) / mesh_replica (mesh));
  const LengthDraw    draw = resolved_length_draw (self);
  g_autofree char    *file = resolved_lengths_file (self);
  const PackedLengths wanted = {
    .drawn = draw.distribution != LENGTHS_N ? &draw : NULL,
    .file = file,
    .n_ranks = n_ranks,
    .n_micros = (guint) training->grad_accum,
    .cp = (guint) context_ranks (self),
    .unit = sequence_unit (self),
    .packing = { .window = training->seq_len,
                 .sequences = n_ranks * (guint) (training->grad_accum * training->micro_batch),
                 .queues = (guint) training->outlier_queues,
                 .most = room_of (self),
                 .work = work_of (self, shape) },
    .balanced = is_balanced (self),
    .sharding = sharding_of (self),
  };

  return sequence_lengths_packed (profile_set_files (self->view.profiles), &wanted, diags);
}
