/* Axes of sweeps: what their texts mean, which are refused, and points without a list of them. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "decide/sweep/vary.h"

static const SourceMark mark = { .file = "--vary" };

/* All values of an axis of texts, which no table checks. */
static char *
values_of (const char *text, guint limit)
{
  g_autoptr (Vary)     vary = vary_new ();
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *axis = g_strconcat ("strategy.x=", text, NULL);
  GString             *out = g_string_new (NULL);

  if (!vary_add (vary, axis, &mark, diags))
    {
      g_string_append (out, diag_list_first_message (diags));
      return g_string_free (out, FALSE);
    }
  for (guint64 i = 0; i < MIN (vary_length (vary), limit); i++)
    {
      g_autofree char *value = vary_value (vary, i, 0);

      g_string_append_printf (out, "%s%s", i > 0 ? " " : "", value);
    }
  return g_string_free (out, FALSE);
}

static const struct
{
  const char *text, *values;
} cases[] = {
  { "1,2,8", "1 2 8" },
  { "fsdp2,zero3", "fsdp2 zero3" },
  { "1..5", "1 2 3 4 5" },
  { "3..3", "3" },
  { "1,2,4..64", "1 2 4 8 16 32 64" }, /* a ratio */
  { "1,2,4..63", "1 2 4 8 16 32" },    /* ends below */
  { "1,3,9..100", "1 3 9 27 81" },     /* another ratio */
  { "1,2,3..6", "1 2 3 4 5 6" },       /* a step */
  { "8,16..40", "8 16 24 32 40" },     /* one number before: its step */
  { "4..64*2", "4 8 16 32 64" },
  { "0..1+0.25", "0 0.25 0.5 0.75 1" },
  { "0.1,0.2,0.3..0.6", "0.1 0.2 0.3 0.4 0.5 0.6" },
  { "\"3:0.8,17:0.5\",x", "3:0.8,17:0.5 x" },
  { "../a.json,b..c", "../a.json b..c" }, /* not numbers: texts */
  { " 1 , 2 ", "1 2" },
  { "-2..1", "-2 -1 0 1" },
  { "4k,8k", "4k 8k" },
  /* refused */
  { "", "the grid is empty: 'strategy.x' has no values" },
  { "1,,2", "'strategy.x' has an empty value" },
  { "1..x", "expected a number after '..' in '1..x'" },
  { "1..8k", "expected two numbers, got '1..8k'" },
  { "1..8*", "expected a number at the end of '1..8*'" },
  { "8..1", "'8..1' ends before it begins" },
  { "1..8*1", "'1..8*1' does not get to its end" },
  { "0..8*2", "'0..8*2' does not get to its end" },
  { "1..8+0", "'1..8+0' does not get to its end" },
  { "1,2,5..9", "the values before '5..9' do not say how it goes on" },
  { "1..3,10..40", "the values before '10..40' do not say how it goes on" },
  { "a,1..9", "the values before '1..9' do not say how it goes on" },
};

START_TEST (test_values)
{
  g_autofree char *values = values_of (cases[_i].text, 100);

  ck_assert_str_eq (values, cases[_i].values);
}
END_TEST

/* Keys and values that the tables of options refuse. */
static const struct
{
  const char *text, *message;
} bad_axes[] = {
  { "micro_bach=1", "'micro_bach' is no option of a scenario" },
  { "training.micro_batc=1", "section 'training' has no option 'micro_batc'" },
  { "training.micro_batch=1,x", "expected a whole number for 'micro_batch', got 'x'" },
  { "training.micro_batch", "expected KEY=VALUES, got 'training.micro_batch'" },
  { "=1", "expected KEY=VALUES, got '=1'" },
  { "mesh.tp=2", "'mesh.tp' is varied twice" },
  { "tp=2", "'mesh.tp' is varied twice" },
};

START_TEST (test_bad_axes)
{
  g_autoptr (Vary)     vary = vary_new ();
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (vary_add (vary, "mesh.tp=1,2", &mark, diags));
  ck_assert (!vary_add (vary, bad_axes[_i].text, &mark, diags));
  ck_assert_str_eq (diag_list_first_message (diags), bad_axes[_i].message);
  ck_assert_uint_eq (vary_n_axes (vary), 1);
}
END_TEST

/* Every combination once, the last axis fastest; any point by its number. */
/* A word without a dot is short for the key of the first section that has it. */
START_TEST (test_short_keys)
{
  static const char *const keys[][2] = { { "compile=true", "training.compile" },
                                         { "tp=1,2", "mesh.tp" },
                                         { "strategy=fsdp2,zero3", "strategy.name" },
                                         { "model=gpt2-xl", "model.config" } };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      g_autoptr (Vary)     vary = vary_new ();
      g_autoptr (DiagList) diags = diag_list_new ();

      ck_assert (vary_add (vary, keys[i][0], &mark, diags));
      ck_assert_str_eq (vary_key (vary, 0), keys[i][1]);
    }
}
END_TEST

START_TEST (test_grid)
{
  g_autoptr (Vary)     vary = vary_new ();
  g_autoptr (DiagList) diags = diag_list_new ();
  guint64              n = 0;

  ck_assert_uint_eq (vary_length (vary), 1);
  ck_assert (vary_add (vary, "training.micro_batch=1,2,4..65536", &mark, diags));
  ck_assert (vary_add (vary, "training.seq_len=1..100000", &mark, diags));
  ck_assert (vary_add (vary, "strategy.name=fsdp2,zero3,ddp", &mark, diags));
  ck_assert_uint_eq (vary_length (vary), G_GUINT64_CONSTANT (17) * 100000 * 3);
  for (guint64 point = 0; point < vary_length (vary); point += 7654321, n++)
    {
      g_autofree char *batch = vary_value (vary, point, 0), *length = vary_value (vary, point, 1),
                      *name = vary_value (vary, point, 2);

      ck_assert_uint_eq (g_ascii_strtoull (batch, NULL, 10), G_GUINT64_CONSTANT (1)
                                                                 << point / 300000);
      ck_assert_uint_eq (g_ascii_strtoull (length, NULL, 10), point / 3 % 100000 + 1);
      ck_assert_str_eq (name, point % 3 == 0 ? "fsdp2" : point % 3 == 1 ? "zero3" : "ddp");
    }
  ck_assert_uint_gt (n, 0);
  for (guint64 i = 0; i < vary_n_values (vary, 0); i++)
    {
      g_autofree char *batch = vary_axis_value (vary, 0, i);

      ck_assert_uint_eq (g_ascii_strtoull (batch, NULL, 10), G_GUINT64_CONSTANT (1) << i);
    }
  ck_assert_uint_eq (vary_n_values (vary, 0), 17);
  ck_assert_uint_eq (vary_n_values (vary, 2), 3);
  for (guint a = 0; a < 5; a++) /* more than can be counted */
    {
      g_autofree char *axis = g_strdup_printf ("strategy.x%u=1..1000000", a);

      ck_assert (vary_add (vary, axis, &mark, diags));
    }
  ck_assert (vary_length (vary) == G_MAXUINT64);
}
END_TEST

SUITE_MAIN (vary)
{
  Suite *suite = suite_create ("vary");
  TCase *tcase = tcase_create ("axes");

  tcase_add_loop_test (tcase, test_values, 0, G_N_ELEMENTS (cases));
  tcase_add_loop_test (tcase, test_bad_axes, 0, G_N_ELEMENTS (bad_axes));
  tcase_add_test (tcase, test_grid);
  tcase_add_test (tcase, test_short_keys);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
