#include "evidence/figures/figure-apart.h"

#include <math.h>
#include <string.h>

#include "evidence/figures/figure-private.h"
#include "serve/apart-search.h"
#include "serve/steady.h"

/* ---- the table ------------------------------------------------------------------------------- */

typedef enum
{
  QUANTITY_TOKENS,
  QUANTITY_TOKENS_OF_GPU,
  QUANTITY_TOKENS_OF_PRICE,
  QUANTITY_BETWEEN_TOKENS,
  QUANTITY_BEST_REPLICAS, /* up to `replicas`: of the most tokens/s a GPU */
  QUANTITY_EXCHANGE_TIME,
  QUANTITY_EXCHANGE_RATE,
} Quantity;

static const char *const quantities[] = {
  "tokens_per_s",  "tokens_per_s_per_gpu", "tokens_per_s_per_price", "between_tokens_ms",
  "best_replicas", "exchange_us",          "exchange_gb_per_s",      NULL,
};
static const char *const systems[] = { "nccl", "m2n", "together", NULL };
static const char *const axes[] = { "", "micro_batches", "replicas", "bytes", NULL };

#define CELL(member) G_STRUCT_OFFSET (ApartLine, member)
#define MOST         1e12

static const FigureColumn columns[] = {
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "row", CELL (row), .type = FIGURE_WORD },
  { "quantity", CELL (quantity), .type = FIGURE_WORD, .words = quantities },
  { "system", CELL (system), .type = FIGURE_WORD, .words = systems },
  { "model", CELL (model), .type = FIGURE_WORD },
  { "attention", CELL (attention), .type = FIGURE_WORD },
  { "experts", CELL (experts), .type = FIGURE_WORD },
  { "attention_tp", CELL (degrees[APART_ATTENTION_TP]), .type = FIGURE_OPTIONAL, 1, 1024 },
  { "stages", CELL (degrees[APART_STAGES]), .type = FIGURE_OPTIONAL, 1, 1024 },
  { "replicas", CELL (degrees[APART_REPLICAS]), .type = FIGURE_OPTIONAL, 1, 1024 },
  { "expert_tp", CELL (degrees[APART_EXPERT_TP]), .type = FIGURE_OPTIONAL, 1, 1024 },
  { "micro_batches", CELL (degrees[APART_MICRO_BATCHES]), .type = FIGURE_OPTIONAL, 1, 64 },
  { "micro_batch", CELL (micro_batch), .type = FIGURE_OPTIONAL, 1, 1e6 },
  { "attention_price", CELL (attention_price), .type = FIGURE_OPTIONAL, 1e-6, MOST },
  { "expert_price", CELL (expert_price), .type = FIGURE_OPTIONAL, 1e-6, MOST },
  { "peers", CELL (peers), .type = FIGURE_OPTIONAL, 1, 1e6 },
  { "bytes", CELL (bytes), .type = FIGURE_OPTIONAL, 1, MOST },
  { "over", CELL (over), .type = FIGURE_WORD },
  { "x", CELL (x), .type = FIGURE_WORD, .words = axes },
  { "published", CELL (published), .type = FIGURE_GAIN },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
};

/* ---- what a line is about -------------------------------------------------------------------- */

typedef struct
{
  const Figures *figure;
  ProfileSet    *profiles;
  ModelShape     shape;
  Cluster       *attention, *experts; /* the second NULL: one cluster for both */
  DiagList      *diags;
} Parts;

static void
parts_clear (Parts *self)
{
  model_shape_clear (&self->shape);
  g_clear_pointer (&self->attention, cluster_free);
  g_clear_pointer (&self->experts, cluster_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Parts, parts_clear)

static Cluster *
cluster_of (const Parts *self, const char *name)
{
  ClusterOptions options = { 0 };
  Cluster       *cluster;

  option_table_defaults (cluster_options, &options);
  g_free (options.name);
  options.name = g_strdup (name);
  cluster = cluster_new (&options, self->profiles, NULL, self->diags);
  option_table_clear (cluster_options, &options);
  return cluster;
}

/* A file in the figure's folder, or a shipped model. */
static gboolean
read_model (Parts *self, const char *name)
{
  g_autofree char *file = g_build_filename (self->figure->folder, self->figure->name, name, NULL);
  ModelOptions     options = { .config =
                               g_file_test (file, G_FILE_TEST_IS_REGULAR) ? file : (char *) name };

  return model_resolve (&options, NULL, NULL, &self->shape, NULL, self->diags);
}

static gboolean
read_parts (Parts *self, const ApartLine *line)
{
  self->attention = cluster_of (self, line->attention);
  if (self->attention != NULL && *line->experts != '\0')
    self->experts = cluster_of (self, line->experts);
  return !diag_list_has_errors (self->diags)
         && (*line->model == '\0' || read_model (self, line->model));
}

static gboolean
says (const ApartLine *line, Quantity quantity)
{
  return line->quantity == quantities[quantity];
}

static double
degree (const ApartLine *line, ApartDegree which)
{
  return isnan (line->degrees[which]) ? 1 : line->degrees[which];
}

static GenerationOptions
generation_of (const ApartLine *line)
{
  GenerationOptions options = { 0 };

  option_table_defaults (generation_options, &options);
  options.tp = (gint64) degree (line, APART_ATTENTION_TP);
  options.pp = (gint64) degree (line, APART_STAGES);
  return options;
}

/* ---- an exchange ----------------------------------------------------------------------------- */

static double
exchange_value (const Parts *self, const ApartLine *line)
{
  const ExchangeTransport transport = line->system == systems[0] ? EXCHANGE_NCCL : EXCHANGE_M2N;
  g_autoptr (ExchangeEnd) end =
      exchange_end_new (self->attention, TRUE, &collective_default_options);
  const double seconds = exchange_end_seconds (end, transport, line->peers, line->bytes);

  return says (line, QUANTITY_EXCHANGE_TIME) ? 1e6 * seconds
                                             : 1e-9 * line->peers * line->bytes / seconds;
}

/* ---- an instance in one piece ---------------------------------------------------------------- */

/* The largest batch, up to MOST, whose step is in the limit; 0: none. NAN: no MOST. */
static SteadyAnswer
largest_steady (const Parts *self, Generator *generator, const GenerationOptions *options,
                double most)
{
  SteadyLoad   load = { 0, APART_PROMPT, APART_OUTPUT };
  SteadyAnswer best = { 0 }, one;
  double       too_large;

  steady_answer (generator, options, self->attention, load, &one);
  for (too_large = fmin (one.largest_batch, most) + 1; too_large - best.load.batch > 1;)
    {
      load.batch = floor ((best.load.batch + too_large) / 2);
      steady_answer (generator, options, self->attention, load, &one);
      if (one.decode.seconds > APART_LIMIT)
        too_large = load.batch;
      else
        best = one;
    }
  return best;
}

static double
together_value (const Parts *self, ApartLine *line, Figures *figure)
{
  const GenerationOptions options = generation_of (line);
  const double            price = isnan (line->attention_price) ? 1 : line->attention_price;
  g_autoptr (Generator)   generator = generator_new (&self->shape, &options, self->attention,
                                                     &collective_default_options, self->diags);
  g_autofree char        *layout = NULL;
  SteadyAnswer            answer;

  if (generator == NULL)
    return NAN;
  answer = largest_steady (self, generator, &options, line->micro_batch);
  if (answer.load.batch == 0)
    {
      diag_error (self->diags, NULL, NULL, "no batch fits");
      return NAN;
    }
  layout = g_strdup_printf ("tp %.0f, pp %.0f, batch %.0f", degree (line, APART_ATTENTION_TP),
                            degree (line, APART_STAGES), answer.load.batch);
  line->layout = figure_keep (figure, layout);
  if (says (line, QUANTITY_BETWEEN_TOKENS))
    return 1e3 * answer.between_tokens_s;
  if (says (line, QUANTITY_TOKENS))
    return answer.decode_tokens_per_s_per_gpu * answer.n_ranks;
  return answer.decode_tokens_per_s_per_gpu / (says (line, QUANTITY_TOKENS_OF_PRICE) ? price : 1);
}

/* ---- an instance in two pools ---------------------------------------------------------------- */

static ApartOptions
apart_options_of (const ApartLine *line)
{
  ApartOptions options = { 0 };

  option_table_defaults (apart_options, &options);
  options.attention_replicas = (gint64) degree (line, APART_REPLICAS);
  options.micro_batches = (gint64) degree (line, APART_MICRO_BATCHES);
  options.expert_tp = (gint64) degree (line, APART_EXPERT_TP);
  options.transport = line->system == systems[0] ? EXCHANGE_NCCL : EXCHANGE_M2N;
  if (!isnan (line->attention_price))
    options.attention_price = line->attention_price;
  if (!isnan (line->expert_price))
    options.expert_price = line->expert_price;
  return options;
}

static ApartLoad
load_of (const ApartLine *line, double micro_batches)
{
  return (ApartLoad){ isnan (line->micro_batch) ? 0 : line->micro_batch * micro_batches,
                      APART_PROMPT, APART_OUTPUT, APART_LIMIT };
}

/* The answer with the degrees of LINE, of which each must be said. */
static gboolean
answer_as_said (const Parts *self, const ApartLine *line, const ApartPools *pools,
                ApartAnswer *best)
{
  const GenerationOptions generation = generation_of (line);
  const ApartOptions      options = apart_options_of (line);
  const guint             last = (guint) options.attention_replicas,
              first = says (line, QUANTITY_BEST_REPLICAS) ? 1 : last;
  g_autoptr (Apart) apart = apart_new (&self->shape, &generation, &options, pools,
                                       &collective_default_options, self->diags);

  if (apart == NULL)
    return FALSE;
  for (guint n = first; n <= last; n++)
    {
      ApartAnswer one;

      apart_set (apart, n, (guint) options.micro_batches);
      apart_answer (apart, load_of (line, degree (line, APART_MICRO_BATCHES)), &one);
      if (n == first || one.tokens_per_s_per_gpu > best->tokens_per_s_per_gpu)
        *best = one;
    }
  return TRUE;
}

static gboolean
answer_found (const Parts *self, const ApartLine *line, const ApartPools *pools, ApartAnswer *best)
{
  const GenerationOptions generation = generation_of (line);
  const ApartOptions      options = apart_options_of (line);
  ApartSearch             search;
  const gboolean          found =
      apart_search (&self->shape, &generation, &options, pools, &collective_default_options,
                    load_of (line, 0), &search, self->diags);

  *best = search.best;
  return found;
}

static double
apart_value (const Parts *self, ApartLine *line, Figures *figure)
{
  const ApartPools pools = { self->attention,
                             self->experts != NULL ? self->experts : self->attention };
  const gboolean   said = !isnan (line->degrees[APART_REPLICAS]);
  g_autofree char *layout = NULL;
  ApartAnswer      answer = { 0 };

  if (!(said ? answer_as_said : answer_found) (self, line, &pools, &answer))
    return NAN;
  layout = g_strdup_printf ("%u x tp %u, experts %u x tp %u, %u x %.0f", answer.attention_replicas,
                            answer.attention_tp, answer.expert_nodes, answer.expert_tp,
                            answer.micro_batches, answer.micro_batch);
  line->layout = figure_keep (figure, layout);
  line->times = answer.times;
  if (!answer.fits)
    {
      diag_error (self->diags, NULL, NULL, "does not fit memory");
      return NAN;
    }
  if (says (line, QUANTITY_TOKENS))
    return answer.tokens_per_s;
  if (says (line, QUANTITY_TOKENS_OF_PRICE))
    return answer.tokens_per_s_per_price;
  if (says (line, QUANTITY_BETWEEN_TOKENS))
    return 1e3 * answer.between_tokens_s;
  return says (line, QUANTITY_BEST_REPLICAS) ? answer.attention_replicas
                                             : answer.tokens_per_s_per_gpu;
}

/* ---- the figure ------------------------------------------------------------------------------ */

double
figure_apart_x (const ApartLine *line)
{
  if (line->x == axes[1])
    return line->degrees[APART_MICRO_BATCHES];
  return line->x == axes[2] ? line->degrees[APART_REPLICAS] : line->bytes / 1024;
}

/* The number of LINE by itself. */
static void
compute_line (Figures *self, ProfileSet *profiles, ApartLine *line)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_auto (Parts)       parts = { .figure = self, .profiles = profiles, .diags = diags };

  line->layout = "";
  line->raw = NAN;
  if (read_parts (&parts, line))
    line->raw = *line->model == '\0'         ? exchange_value (&parts, line)
                : line->system == systems[2] ? together_value (&parts, line, self)
                                             : apart_value (&parts, line, self);
  if (isnan (line->raw))
    line->reason = figure_keep (self, diag_list_first_message (diags));
}

/* The row NAME above LINE, of the same quantity; NULL: there is none. */
static const ApartLine *
row_above (const Figures *self, const ApartLine *line, const char *name)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      const ApartLine *other = FIGURE_LINE (self, ApartLine, i);

      if (other == line)
        return NULL;
      if (g_str_equal (other->row, name) && other->quantity == line->quantity)
        return other;
    }
  return NULL;
}

static void
check_line (gpointer self, gpointer data, const CsvReader *reader, DiagList *diags)
{
  ApartLine       *line = data;
  const SourceMark over = figure_table_mark (reader, "over"),
                   model = figure_table_mark (reader, "model");
  const gboolean exchange = line->quantity == quantities[QUANTITY_EXCHANGE_TIME]
                            || line->quantity == quantities[QUANTITY_EXCHANGE_RATE];
  g_auto (GStrv) names = g_strsplit (line->over, " | ", -1);

  if (exchange != (*line->model == '\0') || (exchange && isnan (line->peers * line->bytes)))
    diag_error (diags, &model, NULL,
                "an exchange has 'peers' and 'bytes' and no model, all else has one");
  for (guint i = 0; names[i] != NULL; i++)
    if (row_above (self, line, names[i]) == NULL)
      diag_error (diags, &over, NULL, "no row '%s' of the same quantity stands above", names[i]);
}

/* LINE's number over those of the rows that it names. */
static void
divide (const Figures *self, ApartLine *line)
{
  g_auto (GStrv) names = g_strsplit (line->over, " | ", -1);

  line->low = line->high = line->raw;
  for (guint i = 0; names[i] != NULL; i++)
    {
      const ApartLine *over = row_above (self, line, names[i]);
      const double     ratio = line->raw / over->raw;

      line->low = i == 0 || isnan (ratio) ? ratio : MIN (line->low, ratio);
      line->high = i == 0 || isnan (ratio) ? ratio : MAX (line->high, ratio);
      if (isnan (over->raw) && line->reason == NULL)
        line->reason = over->reason;
    }
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (input->options->profile_dir);

  (void) diags;
  for (guint i = 0; i < self->lines->len; i++)
    {
      ApartLine *line = FIGURE_LINE (self, ApartLine, i);

      compute_line (self, profiles, line);
      divide (self, line);
      figure_add_evidence (self, line->row, line->quantity, line->published, line->low, line->high);
    }
  return TRUE;
}

const FigureComputation figure_apart = {
  .suffix = ".apart.csv",
  .alone = TRUE,
  .lines = { columns, G_N_ELEMENTS (columns), .size = sizeof (ApartLine), .check = check_line },
  .compute = compute,
};
