#include "report/answer/search.h"
#include "api/request-private.h"
#include "api/shardsim.h"
#include "decide/search/search-options.h"
#include "report/export/runners.h"

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

char *
shardsim_search (const char *text, ShardsimStop *stop)
{
  g_auto (Request)         request = { 0 };
  g_auto (Asked)           asked = { 0 };
  const RequestPart        parts[] = { { search_options, &asked.words },
                                       { search_goal_options, &asked.goal },
                                       { request_time_options, &request },
                                       { NULL, NULL } };
  const RequestList        lists[] = { { "vary", &asked.varied }, { NULL, NULL } };
  gboolean                 good = request_read (&request, text, stop, parts, lists);
  const PredictOptions     predict = request_predict_options (&request, NULL);
  g_autoptr (Runners)      runners = runners_new (&predict);
  SearchOptions            options = { .n_threads = request_n_threads (&request),
                                       .runners = runners_find,
                                       .runners_user = runners,
                                       .tell = call_tell_found,
                                       .tell_user = request.call };
  g_autoptr (Scenario)     scenario = NULL;
  g_autoptr (SearchResult) result = NULL;
  g_autoptr (GString)      document = NULL;

  for (guint i = 0; asked.varied != NULL && asked.varied[i] != NULL; i++)
    search_words_vary (&asked.words, asked.varied[i], "--vary", request.diags);
  search_words_apply (&asked.words, &options);
  good = search_goal_apply (&asked.goal, &options, request.diags) && good
         && !diag_list_has_errors (request.diags);
  if (good)
    scenario = request_load_one (&request, TRUE);
  if (scenario != NULL)
    result = search_run (scenario, request.strategies, asked.words.varied, asked.words.n_varied,
                         asked.words.only, &options, &predict, request.diags, &request.error);
  if (result != NULL && !diag_list_has_errors (request.diags))
    report_answer (&search_page, &(SearchAnswer){ .result = result }, FORMAT_JSON,
                   document = g_string_new (NULL));
  return request_answer (&request, document);
}
