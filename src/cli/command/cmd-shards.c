/* shardsim shards: what sharding formats make of a model, over numbers of ranks. */
#include <string.h>

#include "base/config/suggest.h"
#include "cli/argument/collective-arguments.h"
#include "cli/argument/model-argument.h"
#include "cli/help/page-values.h"
#include "decide/parts/shard-ranks.h"
#include "model/optimizer/shard-block.h"
#include "report/answer/shards.h"

#define DEFAULT_RANKS "8..1024"

typedef struct
{
  char    *model, *ranks, *formats, *block, *order, *reduce_dtype, *expert_tensors;
  char    *more_formats; /* of --format */
  gboolean experts_apart;
  gint     tp, ep;
} Settings;

/* ---- formats --------------------------------------------------------------------------------- */

/* Names of OTHERS (NULL-terminated), then of formats. Newly allocated, the strings are not. */
static const char **
format_names (const char *const *others)
{
  GPtrArray *names = g_ptr_array_new ();

  for (; *others != NULL; others++)
    g_ptr_array_add (names, (gpointer) *others);
  for (const ShardFormat *const *list = shard_format_list (); *list != NULL; list++)
    g_ptr_array_add (names, (gpointer) (*list)->name);
  g_ptr_array_add (names, NULL);
  return (const char **) g_ptr_array_free (names, FALSE);
}

static void
add_format (ShardsOptions *options, const ShardFormat *format)
{
  for (guint f = 0; f < options->n_formats; f++)
    if (options->formats[f] == format)
      return;
  g_assert (options->n_formats < G_N_ELEMENTS (options->formats));
  options->formats[options->n_formats++] = format;
}

/* Those of TEXT, the value of OPTION. */
static void
parse_formats (const char *option, const char *text, ShardsOptions *options, DiagList *diags)
{
  static const char *const no_others[] = { NULL };
  const SourceMark         mark = argument_mark (option, text);
  g_auto (GStrv)           parts = g_strsplit (text, ",", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      const ShardFormat      *format = shard_format_find (g_strstrip (parts[i]));
      g_autofree const char **names = format_names (no_others);
      g_autofree char        *hint = suggest_hint (parts[i], names);

      if (format != NULL)
        add_format (options, format);
      else
        diag_error (diags, &mark, hint, "unknown sharding format '%s'", parts[i]);
    }
  if (parts[0] == NULL)
    diag_error (diags, &mark, NULL, "there is no sharding format");
}

/* Names of those of N FORMATS that do (or do not) HEED blocks: "'rows', 'each'". */
static char *
names_that (const ShardFormat *const *formats, guint n, gboolean heed)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint f = 0; f < n; f++)
    if (formats[f]->heeds_blocks == heed)
      g_string_append_printf (out, "%s'%s'", out->len > 0 ? ", " : "", formats[f]->name);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

/* Of a BLOCK that none of the formats heeds. */
static void
warn_of_block (const char *block, const ShardsOptions *options, DiagList *diags)
{
  const SourceMark mark = argument_mark ("--block", block);
  g_autofree char *heeding = names_that (options->formats, options->n_formats, TRUE);
  g_autofree char *others = names_that (options->formats, options->n_formats, FALSE);
  g_autofree char *known = NULL, *hint = NULL;
  guint            n = 0;

  if (*heeding != '\0' || *others == '\0')
    return;
  while (shard_format_list ()[n] != NULL)
    n++;
  known = names_that (shard_format_list (), n, TRUE);
  hint = g_strdup_printf ("leave it out, or take %s", known);
  diag_warning (diags, &mark, hint, "'--block' has no effect: shards of %s heed no blocks", others);
}

/*
 * --format means how the answer is printed, or, where its word names them, sharding formats: those
 * leave WORDS for the settings, the last ones said. FALSE after a message.
 */
static gboolean
prepare (char ***words, gpointer data)
{
  static const char *const printed[] = { "text", "csv", "json", NULL };
  Settings                *settings = data;
  g_autoptr (GStrvBuilder) kept = g_strv_builder_new ();

  for (guint i = 0; (*words)[i] != NULL; i++)
    {
      const char    *typed = (*words)[i], *next = (*words)[i + 1];
      const gboolean apart = g_str_equal (typed, "--format") && next != NULL;
      const char    *word = g_str_has_prefix (typed, "--format=") ? strchr (typed, '=') + 1
                            : apart                               ? next
                                                                  : NULL;
      g_auto (GStrv) parts = word != NULL ? g_strsplit (word, ",", 2) : NULL;

      if (word == NULL || name_index (word, printed) >= 0)
        g_strv_builder_add_many (kept, typed, apart ? next : NULL, NULL);
      else if (parts[0] == NULL || shard_format_find (parts[0]) == NULL)
        {
          g_autofree const char **names = format_names (printed);
          g_autofree char        *hint = suggest_hint (word, names);

          stream_say ("shardsim shards: unknown format '%s': %s\n", word, hint);
          return FALSE;
        }
      else
        {
          g_free (settings->more_formats);
          settings->more_formats = g_strdup (word);
        }
      i += apart;
    }
  g_strfreev (*words);
  *words = g_strv_builder_end (kept);
  return TRUE;
}

/* ---- model ----------------------------------------------------------------------------------- */

typedef struct
{
  ModelShape      shape;
  TrainingOptions training;
  MeshOptions     mesh;
  OptionMarks     training_marks, mesh_marks;
} Model;

static void
model_clear (Model *self)
{
  model_shape_clear (&self->shape);
  option_table_clear (training_options, &self->training);
  option_table_clear (mesh_options, &self->mesh);
  option_marks_clear (&self->training_marks);
  option_marks_clear (&self->mesh_marks);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Model, model_clear)

/* KEY of TRAINING as OPTION says it, where it does. */
static void
set_training (Model *self, const char *key, const char *option, const char *text, DiagList *diags)
{
  const OptionSpec *spec = option_table_find (training_options, key);
  const SourceMark  mark = argument_mark (option, text != NULL ? text : "");

  if (text == NULL)
    return;
  option_set (spec, &self->training, text, &mark, diags);
  option_marks_set (&self->training_marks, key, &mark);
}

static void
set_degree (Model *self, const char *key, gint64 *target, gint degree)
{
  g_autofree char *option = g_strdup_printf ("--%s", key);
  g_autofree char *text = g_strdup_printf ("%d", degree);
  const SourceMark mark = argument_mark (option, text);

  *target = degree;
  if (degree > 1)
    option_marks_set (&self->mesh_marks, key, &mark);
}

/* FALSE after a diagnostic at the place of ep: expert ranks are among those that share a model. */
static gboolean
check_expert_ranks (const Model *self, guint ranks, DiagList *diags)
{
  if (ranks % self->mesh.ep == 0)
    return TRUE;
  diag_error (diags, option_mark (&self->mesh_marks, "ep", NULL),
              "experts are shared over ranks / ep: take multiples of it",
              "%u ranks are no multiple of %" G_GINT64_FORMAT " expert ranks", ranks,
              self->mesh.ep);
  return FALSE;
}

/* The mesh has to divide each number of RANKS, and what is left of tensors their blocks. */
static Workload *
make_workload (Model *self, const GArray *ranks, DiagList *diags)
{
  const SourceMark    *mark = option_mark (&self->training_marks, "shard_block", NULL);
  g_autoptr (Workload) workload = NULL;

  diag_list_drop_repeats (diags, TRUE);
  for (guint i = 0; i < ranks->len; i++)
    {
      const guint   n = g_array_index (ranks, guint, i);
      const guint64 world = (guint64) n * (guint64) self->mesh.tp;

      if (check_expert_ranks (self, n, diags))
        mesh_check (&self->shape, &self->training, &self->mesh, (guint) MIN (world, G_MAXUINT32),
                    &self->mesh_marks, diags);
    }
  diag_list_drop_repeats (diags, FALSE);
  if (diag_list_has_errors (diags))
    return NULL;
  workload = workload_new_stage (&self->shape, &self->training, &self->mesh, 0);
  return workload_check_block_sizes (workload, self->training.shard_block, mark, diags)
             ? g_steal_pointer (&workload)
             : NULL;
}

/* NULL after diagnostics. */
static Workload *
read_model (Model *self, const Settings *arguments, const GArray *ranks, DiagList *diags)
{
  self->training_marks.table = training_options;
  self->mesh_marks.table = mesh_options;
  option_table_defaults (mesh_options, &self->mesh);
  if (!model_argument_read (arguments->model, 0, &self->shape, &self->training, diags))
    return NULL;
  set_training (self, "shard_block", "--block", arguments->block, diags);
  set_training (self, "expert_tensors", "--expert-tensors", arguments->expert_tensors, diags);
  set_training (self, "reduce_dtype", "--reduce-dtype", arguments->reduce_dtype, diags);
  set_degree (self, "tp", &self->mesh.tp, arguments->tp);
  set_degree (self, "ep", &self->mesh.ep, arguments->ep);
  self->mesh.sp = arguments->tp > 1 && arguments->ep > 1; /* both together need it */
  if (!workload_check (&self->shape, &self->training, &self->training_marks, diags)
      || diag_list_has_errors (diags))
    return NULL;
  return make_workload (self, ranks, diags);
}

/* ---- the command ----------------------------------------------------------------------------- */

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings      *arguments = data;
  const char          *more_formats = arguments->more_formats;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_auto (Model)       model = { 0 };
  const char          *list = arguments->ranks != NULL ? arguments->ranks : DEFAULT_RANKS;
  const SourceMark     said = argument_mark ("--ranks", list);
  g_autoptr (GArray)   ranks = shard_ranks_parse (list, &said, diags);
  g_autoptr (Workload) workload = read_model (&model, arguments, ranks, diags);
  const char          *order = arguments->order != NULL ? arguments->order : "model";
  const SourceMark     mark = argument_mark ("--order", order);
  g_autoptr (Shards)   shards = NULL;
  g_autoptr (GString)  out = g_string_new (NULL);
  ShardsOptions        options = { .workload = workload,
                                   .ranks = (const guint *) (gconstpointer) ranks->data,
                                   .n_ranks = ranks->len,
                                   .experts_apart = arguments->experts_apart };
  ExitStatus           status;

  options.order = (RaggedOrder) parse_word (&mark, "order", order, ragged_order_names, diags);
  if (more_formats != NULL)
    parse_formats ("--format", more_formats, &options, diags);
  if (arguments->formats != NULL)
    parse_formats ("--shard-format", arguments->formats, &options, diags);
  if (more_formats == NULL && arguments->formats == NULL)
    for (const ShardFormat *const *list = shard_format_list (); *list != NULL; list++)
      add_format (&options, *list);
  if (arguments->block != NULL)
    warn_of_block (arguments->block, &options, diags);
  if (common->plot != NULL && ranks->len == 1)
    diag_error (diags, NULL, "--ranks 8..1024", "--plot draws over several numbers of ranks");
  if (stream_report_diags (diags) != EXIT_DONE || workload == NULL)
    return EXIT_USAGE;
  status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  shards = shards_new (&options);
  report_answer (&shards_page, shards, common->format, out);
  return common_write_pages (common, &shards_page, shards, stream_print (out));
}

static void
clear (gpointer data)
{
  g_free (((Settings *) data)->more_formats);
}

static const CommandOption options[] = {
  { OPTION ("model", VALUE_TEXT, model, "NAME", "a shipped model, or a config.json"),
    .words = &words_models },
  { OPTION ("ranks", VALUE_TEXT, ranks, "LIST",
            "numbers of ranks that share the parameters: 8..1024 doubles (default), 8..64+8 goes "
            "by a step, 8,16,96 are these") },
  { OPTION ("shard-format", VALUE_TEXT, formats, "LIST",
            "these sharding formats, with commas between (default all); --format takes them too"),
    .words = &words_shard_formats },
  { OPTION ("block", VALUE_TEXT, block, "SPEC",
            "what ragged shards cut no block of: 128rows, 32x32, '*experts*=128rows' (default a "
            "row)") },
  { OPTION ("order", VALUE_TEXT, order, "model|block|shape|fit|best",
            "of tensors in ragged buffers (default model)") },
  { OPTION ("expert-tensors", VALUE_TEXT, expert_tensors, "stacked|each",
            "tensors of a block's routed experts: stacked in one a weight (default), or one of "
            "each") },
  { OPTION ("experts-apart", VALUE_SWITCH, experts_apart, NULL,
            "routed experts are units of their own, as Megatron-FSDP groups them; else in their "
            "layer") },
  { OPTION ("reduce-dtype", VALUE_TEXT, reduce_dtype, "auto|fp32|bf16|fp16",
            "of gradients, for what copies cost (default as they are computed)") },
  { OPTION ("tp", VALUE_COUNT, tp, "N",
            "tensor-parallel ranks: of one of them, over its data ranks (default 1)"),
    .fallback = 1 },
  { OPTION ("ep", VALUE_COUNT, ep, "N",
            "expert-parallel ranks: experts are shared over ranks / N (default 1)"),
    .fallback = 1 },
  { 0 },
};

static const OptionRule rules[] = {
  { .needs = "model", .words = "expected --model NAME\n  see 'shardsim shards --help'" },
  { 0 },
};

const Command command_shards = {
  .name = "shards",
  .help = "how sharding formats pad a model, over numbers of ranks",
  .arguments = "--model NAME",
  .summary = "How sharding formats pad a model's tensors, over numbers of ranks: padding, bytes a "
             "rank and of the largest unit as it is gathered, units whose bytes are not aligned "
             "for NCCL, what copies read and write; where much is padded, which sizes to take. Of "
             "one number of ranks and one format also where each tensor lies.",
  .examples = "Examples:\n"
              "  shardsim shards --model gpt-oss-120b --ranks 8..1024 --format ragged \\\n"
              "    --block '*experts*=128rows'\n"
              "  shardsim shards --model llama-3-70b --ranks 8..1024+8 --plot padding\n"
              "  shardsim shards --model gpt-oss-120b --ranks 256 --shard-format rows\n",
  .takes = COMMON_FORMAT | COMMON_PAGES,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .prepare = prepare,
  .run = run,
  .clear = clear,
};
