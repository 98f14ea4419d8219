/* shardsim serve: what a cluster generates with a model, and how fast. */
#include "cli/argument/collective-arguments.h"
#include "cli/argument/model-argument.h"
#include "cli/command/serve-apart.h"
#include "cli/command/serve-vary.h"
#include "cli/help/page-values.h"
#include "report/answer/serving.h"
#include "report/answer/steady.h"

#define MOST_TOKENS (1 << 24) /* of a prompt or an answer */

/* Requests that are drawn. */
typedef struct
{
  double rate, spread;
  gint64 n, seed;
} DrawWords;

#define DRAW(member) .offset = G_STRUCT_OFFSET (DrawWords, member)

static const OptionSpec draw_options[] = {
  { .key = "rate",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    DRAW (rate),
    .optional = TRUE,
    .min = 1e-6,
    .max = 1e9,
    .help = "requests that arrive a second, at random; their lengths are around --prompt and "
            "--output" },
  { .key = "n_requests",
    .type = OPTION_INT,
    DRAW (n),
    .fallback = "1000",
    .min = 1,
    .max = 1e7,
    .help = "that are drawn" },
  { .key = "length_spread",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    DRAW (spread),
    .fallback = "0",
    .min = 0,
    .max = 10,
    .or_zero = TRUE,
    .help = "of drawn lengths: standard deviation over mean, log-normal" },
  { .key = "seed",
    .type = OPTION_INT,
    DRAW (seed),
    .fallback = "0",
    .min = 0,
    .max = 1e9,
    .help = "of drawn requests" },
  { 0 },
};

typedef struct
{
  char             *model, *requests;
  char            **vary;
  gint              batch, prompt, output;
  GenerationOptions generation;
  ServingOptions    serving;
  ApartOptions      apart;
  DrawWords         draw;
} Settings;

/* What is read before anything is computed. */
typedef struct
{
  ClusterOptions    wanted;
  CollectiveConfig  config;
  CollectiveOptions library;
  ProfileSet       *profiles;
  Cluster          *cluster;
  ModelShape        shape;
} Inputs;

static void
inputs_clear (Inputs *self)
{
  g_clear_pointer (&self->cluster, cluster_free);
  g_clear_pointer (&self->profiles, profile_set_free);
  model_shape_clear (&self->shape);
  option_table_clear (cluster_options, &self->wanted);
  option_table_clear (collective_options, &self->config);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Inputs, inputs_clear)

static gboolean
read_cluster (const Common *common, Inputs *self, DiagList *diags)
{
  OptionMarks marks = { .table = cluster_options }, library = { .table = collective_options };

  option_table_defaults (cluster_options, &self->wanted);
  option_table_defaults (collective_options, &self->config);
  self->profiles = profile_set_new (common->hwprofiles);
  apply_network_options (common, &self->wanted, &self->config, &marks, &library, diags);
  self->library = collective_config_options (&self->config);
  self->cluster = cluster_new (&self->wanted, self->profiles, &marks, diags);
  collective_config_check (&self->config, self->profiles, option_mark (&library, "nccl", NULL),
                           diags);
  collective_config_check_wishes (&self->config, self->cluster, &library, diags);
  option_marks_clear (&marks);
  option_marks_clear (&library);
  return self->cluster != NULL && !diag_list_has_errors (diags);
}

static gboolean
read_inputs (const Common *common, const Settings *settings, Inputs *self, DiagList *diags)
{
  TrainingOptions training = { 0 };
  gboolean        ok = model_argument_read (settings->model, 1, &self->shape, &training, diags);

  option_table_clear (training_options, &training);
  ok = read_cluster (common, self, diags) && ok;
  if (ok && self->shape.longest > 0 && settings->prompt + settings->output > self->shape.longest)
    diag_error (diags, NULL, "a shorter --prompt or --output",
                "a sequence of %d tokens is longer than the %" G_GINT64_FORMAT
                " that '%s' was made for",
                settings->prompt + settings->output, self->shape.longest, self->shape.name);
  return ok && !diag_list_has_errors (diags);
}

/* Powers of two below MOST, and MOST; the place of it is ANSWER's. */
static void
answer_batches (const Settings *settings, const Inputs *inputs, Generator *generator,
                ServeAnswer *answer)
{
  SteadyLoad   load = { settings->batch, settings->prompt, settings->output };
  SteadyAnswer chosen, one;

  steady_answer (generator, &settings->generation, inputs->cluster, load, &chosen);
  for (load.batch = 1; load.batch < chosen.load.batch; load.batch *= 2)
    {
      steady_answer (generator, &settings->generation, inputs->cluster, load, &one);
      g_array_append_val (answer->batches, one);
    }
  answer->chosen = answer->batches->len;
  g_array_append_val (answer->batches, chosen);
}

/* ---- requests over time ---------------------------------------------------------------------- */

/* The caller's; NULL after diagnostics. */
static GArray *
requests_of (const Settings *settings, const ModelShape *shape, DiagList *diags)
{
  const RequestDraw  draw = { .n = (guint) settings->draw.n,
                              .rate = settings->draw.rate,
                              .prompt = settings->prompt,
                              .output = settings->output,
                              .spread = settings->draw.spread,
                              .longest = (double) shape->longest,
                              .seed = (guint32) settings->draw.seed };
  g_autoptr (GArray) requests = settings->requests != NULL
                                    ? serve_requests_load (settings->requests, diags)
                                    : serve_requests_draw (&draw);

  for (guint i = 0; requests != NULL && shape->longest > 0 && i < requests->len; i++)
    {
      const ServeRequest *request = &g_array_index (requests, ServeRequest, i);
      const gint64        tokens = (gint64) request->prompt + request->output;

      if (tokens <= shape->longest)
        continue;
      diag_error (diags, NULL, "leave it out, or cut it",
                  "request %u of %" G_GINT64_FORMAT " tokens is longer than the %" G_GINT64_FORMAT
                  " that '%s' was made for",
                  i + 1, tokens, shape->longest, shape->name);
      return NULL;
    }
  return g_steal_pointer (&requests);
}

static ExitStatus
serve_requests (Common *common, const Settings *settings, const Inputs *inputs,
                Generator *generator)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   requests = requests_of (settings, &inputs->shape, diags);
  g_autoptr (GString)  out = g_string_new (NULL);
  ServingReport        report = { .model = inputs->shape.name,
                                  .cluster = cluster_title (inputs->cluster) };
  ExitStatus           status;

  if (requests != NULL)
    serving_run (generator, &settings->generation, &settings->serving,
                 cluster_n_gpus (inputs->cluster), requests, &report.run, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  report_answer (&serving_answer, &report, common->format, out);
  return common_write_pages (common, &serving_answer, &report, stream_print (out));
}

/* ---- a full batch ---------------------------------------------------------------------------- */

/* FALSE after a diagnostic: not one sequence fits. */
static gboolean
check_room (const ServeAnswer *answer, DiagList *diags)
{
  const SteadyAnswer *chosen = &g_array_index (answer->batches, SteadyAnswer, answer->chosen);

  if (chosen->largest_batch == 0)
    diag_error (
        diags, NULL, "more ranks, or weights and a cache in fewer bits",
        "no batch fits: weights take %.3g GB of a GPU and leave %.3g, a sequence takes %.3g",
        chosen->weight_bytes / 1e9, MAX (chosen->room_bytes, 0) / 1e9,
        chosen->sequence_bytes / 1e9);
  return chosen->largest_batch > 0;
}

/* EXIT_NO where the batch that is asked for does not fit. */
static ExitStatus
serve_batches (Common *common, const Settings *settings, const Inputs *inputs, Generator *generator)
{
  g_autoptr (GArray)   batches = g_array_new (FALSE, FALSE, sizeof (SteadyAnswer));
  g_autoptr (GString)  out = g_string_new (NULL);
  ServeAnswer          answer = { .model = inputs->shape.name,
                                  .cluster = cluster_title (inputs->cluster),
                                  .batches = batches };
  g_autoptr (DiagList) diags = diag_list_new ();
  ExitStatus           status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  answer_batches (settings, inputs, generator, &answer);
  if (!check_room (&answer, diags))
    return stream_report_diags (diags);
  report_answer (&serve_answer, &answer, common->format, out);
  status = common_write_pages (common, &serve_answer, &answer, stream_print (out));
  return status != EXIT_DONE                                         ? status
         : g_array_index (batches, SteadyAnswer, answer.chosen).fits ? EXIT_DONE
                                                                     : EXIT_NO;
}

/* ---- attention and experts apart ------------------------------------------------------------- */

static ExitStatus
serve_pools (Common *common, const Settings *settings, const Inputs *inputs)
{
  const double     limit = settings->serving.between_tokens_limit_s;
  const ServeApart asked = { .shape = &inputs->shape,
                             .generation = &settings->generation,
                             .options = &settings->apart,
                             .load = { settings->batch, settings->prompt, settings->output,
                                       limit > 0 ? limit : SERVE_APART_LIMIT },
                             .cluster = inputs->cluster,
                             .profiles = inputs->profiles,
                             .library = &inputs->library };

  return serve_apart (common, &asked);
}

/* ---- options that are varied ----------------------------------------------------------------- */

typedef struct
{
  const Settings *settings;
  const Inputs   *inputs;
  const GArray   *requests; /* NULL: full batches */
} Varied;

static gboolean
answer_point (gpointer user, const GenerationOptions *generation, const ServingOptions *serving,
              ServeGridRow *row, DiagList *diags)
{
  const Varied         *self = user;
  const Settings       *settings = self->settings;
  const Inputs         *inputs = self->inputs;
  const SteadyLoad      load = { settings->batch, settings->prompt, settings->output };
  g_autoptr (Generator) generator =
      generator_new (&inputs->shape, generation, inputs->cluster, &inputs->library, diags);

  if (generator == NULL)
    return FALSE;
  if (self->requests != NULL)
    return serving_run (generator, generation, serving, cluster_n_gpus (inputs->cluster),
                        self->requests, &row->run, diags);
  steady_answer (generator, generation, inputs->cluster, load, &row->steady);
  return TRUE;
}

static ExitStatus
serve_varied (Common *common, const Settings *settings, const Inputs *inputs)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const gboolean       over_time = settings->requests != NULL || settings->draw.rate > 0;
  g_autoptr (GArray)   requests = over_time ? requests_of (settings, &inputs->shape, diags) : NULL;
  Varied               varied = { settings, inputs, requests };
  const ServeVary      asked = {
         .model = inputs->shape.name,
         .cluster = cluster_title (inputs->cluster),
         .generation = &settings->generation,
         .serving = &settings->serving,
         .kind = over_time ? &serve_grid_of_requests : &serve_grid_of_batches,
         .answer = answer_point,
         .user = &varied,
  };

  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  return serve_vary (common, settings->vary, &asked);
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_auto (Inputs)       inputs = { 0 };
  g_autoptr (Generator) generator = NULL;
  const gboolean        apart = settings->apart.apart;
  gboolean              ok = read_inputs (common, settings, &inputs, diags);

  if (ok && settings->vary != NULL && stream_report_diags (diags) == EXIT_DONE)
    return serve_varied (common, settings, &inputs);
  if (ok && !apart)
    {
      generator = generator_new (&inputs.shape, &settings->generation, inputs.cluster,
                                 &inputs.library, diags);
      ok = generator != NULL;
    }
  if (stream_report_diags (diags) != EXIT_DONE || !ok)
    return EXIT_USAGE;
  if (apart)
    return serve_pools (common, settings, &inputs);
  return settings->requests != NULL || settings->draw.rate > 0
             ? serve_requests (common, settings, &inputs, generator)
             : serve_batches (common, settings, &inputs, generator);
}

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  const Settings *settings = data;
  const gboolean  draws = settings->draw.rate > 0, reads = settings->requests != NULL;

  if (settings->prompt > MOST_TOKENS || settings->output > MOST_TOKENS)
    diag_error (diags, NULL, NULL, "--prompt and --output take at most %d tokens", MOST_TOKENS);
  if (draws && reads)
    diag_error (diags, NULL, "leave out --rate",
                "--requests says already when requests arrive, and how long they are");
  if ((draws || reads) && settings->batch > 0)
    diag_error (diags, NULL, "--max-sequences bounds them",
                "--batch is always full: requests over time make batches of their own");
  if (!settings->apart.apart && (settings->apart.fit || settings->apart.expert_cluster != NULL))
    diag_error (diags, NULL, "add --experts-apart",
                "--fit-pools and --expert-cluster are of two pools");
  if (settings->apart.apart && (draws || reads))
    diag_error (diags, NULL, "leave out --requests and --rate",
                "--experts-apart answers for a full batch, not for requests over time");
  if (settings->apart.apart && (settings->generation.pp > 1 || settings->generation.dp > 1))
    diag_error (diags, NULL, "replicas of attention are --attention-replicas",
                "--experts-apart has neither --pp nor --dp");
  if (settings->vary != NULL && (settings->apart.apart || common->plot != NULL))
    diag_error (diags, NULL, NULL, "--vary goes with neither --experts-apart nor --plot");
  if ((draws || reads) && common->plot != NULL)
    diag_error (diags, NULL, "leave out --plot", "--plot draws batches, not requests over time");
  return TRUE;
}

static void
clear (gpointer data)
{
  Settings *settings = data;

  option_table_clear (generation_options, &settings->generation);
  option_table_clear (serving_options, &settings->serving);
  option_table_clear (apart_options, &settings->apart);
}

static const CommandOption options[] = {
  { OPTION ("model", VALUE_TEXT, model, "NAME", "a shipped model, or a config.json"),
    .words = &words_models },
  { OPTION ("batch", VALUE_COUNT, batch, "N",
            "sequences at a time of one replica of attention (default the most that fit)") },
  { OPTION ("prompt", VALUE_COUNT, prompt, "TOKENS", "of a prompt (default 1024)"),
    .fallback = 1024 },
  { OPTION ("output", VALUE_COUNT, output, "TOKENS", "that are written for it (default 256)"),
    .fallback = 256 },
  { OPTION ("requests", VALUE_FILE, requests, "FILE",
            "serve the requests of a CSV file 'arrival,input,output': seconds and tokens") },
  { OPTION ("vary", VALUE_TEXTS, vary, "KEY=V1,V2",
            "values of an option of serving in the place of its one: 'generation.tp=1,2,4'; a row "
            "for each combination") },
  { OPTIONS_OF (draw_options, draw) },
  { OPTIONS_OF (serving_options, serving) },
  { OPTIONS_OF (generation_options, generation) },
  { OPTIONS_OF (apart_options, apart) },
  { 0 },
};

static const OptionRule rules[] = {
  { .needs = "model", .words = "expected --model NAME\n  see 'shardsim serve --help'" },
  { 0 },
};

const Command command_serve = {
  .name = "serve",
  .help = "how fast a cluster generates with a model, and how many sequences fit",
  .arguments = "--cluster NAME --model NAME",
  .summary =
      "How fast instances of a model generate on a cluster: time to the first token, time "
      "between tokens, tokens a second, the largest batch whose cache fits, and what a "
      "step is spent on; over batches. Batches are always full: a sequence that ends is "
      "replaced by the next prompt. With --requests or --rate, requests arrive over time: "
      "latencies, goodput under limits, use of the cache. With --vary a row for each "
      "combination of values.\n"
      "Exit status: 0, 3 the batch that is asked for does not fit, 2 bad input, or none fits.",
  .examples = "Examples:\n"
              "  shardsim serve --cluster dgx-h100 --model llama-3-70b --tp 4\n"
              "  shardsim serve --cluster 2xdgx-h100 --model qwen3-30b-a3b --tp 2 --batch 64 \\\n"
              "    --prompt 4096 --output 1024\n"
              "  shardsim serve --cluster dgx-h100 --model llama-3-70b --vary tp=2,4,8 \\\n"
              "    --vary weights=bf16,fp8\n",
  .takes = COMMON_NETWORK | COMMON_FORMAT | COMMON_PAGES,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .check = check,
  .run = run,
  .clear = clear,
};
