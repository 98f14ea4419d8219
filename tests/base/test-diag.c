/* Diagnostics as printed, to the byte, and nearest-name hints. */
#include "../suite.h"
#include "base/config/suggest.h"
#include "fixture.h"

static const SourceMark fast = { "x.yaml", 6, 16, 4, "    bandwidth: fast" };

START_TEST (test_text_with_caret)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  diag_error (diags, &fast, NULL, "expected a bandwidth such as '900 GB/s', got '%s'", "fast");
  assert_diags (diags, "x.yaml:6:16: error: expected a bandwidth such as '900 GB/s', got 'fast'\n"
                       "  bandwidth: fast\n"
                       "             ^~~~\n");
}
END_TEST

START_TEST (test_hint_and_order)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  diag_warning (diags, &(SourceMark){ "x.yaml", 2, 1, 3, "abc: 1" }, "drop it",
                "'abc' has no effect");
  diag_error (diags, &(SourceMark){ "--set", 0, 0, 0, NULL }, NULL, "unknown key 'q'");
  diag_error (diags, &(SourceMark){ "t.csv", 12, 0, 0, NULL }, NULL, "expected 3 fields, got 2");
  diag_error (diags, NULL, "a hint", "no place");
  ck_assert_uint_eq (diag_list_n_errors (diags), 3);
  ck_assert_str_eq (diag_list_first_message (diags), "unknown key 'q'"); /* an error first */
  assert_diags (diags, "x.yaml:2:1: warning: 'abc' has no effect\n"
                       "  abc: 1\n"
                       "  ^~~\n"
                       "  hint: drop it\n"
                       "--set: error: unknown key 'q'\n"
                       "t.csv:12: error: expected 3 fields, got 2\n"
                       "error: no place\n"
                       "  hint: a hint\n");
}
END_TEST

START_TEST (test_empty)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (!diag_list_has_errors (diags));
  ck_assert_ptr_null (diag_list_first_message (diags));
  assert_diags (diags, "");
  diag_warning (diags, NULL, NULL, "only a warning");
  ck_assert (!diag_list_has_errors (diags));
}
END_TEST

START_TEST (test_colour)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = NULL;

  diag_error (diags, &fast, NULL, "bad");
  text = diag_list_format (diags, TRUE);
  ck_assert_str_eq (text, "x.yaml:6:16: \033[1;31merror:\033[0m bad\n"
                          "  bandwidth: fast\n"
                          "             \033[1;31m^~~~\033[0m\n");
}
END_TEST

/* Columns count characters; a wide one takes two places on the terminal, a combining one none. */
START_TEST (test_caret_below_unicode)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  diag_error (diags,
              &(SourceMark){ "x.yaml", 1, 6, 2, "\303\244\303\266: \346\227\245\346\234\254" },
              NULL, "a");
  diag_error (diags, &(SourceMark){ "x.yaml", 2, 4, 1, "\346\227\245: x" }, NULL, "b");
  diag_error (diags, &(SourceMark){ "x.yaml", 3, 5, 1, "e\314\201: x" }, NULL, "c");
  diag_error (diags, &(SourceMark){ "x.yaml", 4, 4, 0, "a:\tx" }, NULL, "d");
  assert_diags (diags, "x.yaml:1:6: error: a\n"
                       "  \303\244\303\266: \346\227\245\346\234\254\n"
                       "        ^~\n"
                       "x.yaml:2:4: error: b\n"
                       "  \346\227\245: x\n"
                       "      ^\n"
                       "x.yaml:3:5: error: c\n"
                       "  e\314\201: x\n"
                       "     ^\n"
                       "x.yaml:4:4: error: d\n"
                       "  a: x\n"
                       "     ^\n");
}
END_TEST

START_TEST (test_caret_at_the_end_of_a_line)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  diag_error (diags, &(SourceMark){ "x.yaml", 1, 4, 0, "a: " }, NULL, "no value");
  assert_diags (diags, "x.yaml:1:4: error: no value\n"
                       "  a:\n"
                       "     ^\n");
}
END_TEST

/* Of a line of 4000 characters only a window is shown, the caret still below the marked place. */
START_TEST (test_long_line)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *filler = g_strnfill (2000, '.');
  g_autofree char     *line = g_strconcat (filler, "HERE", filler, NULL);
  g_autofree char     *text = NULL;
  g_auto (GStrv)       lines = NULL;

  diag_error (diags, &(SourceMark){ "x.json", 1, 2001, 4, line }, NULL, "bad");
  text = diag_list_format (diags, FALSE);
  lines = g_strsplit (text, "\n", -1);
  ck_assert_uint_eq (g_strv_length (lines), 4);
  ck_assert_uint_lt (strlen (lines[1]), 120);
  ck_assert (g_str_has_prefix (lines[1], "  ...") && g_str_has_suffix (lines[1], "..."));
  ck_assert_int_eq (strstr (lines[1], "HERE") - lines[1], strchr (lines[2], '^') - lines[2]);
  ck_assert (g_str_has_suffix (lines[2], " ^~~~"));
}
END_TEST

/*
 * Control sequences and broken UTF-8 of an input do not reach the terminal; a message stays one
 * line and bounded.
 */
START_TEST (test_hostile_text)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *huge = g_strnfill (100000, 'x');
  g_autofree char     *text = NULL;

  diag_error (diags, &(SourceMark){ "a\nb", 1, 1, 1, "\033[31m\xff" }, "h\ni", "got '%s'",
              "\033]0;x\007\n\xfe");
  assert_diags (diags, "a b:1:1: error: got '\357\277\275]0;x\357\277\275 \357\277\275'\n"
                       "  \357\277\275[31m\357\277\275\n"
                       "  ^\n"
                       "  hint: h i\n");
  diag_error (diags, NULL, NULL, "%s", huge);
  text = diag_list_format (diags, FALSE);
  ck_assert_uint_lt (strlen (text), 1000);
}
END_TEST

START_TEST (test_outlives_its_input)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  char                *line = g_strdup ("a: 1");
  char                *hint = g_strdup ("hint");

  diag_error (diags, &(SourceMark){ "x.yaml", 1, 1, 1, line }, hint, "bad");
  memset (line, 'z', 4);
  memset (hint, 'z', 4);
  g_free (line);
  g_free (hint);
  assert_diags (diags, "x.yaml:1:1: error: bad\n  a: 1\n  ^\n  hint: hint\n");
}
END_TEST

/* What one list has said, the next need not: but it has as many errors as before. */
START_TEST (test_said)
{
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (DiagList)   first = diag_list_new (), second = diag_list_new ();
  SourceMark             mark = { "x.yaml", 3, 0, 0, NULL };

  diag_error (first, &mark, NULL, "bad");
  diag_error (first, NULL, NULL, "worse");
  diag_list_drop_said (first, said);
  assert_diags (first, "x.yaml:3: error: bad\nerror: worse\n");
  diag_error (second, NULL, NULL, "bad"); /* elsewhere */
  diag_error (second, &mark, NULL, "bad");
  diag_error (second, NULL, NULL, "worse");
  diag_error (second, NULL, NULL, "new");
  diag_list_drop_said (second, said);
  assert_diags (second, "error: bad\nerror: new\n");
  ck_assert_uint_eq (diag_list_n_errors (second), 4);
  diag_list_drop_said (second, said);
  assert_diags (second, "");
}
END_TEST

START_TEST (test_limit)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = NULL;

  for (guint i = 0; i < DIAG_LIST_MAX + 7; i++)
    diag_error (diags, NULL, NULL, "error %u", i);
  text = diag_list_format (diags, FALSE);
  ck_assert_uint_eq (diag_list_n_errors (diags), DIAG_LIST_MAX + 7);
  ck_assert (g_str_has_suffix (text, "error: error 99\nand 7 more\n"));
}
END_TEST

START_TEST (test_nearest)
{
  static const char *const names[] = {
    "micro_batch", "seq_len", "tp", "pp", "activation_checkpointing", "zero3", NULL
  };
  static const struct
  {
    const char *word, *nearest;
  } cases[] = {
    { "micro_bacth", "micro_batch" }, /* a transposition is one edit */
    { "microbatch", "micro_batch" },
    { "MICRO-BATCH", "micro_batch" },
    { "seqlen", "seq_len" },
    { "sequence_length", NULL },
    { "tp2", "tp" },
    { "tq", "tp" }, /* the first of equally near ones */
    { "zp", "tp" },
    { "x", NULL }, /* one edit makes it any name of one letter: no hint */
    { "", NULL },
    { "activation_checkpoint", "activation_checkpointing" },
    { "zero", "zero3" },
    { "banana", NULL },
  };
  g_autofree char *huge = g_strnfill (100000, 'x');

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const char *nearest = suggest_nearest (cases[i].word, names);
      ck_assert_msg (g_strcmp0 (nearest, cases[i].nearest) == 0, "'%s': '%s'", cases[i].word,
                     nearest);
    }
  ck_assert_ptr_null (suggest_nearest (huge, names));
  ck_assert_ptr_null (suggest_nearest ("abc", (const char *const[]){ NULL }));
  ck_assert_ptr_null (suggest_nearest ("k", (const char *const[]){ "j", NULL }));
}
END_TEST

START_TEST (test_hints)
{
  static const char *const few[] = { "none", "selective", "full", NULL };
  static const char *const many[] = { "aa", "bb", "cc", "dd", "ee", "ff", "gg",
                                      "hh", "ii", "jj", "kk", "ll", "mm", NULL };
  g_autofree char         *near = suggest_hint ("ful", few);
  g_autofree char         *far = suggest_hint ("sometimes", few);
  g_autofree char         *list = suggest_hint ("sometimes", many);
  g_autofree char         *empty = suggest_hint ("sometimes", (const char *const[]){ NULL });

  ck_assert_str_eq (near, "did you mean 'full'?");
  ck_assert_str_eq (far, "valid values: none, selective, full");
  ck_assert_str_eq (list, "valid values: aa, bb, cc, dd, ee, ff, gg, hh, ii, jj, kk, ll, ...");
  ck_assert_str_eq (empty, "there are no valid values");
}
END_TEST

/*
 * A word that begins a longer name stands for it, before a name that is merely spelt like it:
 * 'fsdp' is not a misspelt 'fcdp'. Of a number that is like no name, those that hold it.
 */
START_TEST (test_beginnings)
{
  static const char *const names[] = { "fcdp",        "fsdp1",       "fsdp2", "megatron-fsdp",
                                       "h100-sxm-80", "rtxa6000-48", NULL };
  static const struct
  {
    const char *word, *hint;
  } cases[] = {
    { "fsdp", "did you mean one of 'fsdp1', 'fsdp2', 'megatron-fsdp'?" },
    { "H100", "did you mean 'h100-sxm-80'?" },
    { "fsdp3", "did you mean 'fsdp1'?" }, /* as near as fsdp2, and first */
    { "f",
      "valid values: fcdp, fsdp1, fsdp2, megatron-fsdp, h100-sxm-80, rtxa6000-48" }, /* short */
    { "A6000", "did you mean 'rtxa6000-48'?" },
    /* as people write names: in words, with the maker, sizes with their unit */
    { "RTX 6000", "did you mean 'rtxa6000-48'?" },
    { "NVIDIA H100 80GB HBM3", "did you mean 'h100-sxm-80'?" },
    { "GeForce 80 x 8", "did you mean 'h100-sxm-80'?" },
    { "GeForce 9 x", "valid values: fcdp, fsdp1, fsdp2, megatron-fsdp, h100-sxm-80, rtxa6000-48" },
    { "gatron", "valid values: fcdp, fsdp1, fsdp2, megatron-fsdp, h100-sxm-80, rtxa6000-48" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *hint = suggest_hint (cases[i].word, names);

      ck_assert_str_eq (hint, cases[i].hint);
    }
}
END_TEST

SUITE_MAIN (diag)
{
  TCase *tcase = tcase_create ("diag");

  tcase_add_test (tcase, test_text_with_caret);
  tcase_add_test (tcase, test_hint_and_order);
  tcase_add_test (tcase, test_empty);
  tcase_add_test (tcase, test_colour);
  tcase_add_test (tcase, test_caret_below_unicode);
  tcase_add_test (tcase, test_caret_at_the_end_of_a_line);
  tcase_add_test (tcase, test_long_line);
  tcase_add_test (tcase, test_hostile_text);
  tcase_add_test (tcase, test_outlives_its_input);
  tcase_add_test (tcase, test_said);
  tcase_add_test (tcase, test_limit);
  tcase_add_test (tcase, test_nearest);
  tcase_add_test (tcase, test_hints);
  tcase_add_test (tcase, test_beginnings);
  return run_case (suite_create ("diag"), tcase);
}
