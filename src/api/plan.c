#include "api/request-private.h"
#include "api/shardsim.h"
#include "decide/plan/plan-membership.h"
#include "report/answer/membership.h"
#include "report/answer/run-plan.h"
#include "report/export/runners.h"

typedef struct
{
  PlanWords words;
  char    **varied;
  char     *membership;
} Asked;

static const OptionSpec membership_options[] = {
  { .key = "membership",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Asked, membership),
    .optional = TRUE },
  { 0 },
};

static void
asked_clear (Asked *self)
{
  plan_words_clear (&self->words);
  g_strfreev (self->varied);
  g_free (self->membership);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Asked, asked_clear)

/* FALSE after diagnostics or an error. */
static gboolean
take (Request *request, const char *text, ShardsimStop *stop, Asked *asked)
{
  PlanWords        *words = &asked->words;
  const RequestPart parts[] = { { run_options, &words->run },       { plan_options, words },
                                { search_options, &words->search }, { membership_options, asked },
                                { request_time_options, request },  { NULL, NULL } };
  const RequestList lists[] = { { "gpu_nodes", &words->types },
                                { "vary", &asked->varied },
                                { NULL, NULL } };
  const gboolean    good = request_read (request, text, stop, parts, lists);

  for (guint i = 0; asked->varied != NULL && asked->varied[i] != NULL; i++)
    search_words_vary (&words->search, asked->varied[i], "--vary", request->diags);
  return good && !diag_list_has_errors (request->diags) && plan_words_check (words, request->diags);
}

/* NULL after diagnostics. */
static GPtrArray *
load (Request *request, const PlanWords *words)
{
  const guint           n = request->overrides->len;
  g_autoptr (GPtrArray) scenarios = NULL;

  plan_words_add_override (words, request->overrides);
  scenarios = request_load (request, TRUE);
  g_array_set_size (request->overrides, n);
  if (scenarios != NULL && scenarios->len > 1 && plan_words_search (words, scenarios))
    {
      diag_error (request->diags, NULL, NULL, "%u scenarios are given, and a search begins at one",
                  scenarios->len);
      return NULL;
    }
  return g_steal_pointer (&scenarios);
}

/* Each search counts anew, into the request's count. */
static WorkCount *
begin_work (gpointer user, const char *work, const char *unit, gpointer *shown)
{
  Request *request = user;

  (void) unit;
  *shown = NULL;
  call_begin_search (request->call, work);
  return request->count;
}

static void
end_work (gpointer user, const char *work, gpointer shown)
{
  (void) user;
  (void) work;
  (void) shown;
}

static void
make (Request *request, const GPtrArray *scenarios, const Asked *asked,
      const PredictOptions *predict, GString *document)
{
  g_auto (Plans)          plans = { 0 };
  g_auto (MembershipPlan) over = { 0 };
  g_autoptr (Runners)     runners = runners_new (predict);
  const SearchOptions     search = { .n_threads = request_n_threads (request),
                                     .runners = runners_find,
                                     .runners_user = runners,
                                     .tell = call_tell_found,
                                     .tell_user = request->call };
  const PlanProgress      progress = { begin_work, end_work, request };
  const PlanContext       context = { .strategies = request->strategies,
                                      .overrides = request->overrides,
                                      .file = request->file,
                                      .progress = &progress };

  if (asked->membership == NULL
      && plans_make (&plans, scenarios, &asked->words, &search, predict, &context, request->diags))
    report_answer (&run_plan_page, &(RunPlanAnswer){ plans.plans, plans.goals }, FORMAT_JSON,
                   document);
  if (asked->membership != NULL
      && membership_plan_make (&over, scenarios, &asked->words, asked->membership, predict,
                               &context, request->diags))
    report_answer (&membership_answer, over.runs, FORMAT_JSON, document);
}

char *
shardsim_plan (const char *text, ShardsimStop *stop)
{
  g_auto (Request)      request = { 0 };
  g_auto (Asked)        asked = { 0 };
  const gboolean        good = take (&request, text, stop, &asked);
  const PredictOptions  predict = request_predict_options (&request, NULL);
  g_autoptr (GPtrArray) scenarios = good ? load (&request, &asked.words) : NULL;
  g_autoptr (GString)   document = g_string_new (NULL);

  if (scenarios != NULL)
    make (&request, scenarios, &asked, &predict, document);
  return request_answer (&request, document->len > 0 ? document : NULL);
}
