/*
 * The closed form of memory and bandwidth: its grid search, its bounds and its form for measured
 * steps against numbers that were computed apart from it. Does not judge the form itself.
 */
#include <check.h>
#include <math.h>

#include "../suite.h"
#include "decide/parts/memband.h"

#define N_MODELS 7

static const struct
{
  const char *name;
  double      n_layers, d_model;
} models[N_MODELS] = {
  { "1.3B", 24, 2048 }, { "7B", 32, 4096 },    { "13B", 40, 5120 },   { "30B", 48, 7168 },
  { "65B", 80, 8192 },  { "175B", 96, 12288 }, { "310B", 96, 16384 },
};

/* A cell of a grid search: MFU in thousandths (0: nothing fits), gamma in hundredths. */
typedef struct
{
  gint mfu, gamma, stage, tokens;
} Cell;

typedef struct
{
  double memory_gb, gbit_per_s, tflops, n_ranks;
  Cell   cells[N_MODELS];
} Line;

/* efficiency 0.85, l = 2048, no memory kept back, no latency, 2 passes, GB = 1e9. */
static const Line lines[] = {
  { 40,
    200,
    312,
    64,
    { { 850, 100, 3, 22528 },
      { 831, 93, 2, 6144 },
      { 724, 48, 3, 10240 },
      { 675, 22, 3, 10240 },
      { 644, 4, 3, 10240 },
      { 0, 0, 0, 0 },
      { 0, 0, 0, 0 } } },
  { 40,
    200,
    312,
    512,
    { { 850, 100, 3, 22528 },
      { 844, 98, 2, 6144 },
      { 733, 52, 3, 10240 },
      { 685, 28, 3, 10240 },
      { 656, 11, 3, 10240 },
      { 639, 2, 3, 10240 },
      { 599, 1, 3, 8192 } } },
  { 40,
    100,
    312,
    64,
    { { 850, 0, 0, 0 },
      { 752, 61, 2, 8192 },
      { 673, 21, 3, 20480 },
      { 651, 8, 3, 20480 },
      { 601, 0, 3, 16384 },
      { 0, 0, 0, 0 },
      { 0, 0, 0, 0 } } },
  { 40,
    100,
    312,
    512,
    { { 850, 0, 0, 0 },
      { 752, 61, 2, 8192 },
      { 676, 23, 3, 20480 },
      { 656, 11, 3, 20480 },
      { 641, 2, 3, 20480 },
      { 574, 0, 3, 14336 },
      { 461, 1, 3, 8192 } } },
  { 80,
    200,
    312,
    512,
    { { 850, 0, 0, 0 },
      { 850, 100, 2, 14336 },
      { 850, 100, 2, 6144 },
      { 757, 63, 3, 10240 },
      { 689, 30, 3, 10240 },
      { 658, 13, 3, 10240 },
      { 646, 7, 3, 10240 } } },
  { 80,
    200,
    989,
    64,
    { { 850, 0, 0, 0 },
      { 820, 89, 2, 16384 },
      { 726, 49, 2, 14336 },
      { 659, 13, 3, 32768 },
      { 642, 3, 3, 32768 },
      { 483, 0, 3, 14336 },
      { 0, 0, 0, 0 } } },
  { 80,
    200,
    989,
    512,
    { { 850, 0, 0, 0 },
      { 825, 91, 2, 16384 },
      { 731, 51, 2, 14336 },
      { 662, 15, 3, 32768 },
      { 646, 5, 3, 32768 },
      { 627, 0, 3, 30720 },
      { 553, 0, 3, 20480 } } },
  { 80,
    400,
    989,
    512,
    { { 850, 0, 0, 0 },
      { 850, 100, 3, 16384 },
      { 836, 95, 2, 8192 },
      { 702, 37, 3, 16384 },
      { 664, 16, 3, 16384 },
      { 646, 5, 3, 16384 },
      { 640, 2, 3, 16384 } } },
};

static MembandModel
model_at (guint i)
{
  return (MembandModel){ .n_layers = models[i].n_layers,
                         .d_model = models[i].d_model,
                         .seq_len = 2048,
                         .element_bytes = 2 };
}

static MembandCluster
cluster_of (double memory_gb, double gbit_per_s, double tflops, double n_ranks)
{
  return (MembandCluster){ .n_ranks = n_ranks,
                           .memory_bytes = memory_gb * 1e9,
                           .bytes_per_s = gbit_per_s * 1e9 / 8,
                           .peak_flops = tflops * 1e12,
                           .efficiency = 0.85,
                           .passes = 2 };
}

/*
 * Every cell: whether anything fits, MFU to three digits, gamma, stage and tokens. Where both
 * stages reach the kernels' own efficiency they are equal, and which one such a table shows is
 * chance: then the table's choice has to fit and to be as good.
 */
START_TEST (test_grid)
{
  const Line          *line = &lines[_i];
  const MembandCluster cluster =
      cluster_of (line->memory_gb, line->gbit_per_s, line->tflops, line->n_ranks);

  for (guint m = 0; m < N_MODELS; m++)
    {
      const MembandModel model = model_at (m);
      const Cell        *cell = &line->cells[m];
      MembandPoint       best, theirs;
      const gboolean     fits = memband_search (&model, &cluster, 0, &best);

      ck_assert_msg (fits == (cell->mfu > 0), "line %d, %s", _i, models[m].name);
      if (!fits)
        continue;
      ck_assert_msg ((gint) lround (1000 * best.mfu) == cell->mfu, "line %d, %s: %g", _i,
                     models[m].name, best.mfu);
      ck_assert_double_le (best.hfu, cluster.efficiency * (1 + 1e-12));
      if (cell->stage == 0) /* only the MFU is known */
        continue;
      ck_assert_int_eq ((gint) lround (100 * best.gamma), cell->gamma);
      if ((gint) best.stage == cell->stage)
        {
          ck_assert_double_eq (best.tokens, cell->tokens);
          continue;
        }
      ck_assert_int_eq (cell->mfu, 850);
      theirs = memband_evaluate (&model, &cluster, (MembandStage) cell->stage, cell->gamma / 100.0,
                                 cell->tokens);
      ck_assert_double_eq_tol (theirs.mfu, best.mfu, 1e-9);
      ck_assert_double_eq (floor (memband_free_bytes (&model, &cluster, theirs.stage)
                                  / memband_activation_bytes (&model, theirs.gamma) / 2048)
                               * 2048,
                           cell->tokens);
    }
}
END_TEST

/* M_free (GB), E_max at gamma 0, the bound of the MFU and that of tokens/s; 512 ranks, l = 2048. */
static const struct
{
  double gbit_per_s, memory_gb, tflops;
  guint  model;
  double free_gb, longest, mfu, tokens_per_s;
} bounds[] = {
  { 200, 40, 312, 2, 39.6, 96696, 12.40, 48030 }, { 200, 40, 312, 4, 38.0, 28982, 3.63, 2812 },
  { 200, 40, 312, 5, 34.6, 14650, 1.81, 526 },    { 200, 40, 312, 6, 30.3, 9644, 1.18, 195 },
  { 100, 40, 312, 2, 39.6, 96696, 6.20, 24015 },  { 100, 40, 312, 4, 38.0, 28982, 1.81, 1406 },
  { 100, 40, 312, 5, 34.6, 14650, 0.90, 263 },    { 100, 40, 312, 6, 30.3, 9644, 0.59, 97 },
  { 200, 80, 989, 2, 79.6, 194352, 7.86, 96536 }, { 200, 80, 989, 4, 78.0, 59499, 2.35, 5772 },
  { 200, 80, 989, 5, 74.6, 31604, 1.23, 1136 },   { 200, 80, 989, 6, 70.3, 22359, 0.87, 452 },
};

START_TEST (test_bounds)
{
  const MembandModel   model = model_at (bounds[_i].model);
  const MembandCluster cluster =
      cluster_of (bounds[_i].memory_gb, bounds[_i].gbit_per_s, bounds[_i].tflops, 512);
  const MembandBounds self = memband_bounds (&model, &cluster);
  MembandPoint        best;

  ck_assert_double_eq_tol (self.free_bytes / 1e9, bounds[_i].free_gb, 0.05);
  ck_assert_double_eq_tol (self.longest, bounds[_i].longest, 1);
  ck_assert_double_eq_tol (self.mfu, bounds[_i].mfu, 0.005 * (1 + 1e-9));
  ck_assert_double_eq_tol (self.tokens_per_s, bounds[_i].tokens_per_s, 0.5 * (1 + 1e-9));
  ck_assert_double_eq (self.compute_mfu, 0.75 * 0.85);
  /* it is one: at stage 3 with all recomputed, whatever is found is below it */
  ck_assert (memband_search (&model, &cluster, 0, &best));
  best = memband_evaluate (&model, &cluster, MEMBAND_STAGE_3, 0, floor (self.longest));
  ck_assert_double_le (best.tokens_per_s, self.tokens_per_s * (1 + 1e-12));
  ck_assert_double_le (best.mfu, self.mfu * (1 + 1e-12));
  ck_assert_double_le (best.hfu, self.hfu * (1 + 1e-12));
}
END_TEST

/* Bound by the network alone, the bounds are reached. */
START_TEST (test_bounds_are_tight)
{
  const MembandModel  model = model_at (6);
  MembandCluster      cluster = cluster_of (40, 100, 312e3, 512); /* compute takes no time */
  const MembandBounds self = memband_bounds (&model, &cluster);
  MembandPoint        point = memband_evaluate (&model, &cluster, MEMBAND_STAGE_3, 0, self.longest);

  ck_assert_double_eq_tol (point.tokens_per_s / self.tokens_per_s, 1, 1e-12);
  ck_assert_double_eq_tol (point.mfu / self.mfu, 1, 1e-12);
  ck_assert_double_eq_tol (point.hfu / self.hfu, 1, 1e-12);
  cluster.passes = 3; /* one transfer behind forward, two behind backward: 2/3 of each bound */
  point = memband_evaluate (&model, &cluster, MEMBAND_STAGE_3, 0, self.longest);
  ck_assert_double_eq_tol (point.mfu / memband_bounds (&model, &cluster).mfu, 1, 1e-12);
  ck_assert_double_eq_tol (memband_bounds (&model, &cluster).mfu / self.mfu, 2.0 / 3, 1e-12);
}
END_TEST

/*
 * MareNostrum 5 with S = 58 GB/s, 6.9 us, 3 passes, and compute that takes no time. The parameters
 * of the 28B are those of its FLOPs, 166e9 a token; its layers are not known exactly.
 */
static const struct
{
  double n_parameters, n_layers, n_ranks, seconds, tolerance;
} transfers[] = {
  { 2.7e9, 32, 128, 0.364, 0.0005 }, { 2.7e9, 32, 256, 0.449, 0.0005 },
  { 2.7e9, 32, 512, 0.618, 0.0005 }, { 6.7e9, 32, 128, 0.778, 0.0005 },
  { 6.7e9, 32, 256, 0.863, 0.0005 }, { 6.7e9, 32, 512, 1.032, 0.0005 },
  { 13e9, 40, 256, 1.557, 0.0005 },  { 13e9, 40, 512, 1.769, 0.0005 },
  { 13e9, 40, 1024, 2.193, 0.0005 }, { 27.67e9, 48, 1024, 3.88, 0.005 },
};

START_TEST (test_measured_form)
{
  const MembandModel   model = { .n_layers = transfers[_i].n_layers,
                                 .element_bytes = 2,
                                 .n_parameters = transfers[_i].n_parameters };
  const MembandCluster cluster = {
    .n_ranks = transfers[_i].n_ranks, .bytes_per_s = 58e9, .latency_s = 6.9e-6, .passes = 3
  };

  ck_assert_double_eq_tol (memband_overlapped_step (&model, &cluster, 0), transfers[_i].seconds,
                           transfers[_i].tolerance);
  ck_assert_double_eq (memband_overlapped_step (&model, &cluster, 10), 10);
}
END_TEST

/* A number of tokens that does not fit is none. */
START_TEST (test_given_tokens)
{
  const MembandModel   model = model_at (2);
  const MembandCluster cluster = cluster_of (40, 200, 312, 64);
  MembandPoint         best;

  ck_assert (memband_search (&model, &cluster, 8192, &best));
  ck_assert_double_eq (best.tokens, 8192);
  ck_assert_double_le (8192 * memband_activation_bytes (&model, best.gamma),
                       memband_free_bytes (&model, &cluster, best.stage));
  ck_assert (!memband_search (&model, &cluster, 1e6, &best));
  ck_assert (!memband_search (&model, &cluster, 1024, &best)); /* less than a sequence */
}
END_TEST

SUITE_MAIN (memband)
{
  Suite *suite = suite_create ("memband");
  TCase *tcase = tcase_create ("memband");

  tcase_add_loop_test (tcase, test_grid, 0, G_N_ELEMENTS (lines));
  tcase_add_loop_test (tcase, test_bounds, 0, G_N_ELEMENTS (bounds));
  tcase_add_test (tcase, test_bounds_are_tight);
  tcase_add_loop_test (tcase, test_measured_form, 0, G_N_ELEMENTS (transfers));
  tcase_add_test (tcase, test_given_tokens);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
