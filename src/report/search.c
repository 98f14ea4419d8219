#include "report/search.h"

#include "report/results-private.h"
#include "report/terminal-private.h"

#define GIB 1073741824.0

static const SearchFound *
found_at (const SearchResult *self, guint i)
{
  return g_ptr_array_index (self->found, i);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void
add_row (struct libscols_table *table, const SearchResult *self, guint i)
{
  const SearchFound *found = found_at (self, i);
  const Prediction  *p = found->prediction;
  char              *cells[10] = { NULL };
  guint              n = 0;

  cells[n++] = g_strdup_printf ("%u%s%s%s", i + 1, found == self->headline ? "*" : "",
                                found->pareto ? "P" : "", prediction_is_tight (p) ? "!" : "");
  cells[n++] = quantity_format (QUANTITY_TIME, p->step_time_s, 4);
  cells[n++] = g_strdup_printf ("%.1f", p->tokens_per_s_per_gpu);
  cells[n++] = g_strdup_printf ("%.1f %%", p->mfu_percent);
  cells[n++] = g_strdup_printf ("%.1f GiB", (double) p->hbm.device / GIB);
  cells[n++] = g_strdup_printf ("%.1f GiB", (double) p->host.device / GIB);
  cells[n++] = g_strdup (p->binding_resource);
  if (found->money_per_million_tokens > 0)
    cells[n++] = g_strdup_printf ("%.4g", found->money_per_million_tokens);
  cells[n++] = g_strdup (found->label);
  terminal_table_take (table, cells);
}

static void
append_table (const SearchResult *self, GString *out)
{
  const gboolean       priced = found_at (self, 0)->money_per_million_tokens > 0;
  const TerminalColumn all[] = {
    { "#", TRUE },      { "STEP", TRUE },         { "TOKENS/S/GPU", TRUE },
    { "MFU", TRUE },    { "PEAK HBM", TRUE },     { "PEAK HOST", TRUE },
    { "BINDS", FALSE }, { "MONEY/MTOKEN", TRUE }, { "CONFIGURATION", FALSE }
  };
  TerminalColumn         columns[G_N_ELEMENTS (all)];
  guint                  n = 0;
  struct libscols_table *table;

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    if (priced || !g_str_equal (all[i].title, "MONEY/MTOKEN"))
      columns[n++] = all[i];
  table = terminal_table_new (columns, n);
  for (guint i = 0; i < self->found->len; i++)
    add_row (table, self, i);
  terminal_table_finish (table, out);
}

/* The places whose prediction says what FOUND's does: "1, 3". NULL: one before FOUND says so. */
static char *
places_alike (const SearchResult *self, guint found)
{
  const char *caveats = found_at (self, found)->prediction->caveats;
  GString    *places = g_string_new (NULL);

  for (guint i = 0; i < self->found->len; i++)
    {
      if (g_strcmp0 (found_at (self, i)->prediction->caveats, caveats) != 0)
        continue;
      if (i < found)
        return g_string_free (places, TRUE);
      g_string_append_printf (places, "%s%u", places->len > 0 ? ", " : "", i + 1);
    }
  return g_string_free (places, FALSE);
}

/* Tokens of such configurations are worth another amount than those of synchronous training. */
static void
append_caveats (const SearchResult *self, GString *out)
{
  for (guint i = 0; i < self->found->len; i++)
    {
      const char      *caveats = found_at (self, i)->prediction->caveats;
      g_autofree char *places = caveats != NULL ? places_alike (self, i) : NULL;

      if (places != NULL)
        g_string_append_printf (out, "~ %s: %s\n", places, caveats);
    }
}

/* What the answer is told apart from: the fastest, or if that is the answer the second. */
static const SearchFound *
runner_up (const SearchResult *self)
{
  return found_at (self, self->headline == found_at (self, 0) ? 1 : 0);
}

static void
append_runner_up (const SearchResult *self, GString *out)
{
  const SearchFound *other = runner_up (self);
  g_auto (GStrv)     reasons = compare_explain (self->headline->prediction, other->prediction);

  g_string_append_printf (out, "\n%s: %s\n",
                          other == found_at (self, 0) ? "What the fastest has otherwise"
                                                      : "Why not the second",
                          other->label);
  for (guint i = 0; reasons[i] != NULL && i < 5; i++)
    g_string_append_printf (out, "  - %s\n", reasons[i]);
}

static void
append_misses (const SearchResult *self, GString *out)
{
  if (self->missed->len == 0)
    return;
  g_string_append (out, "\nDo not fit, and could be faster by their bounds\n");
  for (guint i = 0; i < self->missed->len; i++)
    {
      const SearchMiss *miss = g_ptr_array_index (self->missed, i);
      g_autofree char  *excess = quantity_format (QUANTITY_BYTES, miss->excess, 3);

      g_string_append_printf (out, "  - with %s more: %s\n", excess, miss->label);
    }
}

#define COUNT "%" G_GUINT64_FORMAT

/* Who runs the answer, on what, and what is faster. */
static void
append_answer (const SearchResult *self, const SearchOptions *options, GString *out)
{
  const SearchFound *answer = self->headline, *fastest = found_at (self, 0);
  g_autofree char   *faster = search_faster_text (self);

  if (answer->prediction->software != NULL)
    g_string_append_printf (out, "software %s%s\n", answer->prediction->software,
                            answer->prediction->software_by_default
                                ? ", as nothing else is asked for: --framework NAME, or none"
                                : "");
  if (options->runners != NULL)
    g_string_append_printf (out, "%s%s\n",
                            answer->runs_on != NULL ? "settings can be written for "
                                                    : "no framework is known to run it: see --emit",
                            answer->runs_on != NULL ? answer->runs_on : "");
  if (faster != NULL)
    g_string_append_printf (
        out, "the simplest of " COUNT " within %g %% of the fastest, which is %s:\n  %s\n",
        self->n_as_good, 100 * options->within, faster, fastest->options);
  g_string_append_c (out, '\n');
}

static void
append_marks (const SearchResult *self, GString *out)
{
  gboolean tight = FALSE;

  for (guint i = 0; i < self->found->len; i++)
    tight = tight || prediction_is_tight (found_at (self, i)->prediction);
  if (self->headline != found_at (self, 0))
    g_string_append (out, "*: the answer\n");
  if (tight)
    g_string_append_printf (out,
                            "!: less than %d %% of a GPU's memory is left, or allocations were "
                            "tried again\n",
                            PREDICTION_TIGHT_PERCENT);
}

static void
append_counts (const SearchResult *self, GString *out)
{
  g_string_append_printf (out,
                          "\nSearched\n  " COUNT " configurations (" COUNT
                          " meshes with micro-batch and checkpointing, each under every variant)\n"
                          "  " COUNT " cut by a bound of their time, " COUNT " too large, " COUNT
                          " do not go together\n",
                          self->n_configurations, self->n_structures, self->n_cut,
                          self->n_too_large, self->n_refused);
  g_string_append_printf (out, "  %u planned, %u simulated\n", self->n_planned, self->n_simulated);
  if (self->n_failed > 0)
    g_string_append_printf (out, "  %u of these failed: %s\n", self->n_failed, self->failure);
  if (self->n_open == 0 && self->n_failed == 0 && self->found->len > 0)
    g_string_append (out,
                     self->is_sampled
                         ? "  nothing with a better bound is left; bounds of other frameworks' "
                           "kernels are sampled\n"
                         : "  nothing with a better bound is left: the best is proved to be "
                           "it\n");
  if (self->n_open > 0 && self->found->len > 0)
    g_string_append_printf (out,
                            "  " COUNT " were not tried; by their bounds none is more than %.2f "
                            "times as fast (--effort 4 tries more)\n",
                            self->n_open, self->open_gain);
  if (self->n_alike > 0)
    g_string_append_printf (out,
                            "    " COUNT " of them move the same bytes as their strategy's "
                            "defaults: tried around the best only\n",
                            self->n_alike);
  if (self->n_hopeless > 0)
    g_string_append_printf (out,
                            "    " COUNT " of them would need more memory than there is, judged by "
                            "what others of their strategy took\n",
                            self->n_hopeless);
}

static void
append_drops (const SearchResult *self, GString *out)
{
  if (self->drops->len == 0)
    return;
  g_string_append (out, "\nWhat does not go together, most often\n");
  for (guint i = 0; i < self->drops->len; i++)
    {
      const SearchDrop *drop = &g_array_index (self->drops, SearchDrop, i);

      g_string_append_printf (out, "  - " COUNT " such as: %s\n", drop->n, drop->reason);
    }
}

/* Which constraint kills most. */
static void
append_nothing (const SearchResult *self, const SearchOptions *options, GString *out)
{
  const guint64 too_large = self->n_too_large + self->n_hopeless;

  if (self->is_cut)
    {
      g_string_append_printf (out,
                              "Nothing was found yet: of " COUNT " configurations " COUNT
                              " were planned and " COUNT " simulated.\n",
                              self->n_configurations, (guint64) self->n_planned,
                              (guint64) self->n_simulated);
      return;
    }
  g_string_append_printf (out, "Nothing meets the constraints: of " COUNT " configurations ",
                          self->n_configurations);
  if (too_large >= self->n_refused)
    {
      g_string_append_printf (out, COUNT " need more memory than %s", too_large,
                              options->max_hbm > 0 || options->max_host > 0
                                  ? "--max-memory and --max-host-memory allow"
                                  : "there is");
      if (options->memory_margin > 0)
        g_string_append_printf (out, " with %g %% of a GPU's free (--memory-margin)",
                                100 * options->memory_margin);
      g_string_append (out, ".\n");
    }
  else
    g_string_append_printf (out, COUNT " do not go together, for the reasons below.\n",
                            self->n_refused);
}

void
report_search_text (const SearchResult *self, const SearchOptions *options, GString *out)
{
  const Prediction *p;

  if (self->found->len == 0)
    {
      append_nothing (self, options, out);
      append_misses (self, out);
      append_counts (self, out);
      append_drops (self, out);
      return;
    }
  p = self->headline->prediction;
  g_string_append_printf (out, "The best for %s on %s\n\n  %s\n\n", p->model, p->cluster,
                          self->headline->options);
  append_answer (self, options, out);
  append_table (self, out);
  g_string_append (out, "\nP: on the Pareto front of throughput, memory and GPUs\n");
  append_marks (self, out);
  append_caveats (self, out);
  if (self->found->len > 1)
    append_runner_up (self, out);
  append_misses (self, out);
  append_counts (self, out);
}

/* ---- machines -------------------------------------------------------------------------------- */

void
report_search_csv (const SearchResult *self, GString *out)
{
  g_autoptr (GPtrArray) predictions = g_ptr_array_new ();

  for (guint i = 0; i < self->found->len; i++)
    g_ptr_array_add (predictions, found_at (self, i)->prediction);
  report_csv (predictions, out);
}

static struct json_object *
found_json (const SearchFound *found)
{
  struct json_object *object = prediction_json (found->prediction);

  json_add_text (object, "options", found->options);
  json_add_number (object, "bound_s", found->bound);
  json_object_object_add (object, "pareto", json_object_new_boolean (found->pareto));
  json_object_object_add (object, "tight",
                          json_object_new_boolean (prediction_is_tight (found->prediction)));
  if (found->runs_on != NULL)
    json_add_text (object, "runs_on", found->runs_on);
  if (found->money_per_million_tokens > 0)
    json_add_number (object, "money_per_million_tokens", found->money_per_million_tokens);
  return object;
}

static struct json_object *
misses_json (const SearchResult *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->missed->len; i++)
    {
      const SearchMiss   *miss = g_ptr_array_index (self->missed, i);
      struct json_object *object = json_object_new_object ();

      json_add_text (object, "options", miss->options);
      json_add_number (object, "lacking_bytes", miss->excess);
      json_object_array_add (list, object);
    }
  return list;
}

static struct json_object *
drops_json (const SearchResult *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->drops->len; i++)
    {
      const SearchDrop   *drop = &g_array_index (self->drops, SearchDrop, i);
      struct json_object *object = json_object_new_object ();

      json_add_text (object, "reason", drop->reason);
      json_add_count (object, "configurations", drop->n);
      json_object_array_add (list, object);
    }
  return list;
}

void
report_search_json (const SearchResult *self, GString *out)
{
  struct json_object *root = json_document_new (), *results = json_object_new_array (),
                     *search = json_object_new_object ();

  for (guint i = 0; i < self->found->len; i++)
    json_object_array_add (results, found_json (found_at (self, i)));
  json_object_object_add (root, "results", results);
  for (guint i = 0; i < self->found->len; i++)
    if (found_at (self, i) == self->headline)
      json_add_count (search, "answer", i);
  json_add_count (search, "as_good", self->n_as_good);
  json_add_count (search, "structures", self->n_structures);
  json_add_count (search, "configurations", self->n_configurations);
  json_add_count (search, "cut", self->n_cut);
  json_add_count (search, "too_large", self->n_too_large);
  json_add_count (search, "refused", self->n_refused);
  json_add_count (search, "alike", self->n_alike);
  json_add_count (search, "planned", self->n_planned);
  json_add_count (search, "simulated", self->n_simulated);
  if (self->n_failed > 0)
    {
      json_add_count (search, "failed", self->n_failed);
      json_add_text (search, "failure", self->failure);
    }
  json_add_count (search, "open", self->n_open);
  json_add_number (search, "open_gain", self->n_open > 0 ? self->open_gain : 1);
  json_object_object_add (search, "near_misses", misses_json (self));
  json_object_object_add (search, "refusals", drops_json (self));
  json_object_object_add (root, "search", search);
  json_finish (root, out);
}
