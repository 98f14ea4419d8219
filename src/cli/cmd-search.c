/* shardsim search: the best configuration of what a scenario leaves open. */
#include "analysis/search.h"
#include "base/suggest.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "report/search.h"

typedef struct
{
  char   **vary, *objective, *max_memory, *max_host_memory, *write;
  double   price;
  gint     simulate, best;
  gboolean only, no_refine;
} Wishes;

static void
wishes_clear (Wishes *self)
{
  g_strfreev (self->vary);
  g_free (self->objective);
  g_free (self->max_memory);
  g_free (self->max_host_memory);
  g_free (self->write);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Wishes, wishes_clear)

/* ---- what is asked for ----------------------------------------------------------------------- */

static gboolean
take_bytes (const char *option, const char *text, double *bytes)
{
  const QuantityKind kind = QUANTITY_BYTES;
  g_autofree char   *why = NULL;

  if (text == NULL || quantity_parse (kind, text, bytes, &why))
    return TRUE;
  stream_say ("shardsim search: %s: %s\n", option, why);
  return FALSE;
}

static gboolean
take_objective (const Wishes *wishes, SearchOptions *options)
{
  g_autofree char *hint = NULL;
  gint             found;

  if (wishes->objective == NULL)
    return TRUE;
  found = name_index (wishes->objective, search_objective_names);
  if (found < 0)
    {
      hint = suggest_hint (wishes->objective, search_objective_names);
      stream_say ("shardsim search: --objective: unknown '%s': %s\n", wishes->objective, hint);
      return FALSE;
    }
  options->objective = (SearchObjective) found;
  if (options->objective != SEARCH_COST || options->price_per_gpu_hour > 0)
    return TRUE;
  stream_say ("shardsim search: --objective cost needs a price: add --price 2.50 (a GPU-hour)\n");
  return FALSE;
}

/* FALSE after a message. */
static gboolean
take_wishes (const Common *common, const Wishes *wishes, SearchOptions *options)
{
  if (wishes->price < 0 || wishes->simulate < 0 || wishes->best < 0)
    {
      stream_say ("shardsim search: --price, --simulate and --best take no negative number\n");
      return FALSE;
    }
  *options = (SearchOptions){ .price_per_gpu_hour = wishes->price,
                              .max_simulated = (guint) wishes->simulate,
                              .n_best = (guint) wishes->best,
                              .n_threads = common_n_jobs (common),
                              .refine = !wishes->no_refine };
  return take_bytes ("--max-memory", wishes->max_memory, &options->max_hbm)
         && take_bytes ("--max-host-memory", wishes->max_host_memory, &options->max_host)
         && take_objective (wishes, options);
}

/* "KEY=V1,V2" into KEY and its values, owned by STRINGS and POOL. FALSE after a message. */
static gboolean
take_vary (const char *text, GPtrArray *pool, GArray *all)
{
  const char      *equals = strchr (text, '=');
  SearchVary       vary = { 0 };
  char           **values;
  g_autofree char *place = g_strdup_printf ("--vary %s", text);
  g_autofree char *key = g_strndup (text, equals != NULL ? (gsize) (equals - text) : 0);

  if (equals == NULL || equals == text || equals[1] == '\0')
    {
      stream_say ("shardsim search: --vary %s: expected KEY=VALUE,VALUE,... such as "
                  "mesh.tp=1,2,4\n",
                  text);
      return FALSE;
    }
  values = g_strsplit (equals + 1, ",", -1);
  g_ptr_array_add (pool, values);
  vary.key = g_intern_string (key);
  vary.values = (const char *const *) values;
  vary.mark.file = g_intern_string (place);
  g_array_append_val (all, vary);
  return TRUE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static ExitStatus
write_winner (const Wishes *wishes, const SearchResult *result)
{
  const SearchFound *best = g_ptr_array_index (result->found, 0);
  g_autofree char   *yaml = scenario_print (best->scenario);
  g_autoptr (GError) error = NULL;

  if (!g_file_set_contents (wishes->write, yaml, -1, &error))
    return stream_report_error (error);
  return EXIT_DONE;
}

static ExitStatus
print_result (const Common *common, const SearchResult *result, const SearchOptions *options)
{
  g_autoptr (GString) out = g_string_new (NULL);

  if (common->format == FORMAT_CSV)
    report_search_csv (result, out);
  else if (common->format == FORMAT_JSON)
    report_search_json (result, out);
  else
    report_search_text (result, options, out);
  return stream_print (out);
}

static ExitStatus
search (Common *common, const Wishes *wishes, const SearchOptions *options, const GArray *vary)
{
  g_autoptr (GPtrArray)    scenarios = common_load_open_scenarios (common);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) result = NULL;
  PredictOptions           predict = common_predict_options (common);
  Progress                *progress;
  ExitStatus               status;

  if (scenarios == NULL || !common_want_one (common, scenarios))
    return EXIT_USAGE;
  progress = progress_start ("searching", "steps");
  predict.count = progress_count (progress);
  result = search_run (g_ptr_array_index (scenarios, 0), common->strategies,
                       (const SearchVary *) (gpointer) vary->data, vary->len, wishes->only, options,
                       &predict, diags, &error);
  progress_end (progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (result == NULL)
    return stream_report_error (error);
  status = print_result (common, result, options);
  if (status != EXIT_DONE || result->found->len == 0)
    return status != EXIT_DONE ? status : EXIT_NO;
  return wishes->write != NULL ? write_winner (wishes, result) : EXIT_DONE;
}

int
cmd_search (int argc, char **argv)
{
  g_auto (Common)       common = { 0 };
  g_auto (Wishes)       wishes = { 0 };
  gboolean              done = FALSE;
  SearchOptions         options;
  g_autoptr (GPtrArray) pool = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  g_autoptr (GArray)    vary = g_array_new (FALSE, FALSE, sizeof (SearchVary));
  const GOptionEntry    extra[] = {
       { "vary", 0, 0, G_OPTION_ARG_STRING_ARRAY, &wishes.vary,
         "values of an option to choose from, in the place of those that are tried unasked",
         "KEY=V1,V2" },
       { "only", 0, 0, G_OPTION_ARG_NONE, &wishes.only, "vary only what --vary names", NULL },
       { "objective", 0, 0, G_OPTION_ARG_STRING, &wishes.objective,
         "what is wanted most: throughput, efficiency (a GPU) or cost", "WORD" },
       { "price", 0, 0, G_OPTION_ARG_DOUBLE, &wishes.price, "price of a GPU-hour", "MONEY" },
       { "max-memory", 0, 0, G_OPTION_ARG_STRING, &wishes.max_memory,
         "memory of a GPU that may be taken, such as '70 GiB'", "BYTES" },
       { "max-host-memory", 0, 0, G_OPTION_ARG_STRING, &wishes.max_host_memory,
         "memory of a node that may be taken", "BYTES" },
       { "simulate", 0, 0, G_OPTION_ARG_INT, &wishes.simulate,
         "configurations that are simulated at most (300)", "N" },
       { "best", 0, 0, G_OPTION_ARG_INT, &wishes.best, "configurations that are listed (10)", "N" },
       { "no-refine", 0, 0, G_OPTION_ARG_NONE, &wishes.no_refine,
         "do not try the other options of the best", NULL },
       { "write", 0, 0, G_OPTION_ARG_FILENAME, &wishes.write, "write the best as a scenario",
         "FILE.yaml" },
       G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS, "[SCENARIO.yaml]",
          "Finds the fastest configuration that fits. What the scenario sets stays; what it leaves "
          "open of strategy, mesh, micro-batch and checkpointing is searched.",
          "Examples:\n"
          "  shardsim search --cluster '8 x dgx-h100' --model llama-3-70b --seq-len 8192 \\\n"
          "    --global-batch 512\n"
          "  shardsim search --cluster '8 x dgx-h100' --model llama-3-70b --seq-len 8192 \\\n"
          "    --global-batch 512 --strategy fsdp2 --write best.yaml\n",
          extra, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  for (guint i = 0; wishes.vary != NULL && wishes.vary[i] != NULL; i++)
    if (!take_vary (wishes.vary[i], pool, vary))
      return EXIT_USAGE;
  if (!take_wishes (&common, &wishes, &options))
    return EXIT_USAGE;
  return search (&common, &wishes, &options, vary);
}
