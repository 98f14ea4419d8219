#include "report/answer/search.h"

#include <math.h>

#include "predict/columns.h"
#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/prediction/describe.h"
#include "report/prediction/results-private.h"

#define GIB         1073741824.0
#define MAX_REASONS 5
#define COUNT       "%" G_GUINT64_FORMAT

static const SearchFound *
found_at (const SearchResult *self, guint i)
{
  return g_ptr_array_index (self->found, i);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static gboolean
add_front (GArray *pictures, const PlotScripts *scripts, const SearchResult *self, GError **error)
{
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));

  for (guint i = 0; i < self->found->len; i++)
    {
      const SearchFound *found = found_at (self, i);
      PlotPoint          point = { .x = (double) found->prediction->hbm.device / GIB,
                                   .y = found->prediction->tokens_per_s_per_gpu,
                                   .label = found->label,
                                   .fits = TRUE };

      g_array_append_val (points, point);
    }
  return plot_add_pareto (pictures, scripts, PICTURE_PARETO,
                          "Throughput against memory, of what is best", "peak GPU memory (GiB)",
                          "tokens/s/GPU", points, error);
}

static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const SearchAnswer   *self = answer;
  g_autoptr (GPtrArray) best = g_ptr_array_new ();

  if (self->result->found->len == 0)
    return TRUE;
  g_ptr_array_add (best, self->result->headline->prediction);
  return plot_add_predictions (pictures, scripts, best, &self->replay, error)
         && (self->result->found->len == 1 || add_front (pictures, scripts, self->result, error));
}

/* ---- columns --------------------------------------------------------------------------------- */

COLUMN_NUMBER_OF (SearchFound, is_tight, prediction_is_tight (p->prediction))

static const Column found_columns[] = {
  { "options", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (SearchFound, options) },
  { "bound_s", NULL, COLUMN_TIME, 0, COLUMN_MEMBER (SearchFound, bound) },
  { "pareto", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (SearchFound, pareto) },
  { "tight", NULL, COLUMN_BOOL, 0, .number = is_tight },
  { "runs_on", NULL, COLUMN_WORD, COLUMN_LEFT_OUT, COLUMN_MEMBER (SearchFound, runs_on) },
  { "money_per_million_tokens", "money/Mtoken", COLUMN_NUMBER,
    COLUMN_LEFT_OUT | COLUMN_OPTIONAL | COLUMN_IF_ANY,
    COLUMN_MEMBER (SearchFound, money_per_million_tokens) },
  { NULL, "configuration", COLUMN_WORD, 0, COLUMN_MEMBER (SearchFound, label) },
  { 0 },
};

static const Column miss_columns[] = {
  { "options", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (SearchMiss, options) },
  { "lacking_bytes", "lacks", COLUMN_BYTES, 0, COLUMN_MEMBER (SearchMiss, excess) },
  { NULL, "configuration", COLUMN_WORD, 0, COLUMN_MEMBER (SearchMiss, label) },
  { 0 },
};

static const Column drop_columns[] = {
  { "reason", "such as", COLUMN_WORD, 0, COLUMN_MEMBER (SearchDrop, reason) },
  { "configurations", "configurations", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchDrop, n) },
  { 0 },
};

COLUMN_NUMBER_OF (SearchResult, open_gain, p->n_open > 0 ? p->open_gain : 1)
COLUMN_NUMBER_OF (SearchResult, open_step_time, search_open_step (p))

/* What became of the configurations. */
static const Column search_columns[] = {
  { "as_good", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_as_good) },
  { "structures", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_structures) },
  { "configurations", "configurations", COLUMN_COUNT, 0,
    COLUMN_MEMBER (SearchResult, n_configurations) },
  { "cut", "cut by a bound of time", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_cut) },
  { "too_large", "too large", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_too_large) },
  { "refused", "do not go together", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_refused) },
  { "alike", "alike, around the best", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_alike) },
  { "planned", "planned", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_planned) },
  { "simulated", "simulated", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_simulated) },
  { "failed", "failed", COLUMN_COUNT, COLUMN_LEFT_OUT | COLUMN_OPTIONAL,
    COLUMN_MEMBER (SearchResult, n_failed) },
  { "failure", "why", COLUMN_WORD, COLUMN_LEFT_OUT, COLUMN_MEMBER (SearchResult, failure) },
  { "open", "not tried, bound is better", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_open) },
  { NULL, "of these likely too large", COLUMN_COUNT, 0, COLUMN_MEMBER (SearchResult, n_hopeless) },
  { "open_unbounded", "of these without a bound", COLUMN_COUNT, COLUMN_LEFT_OUT | COLUMN_OPTIONAL,
    COLUMN_MEMBER (SearchResult, n_unbounded) },
  { "open_gain", NULL, COLUMN_NUMBER, 0, .number = open_gain },
  { "open_step_time_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, .number = open_step_time },
  { 0 },
};

/* ---- the answer ------------------------------------------------------------------------------ */

/*
 * How much was not tried, and how far that could be ahead: as configurations are before other
 * options are tried around them.
 */
static void
describe_open (Document *document, const SearchResult *result)
{
  const double        least = search_open_step (result);
  g_autofree char    *seconds = isfinite (least) ? document_seconds (least) : NULL;
  g_autoptr (GString) text = g_string_new (NULL);

  g_string_printf (text, "Not proved: " COUNT " of " COUNT " configurations were not tried",
                   result->n_open, result->n_configurations);
  if (result->n_unbounded < result->n_open)
    g_string_append_printf (text, "; by their bounds none is more than %.2f times as fast",
                            result->open_gain);
  if (seconds != NULL)
    g_string_append_printf (text, ", %s a step", seconds);
  if (result->n_unbounded > 0)
    g_string_append_printf (text, "; of " COUNT " no bound is known", result->n_unbounded);
  document_line (document, "%s (%s tries more).", text->str,
                 result->is_cut ? "a later --time-limit" : "--effort 4");
}

static void
describe_verdict (Document *document, const SearchAnswer *self)
{
  const SearchResult *result = self->result;
  const SearchFound  *best = result->headline;
  const Prediction   *p = best->prediction;
  g_autofree char    *step = document_seconds (p->step_time_s);
  g_autofree char    *faster = search_faster_text (result);

  document_title (document, "The best for %s on %s", p->model, p->cluster);
  document_verdict (document, HTML_GOOD,
                    "%s: %s a step, %.1f tokens/s/GPU, MFU %.1f %%; bound by %s.", best->label,
                    step, p->tokens_per_s_per_gpu, p->mfu_percent, p->binding_resource);
  document_copyable (document, self->command != NULL ? self->command : best->options);
  if (p->software != NULL)
    document_line (
        document, "Software: %s%s.", p->software,
        p->software_by_default ? ", as nothing else is asked for: --framework NAME, or none" : "");
  if (best->runs_on != NULL)
    document_line (document, "Settings can be written for %s.", best->runs_on);
  else if (self->options != NULL && self->options->runners != NULL)
    document_line (document, "No framework is known to run it: see --emit.");
  if (faster != NULL)
    document_line (document, "The simplest of " COUNT " that are as good; the fastest is %s:\n  %s",
                   result->n_as_good, faster, found_at (result, 0)->options);
  if (result->n_failed > 0)
    document_line (document, "%u of those that were simulated failed: %s", result->n_failed,
                   result->failure);
  if (result->n_open == 0 && result->n_failed == 0)
    document_line (document, "Proved: nothing with a better bound is left%s.",
                   result->is_sampled ? "; bounds of other frameworks' kernels are sampled" : "");
  else if (result->n_open > 0)
    describe_open (document, result);
}

typedef struct
{
  double place;
  char   text[32];
} Rank;

COLUMN_TEXT_OF (Rank, place_text, p->text)

static char *
show_place (const Column *column, gconstpointer row)
{
  return g_strdup (place_text (column, row));
}

/* The places whose prediction says what FOUND's does: "1, 3"; "": one before FOUND says so. */
static char *
places_alike (const SearchResult *self, guint found)
{
  const char *caveats = found_at (self, found)->prediction->caveats;
  GString    *places = g_string_new (NULL);

  for (guint i = 0; i < self->found->len; i++)
    if (g_strcmp0 (found_at (self, i)->prediction->caveats, caveats) == 0)
      {
        if (i < found)
          break;
        g_string_append_printf (places, "%s%u", places->len > 0 ? ", " : "", i + 1);
      }
  return g_string_free (places, FALSE);
}

static void
describe_found (Document *document, const SearchResult *self, const GPtrArray *predictions)
{
  static const char *const keys[] = {
    "step_time_s",   "tokens_per_s_per_gpu", "mfu_percent", "peak_device_gib",
    "peak_host_gib", "binding_resource",     NULL,
  };
  static const Column place_columns[] = {
    { NULL, "#", COLUMN_NUMBER, 0, COLUMN_MEMBER (Rank, place), .show = show_place },
    { 0 },
  };
  const guint          n = self->found->len;
  g_autofree Rank     *places = g_new (Rank, n);
  g_autofree HtmlTone *tones = g_new (HtmlTone, n);
  gboolean             tight = FALSE;
  const TableBlock     blocks[] = {
        { place_columns, { places, n, sizeof (Rank) }, NULL },
        { prediction_columns, rows_of_pointers (predictions), keys },
        { found_columns, rows_of_pointers (self->found), NULL },
  };

  for (guint i = 0; i < n; i++)
    {
      const SearchFound *found = found_at (self, i);

      places[i].place = i + 1;
      g_snprintf (places[i].text, sizeof places[i].text, "%u%s%s", i + 1,
                  found == self->headline ? "*" : "", found->pareto ? "P" : "");
      tones[i] = found == self->headline ? HTML_GOOD : HTML_PLAIN;
      tight |= prediction_is_tight (found->prediction);
    }
  document_section (document, "The best");
  document_blocks (document, blocks, G_N_ELEMENTS (blocks), tones);
  document_line (document, "P: on the Pareto front of throughput, memory and GPUs");
  if (self->headline != found_at (self, 0))
    document_line (document, "*: the answer");
  if (tight)
    document_line (document, "%s", PREDICTION_TIGHT_MARK);
  /* tokens of such configurations are worth another amount than those of synchronous training */
  for (guint i = 0; i < n; i++)
    {
      const char      *caveats = found_at (self, i)->prediction->caveats;
      g_autofree char *alike = places_alike (self, i);

      if (caveats != NULL && *alike != '\0')
        document_line (document, "~ %s: %s", alike, caveats);
    }
  document_picture (document, PICTURE_PARETO);
}

/* What the answer is told apart from: the fastest, or if that is the answer the second. */
static void
describe_runner_up (Document *document, const SearchResult *self)
{
  const gboolean      is_fastest = self->headline == found_at (self, 0);
  const SearchFound  *other = found_at (self, is_fastest ? 1 : 0);
  g_auto (GStrv)      reasons = compare_explain (self->headline->prediction, other->prediction);
  g_autoptr (GString) text = g_string_new (other->label);

  for (guint i = 0; reasons[i] != NULL && i < MAX_REASONS; i++)
    g_string_append_printf (text, "\n  - %s", reasons[i]);
  document_section (document, is_fastest ? "Why not the second" : "What the fastest has otherwise");
  document_lines (document, text->str);
}

/* Which constraint kills most. */
static void
describe_nothing (Document *document, const SearchAnswer *self)
{
  const SearchResult  *result = self->result;
  const SearchOptions *options = self->options;
  const guint64        too_large = result->n_too_large + result->n_hopeless;

  document_title (document,
                  result->is_cut ? "Nothing was found yet" : "Nothing meets the constraints");
  if (result->is_cut)
    document_verdict (document, HTML_BAD,
                      "Nothing was found yet: of " COUNT " configurations %u were planned and %u "
                      "simulated.",
                      result->n_configurations, result->n_planned, result->n_simulated);
  else if (too_large < result->n_refused)
    document_verdict (document, HTML_BAD,
                      "Nothing meets the constraints: of " COUNT " configurations " COUNT
                      " do not go together, for the reasons below.",
                      result->n_configurations, result->n_refused);
  else
    {
      const gboolean is_bounded =
          options != NULL && (options->max_hbm > 0 || options->max_host > 0);
      g_autofree char *margin =
          options != NULL && options->memory_margin > 0 ? g_strdup_printf (
              " with %g %% of a GPU's free (--memory-margin)", 100 * options->memory_margin)
                                                        : g_strdup ("");

      document_verdict (document, HTML_BAD,
                        "Nothing meets the constraints: of " COUNT " configurations " COUNT
                        " need more memory than %s%s.",
                        result->n_configurations, too_large,
                        is_bounded ? "--max-memory and --max-host-memory allow" : "there is",
                        margin);
    }
}

/* What was searched, and what is not the answer. */
static void
describe_search (Document *document, const SearchResult *self)
{
  if (self->missed->len > 0)
    {
      document_section (document, "Near misses");
      document_line (document, self->found->len > 0
                                   ? "They do not fit, and could be faster than the best by their "
                                     "bounds."
                                   : "What lacks least.");
      document_table (document, miss_columns, rows_of_pointers (self->missed));
    }
  document_section (document, "What was searched");
  document_facts (document, search_columns, self);
  if (self->drops->len > 0 && (self->found->len == 0 || document_page (document) != NULL))
    {
      document_begin_fold (document, "What does not go together, most often");
      document_table (document, drop_columns, rows_of_array (self->drops));
      document_end_fold (document);
    }
}

static void
add_json (struct json_object *root, const SearchResult *self)
{
  struct json_object *results = json_object_new_array (), *search = json_object_new_object ();

  for (guint i = 0; i < self->found->len; i++)
    {
      struct json_object *object = prediction_json (found_at (self, i)->prediction);

      column_add_keys (found_columns, found_at (self, i), object);
      json_object_array_add (results, object);
      if (found_at (self, i) == self->headline)
        json_add_count (search, "answer", i);
    }
  json_object_object_add (root, "results", results);
  column_add_keys (search_columns, self, search);
  json_object_object_add (search, "near_misses",
                          column_list (miss_columns, rows_of_pointers (self->missed)));
  json_object_object_add (search, "refusals",
                          column_list (drop_columns, rows_of_array (self->drops)));
  json_object_object_add (root, "search", search);
}

static void
describe (Document *document, gconstpointer answer)
{
  const SearchAnswer   *self = answer;
  const SearchResult   *result = self->result;
  g_autoptr (GPtrArray) predictions = g_ptr_array_new ();

  if (document_json (document) != NULL)
    {
      add_json (document_json (document), result);
      return;
    }
  for (guint i = 0; i < result->found->len; i++)
    g_ptr_array_add (predictions, found_at (result, i)->prediction);
  if (predictions->len > 0)
    {
      describe_verdict (document, self);
      if (document_page (document) != NULL)
        describe_headline (document, result->headline->prediction);
      describe_found (document, result, predictions);
      if (predictions->len > 1)
        describe_runner_up (document, result);
    }
  else
    describe_nothing (document, self);
  describe_search (document, result);
  document_results (document, NULL, prediction_columns, rows_of_pointers (predictions));
  if (document_page (document) == NULL)
    return;
  if (predictions->len > 0)
    {
      describe_details (document, result->headline->prediction, self->replay);
      document_section (document, "Scenario of the best");
      describe_scenario (document, result->headline->prediction);
    }
  describe_provenance (document, predictions);
}

const PageKind search_page = { .draw = draw, .describe = describe };
