/*
 * What optimizers that need more than elements make ranks compute, keep and send, by hand. A llama
 * of 2 blocks on 4 ranks: of each block 4 matrices of 64 x 64, 2 of 128 x 64, one of 64 x 128 and
 * norms; 2 tables of 100 x 64 and a norm, which AdamW updates. With five steps of Newton-Schulz a
 * matrix of 64 x 64 takes 6 units of 5 x 64^3 FLOPs, a longer one 10. That emitted and expected
 * totals are the same is the property test's (strategy). Not asserted: times.
 */
#include <check.h>
#include <string.h>

#include "../model/fixture.h"
#include "../suite.h"
#include "driver/matrix/matrix-balance.h"
#include "driver/matrix/matrix-parts.h"
#include "small-llama.h"

#define UNIT     (5 * 64.0 * 64 * 64)
#define SQUARE   (64 * 64)
#define LAYER    (4 * SQUARE + 3 * 2 * SQUARE) /* elements of a block's matrices */
#define MATRICES (2 * LAYER)
#define TABLE    (100 * 64)

static PlanTotals
totals_over (guint blocks, const char *name, const char *text, const char *training)
{
  const Strategy        *strategy = strategy_find (name);
  g_autofree gpointer    options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload)   workload = llama_trained (blocks, training);
  g_autoptr (InputFiles) files = input_files_new ();
  const Mesh             mesh = { .n_ranks = 4, .ranks_per_node = 4, .world = 4 };
  const PlanInput        in = { .workload = workload, .mesh = mesh, .files = files };
  const StrategyChoice   choice = { strategy, options, NULL };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Schedule)   schedule = NULL;
  PlanTotals             totals = { 0 };

  set_options (strategy, options, text);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  schedule_totals (schedule, 0, &totals);
  option_table_clear (strategy->options, options);
  return totals;
}

static PlanTotals
totals_of (const char *name, const char *text, const char *training)
{
  return totals_over (2, name, text, training);
}

/* Bytes of all collectives of KIND. */
static double
carried (const PlanTotals *totals, CollectiveKind kind)
{
  double sum = 0;

  for (guint i = 0; i < totals->n_traffic; i++)
    sum += totals->traffic[i].kind == kind ? totals->traffic[i].bytes : 0;
  return sum;
}

typedef struct
{
  const char *strategy, *options, *training;
  double      units;                     /* of FLOPs beyond those of AdamW */
  double      to_all, gathered, reduced; /* bytes beyond: of all-to-alls and so on */
  double      states;                    /* bytes that live for ever beyond */
} UpdateCase;

/* Moments: 4 bytes less of every matrix' element than AdamW's 8, on 4 ranks. */
#define MUON_STATES (-4.0 * MATRICES / 4)

static const UpdateCase update_cases[] = {
  /*
   * A bucket a block. The three long ones go to three ranks, squares to the fourth twice, then to
   * the first two: 16 units. The busiest rank has a long one and a square, 12 288 elements, which
   * come and go in fp32.
   */
  { "fsdp2", "shard=all", "optimizer=muon", 2 * 16, 2 * 2 * 4 * 3 * SQUARE, 0, 0, MUON_STATES },
  /* both blocks in one bucket: as by owners below, 28 units of 108; a long one and three squares */
  { "fsdp2", "shard=all", "optimizer=muon;matrix_bucket_layers=2", 28, 2 * 4 * 5 * SQUARE, 0, 0,
    MUON_STATES },
  /*
   * Six long ones, then squares: two ranks of 26, two of 28 units, which have a long one and three
   * squares: as many elements as their shards, in bf16, in two rounds.
   */
  { "fsdp2", "shard=all", "optimizer=muon;matrix_exchange=owner", 28, 2 * 2 * 5 * SQUARE, 0, 0,
    MUON_STATES },
  { "fsdp2", "shard=all", "optimizer=muon;matrix_exchange=all-gather", 108, 0, 4 * MATRICES, 0,
    MUON_STATES },
  /* groups of two ranks: 20 units of a block's 54 on each, or 34: longs 10, 20; 20 + 6 .. = 28 */
  { "fsdp2", "shard=2", "optimizer=muon", 2 * 28, 2 * 2 * 4 * (LAYER / 2), 0, 0,
    -4.0 * MATRICES / 2 },
  /*
   * A flat parameter of a block, 41 088 elements: boundaries at 10 272, 20 544 and 30 816 cut v, a
   * square, and two long ones. The others travel with these, or rank 0 would have q and k of each
   * block: as above.
   */
  { "fsdp1", "shard=all", "optimizer=muon", 2 * 16, 2 * 2 * 4 * 3 * SQUARE, 0, 0, G_MAXDOUBLE },
  { "fsdp1", "shard=all", "optimizer=muon;matrix_exchange=owner", 28, 2 * 2 * 5 * SQUARE, 0, 0,
    G_MAXDOUBLE },
  /*
   * Whole tensors are gathered: v and two long ones, twice; all ranks make those, 26 units. Rank 0
   * has q and k, 24 units of both blocks.
   */
  { "fsdp1", "shard=all", "optimizer=muon;matrix_exchange=all-gather", 24 + 2 * 26, 0,
    4 * 2 * 5 * SQUARE, 0, G_MAXDOUBLE },
  /* nothing is cut where every rank has all */
  { "ddp", "gradient_dtype=fp32", "optimizer=muon", 108, 0, 0, 0, -4.0 * MATRICES },
  /*
   * Nor where whole tensors have an owner. The largest goes to who has least: a rank gets two long
   * ones and then two squares, 24 576 elements, another one with a table more of the squares.
   */
  { "zero1", "partition=tensors", "optimizer=muon", 32, 0, 0, 0, G_MAXDOUBLE },
  /* two matrices make no bucket for four ranks: both blocks are one */
  { "fsdp2", "shard=all", "optimizer=muon;matrix_parameters=*gate_proj*", 10, 2 * 2 * 4 * SQUARE, 0,
    0, G_MAXDOUBLE },

  /*
   * Tiles of 16 rows: the 16 and 32 rows of a shard are whole ones. Of a table, in shards of 25
   * rows, boundaries cut 3 of 7 tiles; who gathers has all of it.
   */
  { "fsdp2", "shard=all", "optimizer=adamw-8bit;optimizer_tile=16", 0, 2 * 2 * 4 * 3 * 16 * 64 / 4,
    0, 0, G_MAXDOUBLE },
  { "fsdp2", "shard=all", "optimizer=adamw-8bit;optimizer_tile=16;matrix_exchange=all-gather", 0, 0,
    2 * 2 * 4 * TABLE, 0, G_MAXDOUBLE },
  /* tiles of 4 rows in shards that cut none */
  { "vescale", "shard=all", "optimizer=adamw-8bit;optimizer_tile=4;shard_block=4x4", 0, 0, 0, 0,
    G_MAXDOUBLE },
  /* two bytes instead of eight; two scales of 16 tiles of 16 x 16 of a square, twice as many; of
     a table 7 x 4; vectors keep theirs */
  { "ddp", "gradient_dtype=fp32", "optimizer=adamw-8bit;optimizer_tile=16", 0, 0, 0, 0,
    -6.0 * (MATRICES + 2 * TABLE) + 8.0 * (2 * (4 * 16 + 3 * 32) + 2 * 28) },

  /* two norms of each of 21 tensors */
  { "fsdp2", "shard=all", "optimizer=lamb", 0, 0, 0, 4 * 2 * 21, 0 },
  /* and 64 columns of each matrix, 128 of two of them; 64 rows, or 100, or 128, shared */
  { "fsdp2", "shard=all", "optimizer=adafactor", 0, 0, 0, 4 * (2 * 21 + 2 * (6 * 64 + 128) + 128),
    4 * (2.0 * (6 * 64 + 128) + 128) + 4 * (2.0 * (5 * 64 + 2 * 128) + 200 + 5 * 64) / 4
        - 8.0 * (MATRICES + 2 * TABLE + 5 * 64) / 4 },
  { "ddp", "gradient_dtype=fp32", "optimizer=lamb", 0, 0, 0, 0, 0 },
  { "fsdp2", "shard=all", "optimizer=sgd-momentum", 0, 0, 0, 0,
    -4.0 * (MATRICES + 2 * TABLE + 5 * 64) / 4 },
};

START_TEST (updates)
{
  const UpdateCase *c = &update_cases[_i];
  const char       *blocks = strstr (c->training, ";shard_block");
  g_autofree char  *adamw = g_strconcat ("optimizer=adamw", blocks, NULL);
  const PlanTotals  plain = totals_of (c->strategy, c->options, adamw);
  const PlanTotals  totals = totals_of (c->strategy, c->options, c->training);

  ck_assert_double_eq (totals.flops - plain.flops, c->units * UNIT);
  ck_assert_double_eq (carried (&totals, COLLECTIVE_ALL_TO_ALL), c->to_all);
  ck_assert_double_eq (
      carried (&totals, COLLECTIVE_ALL_GATHER) - carried (&plain, COLLECTIVE_ALL_GATHER),
      c->gathered);
  ck_assert_double_eq (
      carried (&totals, COLLECTIVE_ALL_REDUCE) - carried (&plain, COLLECTIVE_ALL_REDUCE),
      c->reduced);
  if (c->states < G_MAXDOUBLE)
    ck_assert_double_eq (totals.states - plain.states, c->states);
}
END_TEST

/*
 * Preconditioners of Shampoo: two of 64 x 64 or 128 x 128 values for each side of a matrix. By
 * gathering, each rank has all of them: 8 squares have two sides of 64, 6 others one of 128 too.
 */
START_TEST (preconditioners)
{
  const PlanTotals plain = totals_of ("fsdp2", "shard=all", "optimizer=adamw");
  const PlanTotals all = totals_of ("fsdp2", "shard=all",
                                    "optimizer=shampoo;matrix_exchange="
                                    "all-gather");
  const PlanTotals shared = totals_of ("fsdp2", "shard=all", "optimizer=shampoo");
  const double     square = 2 * 4 * 2.0 * 64 * 64, other = 2 * 4 * (64.0 * 64 + 128 * 128);

  ck_assert_double_eq (all.states - plain.states, 8 * square + 6 * other);
  ck_assert_double_ge (shared.states - plain.states, (8 * square + 6 * other) / 4);
  ck_assert_double_le (shared.states - plain.states, (8 * square + 6 * other) / 2);
}
END_TEST

/*
 * One flat buffer of 8 blocks on 4 ranks: each has two, with what lies at its ends. A rank has its
 * own work, not that of whoever has most of each block.
 */
START_TEST (flat_buffer)
{
  const PlanTotals plain = totals_over (8, "zero1", "partition=flat", "optimizer=adamw");
  const PlanTotals totals = totals_over (8, "zero1", "partition=flat", "optimizer=muon");
  const double     all = 8 * 54 * UNIT;

  ck_assert_double_ge (totals.flops - plain.flops, all / 4);
  ck_assert_double_le (totals.flops - plain.flops, all / 4 * 1.5);
}
END_TEST

/*
 * Whatever the plan says, which closed form and schedule both read: no rank can have less than its
 * part of all matrices, and the one with most has half more at most, and the dearest. So do its
 * elements, which come and go in bf16, where all of them are cut.
 */
START_TEST (shared_evenly)
{
  static const struct
  {
    const char *strategy, *options;
    gboolean    all_cut;
  } cases[] = { { "fsdp2", "shard=all", TRUE },         { "simplefsdp", "shard=all", TRUE },
                { "zero3", "overlap_comm=true", TRUE }, { "fsdp1", "shard=all", FALSE },
                { "vescale", "shard=all", FALSE },      { "zero1", "partition=flat", FALSE },
                { "zero2", "overlap_comm=true", FALSE } };
  const char      *text = cases[_i].options;
  const PlanTotals plain = totals_over (8, cases[_i].strategy, text, "optimizer=adamw");
  const PlanTotals totals =
      totals_over (8, cases[_i].strategy, text, "optimizer=muon;matrix_exchange=owner");
  const double flops = totals.flops - plain.flops, all = 8 * 54 * UNIT;
  const double bytes = carried (&totals, COLLECTIVE_ALL_TO_ALL), once = 2 * 8.0 * LAYER / 4;

  ck_assert_double_ge (flops, all / 4);
  ck_assert_double_le (flops, 1.5 * all / 4 + 10 * UNIT);
  ck_assert_double_le (bytes, 2 * (1.2 * once + 2 * 2 * SQUARE));
  if (cases[_i].all_cut)
    ck_assert_double_ge (bytes, 2 * once);
}
END_TEST

/* ---- boundaries ------------------------------------------------------------------------------ */

/* A tensor of some matrices, each of some blocks, somewhere in shards, or INSIDE: cut in each. */
static MatrixPart
draw_part (GRand *rand, TensorDesc *tensor, gboolean aligned, gboolean inside)
{
  MatrixPart part = { .tensor = tensor,
                      .block = (guint64) g_rand_int_range (rand, 1, 12),
                      .stride = (guint64) g_rand_int_range (rand, 1, 60),
                      .offset = (guint64) g_rand_int_range (rand, 0, 200) };
  guint64    n = (guint64) g_rand_int_range (rand, 1, 4), each; /* matrices; blocks of one */

  part.matrix = (guint64) g_rand_int_range (rand, 1, 40);
  if (aligned) /* multiples are rare by chance */
    {
      part.matrix = part.block * (guint64) g_rand_int_range (rand, 1, 5);
      part.stride = part.block * (guint64) g_rand_int_range (rand, 1, 6);
      part.offset = part.offset / part.block * part.block;
    }
  each = (part.matrix + part.block - 1) / part.block;
  tensor->elements = n * part.matrix;
  part.n_blocks = n * each;
  part.turn = tensor->elements;
  if (inside && part.matrix > 1) /* at least two ranks share each turn of it */
    {
      part.turn = part.matrix;
      part.offset = 0;
      part.stride = MIN (part.stride, part.matrix - 1);
      if (g_rand_boolean (rand)) /* tiles that go through */
        {
          part.matrix = tensor->elements;
          part.n_blocks = (part.matrix + part.block - 1) / part.block;
        }
    }
  part.shape.count = 3 * part.n_blocks;
  return part;
}

static guint64
rank_at (const MatrixPart *part, guint64 x)
{
  return (part->offset + x % part->turn) / part->stride;
}

static guint64
block_at (const MatrixPart *part, guint64 x)
{
  guint64 each = (part->matrix + part->block - 1) / part->block;

  return x / part->matrix * each + x % part->matrix / part->block;
}

/*
 * What of PART is RANK's, element by element: it has the blocks whose first and last elements are
 * its own. G_MAXUINT: no one's.
 */
static MatrixLot
lot_of (const MatrixPart *part, guint rank)
{
  const guint64 elements = part->tensor->elements;
  MatrixLot     lot = { 0 };
  guint64       first = 0;

  for (guint64 x = 0; x < elements; x++)
    {
      guint64 owner = rank_at (part, first);

      if (x + 1 < elements && block_at (part, x + 1) == block_at (part, first))
        continue;
      for (guint64 y = first; y <= x; y++)
        if (rank_at (part, y) != rank_at (part, first))
          owner = G_MAXUINT;
      if (owner == rank)
        lot = (MatrixLot){ lot.blocks + 1, lot.matrices + 3, lot.elements + x + 1 - first };
      first = x + 1;
    }
  return lot;
}

START_TEST (boundaries)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);
  guint             n_cut = 0, n_whole = 0;

  for (guint i = 0; i < 20000; i++)
    {
      TensorDesc tensor = { 0 };
      MatrixPart part = draw_part (rand, &tensor, i % 3 == 0, i % 5 == 0);
      guint64    last = (part.offset + part.turn - 1) / part.stride;
      MatrixLot  none = lot_of (&part, G_MAXUINT);

      matrix_part_find_cuts (&part);
      ck_assert_uint_eq (part.n_cut, none.blocks);
      ck_assert_uint_eq (part.cut_elements, none.elements);
      ck_assert_uint_eq (matrix_part_cut (&part), none.matrices);
      for (guint64 rank = 0; rank <= last + 1; rank++)
        {
          MatrixLot its = matrix_part_on (&part, (guint) rank), want = lot_of (&part, (guint) rank);

          ck_assert_uint_eq (its.blocks, want.blocks);
          ck_assert_uint_eq (its.matrices, want.matrices);
          ck_assert_uint_eq (its.elements, want.elements);
        }
      n_cut += part.n_cut == part.n_blocks;
      n_whole += part.n_cut == 0;
    }
  ck_assert_uint_gt (n_cut, 500);
  ck_assert_uint_gt (n_whole, 1000);
  ck_assert_uint_lt (n_cut + n_whole, 15000);
}
END_TEST

/* ---- who owns what --------------------------------------------------------------------------- */

static int
by_value (gconstpointer a, gconstpointer b)
{
  double one = *(const double *) a, other = *(const double *) b;

  return one < other ? -1 : one > other;
}

/* One matrix after another to the least, found by looking at all. */
static void
assign (const guint64 *counts, const double *costs, guint n_kinds, double *loads, guint n_ranks)
{
  gboolean done[8] = { FALSE };

  for (guint turn = 0; turn < n_kinds; turn++)
    {
      guint kind = G_MAXUINT;

      for (guint k = 0; k < n_kinds; k++)
        if (!done[k] && (kind == G_MAXUINT || costs[k] > costs[kind]))
          kind = k;
      done[kind] = TRUE;
      for (guint64 c = 0; c < counts[kind]; c++)
        {
          guint least = 0;

          for (guint r = 1; r < n_ranks; r++)
            if (loads[r] < loads[least])
              least = r;
          loads[least] += costs[kind];
        }
    }
}

START_TEST (longest_first)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (11);

  for (guint i = 0; i < 2000; i++)
    {
      guint   n_ranks = (guint) g_rand_int_range (rand, 1, 20), n_kinds = 1 + i % 6;
      guint64 counts[8];
      double  costs[8], loads[20] = { 0 }, start[20] = { 0 }, before[20] = { 0 }, sum = 0;

      for (guint k = 0; k < n_kinds; k++)
        {
          counts[k] = (guint64) g_rand_int_range (rand, 0, 60);
          costs[k] = g_rand_int_range (rand, 1, 30);
          sum += (double) counts[k] * costs[k];
        }
      for (guint r = 0; r < n_ranks && i % 2 == 1; r++)
        {
          loads[r] = start[r] = g_rand_int_range (rand, 0, 100);
          sum += start[r];
        }

      g_autoptr (MatrixBalance) balance =
          matrix_balance_new (counts, costs, n_kinds, n_ranks, i % 2 == 1 ? start : NULL, before);

      assign (counts, costs, n_kinds, loads, n_ranks);
      for (guint k = 0; k < n_kinds; k++)
        {
          guint64 given = 0;

          for (guint r = 0; r < n_ranks; r++)
            given += balance->counts[r * n_kinds + k];
          ck_assert_uint_eq (given, counts[k]);
        }
      qsort (before, n_ranks, sizeof *before, by_value);
      qsort (loads, n_ranks, sizeof *loads, by_value);
      for (guint r = 0; r < n_ranks; r++)
        {
          ck_assert_double_eq (before[r], loads[r]);
          sum -= loads[r];
        }
      ck_assert_double_eq (sum, 0);
    }
}
END_TEST

/* ---- what is said ---------------------------------------------------------------------------- */

typedef struct
{
  const char *strategy, *options, *training;
  const char *message; /* NULL: nothing is said */
  gboolean    taken;
} SaidCase;

static const SaidCase said_cases[] = {
  { "fsdp2", "shard=all", "optimizer=muon",
    "'muon' needs whole matrices, and shards of format 'rows-inside' over 4 ranks cut 14 of 14 "
    "tensors: a rank sends up to 144 KiB a step for it",
    TRUE },
  { "fsdp2", "shard=all", "optimizer=adamw-8bit;optimizer_tile=16",
    "'adamw-8bit' needs whole blocks, and shards of format 'rows-inside' over 4 ranks cut 2 of 16 "
    "tensors: a rank sends up to 9.00 KiB a step for it",
    TRUE },
  { "vescale", "shard=all", "optimizer=adamw-8bit;optimizer_tile=4;shard_block=4x4", NULL, TRUE },
  { "ddp", "gradient_dtype=fp32", "optimizer=soap", NULL, TRUE },
  /* blocks of what a rank has are cut by nothing, and the host's cores can take them */
  { "fsdp2", "shard=all", "optimizer=adamw-8bit", NULL, TRUE },
  { "zero-offload", "overlap_comm=true", "optimizer=adamw-8bit", NULL, TRUE },
  { "zero-offload", "overlap_comm=true", "optimizer=adamw-8bit;optimizer_paged=true",
    "'optimizer_paged' moves states out of GPU memory, and strategy 'zero-offload' keeps them in "
    "pinned host memory",
    FALSE },
  { "fsdp2", "shard=all", "optimizer=adamw-8bit;optimizer_paged=true", NULL, TRUE },
  { "zero-offload", "overlap_comm=true", "optimizer=adamw-8bit;optimizer_tile=16",
    "'adamw-8bit' runs on GPUs, and strategy 'zero-offload' keeps its states in pinned host memory",
    FALSE },
  { "zero-offload", "overlap_comm=true", "optimizer=muon",
    "'muon' runs on GPUs, and strategy 'zero-offload' keeps its states in pinned host memory",
    FALSE },
  { "zero-offload", "overlap_comm=true", "optimizer=sgd", NULL, TRUE },
  { "zo2", "overlap=true", "optimizer=lamb",
    "strategy 'zo2' has no gradients that 'lamb' could work on", FALSE },
  /* an exchange that somebody chose, and that is none: by each reason why nothing is cut */
  { "ddp", "gradient_dtype=fp32", "optimizer=muon;matrix_exchange=owner",
    "'matrix_exchange' has no effect: nothing is sent for 'muon', as a rank has all 14 tensors",
    TRUE },
  { "ddp", "gradient_dtype=fp32", "optimizer=shampoo;matrix_bucket_layers=2",
    "'matrix_bucket_layers' has no effect: nothing is sent for 'shampoo', as a rank has all 14 "
    "tensors",
    TRUE },
  { "ddp", "gradient_dtype=fp32", "optimizer=muon;matrix_exchange=all-to-all", NULL, TRUE },
  { "zero1", "partition=tensors", "optimizer=muon;matrix_exchange=all-gather",
    "'matrix_exchange' has no effect: nothing is sent for 'muon', as 4 ranks own whole tensors",
    TRUE },
  { "zero1", "partition=tensors", "optimizer=muon", NULL, TRUE },
  { "vescale", "shard=all",
    "optimizer=adamw-8bit;optimizer_tile=4;shard_block=4x4;matrix_exchange=owner",
    "'matrix_exchange' has no effect: nothing is sent for 'adamw-8bit', as shards of format "
    "'ragged' over 4 ranks cut none of 16 tensors",
    TRUE },
  { "fsdp2", "shard=all", "optimizer=muon;matrix_exchange=all-gather",
    "'muon' needs whole matrices, and shards of format 'rows-inside' over 4 ranks cut 14 of 14 "
    "tensors: a rank sends up to 240 KiB a step for it",
    TRUE },
  /* of each block four matrices are 64 x 64, the others are as long on one side */
  { "ddp", "gradient_dtype=fp32", "optimizer=soap;max_preconditioner_dim=63",
    "'soap' has no preconditioner for 14 tensors, first 'self_attn.q_proj.weight' of 64 x 64: both "
    "sides are longer than 'max_preconditioner_dim' of 63",
    TRUE },
  { "ddp", "gradient_dtype=fp32", "optimizer=soap;max_preconditioner_dim=64", NULL, TRUE },
  { "ddp", "gradient_dtype=fp32", "optimizer=shampoo;max_preconditioner_dim=16", NULL, TRUE },
};

/* All that is said of IN: one thing or nothing. */
static gboolean
check_choice (const Strategy *strategy, const char *text, const PlanInput *in, DiagList *diags)
{
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  const StrategyChoice choice = { strategy, options, NULL };
  DiagView             view;
  gboolean             ok;

  set_options (strategy, options, text);
  ok = strategy_check_stages (in, &choice, diags);
  option_table_clear (strategy->options, options);
  ck_assert (!diag_list_get (diags, 1, &view));
  return ok;
}

START_TEST (says)
{
  const SaidCase        *c = &said_cases[_i];
  g_autoptr (Workload)   workload = llama_trained (2, c->training);
  g_autoptr (InputFiles) files = input_files_new ();
  const Mesh             mesh = { .n_ranks = 4, .ranks_per_node = 4, .world = 4 };
  const PlanInput        in = { .workload = workload, .mesh = mesh, .files = files };
  g_autoptr (DiagList)   diags = diag_list_new ();

  ck_assert_int_eq (check_choice (strategy_find (c->strategy), c->options, &in, diags), c->taken);
  if (c->message != NULL)
    ck_assert_str_eq (diag_list_first_message (diags), c->message);
  else
    ck_assert_ptr_null (diag_list_first_message (diags));
}
END_TEST

/*
 * Mixtral on 32 ranks: experts, fewer than ranks, are cut along their second dimension, 14 336 / 32
 * = 448 rows and 4096 / 32 = 128 rows of each, whole tiles of 32 rows. A row of each of 32 routers
 * and 1000 rows of both tables are not.
 */
START_TEST (tiles_inside_experts)
{
  ModelShape             shape = shipped ("mixtral-8x7b");
  TrainingOptions        options = training (64, 1);
  g_autoptr (Workload)   workload = NULL;
  g_autoptr (InputFiles) files = input_files_new ();
  g_autoptr (DiagList)   diags = diag_list_new ();
  PlanInput              in = { .mesh = { .n_ranks = 32, .ranks_per_node = 8, .world = 32 } };

  options.optimizer = OPTIMIZER_ADAMW_8BIT;
  options.optimizer_tile = 32;
  workload = workload_new (&shape, &options);
  in.workload = workload;
  in.files = files;
  ck_assert (check_choice (strategy_find ("fsdp2"), "shard=all", &in, diags));
  ck_assert (g_str_has_prefix (diag_list_first_message (diags),
                               "'adamw-8bit' needs whole blocks, and shards of format "
                               "'rows-inside' over 32 ranks cut 34 of 258 tensors: "));
  model_shape_clear (&shape);
}
END_TEST

/* Two stages of a block each are one model. */
START_TEST (says_once)
{
  const MeshOptions      pipeline = { .tp = 1, .cp = 1, .pp = 2, .vp = 1, .ep = 1 };
  g_autoptr (Workload)   last = NULL;
  g_autoptr (Workload)   first = llama_staged (2, "optimizer=muon", &pipeline, &last);
  const Workload        *stages[] = { first, last };
  g_autoptr (InputFiles) files = input_files_new ();
  const Mesh             mesh = { .n_ranks = 4, .ranks_per_node = 8, .world = 8, .stages = 2 };
  const PlanInput        in = { .workload = first, .mesh = mesh, .stages = stages, .files = files };
  g_autoptr (DiagList)   diags = diag_list_new ();

  ck_assert (check_choice (strategy_find ("fsdp2"), "shard=all", &in, diags));
  ck_assert (g_str_has_prefix (diag_list_first_message (diags),
                               "'muon' needs whole matrices, and shards of format 'rows-inside' "
                               "over 4 ranks cut 14 of 14 tensors: "));
}
END_TEST

/* What to do about it: what the strategy itself offers comes first, if it goes with the rest. */
START_TEST (advises)
{
  static const struct
  {
    const char *strategy, *options, *training, *hint;
  } cases[] = {
    { "zero1", "partition=flat", "optimizer=muon",
      "with 'partition: tensors' ranks of 'zero1' have whole tensors and send nothing for it; else "
      "'training.matrix_exchange' says how" },
    { "zero1", "reduce=reduce_scatter", "optimizer=muon", "'training.matrix_exchange' says how" },
    { "fsdp2", "shard=all", "optimizer=adamw-8bit;optimizer_tile=16",
      "ragged shards with 'training.shard_block: 16x16' cut none, where that divides the tensors" },
  };
  g_autoptr (Workload)   workload = llama_trained (2, cases[_i].training);
  g_autoptr (InputFiles) files = input_files_new ();
  const Mesh             mesh = { .n_ranks = 4, .ranks_per_node = 4, .world = 4 };
  const PlanInput        in = { .workload = workload, .mesh = mesh, .files = files };
  g_autoptr (DiagList)   diags = diag_list_new ();
  DiagView               view;

  ck_assert (check_choice (strategy_find (cases[_i].strategy), cases[_i].options, &in, diags));
  ck_assert (diag_list_get (diags, 0, &view));
  ck_assert_str_eq (view.hint, cases[_i].hint);
}
END_TEST

SUITE_MAIN (matrix_update)
{
  TCase *tcase = tcase_create ("matrix-update");
  Suite *suite = suite_create ("matrix-update");

  tcase_add_loop_test (tcase, updates, 0, G_N_ELEMENTS (update_cases));
  tcase_add_test (tcase, preconditioners);
  tcase_add_test (tcase, flat_buffer);
  tcase_add_loop_test (tcase, shared_evenly, 0, 7);
  tcase_add_test (tcase, boundaries);
  tcase_add_test (tcase, longest_first);
  tcase_add_loop_test (tcase, says, 0, G_N_ELEMENTS (said_cases));
  tcase_add_test (tcase, tiles_inside_experts);
  tcase_add_test (tcase, says_once);
  tcase_add_loop_test (tcase, advises, 0, 3);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
