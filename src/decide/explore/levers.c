#include "decide/explore/levers.h"
#include "base/config/option-needs.h"
#include "base/intern.h"

#include <string.h>

#define LEAST_CHUNKS      2 /* of layers:K */
#define MOST_CHUNKS       8
#define MOST_RANKS        16 /* of an axis of the mesh */
#define MOST_EXPERT_RANKS 64
#define MOST_EXPERTS      4096 /* of which a search tries divisors */
#define MOST_LAYERS       4096 /* a schedule grows with the layers: more than any model has */

struct _LeverMoves
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const StrategyConfig *config; /* the innermost strategy, which shards */
  const char           *prefix; /* "strategy", "strategy.inner" */
  gint64                n_gpus;
  LeverUse              use;
  GArray               *list; /* Move */
  guint                 n_levers;
  const char           *needs; /* of the current lever: Move.needs */
};

/* Adds VALUE of KEY to the current lever: the new move, until the next one is added. */
static Move *
add_move (LeverMoves *self, const char *key, const char *value, gint64 micro_steps)
{
  const Move move = { .lever = self->n_levers,
                      .key = intern_text (key),
                      .value = intern_text (value),
                      .micro_steps = micro_steps,
                      .fewer = 1,
                      .needs = self->needs };

  g_array_append_val (self->list, move);
  return &g_array_index (self->list, Move, self->list->len - 1);
}

/* MOVE sets VALUE of KEY too. */
static void
add_also (Move *move, const char *key, const char *value)
{
  move->also_key = intern_text (key);
  move->also_value = intern_text (value);
}

static void
add_value (GPtrArray *values, char *value, const char *now)
{
  if (g_strcmp0 (value, now) != 0)
    g_ptr_array_add (values, value);
  else
    g_free (value);
}

GStrv
lever_values (const OptionSpec *spec, const char *now, gboolean numbered)
{
  static const char *const switches[] = { "true", "false", NULL };
  const char *const       *words = spec->type == OPTION_BOOL ? switches : spec->choices;
  GPtrArray               *values = g_ptr_array_new ();

  if (spec->type != OPTION_BOOL && spec->type != OPTION_ENUM)
    words = switches + G_N_ELEMENTS (switches) - 1;
  for (; *words != NULL; words++)
    if (!(g_str_has_suffix (*words, ":K") || g_str_equal (*words, "K")))
      add_value (values, g_strdup (*words), now);
    else
      for (guint k = LEAST_CHUNKS; k <= MOST_CHUNKS && numbered; k *= 2)
        add_value (values, g_strdup_printf ("%.*s%u", (int) strlen (*words) - 1, *words, k), now);
  g_ptr_array_add (values, NULL);
  return (GStrv) g_ptr_array_free (values, FALSE);
}

/* Every value of a switch or of words that SPEC can take and does not have. */
static void
add_values (LeverMoves *self, const char *prefix, const OptionSpec *spec, gconstpointer options)
{
  g_autofree char *key = g_strdup_printf ("%s.%s", prefix, spec->key);
  g_autofree char *now = option_format (spec, options);
  g_auto (GStrv)   values = lever_values (spec, now, TRUE);

  for (guint i = 0; values[i] != NULL; i++)
    add_move (self, key, values[i], 1);
}

/* ---- the scenario's sections ----------------------------------------------------------------- */

/* The words of LEVER that the scenario does not have, or else of its option. */
static void
add_words (LeverMoves *self, const Lever *lever)
{
  const OptionSpec *table = scenario_section_table (lever->section);
  const OptionSpec *spec = option_table_find (table, lever->key);
  gconstpointer     options = scenario_options (self->scenario, table);
  g_autofree char  *now = option_format (spec, options);
  g_autofree char  *key = g_strdup_printf ("%s.%s", lever->section, lever->key);

  if (lever->words[0] == NULL)
    add_values (self, lever->section, spec, options);
  for (const char *const *word = lever->words; *word != NULL; word++)
    if (!g_str_equal (*word, now)
        && (lever->only_from == NULL || g_str_equal (lever->only_from, now)))
      add_move (self, key, *word, 1);
}

/*
 * What is recomputed, with what has to change with it: parts of blocks with `selective`; all blocks
 * with `full`, whose inputs then may leave for the host, or lie in slices on tensor ranks.
 */
static void
add_checkpointing (LeverMoves *self, const Lever *lever)
{
  static const char *const parts[] = { "layernorm",
                                       "mlp",
                                       "moe_act",
                                       "moe",
                                       "core_attn,layernorm,mlp",
                                       "core_attn,layernorm,moe_act",
                                       "core_attn,layernorm,mla_up_proj,moe_act" };
  const TrainingOptions   *training = &self->scenario->training;
  const char              *key = "training.activation_checkpointing";

  add_words (self, lever);
  if (self->use != LEVER_REMEDY)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      if (training->checkpointing == CHECKPOINT_SELECTIVE
          && g_strcmp0 (parts[i], training->recompute_modules) == 0)
        continue;
      add_also (add_move (self, key, "selective", 1), "training.recompute_modules", parts[i]);
    }
  if (training->recompute_layers > 0)
    add_also (add_move (self, key, "full", 1), "training.recompute_layers", "0");
  if (!training->cpu_checkpointing)
    add_also (add_move (self, key, "full", 1), "training.cpu_checkpointing", "true");
  if (!training->partition_activations && self->scenario->mesh.tp > 1
      && self->scenario->mesh.sp == 0)
    add_also (add_move (self, key, "full", 1), "training.partition_activations", "true");
}

/* Fused attention, of which version 2 runs on every GPU; version 3 and cuDNN's may be faster. */
static void
add_attention (LeverMoves *self, const Lever *lever)
{
  const gint64 version = training_flash_version (&self->scenario->training);

  (void) lever;
  if (version < FLASH_3)
    {
      add_move (self, "training.attention", "flash3", 1);
      add_move (self, "training.attention", "cudnn", 1);
    }
  if (version == FLASH_NONE)
    add_move (self, "training.attention", "flash2", 1);
}

/* How context ranks meet: groups that divide heads inside of rings (usp) have some and not all. */
static void
add_contexts (LeverMoves *self, const Lever *lever)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  g_autofree char   *now = option_format (option_table_find (mesh_options, lever->key), mesh);

  for (const char *const *word = lever->words; *word != NULL; word++)
    if (!g_str_equal (*word, now))
      add_move (self, "mesh.context", *word, 1);
  for (gint64 by = 2; by < mesh->cp && by <= MOST_RANKS; by *= 2)
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, by);

      if (mesh->cp % by != 0)
        continue;
      if (mesh->context != CONTEXT_USP)
        add_also (add_move (self, "mesh.context", "usp", 1), "mesh.ulysses", value);
      else if (by != mesh->ulysses)
        add_move (self, "mesh.ulysses", value, 1);
    }
}

/* Tensor ranks hold whole experts in the place of slices of each: with sequence parallelism. */
static void
add_whole_experts (LeverMoves *self, const Lever *lever)
{
  (void) lever;
  if (self->scenario->mesh.etp != 1 && self->scenario->mesh.sp == 1)
    add_move (self, "mesh.etp", "1", 1);
}

/*
 * VALUE of KEY needs half the micro-steps, where there are enough; else the global batch doubles.
 */
static Move *
add_halving (LeverMoves *self, const char *key, gint64 value)
{
  g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  Move            *move = add_move (self, key, text, 1);

  move->fewer = self->scenario->training.grad_accum % 2 == 0 ? 2 : 1;
  return move;
}

/* Half the micro-batch in twice the micro-steps, and so on; what is faster may be twice as much. */
static void
add_micro_batches (LeverMoves *self, const Lever *lever)
{
  const TrainingOptions *training = &self->scenario->training;
  const gint64           most = self->use == LEVER_REMEDY ? training->micro_batch : 2;

  for (gint64 n = 2; training->lengths == NULL && n <= most && training->micro_batch % n == 0;
       n *= 2)
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, training->micro_batch / n);

      add_move (self, "training.micro_batch", value, n);
    }
  if (self->use == LEVER_ADVICE && training->lengths == NULL && training->micro_batch < lever->most)
    add_halving (self, "training.micro_batch", training->micro_batch * 2);
}

/*
 * A sequence on ever more data ranks, in sets of `hybrid`; those that are alike, or lie on context
 * ranks by another partition, have none.
 */
static void
add_sets (LeverMoves *self, const Lever *lever)
{
  const TrainingOptions *training = &self->scenario->training;
  const gboolean         hybrid = training->partition == PARTITION_HYBRID;

  (void) lever;
  if (training->lengths == NULL || (!hybrid && training->partition != PARTITION_EVEN))
    return;
  for (gint64 n = 2; n <= self->n_gpus; n *= 2)
    {
      const gint64     tokens = (training->seq_len + n - 1) / n;
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, tokens);

      if (!hybrid)
        add_also (add_move (self, "training.partition", "hybrid", 1), "training.tokens_per_rank",
                  value);
      else if (tokens < training->tokens_per_rank) /* of 0 all ranks share already */
        add_move (self, "training.tokens_per_rank", value, 1);
    }
}

/* ---- the mesh -------------------------------------------------------------------------------- */

/*
 * Twice the ranks of an axis, and so on: as many fewer data ranks make as many more micro-steps.
 * What is faster may be twice as many or half.
 */
static void
add_axis (LeverMoves *self, const Lever *lever)
{
  g_autofree char *key = g_strdup_printf ("mesh.%s", lever->key);
  const gboolean   is_tensor = g_str_equal (lever->key, "tp");
  const gint64     now = lever_degree (self->scenario, lever->key);
  const gint64     limit = self->use == LEVER_REMEDY ? MOST_RANKS : 2 * now;
  const gint64     most = MIN (self->n_gpus, limit);

  /* a file may say which data rank has which sequence; context ranks share each */
  if (self->scenario->training.lengths != NULL
      && (self->use != LEVER_REMEDY || !g_str_equal (lever->key, "cp")))
    return;
  for (gint64 n = 2; now * n <= most; n *= 2)
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, now * n);
      Move            *move = add_move (self, key, value, n);

      if (is_tensor && self->scenario->mesh.sp == 0)
        add_also (move, "mesh.sp", "1"); /* as search has it */
    }
  if (self->use == LEVER_ADVICE && now % 2 == 0)
    {
      Move *move = add_halving (self, key, now / 2);

      if (is_tensor && now == 2 && self->scenario->mesh.sp == 1)
        add_also (move, "mesh.sp", "0");
    }
}

/* More ranks for the experts, of the same data ranks. */
static void
add_experts (LeverMoves *self, const Lever *lever)
{
  const gint64 now = lever_degree (self->scenario, lever->key);

  for (gint64 n = 2 * now; n <= MIN (self->n_gpus, MOST_EXPERT_RANKS); n *= 2)
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, n);

      add_move (self, "mesh.ep", value, 1);
    }
}

/* Twice and half of NOW, an option of whole numbers; of none one. */
static void
add_doubles (LeverMoves *self, const char *prefix, const OptionSpec *spec, gconstpointer options)
{
  const gint64     now = G_STRUCT_MEMBER (gint64, options, spec->offset);
  const gint64     values[] = { now > 0 ? now * 2 : 1, now / 2 };
  g_autofree char *key = g_strdup_printf ("%s.%s", prefix, spec->key);

  for (guint i = 0; i < G_N_ELEMENTS (values); i++)
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, values[i]);

      if (values[i] != now
          && ((spec->min == 0 && spec->max == 0)
              || (values[i] >= (gint64) spec->min && values[i] <= (gint64) spec->max)))
        add_move (self, key, value, 1);
    }
}

static void
add_numbers (LeverMoves *self, const Lever *lever)
{
  const OptionSpec *table = scenario_section_table (lever->section);

  add_doubles (self, lever->section, option_table_find (table, lever->key),
               scenario_options (self->scenario, table));
}

/* ---- the strategy ---------------------------------------------------------------------------- */

/* Groups to shard over: all there are. A number or a node's is what somebody chose. */
static void
add_shard (LeverMoves *self, const Lever *lever)
{
  const OptionSpec *spec = option_table_find (self->config->marks.table, lever->key);
  g_autofree char  *now = spec != NULL ? option_format (spec, self->config->options) : NULL;
  const gboolean    in_mesh = self->scenario->mesh.shard != NULL || !self->config->shard_set;
  g_autofree char  *key = g_strdup_printf ("%s.shard", in_mesh ? "mesh" : self->prefix);

  if (spec != NULL && !g_str_equal (now, "all"))
    add_move (self, key, "all", 1);
  else if (spec != NULL && self->use == LEVER_ADVICE)
    add_move (self, key, "node", 1);
}

/* Each is a lever of its own. */
static void
add_own (LeverMoves *self, const Lever *lever)
{
  (void) lever;
  for (const OptionSpec *spec = self->config->marks.table; spec->key != NULL; spec++)
    {
      g_autofree char *now = option_format (spec, self->config->options);

      if (spec->what_if && g_strcmp0 (now, spec->fallback) == 0)
        continue;
      if (spec->type == OPTION_INT && self->use == LEVER_ADVICE)
        add_doubles (self, self->prefix, spec, self->config->options);
      else
        add_values (self, self->prefix, spec, self->config->options);
      self->n_levers++;
    }
}

/*
 * An option that was set on the command line: it would be set of another strategy too, which may
 * not have it.
 */
static gboolean
has_own_words (const LeverMoves *self, const StrategyConfig *config)
{
  for (const OptionSpec *spec = config->marks.table;
       config->marks.keys != NULL && spec->key != NULL; spec++)
    {
      const SourceMark *mark = &config->marks.keys[spec - config->marks.table];
      gboolean handed = g_str_equal (spec->key, "shard") && self->scenario->mesh.shard != NULL;

      if (mark->file != NULL && mark->line == 0 && !handed)
        return TRUE;
    }
  return FALSE;
}

static void
add_strategies (LeverMoves *self, const Lever *lever)
{
  const Strategy *const *list =
      self->strategies != NULL ? strategy_set_list (self->strategies) : strategy_list ();

  (void) lever;
  for (; !has_own_words (self, self->config) && *list != NULL; list++)
    if (!(*list)->outer && *list != self->config->strategy
        && strategy_perturbs (*list) == strategy_perturbs (self->config->strategy))
      {
        /* its defaults, and for what fits each other value of its switches and words */
        g_autofree char *name = g_strdup_printf ("%s.name", self->prefix);

        add_move (self, name, (*list)->name, 1);
        for (const OptionSpec *spec = (*list)->options;
             self->use == LEVER_REMEDY && spec != NULL && spec->key != NULL; spec++)
          {
            g_autofree char *key = g_strdup_printf ("%s.%s", self->prefix, spec->key);
            g_auto (GStrv)   values = lever_values (spec, spec->fallback, FALSE);

            for (guint i = 0; values[i] != NULL && !spec->what_if; i++)
              add_also (add_move (self, name, (*list)->name, 1), key, values[i]);
          }
      }
}

/* ---- values of a search ---------------------------------------------------------------------- */

/* Whether a search tries N of LEVER, ABOVE of what it is tried with. */
static gboolean
may_be (const Lever *lever, const Scenario *scenario, const SearchRoom *room, gint64 above,
        gint64 n)
{
  switch (lever->limit)
    {
    case LIMIT_NODE:
      return n <= room->gpus_per_node;
    case LIMIT_GPUS:
      return n <= room->n_gpus;
    case LIMIT_EXPERTS:
      return room->n_experts > 0 && room->n_experts % n == 0 && room->n_gpus % n == 0;
    case LIMIT_MOE:
      return room->n_experts > 0;
    case LIMIT_LAYERS:
      return room->n_gpus % n == 0 && (room->n_layers % n == 0 || (room->n_layers + 2) % n == 0);
    case LIMIT_CHUNKS:
      return n > 1 && room->n_layers % (above * n) == 0;
    case LIMIT_INNER:
      return n > 1 && n < above && above % n == 0;
    case LIMIT_ALIKE:
      return scenario->training.lengths == NULL;
    case LIMIT_NONE:
    default:
      return TRUE;
    }
}

GStrv
lever_choices (const Lever *self, const Scenario *scenario, const SearchRoom *room, gint64 above)
{
  const OptionSpec *table = scenario_section_table (self->section);
  g_auto (GStrv)    words =
      lever_values (option_table_find (table, self->key), NULL, TRUE); /* none of numbers */
  g_autoptr (GStrvBuilder) chosen = g_strv_builder_new ();

  for (gint64 n = 1; n <= self->most_tried; n = self->doubles ? 2 * n : n + 1)
    {
      g_autofree char *text = g_strdup_printf ("%" G_GINT64_FORMAT, n);

      if (may_be (self, scenario, room, above, n))
        g_strv_builder_add (chosen, text);
    }
  for (guint i = 0; words[i] != NULL; i++)
    if (!g_strv_contains (self->usual, words[i]))
      g_strv_builder_add (chosen, words[i]);
  return g_strv_builder_end (chosen);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define AXIS    (LEVER_AXIS | LEVER_ADVICE)
#define VARIANT (LEVER_VARIANT | LEVER_ADVICE)
#define FREE    (LEVER_FREE | LEVER_ADVICE)
#define KERNELS (LEVER_KERNELS | LEVER_FREE | LEVER_ADVICE)

/* ADD, and what else there is. */
#define LEVER(section_, key_, uses_, ...)                               \
  {                                                                     \
    .section = section_, .key = key_, .uses = uses_, .add = __VA_ARGS__ \
  }

const Lever levers[] = {
  LEVER ("training", "activation_checkpointing", AXIS, add_checkpointing),
  LEVER ("training", "compile", KERNELS, add_words),
  LEVER ("training", "attention", KERNELS, add_attention),
  LEVER ("training", "micro_batch", AXIS, add_micro_batches, .most = 1 << 20, .most_tried = 16,
         .doubles = TRUE, .limit = LIMIT_ALIKE),
  { .section = "training", .key = "seq_len", .most = 1 << 26 },
  { .section = "model", .key = "n_layers", .most = MOST_LAYERS },
  LEVER ("strategy", "shard", VARIANT, add_shard),
  { .section = "strategy", .uses = VARIANT, .add = add_own },
  LEVER ("strategy", "name", VARIANT, add_strategies),
  LEVER ("mesh", "tp", AXIS, add_axis, .divides = TRUE, .most_tried = 64, .doubles = TRUE,
         .limit = LIMIT_NODE, .with = { "mesh.sp" }),
  { .section = "mesh", .key = "tp_rows", .divides = TRUE }, /* where a search is told to vary it */
  LEVER ("mesh", "pp", AXIS, add_axis, .divides = TRUE, .stages = TRUE, .most_tried = 64,
         .limit = LIMIT_LAYERS, .with = { "mesh.pipeline", "mesh.vp" }),
  LEVER ("training", "tokens_per_rank", LEVER_MEMORY, add_sets),
  LEVER ("mesh", "cp", AXIS, add_axis, .divides = TRUE, .most_tried = 16, .doubles = TRUE,
         .limit = LIMIT_GPUS, .with = { "mesh.context" }, .apart = TRUE),
  LEVER ("training", "fused_norm", KERNELS, add_words),
  LEVER ("mesh", "ep", LEVER_AXIS, add_experts, .most_tried = MOST_EXPERTS, .limit = LIMIT_EXPERTS),
  /* the same update in fewer launches */
  LEVER ("training", "optimizer", FREE, add_words, .words = { "adamw-fused" },
         .only_from = "adamw"),
  /* activations divided along the sequence, and then experts whole on a rank (etp) */
  LEVER ("mesh", "sp", AXIS, add_numbers, .most_tried = 1, .with = { "mesh.etp" }),
  LEVER ("mesh", "async_tp", FREE, add_words, .values_need = "tp"),
  LEVER ("mesh", "vp", AXIS, add_numbers, .stages = TRUE, .most_tried = 8, .limit = LIMIT_CHUNKS),
  LEVER ("mesh", "pipeline", AXIS, add_words, .stages = TRUE,
         .usual = { "auto", "1f1b", "interleaved" }),
  LEVER ("mesh", "p2p", FREE, add_words),
  LEVER ("mesh", "scatter_gather", FREE, add_words),
  /* stages far apart, or next to each other */
  LEVER ("mesh", "order", FREE, add_words, .words = { "tp-cp-dp-pp", "tp-cp-pp-dp" },
         .values_need = "pp"),
  /* gathered keys and values are tried around the best */
  LEVER ("mesh", "context", LEVER_AXIS | FREE, add_contexts,
         .words = { "ring", "all-gather", "ulysses" }, .usual = { "all-gather" },
         .with = { "mesh.ulysses" }, .of = "cp", .apart = TRUE),
  { .section = "mesh",
    .key = "ulysses",
    .most_tried = MOST_RANKS,
    .doubles = TRUE,
    .limit = LIMIT_INNER,
    .only_with = "usp" }, /* moved as a part of `context` */
  /* smaller logits in memory, of the same numbers, so not in 16 bits */
  LEVER ("training", "loss", LEVER_FREE, add_words, .words = { "fused", "chunked" }),
  /* tokens go to other nodes once a node, in the types that they have */
  LEVER ("mesh", "dispatch", LEVER_FREE, add_words, .words = { "two-level" }, .only_from = "nccl"),
  LEVER ("mesh", "etp", LEVER_AXIS | LEVER_FREE, add_whole_experts, .values_need = "ep",
         .most_tried = 1, .limit = LIMIT_MOE),
  LEVER ("mesh", "moe_overlap", LEVER_FREE, add_words),
  LEVER ("mesh", "shared_expert_overlap", LEVER_FREE, add_words),
  /* what NCCL_ALGO can ask of any network: switches that reduce are hardware, others not NCCL's */
  LEVER ("collective", "algorithm", LEVER_ADVICE, add_words,
         .words = { "ring", "tree", "nvls", "nvls_tree", "pat" }),
  LEVER ("collective", "protocol", LEVER_ADVICE, add_words),
  { 0 },
};

gboolean
lever_sets (const Lever *self, const char *key)
{
  const gsize n = strlen (self->section);

  return strncmp (key, self->section, n) == 0 && key[n] == '.'
         && g_strcmp0 (key + n + 1, self->key) == 0;
}

const Lever *
lever_find (const char *key)
{
  for (const Lever *lever = levers; lever->section != NULL; lever++)
    if (lever_sets (lever, key))
      return lever;
  return NULL;
}

gint64
lever_degree (const Scenario *scenario, const char *axis)
{
  const OptionSpec *spec = option_table_find (mesh_options, axis);

  return MAX (G_STRUCT_MEMBER (gint64, &scenario->mesh, spec->offset), 1);
}

/* The axis of the mesh that must have ranks for LEVER to do something and has none; NULL: none. */
static const char *
axis_short_of (const Scenario *scenario, const Lever *lever)
{
  const OptionScope scope = { .table = mesh_options, .options = &scenario->mesh };
  const OptionSpec *spec =
      g_str_equal (lever->section, "mesh") ? option_table_find (mesh_options, lever->key) : NULL;
  const OptionSpec *axis = spec != NULL ? option_short_of (&scope, spec) : NULL;

  if (axis != NULL)
    return axis->key;
  return lever->values_need != NULL && lever_degree (scenario, lever->values_need) <= 1
             ? lever->values_need
             : NULL;
}

GArray *
lever_moves (const Scenario *scenario, const StrategySet *strategies, guint n_gpus, LeverUse use)
{
  g_autoptr (GString) prefix = g_string_new ("strategy");
  LeverMoves          self = { .scenario = scenario,
                               .strategies = strategies,
                               .config = scenario_innermost (scenario, prefix),
                               .n_gpus = n_gpus,
                               .use = use,
                               .list = g_array_new (FALSE, FALSE, sizeof (Move)) };

  self.prefix = prefix->str;
  for (const Lever *lever = levers; lever->section != NULL; lever++)
    {
      const char      *axis = axis_short_of (scenario, lever);
      g_autofree char *key = axis != NULL ? g_strdup_printf ("mesh.%s", axis) : NULL;

      if ((lever->uses & use) == 0 || (axis != NULL && use != LEVER_REMEDY))
        continue;
      self.needs = key != NULL ? intern_text (key) : NULL;
      lever->add (&self, lever);
      self.n_levers++;
    }
  return self.list;
}
