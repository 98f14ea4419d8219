#include "serve/requests.h"

#include <math.h>

#include "base/config/csv-values.h"
#include "model/step/length-distribution.h"

#define HEADER       "a header 'arrival,input,output'"
#define MOST_SECONDS 1e9
#define MOST_TOKENS  (1 << 24)

/* ---- traces ---------------------------------------------------------------------------------- */

typedef struct
{
  gint arrival, prompt, output;
} Places;

static void
read_row (const CsvReader *reader, const Places *places, GArray *requests, DiagList *diags)
{
  const guint  n_errors = diag_list_n_errors (diags);
  const double arrival = csv_reader_number (reader, places->arrival, 0, MOST_SECONDS, FALSE, diags),
               prompt = csv_reader_number (reader, places->prompt, 1, MOST_TOKENS, TRUE, diags),
               output = csv_reader_number (reader, places->output, 1, MOST_TOKENS, TRUE, diags);
  ServeRequest request;

  if (diag_list_n_errors (diags) != n_errors)
    return;
  request = (ServeRequest){ arrival, (guint32) prompt, (guint32) output };
  if (requests->len > 0
      && arrival < g_array_index (requests, ServeRequest, requests->len - 1).arrival_s)
    {
      const SourceMark mark = csv_reader_mark (reader, (guint) places->arrival);

      diag_error (diags, &mark, "sort the trace by its arrivals",
                  "it arrives at %g s, before the request above it", arrival);
    }
  g_array_append_val (requests, request);
}

GArray *
serve_requests_load (const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  g_autoptr (GArray)    requests = g_array_new (FALSE, FALSE, sizeof (ServeRequest));
  const guint           n_errors = diag_list_n_errors (diags);
  Places                places;

  if (reader == NULL)
    return NULL;
  places = (Places){ csv_reader_require (reader, "arrival", HEADER, diags),
                     csv_reader_require (reader, "input", HEADER, diags),
                     csv_reader_require (reader, "output", HEADER, diags) };
  if (diag_list_n_errors (diags) != n_errors)
    return NULL;
  while (csv_reader_next (reader, diags))
    read_row (reader, &places, requests, diags);
  if (requests->len == 0 && diag_list_n_errors (diags) == n_errors)
    {
      SourceMark mark = csv_reader_mark (reader, 0);

      mark.column = mark.length = 0;
      diag_error (diags, &mark, NULL, "no requests under the header");
    }
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&requests) : NULL;
}

/* ---- drawn ----------------------------------------------------------------------------------- */

GArray *
serve_requests_draw (const RequestDraw *draw)
{
  GArray           *requests = g_array_sized_new (FALSE, FALSE, sizeof (ServeRequest), draw->n);
  const LengthDraw  prompts = length_distribution_of_mean (draw->prompt, draw->spread);
  const LengthDraw  outputs = length_distribution_of_mean (draw->output, draw->spread);
  g_autoptr (GRand) rand = g_rand_new_with_seed (draw->seed);
  double            arrival = 0;

  for (guint i = 0; i < draw->n; i++)
    {
      double prompt, output, fit = 1;

      arrival -= log (1 - g_rand_double (rand)) / draw->rate;
      prompt = length_distribution_quantile (&prompts, g_rand_double (rand));
      output = length_distribution_quantile (&outputs, g_rand_double (rand));
      if (draw->longest > 0)
        fit = MIN (draw->longest / (prompt + output), 1);

      const ServeRequest request = { arrival,
                                     (guint32) CLAMP (floor (prompt * fit), 1, MOST_TOKENS),
                                     (guint32) CLAMP (floor (output * fit), 1, MOST_TOKENS) };
      g_array_append_val (requests, request);
    }
  return requests;
}
