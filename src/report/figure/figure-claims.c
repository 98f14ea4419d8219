#include "report/figure/figure-claims.h"

#include <math.h>
#include <string.h>

#include "base/compare.h"
#include "evidence/tables/statistics.h"
#include "report/figure/figure-report-private.h"

#define GOAL_PERCENT 10 /* of the score, for numbers by themselves */

static const char *const verdict_names[] = { "mechanism", "follows", "missed" };

static const FigureClaim *
claim_at (const FigureClaims *self, guint i)
{
  return &g_array_index (self->claims, FigureClaim, i);
}

/* ---- words ----------------------------------------------------------------------------------- */

static char *
range_of (const char *meaning, double low, double high)
{
  const char *space = *meaning != '\0' ? " " : "";

  if (low == high)
    return g_strdup_printf ("%s%s%.4g", meaning, space, high);
  return g_strdup_printf ("%s%s%.4g to %.4g", meaning, space, low, high);
}

static char *
published_of (const FigureClaim *claim)
{
  const gboolean up_to = g_str_equal (claim->meaning, "up to");

  return range_of (claim->meaning, up_to ? claim->published_high : claim->published_low,
                   claim->published_high);
}

static char *
predicted_of (const FigureClaim *claim)
{
  if (g_str_equal (claim->meaning, "up to"))
    return range_of ("up to", claim->high, claim->high);
  return range_of ("", claim->low, claim->high);
}

/* What those rows of CLAIM that count as VERDICT say of it. */
static void
append_part (const FigureClaim *claim, ClaimVerdict verdict, gboolean all, GString *out)
{
  const double     worst = claim->count.worst[verdict];
  const guint      n = claim->count.n[verdict];
  g_autofree char *error =
      terminal_percent (verdict == CLAIM_MISSED ? worst : fabs (worst), verdict == CLAIM_MISSED);
  g_autofree char *rows =
      all ? g_strdup ("") : g_strdup_printf (" in %u row%s", n, n == 1 ? "" : "s");

  g_string_append (out, out->len > 0 ? "; " : "");
  switch (verdict)
    {
    case CLAIM_MECHANISM:
      g_string_append_printf (out, "by mechanism%s, within %s", rows, error);
      break;
    case CLAIM_FOLLOWS:
      g_string_append_printf (out, "follows from %s%s",
                              *claim->rests_on != '\0' ? claim->rests_on
                              : *claim->free != '\0'   ? claim->free
                                                       : "what is not published",
                              rows);
      break;
    default:
      g_string_append_printf (out, "missed%s, %s", rows,
                              worst == 0 ? "does not fit memory" : error);
      break;
    }
}

/* The worst first, and what is to be said of it. */
static char *
counts_as (const FigureClaim *claim)
{
  const ClaimVerdict verdict = figure_claim_verdict (claim);
  GString           *out = g_string_new (NULL);
  guint              n = 0;

  for (guint v = 0; v < CLAIM_N_VERDICTS; v++)
    n += claim->count.n[v];
  for (guint v = CLAIM_N_VERDICTS; v-- > 0;)
    if (claim->count.n[v] > 0)
      append_part (claim, v, claim->count.n[verdict] == n, out);
  if (*claim->remark != '\0')
    g_string_append_printf (out, ": %s", claim->remark);
  return g_string_free (out, FALSE);
}

/* NULL: nothing was published. */
static char *
score_of (const FigureClaims *claims, const GArray *evidence)
{
  const ClaimCount   count = figure_evidence_count (evidence, GOAL_PERCENT);
  g_autoptr (GArray) errors = figure_evidence_errors (evidence);
  const double      *sorted = (const double *) (gconstpointer) errors->data;
  const guint        n_claims = claims->claims->len;
  guint              n[CLAIM_N_VERDICTS] = { 0 };
  GString           *out;

  if (errors->len == 0)
    return NULL;
  out = g_string_new (NULL);
  for (guint i = 0; i < n_claims; i++)
    n[figure_claim_verdict (claim_at (claims, i))]++;
  if (n_claims > 0)
    g_string_append_printf (out,
                            "%u claim%s: %u by mechanism, %u following from what is free, %u "
                            "missed. ",
                            n_claims, n_claims == 1 ? "" : "s", n[CLAIM_MECHANISM],
                            n[CLAIM_FOLLOWS], n[CLAIM_MISSED]);
  g_array_sort (errors, compare_doubles);
  g_string_append_printf (
      out,
      "%u published number%s: %u within %d %% in every setting, %u in some, %u in none; errors, of "
      "a band at its farther end: median %.1f %%, nine in ten below %.1f %%",
      errors->len, errors->len == 1 ? "" : "s", count.n[CLAIM_MECHANISM], GOAL_PERCENT,
      count.n[CLAIM_FOLLOWS], count.n[CLAIM_MISSED],
      100 * statistics_quantile (sorted, errors->len, 0.5),
      100 * statistics_quantile (sorted, errors->len, 0.9));
  return g_string_free (out, FALSE);
}

/* ---- text ------------------------------------------------------------------------------------ */

void
report_claims_text (const FigureClaims *claims, const GArray *evidence, GString *out)
{
  static const TerminalColumn columns[] = {
    { "CLAIM", FALSE },
    { "PUBLISHED", TRUE },
    { "PREDICTED", TRUE },
    { "COUNTS AS", FALSE },
  };
  g_autofree char       *score = score_of (claims, evidence);
  struct libscols_table *table;

  if (score == NULL)
    return;
  g_string_append_printf (out, "Score: %s\n\n", score);
  if (claims->claims->len == 0)
    return;
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < claims->claims->len; i++)
    {
      const FigureClaim *claim = claim_at (claims, i);

      figure_line (table, g_strdup (claim->claim), published_of (claim), predicted_of (claim),
                   counts_as (claim));
    }
  terminal_table_finish (table, out);
  g_string_append_c (out, '\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

COLUMN_TEXT_OF (FigureClaim, claim_verdict, verdict_names[figure_claim_verdict (p)])
COLUMN_NUMBER_OF (FigureClaim, claim_mechanism, p->count.n[CLAIM_MECHANISM])
COLUMN_NUMBER_OF (FigureClaim, claim_follows, p->count.n[CLAIM_FOLLOWS])
COLUMN_NUMBER_OF (FigureClaim, claim_missed, p->count.n[CLAIM_MISSED])

static const Column claim_columns[] = {
  { "claim", .kind = COLUMN_WORD, COLUMN_MEMBER (FigureClaim, claim) },
  { "verdict", .kind = COLUMN_WORD, .text = claim_verdict },
  { "goal_percent", .kind = COLUMN_NUMBER, COLUMN_MEMBER (FigureClaim, goal_percent) },
  { "n_mechanism", .kind = COLUMN_NUMBER, .number = claim_mechanism },
  { "n_follows", .kind = COLUMN_NUMBER, .number = claim_follows },
  { "n_missed", .kind = COLUMN_NUMBER, .number = claim_missed },
  { 0 },
};

void
report_claims_json (const FigureClaims *claims, const GArray *evidence, GString *out)
{
  struct json_object *root = json_tokener_parse (out->str), *list = json_object_new_array ();
  g_autofree char    *score = score_of (claims, evidence);

  g_assert (root != NULL); /* our own */
  json_add_text (root, "score", score);
  for (guint i = 0; i < claims->claims->len; i++)
    {
      const FigureClaim  *claim = claim_at (claims, i);
      struct json_object *object = column_object (claim_columns, claim);
      g_autofree char    *published = published_of (claim), *predicted = predicted_of (claim);
      g_autofree char    *counts = counts_as (claim);

      json_add_text (object, "published", published);
      json_add_text (object, "predicted", predicted);
      json_add_text (object, "counts_as", counts);
      json_object_array_add (list, object);
    }
  json_object_object_add (root, "claims", list);
  g_string_truncate (out, 0);
  json_finish (root, out);
}
