#include "cli/measurement-arguments.h"

#include "cli/collective-arguments.h"
#include "measure/collective-predictor.h"

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

/* Tables have columns for what the command line says of logs. */
static void
check_use (const Common *common, const char *collective, DiagList *diags)
{
  const char *option = common->overrides->len > 0
                           ? g_array_index (common->overrides, ScenarioOverride, 0).origin
                           : "--collective";

  if ((common->overrides->len > 0 || collective != NULL) && !has_log (common->files))
    diag_error (diags, NULL, NULL,
                "'%s' is about logs of nccl-tests, but there is none: tables have columns for it",
                option);
}

GPtrArray *
measurement_arguments_load (const Common *common, const char *collective, gboolean measured,
                            DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);
  ClusterOptions         cluster = { 0 };
  MeasurementContext     context = { .profiles = profiles,
                                     .kind = COLLECTIVE_N_KINDS,
                                     .measured = measured };
  const guint            errors = diag_list_n_errors (diags);
  GPtrArray             *rows = NULL;

  option_table_defaults (cluster_options, &cluster);
  check_use (common, collective, diags);
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
