#include "report/answer/serve-grid.h"

#include <math.h>

#include "report/document/html-private.h"

#define STEADY(name, member) \
  COLUMN_NUMBER_OF (ServeGridRow, steady_##name, p->reason == NULL ? p->steady.member : NAN)
#define RUN(name, member) \
  COLUMN_NUMBER_OF (ServeGridRow, run_##name, p->reason == NULL ? p->run.member : NAN)

STEADY (ranks, n_ranks)
STEADY (batch, load.batch)
STEADY (largest, largest_batch)
STEADY (first, first_token_s)
STEADY (between, between_tokens_s)
STEADY (rate, tokens_per_s)
STEADY (rate_per_gpu, tokens_per_s_per_gpu)
COLUMN_TEXT_OF (ServeGridRow, steady_binds,
                p->reason == NULL && p->steady.decode.seconds > 0
                    ? generation_part_names[p->steady.binds]
                    : NULL)
COLUMN_TEXT_OF (ServeGridRow, steady_fits, p->reason != NULL ? NULL : p->steady.fits ? "yes" : "no")

static const Column batch_columns[] = {
  { "label", "options", COLUMN_TEXT, 0, COLUMN_MEMBER (ServeGridRow, label) },
  { "n_ranks", "GPUs", COLUMN_COUNT, 0, .number = steady_ranks, .about = "of an instance" },
  { "batch", "batch", COLUMN_COUNT, 0, .number = steady_batch,
    .about = "sequences at a time of one replica of attention" },
  { "largest_batch", "largest", COLUMN_COUNT, 0, .number = steady_largest, .about = "that fits" },
  { "fits", "fits", COLUMN_WORD, 0, .text = steady_fits },
  { "first_token_s", "first token", COLUMN_TIME, COLUMN_OPTIONAL, .number = steady_first },
  { "between_tokens_s", "between tokens", COLUMN_TIME, COLUMN_OPTIONAL, .number = steady_between },
  { "tokens_per_s", "tokens/s", COLUMN_RATE, COLUMN_OPTIONAL, .number = steady_rate },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, COLUMN_OPTIONAL | COLUMN_MORE,
    .number = steady_rate_per_gpu },
  { "binds", "what binds", COLUMN_WORD, 0, .text = steady_binds },
  { "reason", "reason", COLUMN_WORD, COLUMN_IF_ANY, COLUMN_MEMBER (ServeGridRow, reason) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

RUN (rate, tokens_per_s)
RUN (rate_per_gpu, tokens_per_s_per_gpu)
RUN (sustained, sustained_rate)
RUN (first, first_token.p50)
RUN (first_worst, first_token.p99)
RUN (between, between_tokens.p50)
RUN (between_worst, between_tokens.p99)
RUN (good, good_share)
RUN (goodput, goodput)
RUN (cache, peak_cache)
COLUMN_TEXT_OF (ServeGridRow, run_overloaded,
                p->reason != NULL   ? NULL
                : p->run.overloaded ? "yes"
                                    : "no")

static const Column request_columns[] = {
  { "label", "options", COLUMN_TEXT, 0, COLUMN_MEMBER (ServeGridRow, label) },
  { "overloaded", "overloaded", COLUMN_WORD, 0, .text = run_overloaded,
    .about = "more arrive than begin" },
  { "tokens_per_s", "tokens/s", COLUMN_RATE, 0, .number = run_rate },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, COLUMN_MORE, .number = run_rate_per_gpu },
  { "sustained_rate", "requests/s", COLUMN_NUMBER, 0, .number = run_sustained },
  { "first_token_p50_s", "first token", COLUMN_TIME, 0, .number = run_first },
  { "first_token_p99_s", "99 of 100", COLUMN_TIME, 0, .number = run_first_worst },
  { "between_tokens_p50_s", "between tokens", COLUMN_TIME, 0, .number = run_between },
  { "between_tokens_p99_s", "99 of 100", COLUMN_TIME, 0, .number = run_between_worst },
  { "good_share", "good", COLUMN_RATIO, 0, .number = run_good, .about = "within the limits" },
  { "goodput", "good/s", COLUMN_NUMBER, 0, .number = run_goodput },
  { "peak_cache", "cache", COLUMN_RATIO, 0, .number = run_cache, .about = "of its room, at most" },
  { "reason", "reason", COLUMN_WORD, COLUMN_IF_ANY, COLUMN_MEMBER (ServeGridRow, reason) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

void
serve_grid_row_clear (ServeGridRow *self)
{
  g_free (self->label);
  g_free (self->reason);
}

static void
describe (Document *document, const ServeGrid *self, const Column *columns)
{
  document_title (document, "%s on %s", self->model, self->cluster);
  document_table (document, columns, rows_of_array (self->rows));
  document_results (document, "rows", columns, rows_of_array (self->rows));
}

static void
describe_batches (Document *document, gconstpointer answer)
{
  describe (document, answer, batch_columns);
}

static void
describe_requests (Document *document, gconstpointer answer)
{
  describe (document, answer, request_columns);
}

const PageKind serve_grid_of_batches = { .describe = describe_batches, .columns = batch_columns };
const PageKind serve_grid_of_requests = { .describe = describe_requests,
                                          .columns = request_columns };
