/*
 * Products that add to the gradients that are kept, by hand. A llama of 2 blocks: 4 x 64 x 64 + 3 x
 * 64 x 128 elements of products in each and 100 x 64 in the head; beside them the table's 100 x 64
 * and 5 norms of 64. Two micro-steps. Not asserted: times.
 */
#include <check.h>

#include "../suite.h"
#include "small-llama.h"

#define PRODUCTS (2 * (4 * 64 * 64 + 3 * 64 * 128) + 100 * 64)
#define OTHERS   (100 * 64 + 5 * 64)
#define MICROS   2

/* Bytes of a steady step that kernels of one kind read and write. */
typedef struct
{
  double read, written;
} Bytes;

typedef struct
{
  Bytes products, adds, zeroes;
} Step;

static void
count (Bytes *bytes, const KernelDesc *kernel)
{
  bytes->read += kernel->read_bytes;
  bytes->written += kernel->write_bytes;
}

static Step
step_of (const char *name, const char *text)
{
  const Strategy      *strategy = strategy_find (name);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (2, MICROS, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 4, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  ScheduleItems        items;
  Step                 step = { 0 };

  set_options (strategy, options, text);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  items = schedule_items (schedule, 0, SECTION_STEADY);
  for (guint i = 0; i < items.n; i++)
    {
      const KernelDesc *kernel = items.items[i].kernel;

      if (items.items[i].kind != ITEM_KERNEL)
        continue;
      if (kernel->kind == KERNEL_MATMUL && kernel->weight_gradient)
        count (&step.products, kernel);
      else if (g_str_equal (kernel->name, "gradient_add"))
        count (&step.adds, kernel);
      else if (g_str_equal (kernel->name, "gradient_zero"))
        count (&step.zeroes, kernel);
    }
  option_table_clear (strategy->options, options);
  return step;
}

/* KEPT: bytes of an element; PLAIN and FUSED: options. */
static void
check (const char *name, const char *plain_text, const char *fused_text, guint kept)
{
  Step plain = step_of (name, plain_text), fused = step_of (name, fused_text);

  ck_assert_double_eq (plain.products.written, MICROS * PRODUCTS * 2.0);
  ck_assert_double_eq (fused.products.written, (double) kept * MICROS * PRODUCTS);
  ck_assert_double_eq (fused.products.read - plain.products.read,
                       (double) kept * MICROS * PRODUCTS);
  ck_assert_double_eq (fused.adds.read, (kept + 2.0) * MICROS * OTHERS);
  ck_assert_double_eq (fused.adds.written, (double) kept * MICROS * OTHERS);
  ck_assert_double_eq (fused.zeroes.written, (double) kept * (PRODUCTS + OTHERS));
}

START_TEST (test_fp32)
{
  Step plain = step_of ("ddp", "gradient_dtype=fp32");

  check ("ddp", "gradient_dtype=fp32", "gradient_dtype=fp32,gradient_accumulation_fusion=true", 4);
  check ("zero1", "gradient_dtype=fp32", "gradient_dtype=fp32,gradient_accumulation_fusion=true",
         4);
  ck_assert_double_eq (plain.adds.written, 4.0 * MICROS * (PRODUCTS + OTHERS));
}
END_TEST

/* Gradients in 16 bits: without it the first micro-step writes and only the second one adds. */
START_TEST (test_16_bit)
{
  Step plain = step_of ("zero1", "");

  check ("zero1", "", "gradient_accumulation_fusion=true", 2);
  ck_assert_double_eq (plain.adds.written, 2.0 * (MICROS - 1) * (PRODUCTS + OTHERS));
  ck_assert_double_eq (plain.zeroes.written, 0);
}
END_TEST

START_TEST (test_refused)
{
  static const char *const names[] = { "ddp", "zero1" };
  const Strategy          *strategy = strategy_find (names[_i]);
  g_autofree gpointer      options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload)     workload = llama_of (2, MICROS, NULL, NULL);
  const PlanInput          in = { .workload = workload,
                                  .mesh = { .n_ranks = 4, .ranks_per_node = 4, .world = 4 } };
  const StrategyChoice     choice = { strategy, options, NULL };
  g_autoptr (DiagList)     diags = diag_list_new ();

  set_options (strategy, options, "gradient_dtype=fp32-beside,gradient_accumulation_fusion=true");
  ck_assert_ptr_null (schedule_build (&in, &choice, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "where products add to the kept gradients no computed ones stay beside them");
  option_table_clear (strategy->options, options);
}
END_TEST

SUITE_MAIN (fused_gradients)
{
  Suite *suite = suite_create ("fused-gradients");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_fp32);
  tcase_add_test (tcase, test_16_bit);
  tcase_add_loop_test (tcase, test_refused, 0, 2);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
