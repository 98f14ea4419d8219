#include "analysis/remedies-private.h"

#define LEAST_CHUNKS 2 /* of layers:K */
#define MOST_CHUNKS  8
#define MOST_RANKS   16 /* of an axis of the mesh */

typedef struct
{
  const Scenario    *scenario;
  const StrategySet *strategies;
  gint64             n_gpus;
  GArray            *moves; /* Move */
  guint              n_levers;
} Levers;

/* Adds VALUE of KEY to the current lever: the new move, until the next one is added. */
static Move *
add_move (Levers *self, const char *key, const char *value, gint64 micro_steps)
{
  const Move move = { .lever = self->n_levers,
                      .key = g_intern_string (key),
                      .value = g_intern_string (value),
                      .micro_steps = micro_steps };

  g_array_append_val (self->moves, move);
  return &g_array_index (self->moves, Move, self->moves->len - 1);
}

static gboolean
is_numbered (const char *choice)
{
  return g_str_has_suffix (choice, ":K") || g_str_equal (choice, "K");
}

/* Every value of a switch or of words that SPEC can take and does not have. */
static void
add_values (Levers *self, const char *prefix, const OptionSpec *spec, gconstpointer options)
{
  static const char *const switches[] = { "true", "false", NULL };
  g_autofree char         *key = g_strdup_printf ("%s.%s", prefix, spec->key);
  g_autofree char         *now = option_format (spec, options);
  const char *const       *words = spec->type == OPTION_BOOL ? switches : spec->choices;

  if (spec->type != OPTION_BOOL && spec->type != OPTION_ENUM)
    return;
  for (guint i = 0; words[i] != NULL; i++)
    if (is_numbered (words[i]))
      for (guint k = LEAST_CHUNKS; k <= MOST_CHUNKS; k *= 2)
        {
          g_autofree char *value =
              g_strdup_printf ("%.*s%u", (int) strlen (words[i]) - 1, words[i], k);

          if (!g_str_equal (value, now))
            add_move (self, key, value, 1);
        }
    else if (!g_str_equal (words[i], now))
      add_move (self, key, words[i], 1)->is_switch = spec->type == OPTION_BOOL;
  self->n_levers++;
}

/* Options of the training that leave what is computed as it is. */
static void
add_training (Levers *self)
{
  static const char *const keys[] = { "activation_checkpointing", "compile" };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    add_values (self, "training", option_table_find (training_options, keys[i]),
                &self->scenario->training);
  if (training_flash_version (&self->scenario->training) == 0)
    add_move (self, "training.attention", "flash2", 1); /* runs on every GPU that fuses attention */
  self->n_levers++;
}

/* Half the micro-batch in twice the micro-steps, and so on. */
static void
add_micro_batches (Levers *self)
{
  const TrainingOptions *training = &self->scenario->training;

  for (gint64 n = 2; training->lengths == NULL && training->micro_batch % n == 0; n *= 2)
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, training->micro_batch / n);

      add_move (self, "training.micro_batch", value, n);
    }
  self->n_levers++;
}

/* Twice the ranks of AXIS, and so on: as many fewer data ranks make as many more micro-steps. */
static void
add_axis (Levers *self, const char *axis, gint64 degree, gboolean sequence)
{
  g_autofree char *key = g_strdup_printf ("mesh.%s", axis);
  const gint64     now = MAX (degree, 1), most = MIN (self->n_gpus, MOST_RANKS);

  for (gint64 n = 2; self->scenario->training.lengths == NULL && now * n <= most; n *= 2)
    {
      g_autofree char *value = g_strdup_printf ("%" G_GINT64_FORMAT, now * n);
      Move            *move = add_move (self, key, value, n);

      if (sequence && self->scenario->mesh.sp == 0)
        {
          move->also_key = "mesh.sp";
          move->also_value = "1";
        }
    }
  self->n_levers++;
}

/* The innermost strategy, which shards, and its prefix: "strategy", "strategy.inner". */
static const StrategyConfig *
innermost (const Scenario *scenario, GString *prefix)
{
  const StrategyConfig *config = scenario->strategy;

  g_string_assign (prefix, "strategy");
  for (; config->inner != NULL; config = config->inner)
    g_string_append (prefix, ".inner");
  return config;
}

/* Groups to shard over: all there are. A number or a node's is what somebody chose. */
static void
add_shard (Levers *self, const StrategyConfig *config, const char *prefix)
{
  const OptionSpec *spec = option_table_find (config->marks.table, "shard");
  g_autofree char  *now = spec != NULL ? option_format (spec, config->options) : NULL;
  const gboolean    in_mesh = self->scenario->mesh.shard != NULL || !config->shard_set;
  g_autofree char  *key = g_strdup_printf ("%s.shard", in_mesh ? "mesh" : prefix);

  if (spec != NULL && !g_str_equal (now, "all"))
    add_move (self, key, "all", 1);
  self->n_levers++;
}

/*
 * An option that was set on the command line: it would be set of another strategy too, which may
 * not have it.
 */
static gboolean
has_own_words (const Levers *self, const StrategyConfig *config)
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

/* STRATEGY with its defaults, and with each of its switches turned. */
static void
add_strategy (Levers *self, const Strategy *strategy, const char *prefix)
{
  g_autofree char *name = g_strdup_printf ("%s.name", prefix);

  add_move (self, name, strategy->name, 1);
  for (const OptionSpec *spec = strategy->options; spec != NULL && spec->key != NULL; spec++)
    if (spec->type == OPTION_BOOL)
      {
        g_autofree char *key = g_strdup_printf ("%s.%s", prefix, spec->key);
        Move            *move = add_move (self, name, strategy->name, 1);

        move->also_key = g_intern_string (key);
        move->also_value = g_str_equal (spec->fallback, "true") ? "false" : "true";
      }
}

static void
add_strategies (Levers *self, const StrategyConfig *config, const char *prefix)
{
  const Strategy *const *list =
      self->strategies != NULL ? strategy_set_list (self->strategies) : strategy_list ();

  for (; !has_own_words (self, config) && *list != NULL; list++)
    if (!(*list)->outer && *list != config->strategy)
      add_strategy (self, *list, prefix);
  self->n_levers++;
}

GArray *
remedy_moves (const Scenario *scenario, const StrategySet *strategies, guint n_gpus)
{
  const MeshOptions    *mesh = &scenario->mesh;
  g_autoptr (GString)   prefix = g_string_new (NULL);
  const StrategyConfig *config = innermost (scenario, prefix);
  Levers                self = { .scenario = scenario,
                                 .strategies = strategies,
                                 .n_gpus = n_gpus,
                                 .moves = g_array_new (FALSE, FALSE, sizeof (Move)) };

  add_training (&self);
  add_micro_batches (&self);
  add_shard (&self, config, prefix->str);
  for (const OptionSpec *spec = config->marks.table; spec->key != NULL; spec++)
    if (spec->type == OPTION_BOOL || spec->type == OPTION_ENUM)
      add_values (&self, prefix->str, spec, config->options);
  add_strategies (&self, config, prefix->str);
  add_axis (&self, "tp", mesh->tp, TRUE);
  add_axis (&self, "pp", mesh->pp, FALSE);
  add_axis (&self, "cp", mesh->cp, FALSE);
  return self.moves;
}
