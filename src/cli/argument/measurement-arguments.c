#include "cli/argument/measurement-arguments.h"

#include "cli/argument/collective-arguments.h"
#include "evidence/tables/collective-predictor.h"

/* What is unknown may be one: its reader says what it is not. */
static gboolean
has_log (char *const *files)
{
  for (guint i = 0; files[i] != NULL; i++)
    {
      MeasurementFileKind kind = measurement_file_kind (files[i]);

      if (kind != MEASUREMENT_FILE_TABLE && kind != MEASUREMENT_FILE_RESULTS)
        return TRUE;
    }
  return FALSE;
}

/* FALSE after diagnostics about the words of `env`. */
static gboolean
check_words (const GPtrArray *rows, ProfileSet *profiles, DiagList *diags)
{
  const guint                     errors = diag_list_n_errors (diags);
  g_autoptr (CollectivePredictor) predictor = collective_predictor_new (rows, profiles);

  collective_predictor_check_words (predictor, diags);
  return diag_list_n_errors (diags) == errors;
}

/* The option about logs that was given; NULL: none. */
static const char *
option_given (const Common *common, const MeasurementArguments *arguments)
{
  return common->overrides->len > 0 ? g_array_index (common->overrides, ScenarioOverride, 0).origin
         : arguments->collective != NULL ? "--collective"
         : arguments->algorithm != NULL  ? "--algorithm"
         : arguments->protocol != NULL   ? "--protocol"
         : arguments->env != NULL        ? "--env"
                                         : NULL;
}

/* Tables have columns for what the command line says of logs. */
static void
check_use (const Common *common, const MeasurementArguments *arguments, DiagList *diags)
{
  const char *option = option_given (common, arguments);

  if (option != NULL && !has_log (common->files))
    diag_error (diags, NULL, NULL,
                "'%s' is about logs of nccl-tests, but there is none: tables have columns for it",
                option);
}

/* The words that the options make, newly allocated; "" after diagnostics. */
static char *
words_of (const MeasurementArguments *arguments, DiagList *diags)
{
  const struct
  {
    const char *option, *prefix, *value;
  } given[] = { { "--algorithm", "algo=", arguments->algorithm },
                { "--protocol", "proto=", arguments->protocol },
                { "--env", "", arguments->env } };
  g_autoptr (GString) words = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (given); i++)
    if (given[i].value != NULL)
      {
        g_autofree char *own = g_strconcat (given[i].prefix, given[i].value, NULL);
        g_autofree char *why = measurement_words_refusal (own), *all = NULL;

        if (why != NULL)
          diag_error (diags, NULL, NULL, "%s: %s", given[i].option, why);
        all = measurement_words_merge (words->str, own);
        g_string_assign (words, all);
      }
  return g_strdup (words->str);
}

GPtrArray *
measurement_arguments_load (const Common *common, const MeasurementArguments *arguments,
                            gboolean measured, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);
  ClusterOptions         cluster = { 0 };
  const char            *collective = arguments->collective;
  const guint            errors = diag_list_n_errors (diags);
  g_autofree char       *env = words_of (arguments, diags);
  MeasurementContext     context = {
        .profiles = profiles, .kind = COLLECTIVE_N_KINDS, .env = env, .measured = measured
  };
  GPtrArray *rows = NULL;

  option_table_defaults (cluster_options, &cluster);
  check_use (common, arguments, diags);
  apply_network_options (common, &cluster, NULL, NULL, NULL, diags);
  if (common->overrides->len > 0)
    context.cluster = &cluster;
  if (collective != NULL)
    {
      SourceMark mark = argument_mark ("--collective", collective);

      context.kind = parse_kind (&mark, collective, diags);
    }
  if (diag_list_n_errors (diags) == errors)
    rows = measurement_files_load (common->files, &context, diags);
  option_table_clear (cluster_options, &cluster);
  if (rows != NULL && !check_words (rows, profiles, diags) && measured)
    g_clear_pointer (&rows, g_ptr_array_unref);
  return rows;
}
