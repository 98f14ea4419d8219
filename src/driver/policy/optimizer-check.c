/* Whether an optimizer can do what a policy asks of it, and what shards that cut too much cost. */
#include "base/config/units.h"
#include "driver/matrix/matrix-plan.h"
#include "driver/walk/driver-private.h"

/* ---- what no optimizer does ------------------------------------------------------------------ */

gboolean
policy_check_optimizer (const Strategy *strategy, const Policy *policy,
                        const TrainingOptions *training, DiagList *diags)
{
  Place       home = policy->kinds[0].states[STATE_OPTIMIZER].home;
  const char *optimizer = optimizer_name (training);

  if (home == PLACE_HBM && policy->passes == 0)
    return TRUE;
  if (optimizer_is_paged (training) && policy->passes > 0)
    return diag_option_error (diags, "optimizer_paged", "leave it out",
                              "strategy '%s' has no optimizer states to page", strategy->name);
  if (optimizer_is_paged (training))
    return diag_option_error (
        diags, "optimizer_paged", "leave it out, or take a strategy that keeps them on GPUs",
        "'optimizer_paged' moves states out of GPU memory, and strategy '%s' keeps them in %s",
        strategy->name, place_title (home));
  if (optimizer_runs_on_host (training))
    return TRUE;
  if (policy->passes > 0)
    return diag_option_error (diags, "optimizer", "take adamw or sgd: neither is run",
                              "strategy '%s' has no gradients that '%s' could work on",
                              strategy->name, optimizer);
  return diag_option_error (diags, "optimizer",
                            "take adamw or sgd, or a strategy that keeps optimizer states on GPUs",
                            "'%s' runs on GPUs, and strategy '%s' keeps its states in %s",
                            optimizer, strategy->name, place_title (home));
}

/* ---- what shards cut ------------------------------------------------------------------------- */

/* Tensors of a kind of unit that have to be whole. */
typedef struct
{
  const ShardFormat *format;
  guint              members, n_tensors, n_cut; /* of all stages */
  double             sent;                      /* bytes of a rank and step, at most */
} Cuts;

typedef struct
{
  const DriverLevel     *level; /* of the first stage */
  const TrainingOptions *training;
  Cuts                   kinds[2];
  guint                  n_kinds;
  guint                  n_bare; /* matrices' tensors without a preconditioner; the first one, */
  const TensorDesc      *bare;
} Findings;

/* Bytes that a rank sends in a step, there and back. */
static double
sent_bytes (const MatrixPlan *plan, const TrainingOptions *training)
{
  double sum = 0, m = plan->members;

  for (guint i = 0; i < plan->rounds->len; i++)
    {
      const MatrixRound *round = &g_array_index (plan->rounds, MatrixRound, i);

      if (round->travels)
        sum += (double) round->sent * (m - 1) / m;
    }
  return sum * dtype_bytes (optimizer_exchange_dtype (training)) * (plan->returns ? 2 : 1);
}

static void
add_kind (Findings *self, const UnitPolicy *policy, const MatrixPlan *plan, guint kind)
{
  Cuts *cuts = &self->kinds[kind];

  cuts->format = policy->format;
  cuts->members = plan->members;
  cuts->n_tensors += plan->n_tensors;
  cuts->n_cut += plan->n_cut;
  cuts->sent = MAX (cuts->sent, sent_bytes (plan, self->training));
}

static void
add_bare (Findings *self, const PlanUnit *unit)
{
  for (guint t = 0; t < unit->n_trainable; t++)
    {
      const TensorDesc *tensor = &unit->trainable[t];

      if (optimizer_is_bare (self->training, tensor) && self->n_bare++ == 0)
        self->bare = tensor;
    }
}

static void
add_stage (Findings *self, const DriverStage *stage, const StrategyRun *run)
{
  self->n_kinds = MAX (self->n_kinds, stage->policy->n_kinds);
  for (guint k = 0; k < stage->policy->n_kinds; k++)
    add_kind (self, &stage->policy->kinds[k], stage->matrices[k], k);
  for (guint u = 0; u < run->n_units; u++)
    add_bare (self, &run->units[u]);
}

/* ---- what is said of it ---------------------------------------------------------------------- */

/* Whether ranks own whole tensors where SPEC is CHOICE and all else as it is. */
static gboolean
gives_owners (const DriverLevel *level, const OptionSpec *spec, const char *choice)
{
  const Strategy      *strategy = level->strategy;
  g_autoptr (DiagList) unread = diag_list_new ();
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  Policy               policy = { 0 };
  gboolean             all;

  option_table_copy (strategy->options, level->run.options, options);
  all = option_set (spec, options, choice, NULL, unread)
        && (strategy->check == NULL || strategy->check (&level->in, options, unread));
  if (all)
    strategy->policy (&level->in, options, &policy);
  for (guint k = 0; k < policy.n_kinds; k++)
    all = all && policy.kinds[k].format->owned != NULL;
  option_table_clear (strategy->options, options);
  return all;
}

/* What to choose so that ranks own whole tensors: "partition: tensors". NULL: there is nothing. */
static char *
find_owners (const DriverLevel *level)
{
  for (const OptionSpec *spec = level->strategy->options; spec != NULL && spec->key != NULL; spec++)
    for (guint i = 0; spec->type == OPTION_ENUM && !spec->what_if && spec->choices[i] != NULL; i++)
      if (gives_owners (level, spec, spec->choices[i]))
        return g_strdup_printf ("%s: %s", spec->key, spec->choices[i]);
  return NULL;
}

/* How to send less, or nothing. */
static char *
hint_of (const Findings *self)
{
  g_autofree char *owners = find_owners (self->level);
  const guint64    side = optimizer_tile_side (self->training);

  if (owners != NULL)
    return g_strdup_printf (
        "with '%s' ranks of '%s' have whole tensors and send nothing for it; else "
        "'training.matrix_exchange' says how",
        owners, self->level->strategy->name);
  if (optimizer_scope (self->training) == SCOPE_BLOCK)
    return g_strdup_printf ("ragged shards with 'training.shard_block: %" G_GUINT64_FORMAT
                            "x%" G_GUINT64_FORMAT "' cut none, where that divides the tensors",
                            side, side);
  return g_strdup ("'training.matrix_exchange' says how");
}

static void
warn_of_cuts (const Findings *self, const Cuts *cuts, DiagList *diags)
{
  gboolean         blocks = optimizer_scope (self->training) == SCOPE_BLOCK;
  g_autofree char *price = quantity_format (QUANTITY_BYTES, cuts->sent, 3);
  g_autofree char *hint = cuts->n_cut > 0 ? hint_of (self) : NULL;

  if (cuts->n_cut == 0)
    return;
  diag_option_warning (diags, "optimizer", hint,
                       "'%s' needs whole %s, and shards of format '%s' over %u ranks cut %u of %u "
                       "tensors: a rank sends up to %s a step for it",
                       optimizer_name (self->training), blocks ? "blocks" : "matrices",
                       cuts->format->name, cuts->members, cuts->n_cut, cuts->n_tensors, price);
}

/* Why nothing travels. */
static char *
whole_because (const Cuts *cuts)
{
  if (cuts->members == 1)
    return g_strdup_printf ("a rank has all %u tensors", cuts->n_tensors);
  if (cuts->format->owned != NULL)
    return g_strdup_printf ("%u ranks own whole tensors", cuts->members);
  return g_strdup_printf ("shards of format '%s' over %u ranks cut none of %u tensors",
                          cuts->format->name, cuts->members, cuts->n_tensors);
}

/* Of an exchange that somebody chose, and that is none. */
static void
warn_of_idle (const Findings *self, DiagList *diags)
{
  const TrainingOptions *training = self->training;
  const char            *key = training->matrix_exchange != MATRIX_EXCHANGE_ALL_TO_ALL
                                   ? "matrix_exchange"
                                   : "matrix_bucket_layers";
  const Cuts            *most = NULL;
  g_autofree char       *reason = NULL;

  if (training->matrix_exchange == MATRIX_EXCHANGE_ALL_TO_ALL
      && training->matrix_bucket_layers == 0)
    return;
  for (guint k = 0; k < self->n_kinds; k++)
    {
      const Cuts *cuts = &self->kinds[k];

      if (cuts->n_cut > 0)
        return;
      if (cuts->n_tensors > 0 && (most == NULL || cuts->members > most->members))
        most = cuts;
    }
  if (most == NULL)
    return;
  reason = whole_because (most);
  diag_option_warning (diags, key, "leave it out",
                       "'%s' has no effect: nothing is sent for '%s', as %s", key,
                       optimizer_name (training), reason);
}

static void
warn_of_bare (const Findings *self, DiagList *diags)
{
  const TrainingOptions *training = self->training;

  if (self->n_bare == 0)
    return;
  diag_list_set_key (diags,
                     training->max_preconditioner_dim > 0 ? "max_preconditioner_dim" : "optimizer");
  diag_warning (diags, NULL,
                "these are updated as by AdamW: raise the limit, or name other matrices in "
                "'training.matrix_parameters'",
                "'%s' has no preconditioner for %u tensor%s, first '%s' of %" G_GUINT64_FORMAT
                " x %" G_GUINT64_FORMAT ": both sides are longer than 'max_preconditioner_dim' of "
                "%" G_GUINT64_FORMAT,
                optimizer_name (training), self->n_bare, self->n_bare > 1 ? "s" : "",
                self->bare->name, self->bare->shape[self->bare->n_dims - 2],
                self->bare->shape[self->bare->n_dims - 1], optimizer_longest_side (training));
  diag_list_set_key (diags, NULL);
}

void
driver_warn_of_optimizer (const Driver *self, DiagList *diags)
{
  const guint            inner = self->n_levels - 1;
  const DriverLevel     *level = &self->stages[0].levels[inner];
  const TrainingOptions *training = workload_training (level->in.workload);
  UpdateScope            scope = optimizer_scope (training);
  Findings               found = { .level = level, .training = training };

  if (level->strategy->policy == NULL || (scope != SCOPE_BLOCK && scope != SCOPE_MATRIX))
    return;
  for (guint s = 0; s < self->pipeline.stages; s++)
    add_stage (&found, &self->stages[s], &self->stages[s].levels[inner].run);
  for (guint k = 0; k < found.n_kinds; k++)
    warn_of_cuts (&found, &found.kinds[k], diags);
  warn_of_idle (&found, diags);
  warn_of_bare (&found, diags);
}
