/*
 * What claims rest on, by hand: a band that holds its target because something is free is no hit,
 * "up to" is measured against the greatest prediction, and what is wrong in a table. Not asserted:
 * that the shipped claims are what the papers say.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "evidence/figures/figure-claims.h"

#define HEADER "claim,meaning,rows,metric,goal_percent,free,rests_on,remark\n"

/* A point 4 % high, bands, one that is off, one without memory, one without a prediction. */
static GArray *
evidence_new (void)
{
  static const FigureEvidence rows[] = {
    { "point", "speed", 100, 100, 104, 104, TRUE },
    { "wide band", "speed", 100, 100, 60, 150, TRUE },
    { "narrow band", "speed", 100, 100, 97, 108, TRUE },
    { "miss", "memory", 100, 120, 150, 160, TRUE },
    { "no memory", "speed", 100, 100, 100, 100, FALSE },
    { "out of time", "speed", 100, 100, NAN, NAN, TRUE },
  };
  GArray *evidence = g_array_new (FALSE, FALSE, sizeof (FigureEvidence));

  g_array_append_vals (evidence, rows, G_N_ELEMENTS (rows));
  return evidence;
}

/* The claims of TABLE, or NULL. */
static FigureClaims *
judge (const char *table, DiagList *diags)
{
  g_autofree char   *folder = g_dir_make_tmp ("claims-XXXXXX", NULL);
  g_autofree char   *file = g_build_filename (folder, "hand.claims.csv", NULL);
  g_autofree char   *text = g_strconcat (HEADER, table, NULL);
  g_autoptr (GArray) evidence = evidence_new ();
  FigureClaims      *claims;

  ck_assert (g_file_set_contents (file, text, -1, NULL));
  claims = figure_claims_judge (folder, "hand", evidence, diags);
  g_unlink (file);
  g_rmdir (folder);
  return claims;
}

typedef struct
{
  const char  *line;
  ClaimVerdict verdict;
  guint        n[CLAIM_N_VERDICTS];
  double       worst; /* of those that count as the verdict */
} Case;

static const Case cases[] = {
  { "c,,point,,10,,,\n", CLAIM_MECHANISM, { 1, 0, 0 }, 0.04 },
  { "c,,point,,3,,,\n", CLAIM_MISSED, { 0, 0, 1 }, 0.04 },
  { "c,,point,,10,,its own input,\n", CLAIM_FOLLOWS, { 0, 1, 0 }, 0.04 },
  /* it holds the target, and some settings do not */
  { "c,,wide band,,10,batch,,\n", CLAIM_FOLLOWS, { 0, 1, 0 }, 0 },
  { "c,,narrow band,,10,batch,,\n", CLAIM_MECHANISM, { 1, 0, 0 }, 0.08 },
  /* the greatest counts, not the band */
  { "c,up to,wide band,,10,,,\n", CLAIM_FOLLOWS, { 0, 1, 0 }, 0 },
  { "c,up to,narrow band,,10,,,\n", CLAIM_MECHANISM, { 1, 0, 0 }, 0.08 },
  { "c,up to,narrow band,,10,batch,,\n", CLAIM_FOLLOWS, { 0, 1, 0 }, 0 },
  { "c,above,narrow band,,2,,,\n", CLAIM_FOLLOWS, { 0, 1, 0 }, 0 },
  { "c,above,point,,2,,,\n", CLAIM_MECHANISM, { 1, 0, 0 }, 0 },
  /* of a range its nearer end */
  { "c,,miss,,10,batch,,\n", CLAIM_MISSED, { 0, 0, 1 }, 0.25 },
  { "c,,no memory,,10,,,\n", CLAIM_MISSED, { 0, 0, 1 }, 0 },
  { "c,,point | miss,,10,,,\n", CLAIM_MISSED, { 1, 0, 1 }, 0.25 },
  { "c,,,memory,10,,,\n", CLAIM_MISSED, { 0, 0, 1 }, 0.25 },
  { "c,,,,10,,,\n", CLAIM_MISSED, { 2, 1, 2 }, 0.25 },
};

START_TEST (test_verdict)
{
  const Case              *one = &cases[_i];
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (FigureClaims) claims = judge (one->line, diags);
  const FigureClaim       *claim;

  ck_assert_msg (claims != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (claims->claims->len, 1);
  claim = &g_array_index (claims->claims, FigureClaim, 0);
  ck_assert_int_eq (figure_claim_verdict (claim), one->verdict);
  for (guint v = 0; v < CLAIM_N_VERDICTS; v++)
    ck_assert_uint_eq (claim->count.n[v], one->n[v]);
  ck_assert_double_eq_tol (claim->count.worst[one->verdict], one->worst, 1e-12);
}
END_TEST

START_TEST (test_range)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (FigureClaims) claims = judge ("c,,point | miss,,10,,,\n", diags);
  const FigureClaim       *claim = &g_array_index (claims->claims, FigureClaim, 0);

  ck_assert_double_eq (claim->published_low, 100);
  ck_assert_double_eq (claim->published_high, 120);
  ck_assert_double_eq (claim->low, 104);
  ck_assert_double_eq (claim->high, 160);
}
END_TEST

START_TEST (test_all)
{
  g_autoptr (GArray) evidence = evidence_new ();
  g_autoptr (GArray) errors = figure_evidence_errors (evidence);
  const ClaimCount   count = figure_evidence_count (evidence, 10);

  ck_assert_uint_eq (count.n[CLAIM_MECHANISM], 2);
  ck_assert_uint_eq (count.n[CLAIM_FOLLOWS], 1);
  ck_assert_uint_eq (count.n[CLAIM_MISSED], 2);
  ck_assert_uint_eq (errors->len, 5);
  ck_assert_double_eq_tol (g_array_index (errors, double, 1), 0.5, 1e-12);
}
END_TEST

START_TEST (test_unpredicted)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (FigureClaims) claims =
      judge ("gone,,out of time,,10,,,\nleft,,out of time | point,,10,,,\n", diags);

  ck_assert_msg (claims != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (claims->claims->len, 1);
  ck_assert_str_eq (g_array_index (claims->claims, FigureClaim, 0).claim, "left");
  ck_assert_uint_eq (g_array_index (claims->claims, FigureClaim, 0).count.n[CLAIM_MECHANISM], 1);
}
END_TEST

static const char *const wrong[] = {
  "c,about,point,,10,,,\n",
  "c,,nothing,,10,,,\n",
  "c,,point,memory,10,,,\n",
  "c,,point,,much,,,\n",
};

START_TEST (test_wrong)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (FigureClaims) claims = judge (wrong[_i], diags);

  ck_assert_ptr_null (claims);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}
END_TEST

SUITE_MAIN (figure_claims)
{
  Suite *suite = suite_create ("figure-claims");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_verdict, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, test_range);
  tcase_add_test (tcase, test_all);
  tcase_add_test (tcase, test_unpredicted);
  tcase_add_loop_test (tcase, test_wrong, 0, G_N_ELEMENTS (wrong));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
