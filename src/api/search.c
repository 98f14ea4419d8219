#include "report/search.h"
#include "analysis/search-options.h"
#include "api/request-private.h"
#include "api/shardsim.h"
#include "report/runners.h"

typedef struct
{
  SearchWords words;
  SearchGoal  goal;
  char      **varied;
} Asked;

static void
asked_clear (Asked *self)
{
  search_words_clear (&self->words);
  g_strfreev (self->varied);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Asked, asked_clear)

/* FALSE after diagnostics or an error. */
static gboolean
take (Request *request, const char *text, ShardsimStop *stop, Asked *asked, SearchOptions *options)
{
  const RequestPart parts[] = { { search_options, &asked->words },
                                { search_goal_options, &asked->goal },
                                { request_time_options, request },
                                { NULL, NULL } };
  const RequestList lists[] = { { "vary", &asked->varied }, { NULL, NULL } };
  const gboolean    good = request_read (request, text, stop, parts, lists);

  for (guint i = 0; asked->varied != NULL && asked->varied[i] != NULL; i++)
    search_words_vary (&asked->words, asked->varied[i], "--vary", request->diags);
  search_words_take (&asked->words, options);
  return search_goal_take (&asked->goal, options, request->diags) && good
         && !diag_list_has_errors (request->diags);
}

char *
shardsim_search (const char *text, ShardsimStop *stop)
{
  g_auto (Request)         request = { 0 };
  g_auto (Asked)           asked = { 0 };
  SearchOptions            options = { 0 };
  const gboolean           good = take (&request, text, stop, &asked, &options);
  const PredictOptions     predict = request_predict_options (&request, NULL);
  g_autoptr (Runners)      runners = runners_new (&predict);
  g_autoptr (Scenario)     scenario = good ? request_load_one (&request, TRUE) : NULL;
  g_autoptr (SearchResult) result = NULL;
  g_autoptr (GString)      document = NULL;

  options.n_threads = request_n_threads (&request);
  options.runners = runners_find;
  options.runners_user = runners;
  if (scenario != NULL)
    result = search_run (scenario, request.strategies, asked.words.varied, asked.words.n_varied,
                         asked.words.only, &options, &predict, request.diags, &request.error);
  if (result != NULL && !diag_list_has_errors (request.diags))
    report_search_json (result, document = g_string_new (NULL));
  return request_answer (&request, document);
}
