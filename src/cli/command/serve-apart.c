#include "cli/command/serve-apart.h"

#include "cli/argument/collective-arguments.h"
#include "report/answer/apart.h"
#include "serve/apart-search.h"

#define LEAST_MICRO_BATCHES 4 /* that are shown */

/* The experts' own cluster; NULL without one, or after diagnostics. The caller's. */
static Cluster *
expert_cluster_of (const ServeApart *asked, DiagList *diags)
{
  const char    *name = asked->options->expert_cluster;
  OptionMarks    marks = { .table = cluster_options };
  SourceMark     mark;
  ClusterOptions wanted = { 0 };
  Cluster       *cluster;

  if (name == NULL)
    return NULL;
  mark = argument_mark ("--expert-cluster", name);
  option_marks_set (&marks, "name", &mark);
  option_table_defaults (cluster_options, &wanted);
  g_free (wanted.name);
  wanted.name = g_strdup (name);
  cluster = cluster_new (&wanted, asked->profiles, &marks, diags);
  option_table_clear (cluster_options, &wanted);
  option_marks_clear (&marks);
  return cluster;
}

static double
gib (double bytes)
{
  return bytes / (1 << 30);
}

/* The instance that was asked for, or the best; FALSE after diagnostics. */
static gboolean
find_instance (const ServeApart *asked, const ApartPools *pools, ApartReport *report,
               ApartAnswer *chosen, DiagList *diags)
{
  g_autoptr (Apart) apart = NULL;
  ApartSearch       search;

  if (asked->options->fit)
    {
      if (!apart_search (asked->shape, asked->generation, asked->options, pools, asked->library,
                         asked->load, &search, diags))
        return FALSE;
      *chosen = search.best;
      report->tried = search.tried;
      return TRUE;
    }
  apart = apart_new (asked->shape, asked->generation, asked->options, pools, asked->library, diags);
  if (apart == NULL)
    return FALSE;
  apart_answer (apart, asked->load, chosen);
  if (!chosen->fits)
    diag_error (
        diags, NULL, "more tensor ranks, a smaller --batch, or shorter sequences",
        "%.0f sequences do not fit: weights take %.1f GiB of an attention GPU and %.1f of an "
        "expert's, caches of a replica have room for %.0f sequences",
        MAX (chosen->load.batch, 1), gib (chosen->attention_weight_bytes),
        gib (chosen->expert_weight_bytes), chosen->most_in_memory);
  return chosen->fits;
}

/* CHOSEN's instance with one micro-batch and more, as large as its own. */
static void
add_micro_batches (const ServeApart *asked, const ApartPools *pools, const ApartAnswer *chosen,
                   ApartReport *report, DiagList *diags)
{
  GenerationOptions generation = *asked->generation;
  ApartOptions      options = *asked->options;
  g_autoptr (Apart) apart = NULL;

  generation.tp = chosen->attention_tp;
  options.expert_tp = chosen->expert_tp;
  options.attention_replicas = chosen->attention_replicas;
  apart = apart_new (asked->shape, &generation, &options, pools, asked->library, diags);
  report->chosen = chosen->micro_batches - 1;
  for (guint m = 1; m <= MAX (chosen->micro_batches, LEAST_MICRO_BATCHES); m++)
    {
      ApartLoad   load = chosen->load;
      ApartAnswer one = *chosen;

      load.batch = chosen->micro_batch * m;
      apart_set (apart, chosen->attention_replicas, m);
      if (m != chosen->micro_batches)
        apart_answer (apart, load, &one);
      g_array_append_val (report->micro_batches, one);
    }
}

ExitStatus
serve_apart (Common *common, const ServeApart *asked)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  experts = expert_cluster_of (asked, diags);
  g_autoptr (GArray)   rows = g_array_new (FALSE, FALSE, sizeof (ApartAnswer));
  g_autoptr (GString)  out = g_string_new (NULL);
  const ApartPools     pools = { asked->cluster, experts != NULL ? experts : asked->cluster };
  ApartReport          report = { .model = asked->shape->name,
                                  .attention = cluster_title (asked->cluster),
                                  .experts = experts != NULL ? cluster_title (experts) : NULL,
                                  .micro_batches = rows };
  ApartAnswer          chosen;
  ExitStatus           status = EXIT_USAGE;

  if (!diag_list_has_errors (diags) && find_instance (asked, &pools, &report, &chosen, diags))
    {
      add_micro_batches (asked, &pools, &chosen, &report, diags);
      status = common_check_outputs (common);
    }
  if (stream_report_diags (diags) != EXIT_DONE || status != EXIT_DONE)
    return status;
  report_answer (&apart_page, &report, common->format, out);
  return common_write_pages (common, &apart_page, &report, stream_print (out));
}
