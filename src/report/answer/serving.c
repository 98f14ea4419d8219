#include "report/answer/serving.h"

#include "report/document/html-private.h"
#include "report/document/json-private.h"

#define QUANTILES(name_, member_, about_)                                                        \
  { #name_ "_mean_s", NULL, COLUMN_TIME, 0, COLUMN_MEMBER (ServingReport, run.member_.mean),     \
    .about = about_ },                                                                           \
      { #name_ "_p50_s", NULL, COLUMN_TIME, 0, COLUMN_MEMBER (ServingReport, run.member_.p50) }, \
      { #name_ "_p90_s", NULL, COLUMN_TIME, 0, COLUMN_MEMBER (ServingReport, run.member_.p90) }, \
  {                                                                                              \
#name_ "_p99_s", NULL, COLUMN_TIME, 0, COLUMN_MEMBER(ServingReport, run.member_.p99)         \
  }

static const Column columns[] = {
  { "model", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (ServingReport, model) },
  { "cluster", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (ServingReport, cluster) },
  { "requests", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (ServingReport, run.n_requests) },
  { "seconds", NULL, COLUMN_TIME, 0, COLUMN_MEMBER (ServingReport, run.seconds),
    .about = "from the first arrival to the end of the last request" },
  { "input_tokens", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (ServingReport, run.input_tokens) },
  { "output_tokens", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (ServingReport, run.output_tokens) },
  { "tokens_per_s", NULL, COLUMN_RATE, 0, COLUMN_MEMBER (ServingReport, run.tokens_per_s),
    .about = "written" },
  { "tokens_per_s_per_gpu", NULL, COLUMN_RATE, 0,
    COLUMN_MEMBER (ServingReport, run.tokens_per_s_per_gpu) },
  { "offered_rate", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (ServingReport, run.offered_rate),
    .about = "requests a second" },
  { "sustained_rate", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (ServingReport, run.sustained_rate),
    .about = "of them those that begin while others arrive" },
  { "overloaded", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (ServingReport, run.overloaded),
    .about = "more arrive than begin: the queue grows" },
  { "good_share", NULL, COLUMN_RATIO, 0, COLUMN_MEMBER (ServingReport, run.good_share),
    .about = "of requests, within the limits" },
  { "goodput", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (ServingReport, run.goodput),
    .about = "such requests a second" },
  QUANTILES (wait, wait, "until a request begins to run"),
  QUANTILES (first_token, first_token, "from the arrival"),
  QUANTILES (between_tokens, between_tokens, "mean of a request"),
  QUANTILES (latency, latency, "from the arrival to the last token"),
  { "mean_batch", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (ServingReport, run.mean_batch),
    .about = "sequences that run on a replica, while any does" },
  { "busy", NULL, COLUMN_RATIO, 0, COLUMN_MEMBER (ServingReport, run.busy),
    .about = "share of the time that a replica has something to do" },
  { "mean_cache", NULL, COLUMN_RATIO, 0, COLUMN_MEMBER (ServingReport, run.mean_cache),
    .about = "of its room, while anything runs" },
  { "peak_cache", NULL, COLUMN_RATIO, 0, COLUMN_MEMBER (ServingReport, run.peak_cache) },
  { "handed_over_bytes", NULL, COLUMN_BYTES, COLUMN_OPTIONAL,
    COLUMN_MEMBER (ServingReport, run.handed_over_bytes),
    .about = "of caches, by each rank: from those that compute prompts to those that decode" },
  { "preempted", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (ServingReport, run.n_preempted),
    .about = "times that a sequence lost its cache" },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- latencies for people -------------------------------------------------------------------- */

typedef struct
{
  const char      *name;
  ServingQuantiles values;
} LatencyRow;

static const Column latency_columns[] = {
  { "latency", "latency", COLUMN_WORD, 0, COLUMN_MEMBER (LatencyRow, name) },
  { "mean", "mean", COLUMN_TIME, 0, COLUMN_MEMBER (LatencyRow, values.mean) },
  { "p50", "median", COLUMN_TIME, 0, COLUMN_MEMBER (LatencyRow, values.p50) },
  { "p90", "9 of 10", COLUMN_TIME, 0, COLUMN_MEMBER (LatencyRow, values.p90) },
  { "p99", "99 of 100", COLUMN_TIME, 0, COLUMN_MEMBER (LatencyRow, values.p99) },
  { 0 },
};

static void
describe_latencies (Document *document, const ServingAnswer *run)
{
  const LatencyRow rows[] = { { "wait", run->wait },
                              { "first token", run->first_token },
                              { "between tokens", run->between_tokens },
                              { "whole request", run->latency } };

  document_section (document, "Latencies");
  document_table (document, latency_columns,
                  (Rows){ rows, G_N_ELEMENTS (rows), sizeof (LatencyRow) });
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe (Document *document, gconstpointer answer)
{
  const ServingReport *self = answer;
  const ServingAnswer *run = &self->run;
  struct json_object  *root = document_json (document);

  document_title (document, "%s on %s: %u requests", self->model, self->cluster, run->n_requests);
  if (run->overloaded)
    document_verdict (document, HTML_BAD,
                      "overloaded: %.3g requests/s arrive, %.3g are sustained; the queue grows",
                      run->offered_rate, run->sustained_rate);
  else
    document_verdict (document, HTML_GOOD, "%.0f tokens/s, %.1f a GPU; %.3g requests/s",
                      run->tokens_per_s, run->tokens_per_s_per_gpu, run->sustained_rate);
  document_fact (document, "within the limits", document_share (run->good_share, 1), NULL);
  document_fact (document, "sequences at a time", g_strdup_printf ("%.1f", run->mean_batch),
                 "a replica");
  document_fact (document, "busy", document_share (run->busy, 1), NULL);
  document_fact (document, "cache", document_share (run->mean_cache, 1), "of its room, mean");
  document_fact (document, "cache, at most", document_share (run->peak_cache, 1), NULL);
  document_fact (document, "lost their cache", g_strdup_printf ("%u", run->n_preempted), "times");
  describe_latencies (document, run);
  document_results (document, NULL, columns, (Rows){ self, 1, sizeof (ServingReport) });
  if (root != NULL)
    json_object_object_add (root, "serving", column_object (columns, self));
}

const PageKind serving_answer = { .describe = describe, .columns = columns };
