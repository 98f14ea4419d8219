#include "report/figure-claims.h"

#include <math.h>
#include <string.h>

#include "measure/statistics.h"
#include "report/fields-private.h"
#include "report/terminal-private.h"

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

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static void
append_claims (const FigureClaims *claims, GString *out)
{
  guint n[CLAIM_N_VERDICTS] = { 0 };

  if (claims->claims->len == 0)
    return;
  for (guint i = 0; i < claims->claims->len; i++)
    n[figure_claim_verdict (claim_at (claims, i))]++;
  g_string_append_printf (out,
                          "%u claim%s: %u by mechanism, %u following from what is free, %u "
                          "missed. ",
                          claims->claims->len, claims->claims->len == 1 ? "" : "s",
                          n[CLAIM_MECHANISM], n[CLAIM_FOLLOWS], n[CLAIM_MISSED]);
}

/* NULL: nothing was published. */
static char *
score_of (const FigureClaims *claims, const GArray *evidence)
{
  const ClaimCount   count = figure_evidence_count (evidence, GOAL_PERCENT);
  g_autoptr (GArray) errors = figure_evidence_errors (evidence);
  const double      *sorted = (const double *) (gconstpointer) errors->data;
  GString           *out;

  if (errors->len == 0)
    return NULL;
  out = g_string_new (NULL);
  append_claims (claims, out);
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

static void
append_table (const FigureClaims *claims, GString *out)
{
  static const TerminalColumn columns[] = {
    { "CLAIM", FALSE },
    { "PUBLISHED", TRUE },
    { "PREDICTED", TRUE },
    { "COUNTS AS", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < claims->claims->len; i++)
    {
      const FigureClaim *claim = claim_at (claims, i);
      char              *cells[G_N_ELEMENTS (columns) + 1] = { NULL };

      cells[0] = g_strdup (claim->claim);
      cells[1] = published_of (claim);
      cells[2] = predicted_of (claim);
      cells[3] = counts_as (claim);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

void
report_claims_text (const FigureClaims *claims, const GArray *evidence, GString *out)
{
  g_autofree char *score = score_of (claims, evidence);

  if (score == NULL)
    return;
  g_string_append_printf (out, "Score: %s\n\n", score);
  if (claims->claims->len == 0)
    return;
  append_table (claims, out);
  g_string_append_c (out, '\n');
}

/* ---- JSON ------------------------------------------------------------------------------------ */

FIELD_TEXT_OF (FigureClaim, claim_name, p->claim)
FIELD_TEXT_OF (FigureClaim, claim_verdict, verdict_names[figure_claim_verdict (p)])
FIELD_NUMBER_OF (FigureClaim, claim_goal, p->goal_percent)
FIELD_NUMBER_OF (FigureClaim, claim_mechanism, p->count.n[CLAIM_MECHANISM])
FIELD_NUMBER_OF (FigureClaim, claim_follows, p->count.n[CLAIM_FOLLOWS])
FIELD_NUMBER_OF (FigureClaim, claim_missed, p->count.n[CLAIM_MISSED])

static const Field claim_fields[] = {
  { .name = "claim", .type = FIELD_WORD, .text = claim_name },
  { .name = "verdict", .type = FIELD_WORD, .text = claim_verdict },
  { .name = "goal_percent", .type = FIELD_NUMBER, .number = claim_goal },
  { .name = "n_mechanism", .type = FIELD_NUMBER, .number = claim_mechanism },
  { .name = "n_follows", .type = FIELD_NUMBER, .number = claim_follows },
  { .name = "n_missed", .type = FIELD_NUMBER, .number = claim_missed },
  { 0 },
};

static struct json_object *
claim_json (const FigureClaim *claim)
{
  struct json_object *object = fields_json (claim_fields, claim);
  g_autofree char    *published = published_of (claim);
  g_autofree char    *predicted = predicted_of (claim);
  g_autofree char    *counts = counts_as (claim);

  json_add_text (object, "published", published);
  json_add_text (object, "predicted", predicted);
  json_add_text (object, "counts_as", counts);
  return object;
}

void
report_claims_json (const FigureClaims *claims, const GArray *evidence, GString *out)
{
  struct json_object *root = json_tokener_parse (out->str), *list = json_object_new_array ();
  g_autofree char    *score = score_of (claims, evidence);

  g_assert (root != NULL); /* our own */
  json_add_text (root, "score", score);
  for (guint i = 0; i < claims->claims->len; i++)
    json_object_array_add (list, claim_json (claim_at (claims, i)));
  json_object_object_add (root, "claims", list);
  g_string_truncate (out, 0);
  json_finish (root, out);
}
