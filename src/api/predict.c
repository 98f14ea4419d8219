#include "api/shardsim.h"

#include "api/request-private.h"
#include "decide/explore/advice.h"
#include "decide/explore/remedies.h"
#include "predict/batch.h"
#include "report/document/answer.h"

/* What is looked for beside the predictions. */
typedef struct
{
  gboolean remedies, advise;
} Proposals;

static const OptionSpec proposal_options[] = {
  { .key = "remedies",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Proposals, remedies),
    .fallback = "false" },
  { .key = "advise",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Proposals, advise),
    .fallback = "false" },
  { 0 },
};

/* Everything of one call. */
typedef struct
{
  Request         request;
  RequestRun      run;
  Proposals       proposals;
  PredictOptions  options;
  GPtrArray      *scenarios;
  PredictionBatch batch; /* of them */
} Call;

static void
propose (const Call *self, guint i)
{
  const Scenario    *scenario = g_ptr_array_index (self->scenarios, i);
  const StrategySet *strategies = self->request.strategies;
  const Predicted   *one = &self->batch.each[i];
  Prediction        *prediction = one->prediction;
  RemedyBudget       budget = remedy_budget_after (one->n_events);
  AdviceBudget       advice = advice_default_budget;

  budget.n_threads = advice.n_threads = request_n_threads (&self->request);
  if (self->proposals.remedies && !prediction->fits)
    prediction->remedies =
        remedies_find (scenario, strategies, prediction, &self->options, &budget);
  if (self->proposals.advise && prediction->fits)
    prediction->advice = advice_find (scenario, strategies, prediction, &self->options, &advice);
}

static void
predict_all (Call *self)
{
  DiagList *all = self->request.diags;
  gboolean  whole = TRUE;

  self->options = request_predict_options (&self->request, &self->run);
  self->options.idle_figures = TRUE;
  self->batch = (PredictionBatch){ .n = self->scenarios->len,
                                   .n_threads = request_n_threads (&self->request),
                                   .options = &self->options,
                                   .most_events = G_MAXUINT64, /* they are counted */
                                   .scenarios = self->scenarios };
  prediction_batch_run (&self->batch);
  diag_list_drop_repeats (all, TRUE);
  for (guint i = 0; i < self->batch.n; i++)
    {
      Predicted *one = &self->batch.each[i];

      diag_list_append (all, one->diags);
      if (predicted_failed (one))
        g_clear_pointer (&one->prediction, prediction_free);
      if (self->request.error == NULL)
        self->request.error = g_steal_pointer (&one->error);
      whole = whole && one->prediction != NULL;
      if (one->prediction != NULL)
        propose (self, i);
    }
  if (!whole)
    request_is_whole (&self->request);
  diag_list_drop_repeats (all, FALSE);
}

static char *
answer (const Call *self)
{
  g_autoptr (GPtrArray)    predictions = g_ptr_array_new ();
  g_autoptr (GStrvBuilder) names = g_strv_builder_new (); /* of what has no prediction */
  g_auto (GStrv)           left_out = NULL;
  GString                 *out = g_string_new (NULL);

  for (guint i = 0; self->scenarios != NULL && i < self->scenarios->len; i++)
    if (self->batch.each[i].prediction != NULL)
      g_ptr_array_add (predictions, self->batch.each[i].prediction);
    else
      g_strv_builder_add (names, ((const Scenario *) self->scenarios->pdata[i])->name);
  left_out = g_strv_builder_end (names);
  report_answer_json (predictions, left_out, self->request.diags,
                      self->request.error != NULL ? self->request.error->message : NULL, out);
  return g_string_free (out, FALSE);
}

char *
shardsim_predict (const char *request)
{
  return shardsim_predict_until (request, NULL);
}

char *
shardsim_predict_until (const char *request, ShardsimStop *stop)
{
  Call              self = { 0 };
  const RequestPart parts[] = { { request_run_options, &self.run },
                                { proposal_options, &self.proposals },
                                { NULL, NULL } };
  char             *text;

  if (request_read (&self.request, request, stop, parts, NULL))
    self.scenarios = request_load (&self.request, FALSE);
  if (self.scenarios != NULL)
    predict_all (&self);
  text = answer (&self);
  prediction_batch_clear (&self.batch);
  g_clear_pointer (&self.scenarios, g_ptr_array_unref);
  request_clear (&self.request);
  return text;
}
