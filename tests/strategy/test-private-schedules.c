/*
 * What strategies do with gradients that are clipped sample by sample: nothing is reduced before
 * all norms are known where clipping is flat, whatever the strategy; noise is where it belongs; who
 * cannot have it says so. A llama of 2 blocks, 4 ranks. Not asserted: times.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "small-llama.h"

#define P (2 * (4 * 64 * 64 + 3 * 64 * 128) + 2 * 100 * 64 + 5 * 64)

static const Mesh mesh = { .n_ranks = 4, .ranks_per_node = 2, .world = 4 };

/* What a steady step of rank 0 does, in the order of the host. */
typedef struct
{
  guint  factors;       /* kernels that make factors of norms */
  gint   first_factors; /* the first's place, */
  gint   first_reduced; /* that of the first gradient that is reduced, */
  gint   last_backward; /* and of the last kernel of a gradient of weights; -1: there is none */
  guint  up_inputs;     /* products for the gradient of the up projections' inputs */
  double noise;         /* bytes that noise writes, drawn */
} Step;

static gboolean
reduces (const ScheduleItem *item)
{
  return item->kind == ITEM_COLLECTIVE && item->bytes > 64
         && (item->collective == COLLECTIVE_ALL_REDUCE
             || item->collective == COLLECTIVE_REDUCE_SCATTER
             || item->collective == COLLECTIVE_REDUCE || item->collective == COLLECTIVE_ALL_TO_ALL);
}

static Step
step_of (const char *strategy, const char *training)
{
  g_autoptr (Workload) workload = llama_trained (2, training);
  g_autoptr (Schedule) schedule = schedule_under (workload, &mesh, strategy, "");
  ScheduleItems        items = schedule_items (schedule, 0, SECTION_STEADY);
  Step                 step = { .first_factors = -1, .first_reduced = -1, .last_backward = -1 };

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      if (reduces (item) && step.first_reduced < 0)
        step.first_reduced = (gint) i;
      if (item->kind != ITEM_KERNEL)
        continue;
      if (g_str_equal (item->kernel->name, "clip_factors"))
        {
          step.factors++;
          step.first_factors = step.first_factors < 0 ? (gint) i : step.first_factors;
        }
      if (item->kernel->weight_gradient)
        step.last_backward = (gint) i;
      step.up_inputs += g_str_equal (item->kernel->name, "mlp.up.dgrad");
      if (g_str_equal (item->kernel->name, "draw_noise")
          || g_str_has_suffix (item->kernel->name, ".noise")
          || g_str_has_suffix (item->kernel->name, ".small_noise"))
        step.noise += item->kernel->write_bytes;
    }
  return step;
}

static const char *const strategies[] = {
  "ddp",     "zero1", "zero2", "fsdp1", "fsdp2",  "hsdp",          "simplefsdp",
  "vescale", "zero3", "mics",  "fcdp",  "zeropp", "megatron-fsdp",
};

/* With per-layer clipping reductions begin before the backward pass has ended, as ever. */
START_TEST (test_flat_holds_back)
{
  const char *name = strategies[_i];
  Step        flat =
      step_of (name, "private_method=explicit;private_clipping=flat;micro_batch=2;grad_accum=2");
  Step kept = step_of (name, "private_method=book-keeping;private_clipping=flat");
  Step layers = step_of (name, "private_method=explicit;micro_batch=2");

  ck_assert_uint_eq (flat.factors, 2); /* of two micro-steps */
  ck_assert_msg (flat.first_reduced > flat.first_factors, "%s", name);
  ck_assert_uint_eq (kept.factors, 1);
  ck_assert_msg (kept.first_reduced > kept.first_factors, "%s", name);
  ck_assert_uint_eq (layers.factors, 0);
  ck_assert_int_gt (layers.first_reduced, 0);
}
END_TEST

/* Two blocks' up projections, once in each backward pass. */
START_TEST (test_ghost_goes_back_twice)
{
  Step ghost = step_of ("ddp", "private_method=ghost;private_clipping=flat");
  Step kept = step_of ("ddp", "private_method=book-keeping;private_clipping=flat");

  ck_assert_uint_eq (ghost.up_inputs, 4);
  ck_assert_uint_eq (kept.up_inputs, 2);
  ck_assert_int_gt (ghost.first_reduced, ghost.first_factors);
}
END_TEST

/*
 * bf16: 2 P bytes. Each rank of FlashDP draws noise for all but the table of embeddings, in each of
 * two micro-steps; an owner once, of zero1 for a fourth.
 */
START_TEST (test_noise)
{
  Step rank = step_of ("ddp", "private_method=flashdp;grad_accum=2");
  Step owner = step_of ("ddp", "private_method=explicit;grad_accum=2");
  Step part = step_of ("zero1", "private_method=flashdp;private_noise=owner");
  Step none = step_of ("ddp", "private_method=explicit;private_noise=none");

  ck_assert_double_eq (rank.noise, 2 * 2.0 * (P - 100 * 64));
  ck_assert_double_eq (owner.noise, 2.0 * P);
  ck_assert_double_eq (part.noise, 2.0 * P / 4);
  ck_assert_double_eq (none.noise, 0);
}
END_TEST

static void
assert_refused (const char *strategy, const char *options, const char *training, const char *text)
{
  const Strategy      *found = strategy_find (strategy);
  g_autofree gpointer  own = g_malloc0 (found->options_size);
  g_autoptr (Workload) workload = llama_trained (2, training);
  const PlanInput      in = { .workload = workload, .mesh = mesh };
  const StrategyChoice choice = { found, own, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;

  set_options (found, own, options);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert (schedule == NULL);
  ck_assert_msg (strstr (diag_list_first_message (diags), text) != NULL, "%s",
                 diag_list_first_message (diags));
  option_table_clear (found->options, own);
}

START_TEST (test_refused)
{
  assert_refused ("ddp", "gradient_dtype=fp32,gradient_accumulation_fusion=true",
                  "private_method=flashdp", "'gradient_accumulation_fusion'");
  assert_refused ("megatron-fsdp", "gradient_accumulation_fusion=true", "private_method=explicit",
                  "'gradient_accumulation_fusion'");
  assert_refused ("fsdp2", "", "private_method=ghost;private_clipping=flat", "goes back twice");
  assert_refused ("zero-offload", "", "private_method=explicit", "would add the noise");
  assert_refused ("zo2", "", "private_method=explicit", "no gradients of samples");
}
END_TEST

SUITE_MAIN (private_schedules)
{
  Suite *suite = suite_create ("private");
  TCase *tcase = tcase_create ("private");

  tcase_add_loop_test (tcase, test_flat_holds_back, 0, G_N_ELEMENTS (strategies));
  tcase_add_test (tcase, test_ghost_goes_back_twice);
  tcase_add_test (tcase, test_noise);
  tcase_add_test (tcase, test_refused);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
