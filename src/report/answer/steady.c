#include "report/answer/steady.h"

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/plot/plot-private.h"

#define PART(name_, part_, about_)                                         \
  {                                                                        \
    "decode_" #name_ "_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL,             \
        COLUMN_MEMBER (SteadyAnswer, decode.parts[part_]), .about = about_ \
  }

COLUMN_TEXT_OF (SteadyAnswer, binds, generation_part_names[p->binds])
COLUMN_NUMBER_OF (SteadyAnswer, cache_bytes, p->load.batch * p->sequence_bytes)

static const Column columns[] = {
  { "batch", "batch", COLUMN_COUNT, 0, COLUMN_MEMBER (SteadyAnswer, load.batch),
    .about = "sequences at a time of one replica of attention" },
  { "prompt_tokens", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (SteadyAnswer, load.prompt) },
  { "output_tokens", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (SteadyAnswer, load.output) },
  { "n_ranks", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (SteadyAnswer, n_ranks),
    .about = "GPUs of an instance" },
  { "n_instances", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (SteadyAnswer, n_instances),
    .about = "of the cluster" },
  { "fits", "fits", COLUMN_BOOL, 0, COLUMN_MEMBER (SteadyAnswer, fits),
    .about = "the cache of all sequences at their ends" },
  { "first_token_s", "first token", COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (SteadyAnswer, first_token_s), .about = "of a prompt that waits for no other" },
  { "between_tokens_s", "between tokens", COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (SteadyAnswer, between_tokens_s), .about = "while no prompt is computed" },
  { "tokens_per_s", "tokens/s", COLUMN_RATE, COLUMN_OPTIONAL,
    COLUMN_MEMBER (SteadyAnswer, tokens_per_s), .about = "written by the whole cluster" },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, COLUMN_OPTIONAL,
    COLUMN_MEMBER (SteadyAnswer, tokens_per_s_per_gpu) },
  { "decode_tokens_per_s_per_gpu", NULL, COLUMN_RATE, COLUMN_OPTIONAL,
    COLUMN_MEMBER (SteadyAnswer, decode_tokens_per_s_per_gpu),
    .about = "the same where prompts are computed elsewhere" },
  { "cache_bytes", "cache", COLUMN_BYTES, 0, .number = cache_bytes,
    .about = "a GPU's, of all sequences at their ends" },
  { "weight_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (SteadyAnswer, weight_bytes),
    .about = "of the GPU that has most of them" },
  { "room_bytes", NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (SteadyAnswer, room_bytes),
    .about = "that a GPU has for the cache" },
  { "largest_batch", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (SteadyAnswer, largest_batch),
    .about = "that fits" },
  { "binds", "what binds", COLUMN_WORD, 0, .text = binds, .about = "the largest part of a step" },
  PART (products, GENERATION_PRODUCTS, "of a step: parts add up"),
  PART (experts, GENERATION_EXPERTS, "products of routed experts"),
  PART (attention, GENERATION_ATTENTION, "over the cache"),
  PART (states, GENERATION_STATES, "of state-space and linear layers"),
  PART (other, GENERATION_OTHER, "norms, activations, look-ups, routing, the draw of tokens"),
  PART (communication, GENERATION_COMMUNICATION, "of tensor and expert ranks, and between stages"),
  PART (stages, GENERATION_STAGES, "waiting for other stages"),
  PART (host, GENERATION_HOST, "the GPU waits for the host"),
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- the split of a step --------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  double      decode, prefill, of_decode;
} PartRow;

static char *
show_share (const Column *column, gconstpointer row)
{
  (void) column;
  return document_share (((const PartRow *) row)->decode, ((const PartRow *) row)->of_decode);
}

COLUMN_NUMBER_OF (PartRow, share, p->decode / p->of_decode)

static const Column part_columns[] = {
  { "part", "part", COLUMN_WORD, 0, COLUMN_MEMBER (PartRow, name) },
  { "decode", "between tokens", COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_MEMBER (PartRow, decode) },
  { "share", "share", COLUMN_RATIO, 0, .number = share, .show = show_share },
  { "prefill", "a prompt", COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_MEMBER (PartRow, prefill) },
  { 0 },
};

static void
describe_parts (Document *document, const SteadyAnswer *chosen)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (PartRow));

  for (guint p = 0; p < GENERATION_N_PARTS; p++)
    {
      const PartRow row = { generation_part_names[p], chosen->decode.parts[p],
                            chosen->prefill.parts[p], chosen->decode.seconds };

      if (row.decode > 0 || row.prefill > 0)
        g_array_append_val (rows, row);
    }
  document_section (document, "Where the time goes");
  document_table (document, part_columns, rows_of_array (rows));
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* What each batch buys and costs: tokens/s of a GPU over the time between two tokens. */
static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const ServeAnswer    *self = answer;
  g_autoptr (GArray)    points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < self->batches->len; i++)
    {
      const SteadyAnswer *one = &g_array_index (self->batches, SteadyAnswer, i);
      PlotPoint           point = { .x = 1e3 * one->between_tokens_s,
                                    .y = one->tokens_per_s_per_gpu,
                                    .fits = one->fits };

      g_ptr_array_add (labels, g_strdup_printf ("batch %.0f", one->load.batch));
      point.label = g_ptr_array_index (labels, i);
      g_array_append_val (points, point);
    }
  if (points->len < 2)
    return TRUE;
  return plot_add_pareto (pictures, scripts, PICTURE_BATCHES, "What a larger batch buys and costs",
                          "time between tokens (ms)", "tokens/s/GPU", points, error);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe_chosen (Document *document, const SteadyAnswer *chosen)
{
  if (!chosen->fits)
    document_verdict (document, HTML_BAD, "%.0f sequences do not fit: a GPU has room for %.0f",
                      chosen->load.batch, chosen->largest_batch);
  else
    document_verdict (document, HTML_GOOD, "%.0f tokens/s, %.1f a GPU: %.0f sequences at a time",
                      chosen->tokens_per_s, chosen->tokens_per_s_per_gpu, chosen->load.batch);
  document_fact (document, "first token", document_seconds (chosen->first_token_s), NULL);
  document_fact (document, "between tokens", document_seconds (chosen->between_tokens_s), NULL);
  document_fact (document, "weights", document_bytes (chosen->weight_bytes), "a GPU");
  document_fact (document, "room for the cache", document_bytes (chosen->room_bytes), "a GPU");
  document_fact (document, "a sequence", document_bytes (chosen->sequence_bytes),
                 "a GPU, at its end");
  document_fact (document, "largest batch", g_strdup_printf ("%.0f", chosen->largest_batch), NULL);
}

static void
describe (Document *document, gconstpointer answer)
{
  const ServeAnswer  *self = answer;
  const SteadyAnswer *chosen = &g_array_index (self->batches, SteadyAnswer, self->chosen);
  struct json_object *root = document_json (document);

  document_title (document, "%s on %s: %.0f prompt tokens, %.0f written", self->model,
                  self->cluster, chosen->load.prompt, chosen->load.output);
  describe_chosen (document, chosen);
  describe_parts (document, chosen);
  document_section (document, "Batches");
  document_picture (document, PICTURE_BATCHES);
  document_table (document, columns, rows_of_array (self->batches));
  document_results (document, NULL, columns, rows_of_array (self->batches));
  if (root != NULL)
    {
      struct json_object *serve = json_object_new_object ();

      json_add_text (serve, "model", self->model);
      json_add_text (serve, "cluster", self->cluster);
      json_object_object_add (serve, "chosen", column_object (columns, chosen));
      json_object_object_add (serve, "batches",
                              column_list (columns, rows_of_array (self->batches)));
      json_object_object_add (root, "serve", serve);
    }
}

const PageKind serve_answer = { .draw = draw, .describe = describe, .columns = columns };
