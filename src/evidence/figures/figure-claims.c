#include "evidence/figures/figure-claims.h"

#include <math.h>
#include <string.h>

#include "evidence/figures/figure-table.h"

#define SUFFIX    ".claims.csv"
#define SEPARATOR " | " /* between the rows of a claim */

static const char *const meanings[] = { "", "up to", "above", NULL };

/* ---- evidence -------------------------------------------------------------------------------- */

/* VALUE against what was published, any number from LOW to HIGH. */
static double
error_of (double value, double low, double high)
{
  if (value < low)
    return value / low - 1;
  return value > high ? value / high - 1 : 0;
}

static double
worse_of (double a, double b)
{
  return fabs (a) > fabs (b) ? a : b;
}

typedef struct
{
  double near, far; /* in the best setting, and in the worst */
} Errors;

static Errors
errors_of (const FigureEvidence *one, const char *meaning)
{
  const double low = error_of (one->low, one->published, one->published_high);
  const double high = error_of (one->high, one->published, one->published_high);
  const double most = one->high / one->published - 1;

  if (g_str_equal (meaning, "up to"))
    return (Errors){ low <= 0 && high >= 0 ? 0 : most, most };
  if (g_str_equal (meaning, "above"))
    return (Errors){ MIN (high, 0), MIN (low, 0) };
  return (Errors){ low <= 0 && high >= 0      ? 0
                   : fabs (low) < fabs (high) ? low
                                              : high,
                   worse_of (low, high) };
}

/* Counts ONE, which is by mechanism at best, or else only FOLLOWS. */
static void
count_one (ClaimCount *self, const FigureEvidence *one, const char *meaning, double goal_percent,
           gboolean follows)
{
  const Errors errors = errors_of (one, meaning);
  const double goal = goal_percent / 100;
  ClaimVerdict verdict = CLAIM_MISSED;

  if (one->fits && fabs (errors.near) <= goal)
    verdict = follows || fabs (errors.far) > goal ? CLAIM_FOLLOWS : CLAIM_MECHANISM;
  self->n[verdict]++;
  self->worst[verdict] =
      worse_of (verdict == CLAIM_MECHANISM ? errors.far : errors.near, self->worst[verdict]);
}

static gboolean
is_predicted (const FigureEvidence *one)
{
  return isfinite (one->low) && isfinite (one->high);
}

static const FigureEvidence *
evidence_at (const GArray *evidence, guint i)
{
  return &g_array_index (evidence, FigureEvidence, i);
}

ClaimCount
figure_evidence_count (const GArray *evidence, double goal_percent)
{
  ClaimCount count = { .n = { 0 } };

  for (guint i = 0; i < evidence->len; i++)
    if (is_predicted (evidence_at (evidence, i)))
      count_one (&count, evidence_at (evidence, i), "", goal_percent, FALSE);
  return count;
}

GArray *
figure_evidence_errors (const GArray *evidence)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < evidence->len; i++)
    {
      const double error = fabs (errors_of (evidence_at (evidence, i), "").far);

      if (is_predicted (evidence_at (evidence, i)))
        g_array_append_val (all, error);
    }
  return all;
}

/* ---- claims ---------------------------------------------------------------------------------- */

#define CELL(member) G_STRUCT_OFFSET (FigureClaim, member)
static const FigureColumn columns[] = {
  { "claim", CELL (claim), .type = FIGURE_WORD },
  { "meaning", CELL (meaning), .type = FIGURE_WORD },
  { "rows", CELL (rows), .type = FIGURE_WORD },
  { "metric", CELL (metric), .type = FIGURE_WORD },
  { "goal_percent", CELL (goal_percent), .type = FIGURE_NUMBER, .min = 0, .max = 100 },
  { "free", CELL (free), .type = FIGURE_WORD },
  { "rests_on", CELL (rests_on), .type = FIGURE_WORD },
  { "remark", CELL (remark), .type = FIGURE_WORD },
};

static gboolean
is_about (const FigureClaim *claim, const FigureEvidence *one)
{
  g_auto (GStrv) names = g_strsplit (claim->rows, SEPARATOR, -1);

  if (!g_str_has_prefix (one->metric, claim->metric))
    return FALSE;
  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_has_prefix (one->row, names[i]))
      return TRUE;
  return *claim->rows == '\0';
}

/* Judges the claim ROW by the evidence SELF. */
static void
judge_line (gpointer self, gpointer row, const CsvReader *reader, DiagList *diags)
{
  const GArray    *evidence = self;
  FigureClaim     *claim = row;
  const SourceMark meaning = figure_table_mark (reader, "meaning");
  const SourceMark rows = figure_table_mark (reader, "rows");
  const gboolean   open = *claim->free != '\0' && g_str_equal (claim->meaning, "up to");
  guint            n = 0, n_predicted = 0;

  if (!g_strv_contains (meanings, claim->meaning))
    {
      diag_error (diags, &meaning, "'up to', 'above', or nothing",
                  "unknown value '%s' for 'meaning'", claim->meaning);
      return;
    }
  for (guint i = 0; i < evidence->len; i++)
    {
      const FigureEvidence *one = evidence_at (evidence, i);
      const gboolean        first = n_predicted == 0;

      if (!is_about (claim, one))
        continue;
      n++;
      if (!is_predicted (one))
        continue;
      n_predicted++;
      claim->published_low = first ? one->published : MIN (claim->published_low, one->published);
      claim->published_high =
          first ? one->published_high : MAX (claim->published_high, one->published_high);
      claim->low = first ? one->low : MIN (claim->low, one->low);
      claim->high = first ? one->high : MAX (claim->high, one->high);
      count_one (&claim->count, one, claim->meaning, claim->goal_percent,
                 *claim->rests_on != '\0' || open);
    }
  if (n == 0)
    diag_error (diags, &rows, NULL, "no row with a published number begins with '%s'", claim->rows);
}

ClaimVerdict
figure_claim_verdict (const FigureClaim *claim)
{
  ClaimVerdict verdict = CLAIM_MISSED;

  while (claim->count.n[verdict] == 0)
    verdict--;
  return verdict;
}

FigureClaims *
figure_claims_judge (const char *folder, const char *name, const GArray *evidence, DiagList *diags)
{
  static const FigureTable table = { columns, G_N_ELEMENTS (columns), .size = sizeof (FigureClaim),
                                     .check = judge_line };
  g_autofree char         *base = g_strconcat (name, SUFFIX, NULL);
  g_autofree char         *file = g_build_filename (folder, base, NULL);
  g_autoptr (FigureClaims) self = g_new0 (FigureClaims, 1);

  self->claims = figure_table_lines (&table);
  self->strings = g_string_chunk_new (1024);
  if (g_file_test (file, G_FILE_TEST_EXISTS)
      && !figure_table_read (file, &table, (gpointer) evidence, self->claims, self->strings, diags))
    return NULL;
  for (guint i = self->claims->len; i-- > 0;)
    {
      const guint *n = g_array_index (self->claims, FigureClaim, i).count.n;

      if (n[CLAIM_MECHANISM] + n[CLAIM_FOLLOWS] + n[CLAIM_MISSED] == 0) /* nothing is predicted */
        g_array_remove_index (self->claims, i);
    }
  return g_steal_pointer (&self);
}

void
figure_claims_free (FigureClaims *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->claims);
  g_string_chunk_free (self->strings);
  g_free (self);
}
