#include "report/answer/apart.h"

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/plot/plot-private.h"

#define WHOLE(name_, title_, member_, about_)                                             \
  {                                                                                       \
    name_, title_, COLUMN_COUNT, 0, COLUMN_MEMBER (ApartAnswer, member_), .about = about_ \
  }
#define SECONDS(name_, title_, member_, about_)                                          \
  {                                                                                      \
    name_, title_, COLUMN_TIME, 0, COLUMN_MEMBER (ApartAnswer, member_), .about = about_ \
  }
#define SHARE(name_, title_, member_, about_)                                              \
  {                                                                                        \
    name_, title_, COLUMN_RATIO, 0, COLUMN_MEMBER (ApartAnswer, member_), .about = about_, \
  }
#define BYTES(name_, member_, about_)                                                   \
  {                                                                                     \
    name_, NULL, COLUMN_BYTES, 0, COLUMN_MEMBER (ApartAnswer, member_), .about = about_ \
  }
#define HOLDS(name_, condition_, about_)                                                \
  {                                                                                     \
    name_, NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (ApartAnswer, checks[condition_].holds), \
        .about = about_                                                                 \
  }

static const Column columns[] = {
  WHOLE ("micro_batches", "micro-batches", micro_batches, "of a replica's batch"),
  WHOLE ("micro_batch", "sequences", micro_batch, "of a micro-batch"),
  WHOLE ("batch", NULL, load.batch, "sequences of a replica"),
  WHOLE ("prompt_tokens", NULL, load.prompt, NULL),
  WHOLE ("output_tokens", NULL, load.output, NULL),
  WHOLE ("attention_tp", NULL, attention_tp, "tensor ranks of a replica of attention"),
  WHOLE ("attention_replicas", NULL, attention_replicas, "that share the experts"),
  WHOLE ("expert_tp", NULL, expert_tp, "tensor ranks of a node of experts"),
  WHOLE ("expert_nodes", NULL, expert_nodes, "that a layer's experts are divided over"),
  WHOLE ("n_gpus", NULL, n_gpus, "of both pools"),
  WHOLE ("expert_rows", NULL, rows, "tokens of an expert in a micro-batch"),
  SECONDS ("between_tokens_s", "between tokens", between_tokens_s,
           "of all layers, micro-batches in turn, and the host's work"),
  { "in_limit", "in limit", COLUMN_BOOL, 0, COLUMN_MEMBER (ApartAnswer, in_limit),
    .about = "of the time between tokens" },
  { "fits", "fits", COLUMN_BOOL, 0, COLUMN_MEMBER (ApartAnswer, fits),
    .about = "caches at their ends, and experts" },
  { "tokens_per_s", "tokens/s", COLUMN_RATE, 0, COLUMN_MEMBER (ApartAnswer, tokens_per_s),
    .about = "written by the instance; prompts are computed elsewhere" },
  { "tokens_per_s_per_gpu", "tokens/s/GPU", COLUMN_RATE, 0,
    COLUMN_MEMBER (ApartAnswer, tokens_per_s_per_gpu) },
  { "tokens_per_s_per_price", NULL, COLUMN_RATE, 0,
    COLUMN_MEMBER (ApartAnswer, tokens_per_s_per_price),
    .about = "of a unit of --attention-price and --expert-price" },
  SHARE ("attention_busy", "attention", attention_busy, "share of the time that its GPUs work"),
  SHARE ("experts_busy", "experts", experts_busy, "the same of theirs"),
  SHARE ("network_busy", "network", network_busy, "the same of each direction between the pools"),
  SECONDS ("attention_s", NULL, times.attention_s, "T_a: of a micro-batch in a block"),
  SECONDS ("experts_s", NULL, times.experts_s, "T_e"),
  SECONDS ("exchange_s", NULL, times.exchange_s, "T_c: one way"),
  SECONDS ("closed_form_s", NULL, closed_form_s, "of the blocks with experts, in closed form"),
  SECONDS ("published_s", NULL, published_s, "the same as the paper has it, under its conditions"),
  HOLDS ("is_balanced", PING_PONG_BALANCED, "T_a and T_e are within a fifth of each other"),
  HOLDS ("is_hidden", PING_PONG_HIDDEN, "T_c is below the longer of them, T_f"),
  HOLDS ("is_filled", PING_PONG_FILLED, "micro-batches are at least 2 (1 + T_c / T_f)"),
  BYTES ("attention_weight_bytes", attention_weight_bytes, "of an attention GPU"),
  BYTES ("expert_weight_bytes", expert_weight_bytes, "of a GPU of the experts"),
  BYTES ("sequence_bytes", sequence_bytes, "cache of a sequence at its end, of a GPU"),
  BYTES ("room_bytes", room_bytes, "that an attention GPU has for caches"),
  WHOLE ("most_in_memory", NULL, most_in_memory, "sequences of a replica"),
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- the block, and the conditions ----------------------------------------------------------- */

typedef struct
{
  const char *part, *where;
  double      seconds, busy;
} PartRow;

static char *
show_busy (const Column *column, gconstpointer row)
{
  (void) column;
  return document_share (((const PartRow *) row)->busy, 1);
}

static const Column part_columns[] = {
  { "part", "part", COLUMN_WORD, 0, COLUMN_MEMBER (PartRow, part) },
  { "seconds", "a micro-batch", COLUMN_TIME, 0, COLUMN_MEMBER (PartRow, seconds) },
  { "busy", "busy", COLUMN_RATIO, 0, COLUMN_MEMBER (PartRow, busy), .show = show_busy },
  { "where", "where", COLUMN_WORD, 0, COLUMN_MEMBER (PartRow, where) },
  { 0 },
};

static void
describe_block (Document *document, const ApartReport *self, const ApartAnswer *chosen)
{
  const char        *experts = self->experts != NULL ? self->experts : "the same cluster";
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (PartRow));
  const PartRow      all[] = {
         { "attention, T_a", self->attention, chosen->times.attention_s, chosen->attention_busy },
         { "experts, T_e", experts, chosen->times.experts_s, chosen->experts_busy },
         { "exchange, T_c", "one way", chosen->times.exchange_s, chosen->network_busy },
  };

  g_array_append_vals (rows, all, G_N_ELEMENTS (all));
  document_section (document, "A block");
  document_table (document, part_columns, rows_of_array (rows));
}

static char *
show_side (double value, gboolean seconds)
{
  return seconds ? document_seconds (value) : g_strdup_printf ("%.3g", value);
}

static char *
show_here (const Column *column, gconstpointer row)
{
  const PingPongCheck *check = row;
  g_autofree char     *left = show_side (check->left, check->seconds),
                  *right = show_side (check->right, check->seconds);

  (void) column;
  return g_strdup_printf ("%s against %s", left, right);
}

static const Column check_columns[] = {
  { "condition", "condition", COLUMN_WORD, 0, COLUMN_MEMBER (PingPongCheck, words) },
  { "here", "here", COLUMN_WORD, 0, COLUMN_MEMBER (PingPongCheck, words), .show = show_here },
  { "holds", "holds", COLUMN_BOOL, 0, COLUMN_MEMBER (PingPongCheck, holds) },
  { 0 },
};

static void
describe_conditions (Document *document, const ApartAnswer *chosen)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (PingPongCheck));
  g_autofree char   *published = document_seconds (chosen->published_s),
                  *closed = document_seconds (chosen->closed_form_s);

  g_array_append_vals (rows, chosen->checks, PING_PONG_N_CONDITIONS);
  document_section (document, "Conditions of ping-pong");
  document_table (document, check_columns, rows_of_array (rows));
  if (chosen->closed_form_s <= chosen->published_s * (1 + 1e-9))
    document_line (document, "blocks take %s, as T_a + T_e + 2 T_c + T_f (m L - 1) has it", closed);
  else
    document_line (document, "blocks take %s; %s if no pool waited for the exchange", closed,
                   published);
}

/* ---- the picture ----------------------------------------------------------------------------- */

/* What more micro-batches buy and cost. */
static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const ApartReport    *self = answer;
  g_autoptr (GArray)    points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));
  g_autoptr (GPtrArray) labels = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < self->micro_batches->len; i++)
    {
      const ApartAnswer *one = &g_array_index (self->micro_batches, ApartAnswer, i);
      PlotPoint          point = { .x = 1e3 * one->between_tokens_s,
                                   .y = one->tokens_per_s_per_gpu,
                                   .fits = one->fits };

      g_ptr_array_add (labels, g_strdup_printf ("m = %u", one->micro_batches));
      point.label = g_ptr_array_index (labels, i);
      g_array_append_val (points, point);
    }
  return plot_add_pareto (pictures, scripts, PICTURE_BATCHES,
                          "What more micro-batches buy and cost", "time between tokens (ms)",
                          "tokens/s/GPU", points, error);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe_instance (Document *document, const ApartReport *self, const ApartAnswer *chosen)
{
  g_autofree char *limit = document_seconds (chosen->load.limit_s);

  if (!chosen->in_limit)
    document_verdict (document, HTML_BAD, "slower than %s between tokens", limit);
  else
    document_verdict (document, HTML_GOOD, "%.0f tokens/s, %.1f a GPU: %.0f sequences at a time",
                      chosen->tokens_per_s, chosen->tokens_per_s_per_gpu,
                      chosen->load.batch * chosen->attention_replicas);
  document_fact (document, "attention",
                 g_strdup_printf ("%u x tp %u", chosen->attention_replicas, chosen->attention_tp),
                 NULL);
  document_fact (document, "experts",
                 g_strdup_printf ("%u x tp %u", chosen->expert_nodes, chosen->expert_tp), NULL);
  document_fact (
      document, "micro-batches",
      g_strdup_printf ("%u x %.0f sequences", chosen->micro_batches, chosen->micro_batch), NULL);
  document_fact (document, "rows of an expert", g_strdup_printf ("%.0f", chosen->rows), NULL);
  document_fact (document, "between tokens", document_seconds (chosen->between_tokens_s), NULL);
  if (self->tried > 0)
    document_fact (document, "searched", g_strdup_printf ("%u instances", self->tried), NULL);
  document_fact (document, "weights of attention", document_bytes (chosen->attention_weight_bytes),
                 "a GPU");
  document_fact (document, "weights of experts", document_bytes (chosen->expert_weight_bytes),
                 "a GPU");
  document_fact (document, "room for caches", document_bytes (chosen->room_bytes), "a GPU");
  document_fact (document, "largest batch", g_strdup_printf ("%.0f", chosen->most_in_memory),
                 "a replica");
}

static void
describe (Document *document, gconstpointer answer)
{
  const ApartReport  *self = answer;
  const ApartAnswer  *chosen = &g_array_index (self->micro_batches, ApartAnswer, self->chosen);
  struct json_object *root = document_json (document), *apart;

  document_title (document, "%s, attention and experts apart: %.0f prompt tokens, %.0f written",
                  self->model, chosen->load.prompt, chosen->load.output);
  describe_instance (document, self, chosen);
  describe_block (document, self, chosen);
  describe_conditions (document, chosen);
  document_section (document, "Micro-batches");
  document_picture (document, PICTURE_BATCHES);
  document_table (document, columns, rows_of_array (self->micro_batches));
  document_results (document, NULL, columns, rows_of_array (self->micro_batches));
  if (root == NULL)
    return;
  apart = json_object_new_object ();
  json_add_text (apart, "model", self->model);
  json_add_text (apart, "attention", self->attention);
  json_add_text (apart, "experts", self->experts != NULL ? self->experts : self->attention);
  json_object_object_add (apart, "chosen", column_object (columns, chosen));
  json_object_object_add (apart, "micro_batches",
                          column_list (columns, rows_of_array (self->micro_batches)));
  json_object_object_add (root, "apart", apart);
}

const PageKind apart_page = { .draw = draw, .describe = describe, .columns = columns };
