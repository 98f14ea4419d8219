#include "report/answer/timeline.h"
#include "api/request-private.h"
#include "api/shardsim.h"

#define MOST_RANKS  32
#define MOST_SLICES 400000 /* some 20 MiB */
#define MOST_BOXES  20000
#define MOST_TIME   1e6 /* s: as picoseconds far from the end of a SimTime */

typedef struct
{
  double   from, to;
  gint64   rank, boxes;
  gboolean all_ranks;
} Asked;

#define TIME_OF(key_, member_)                                                     \
  {                                                                                \
    .key = key_, .type = OPTION_QUANTITY, .kind = QUANTITY_TIME,                   \
    .offset = G_STRUCT_OFFSET (Asked, member_), .optional = TRUE, .max = MOST_TIME \
  }

static const OptionSpec options[] = {
  TIME_OF ("from", from),
  TIME_OF ("to", to),
  { .key = "rank",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Asked, rank),
    .fallback = "0",
    .max = MOST_RANKS - 1 },
  { .key = "all_ranks",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Asked, all_ranks),
    .fallback = "false" },
  { .key = "boxes",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Asked, boxes),
    .fallback = "5000",
    .min = 1,
    .max = MOST_BOXES },
  { 0 },
};

static TimelineWindow
window_of (const Asked *asked)
{
  return (TimelineWindow){ .from = (SimTime) (asked->from * 1e12),
                           .to = (SimTime) (asked->to * 1e12),
                           .rank = asked->all_ranks ? TIMELINE_ALL_RANKS : (guint) asked->rank,
                           .most = (guint) asked->boxes };
}

/* NULL after diagnostics or an error. */
static GString *
draw (Request *request, const Scenario *scenario, TimelineWindow window)
{
  const PredictOptions      predict = request_predict_options (request, NULL);
  g_auto (PredictionInputs) inputs = { 0 };
  g_autoptr (Prediction)    prediction =
      predict_with_inputs (scenario, &predict, TRUE, &inputs, request->diags, &request->error);
  g_autoptr (Timeline) timeline = NULL;
  GString             *document;

  if (prediction == NULL || inputs.replay == NULL || !request_is_whole (request))
    return NULL;
  timeline = timeline_new (inputs.replay, MOST_RANKS, MOST_SLICES);
  if (window.rank != TIMELINE_ALL_RANKS && window.rank >= timeline->ranks->len)
    {
      diag_error (request->diags, NULL, NULL, "rank: there are %u, from 0", timeline->ranks->len);
      return NULL;
    }
  document = g_string_new (NULL);
  report_timeline_json (timeline, &window, document);
  return document;
}

char *
shardsim_timeline (const char *text, ShardsimStop *stop)
{
  g_auto (Request)     request = { 0 };
  Asked                asked = { 0 };
  const RequestPart    parts[] = { { options, &asked },
                                   { request_time_options, &request },
                                   { NULL, NULL } };
  g_autoptr (Scenario) scenario = NULL;
  g_autoptr (GString)  document = NULL;

  if (request_read (&request, text, stop, parts, NULL))
    scenario = request_load_one (&request, FALSE);
  if (scenario != NULL)
    document = draw (&request, scenario, window_of (&asked));
  return request_answer (&request, document);
}
