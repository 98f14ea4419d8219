/* shardsim serve: what a cluster generates with a model, and how fast. */
#include "cli/argument/collective-arguments.h"
#include "cli/argument/model-argument.h"
#include "cli/help/page-values.h"
#include "report/answer/steady.h"

#define MOST_TOKENS (1 << 24) /* of a prompt or an answer */

typedef struct
{
  char             *model;
  gint              batch, prompt, output;
  GenerationOptions generation;
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

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_auto (Inputs)       inputs = { 0 };
  g_autoptr (Generator) generator = NULL;
  g_autoptr (GArray)    batches = g_array_new (FALSE, FALSE, sizeof (SteadyAnswer));
  g_autoptr (GString)   out = g_string_new (NULL);
  ServeAnswer           answer = { .batches = batches };
  ExitStatus            status;

  if (read_inputs (common, settings, &inputs, diags))
    generator = generator_new (&inputs.shape, &settings->generation, inputs.cluster,
                               &inputs.library, diags);
  if (stream_report_diags (diags) != EXIT_DONE || generator == NULL)
    return EXIT_USAGE;
  status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  answer.model = inputs.shape.name;
  answer.cluster = cluster_title (inputs.cluster);
  answer_batches (settings, &inputs, generator, &answer);
  report_answer (&serve_answer, &answer, common->format, out);
  return common_write_pages (common, &serve_answer, &answer, stream_print (out));
}

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  const Settings *settings = data;

  (void) common;
  if (settings->prompt > MOST_TOKENS || settings->output > MOST_TOKENS)
    diag_error (diags, NULL, NULL, "--prompt and --output take at most %d tokens", MOST_TOKENS);
  return TRUE;
}

static void
clear (gpointer data)
{
  option_table_clear (generation_options, &((Settings *) data)->generation);
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
  { OPTIONS_OF (generation_options, generation) },
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
  .summary = "How fast instances of a model generate on a cluster: time to the first token, time "
             "between tokens, tokens a second, the largest batch whose cache fits, and what a "
             "step is spent on; over batches. Batches are always full: a sequence that ends is "
             "replaced by the next prompt.",
  .examples =
      "Examples:\n"
      "  shardsim serve --cluster dgx-h100 --model llama-3-70b --tp 4\n"
      "  shardsim serve --cluster 2xdgx-h100 --model qwen3-30b-a3b --tp 2 --prompt 4096 \\\n"
      "    --output 1024 --batch 64\n",
  .takes = COMMON_NETWORK | COMMON_FORMAT | COMMON_PAGES,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .check = check,
  .run = run,
  .clear = clear,
};
