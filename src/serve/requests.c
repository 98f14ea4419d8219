#include "serve/requests.h"

#include <math.h>

#include "base/config/csv.h"
#include "base/config/units.h"

#define MOST_SECONDS 1e9
#define MOST_TOKENS  (1 << 24)

/* ---- traces ---------------------------------------------------------------------------------- */

typedef struct
{
  gint arrival, prompt, output;
} Places;

static gint
find_column (const CsvReader *reader, const char *name, DiagList *diags)
{
  const gint place = csv_reader_find (reader, name);

  if (place < 0)
    csv_reader_missing (reader, name, "a header 'arrival,input,output'", diags);
  return place;
}

/* A number from LEAST to MOST in column PLACE, or a diagnostic and NAN. */
static double
read_number (const CsvReader *reader, gint place, double least, double most, DiagList *diags)
{
  const char      *text = csv_reader_field (reader, (guint) place);
  const SourceMark mark = csv_reader_mark (reader, (guint) place);
  char            *end;
  const double     value = g_ascii_strtod (text, &end);

  if (end != text && *end == '\0' && number_is_usable (value) && value >= least && value <= most)
    return value;
  diag_error (diags, &mark, NULL, "expected a number from %g to %g in column '%s', got '%s'", least,
              most, csv_reader_column (reader, (guint) place), text);
  return NAN;
}

static void
read_row (const CsvReader *reader, const Places *places, GArray *requests, DiagList *diags)
{
  const guint  n_errors = diag_list_n_errors (diags);
  const double arrival = read_number (reader, places->arrival, 0, MOST_SECONDS, diags),
               prompt = read_number (reader, places->prompt, 1, MOST_TOKENS, diags),
               output = read_number (reader, places->output, 1, MOST_TOKENS, diags);
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
  places = (Places){ find_column (reader, "arrival", diags), find_column (reader, "input", diags),
                     find_column (reader, "output", diags) };
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

/* Of mean 1 and standard deviation SPREAD. [log-normal; Box and Muller] */
static double
draw_factor (GRand *rand, double spread)
{
  const double variance = log1p (spread * spread);
  const double radius = sqrt (-2 * log (1 - g_rand_double (rand)));
  const double normal = radius * cos (2 * G_PI * g_rand_double (rand));

  return spread > 0 ? exp (sqrt (variance) * normal - variance / 2) : 1;
}

GArray *
serve_requests_draw (const RequestDraw *draw)
{
  GArray *requests = g_array_sized_new (FALSE, FALSE, sizeof (ServeRequest), draw->n);
  GRand  *rand = g_rand_new_with_seed (draw->seed);
  double  arrival = 0;

  for (guint i = 0; i < draw->n; i++)
    {
      double prompt, output, fit = 1;

      arrival -= log (1 - g_rand_double (rand)) / draw->rate;
      prompt = draw->prompt * draw_factor (rand, draw->spread);
      output = draw->output * draw_factor (rand, draw->spread);
      if (draw->longest > 0)
        fit = MIN (draw->longest / (prompt + output), 1);

      const ServeRequest request = { arrival,
                                     (guint32) CLAMP (floor (prompt * fit), 1, MOST_TOKENS),
                                     (guint32) CLAMP (floor (output * fit), 1, MOST_TOKENS) };
      g_array_append_val (requests, request);
    }
  g_rand_free (rand);
  return requests;
}
