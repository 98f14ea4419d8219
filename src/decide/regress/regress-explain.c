/* What each changed input does alone, by simulation. */
#include <math.h>
#include <string.h>

#include "decide/regress/regress.h"
#include "hardware/profile/profile-words.h"

/* One simulation: options and figures laid over the scenario and its profiles. */
typedef struct
{
  const RegressComparison *of;
  const Scenario          *scenario;
  const StrategySet       *strategies;
  PredictOptions           options;
  RegressRead              read;
} Explained;

/* ---- inputs of one simulation ---------------------------------------------------------------- */

static gboolean
is_option (const RegressCause *cause)
{
  return g_str_equal (cause->group, "options");
}

static void
add_override (GArray *overrides, GStringChunk *strings, const char *key, const char *value)
{
  const ScenarioOverride override = { g_string_chunk_insert (strings, key),
                                      g_string_chunk_insert (strings, value != NULL ? value : ""),
                                      "the baseline" };

  g_array_append_val (overrides, override);
}

/* The option of CAUSE as in the baseline (BACK), or as now. */
static void
add_option (const Explained *self, const RegressCause *cause, gboolean back, GArray *overrides,
            GStringChunk *strings)
{
  const RegressRow *row = back ? self->of->was : self->of->now;

  if (g_str_has_prefix (cause->key, "strategy.") && g_str_has_suffix (cause->key, ".name"))
    {
      g_autofree char *section = g_strndup (cause->key, strlen (cause->key) - strlen (".name"));

      /* A strategy's name, and every option that it has in ROW. */
      g_autofree char *prefix = g_strconcat (section, ".", NULL);

      for (guint pass = 0; pass < 2; pass++) /* names first: they reset the options */
        for (guint i = 0; i < row->inputs->len; i++)
          {
            const RegressInput *input = &g_array_index (row->inputs, RegressInput, i);

            if (g_str_equal (input->group, "options") && g_str_has_prefix (input->key, prefix)
                && g_str_has_suffix (input->key, ".name") == (pass == 0))
              add_override (overrides, strings, input->key, input->value);
          }
    }
  else
    add_override (overrides, strings, cause->key, back ? cause->was : cause->now);
}

/*
 * Adds the figure of CAUSE as in the baseline; STRINGS keeps its names. FALSE: it is none, and no
 * simulation takes it back.
 */
static gboolean
add_figure (const RegressCause *cause, ProfileSet *profiles, GArray *figures, GStringChunk *strings)
{
  g_auto (GStrv)       parts = g_strsplit (cause->group, " ", 2);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   words = NULL;

  if (g_strv_length (parts) != 2 || g_str_equal (parts[0], "cluster") || *cause->key == '\0'
      || cause->was == NULL)
    return FALSE;
  words = profile_set_words (profiles, parts[0], parts[1], diags);
  for (guint i = 0; words != NULL && i < words->len; i++)
    {
      const ProfileWord *word = &g_array_index (words, ProfileWord, i);
      FigureChange       figure = { .key = word->key, .as_written = TRUE };

      if (!word->is_figure || !g_str_equal (word->key, cause->key)
          || !quantity_parse (word->kind, cause->was, &figure.value, NULL))
        continue;
      figure.kind = g_string_chunk_insert (strings, parts[0]);
      figure.id = g_string_chunk_insert (strings, parts[1]);
      g_array_append_val (figures, figure);
      return TRUE;
    }
  return FALSE;
}

/* ---- simulations ----------------------------------------------------------------------------- */

/*
 * What the program predicts with the baseline's inputs but cause ALONE, which is as it is now
 * (G_MAXUINT: none). NULL: that cannot be.
 */
static RegressRow *
simulate (const Explained *self, const gboolean *can, guint alone)
{
  g_autoptr (GArray)       options = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (GArray)       figures = g_array_new (FALSE, FALSE, sizeof (FigureChange));
  g_autoptr (GStringChunk) strings = g_string_chunk_new (1024);
  g_autoptr (ProfileSet)   profiles = predict_profiles (&self->options);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (Scenario)     scenario = NULL;
  PredictOptions           predicted = self->options;

  for (guint i = 0; i < self->of->causes->len; i++)
    {
      const RegressCause *cause = &g_array_index (self->of->causes, RegressCause, i);

      if (i == alone || !can[i])
        continue;
      if (is_option (cause))
        add_option (self, cause, TRUE, options, strings);
      else
        add_figure (cause, profiles, figures, strings);
    }
  scenario = scenario_with (self->scenario, self->strategies,
                            (const ScenarioOverride *) (void *) options->data, options->len, diags);
  predicted.changes = (const FigureChange *) (gpointer) figures->data;
  predicted.n_changes = figures->len;
  return scenario != NULL ? regress_row_predict (scenario, &predicted, self->read, diags, &error)
                          : NULL;
}

/* From FROM to TO, by the changes, relative to what the baseline has. Newly allocated. */
static GArray *
effects_between (const RegressComparison *self, const RegressRow *from, const RegressRow *to)
{
  GArray *effects = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; i < self->changes->len; i++)
    {
      const RegressChange *change = &g_array_index (self->changes, RegressChange, i);
      const char          *name = change->now != NULL ? change->now->name : change->was->name;
      const RegressResult *a = regress_row_result (from, name), *b = regress_row_result (to, name);
      double               effect = NAN;

      if (change->was != NULL && change->was->text == NULL && a != NULL && b != NULL)
        effect = (b->number - a->number) / fabs (change->was->number);
      g_array_append_val (effects, effect);
    }
  return effects;
}

/* Which causes a simulation can take back; *N of them. Newly allocated. */
static gboolean *
find_simulated (const Explained *self, guint *n)
{
  const GArray            *causes = self->of->causes;
  gboolean                *can = g_new0 (gboolean, causes->len + 1);
  g_autoptr (GArray)       unused = g_array_new (FALSE, FALSE, sizeof (FigureChange));
  g_autoptr (GStringChunk) strings = g_string_chunk_new (256);
  g_autoptr (ProfileSet)   profiles = predict_profiles (&self->options);

  *n = 0;
  for (guint i = 0; i < causes->len; i++)
    {
      const RegressCause *cause = &g_array_index (causes, RegressCause, i);

      can[i] = is_option (cause) || add_figure (cause, profiles, unused, strings);
      *n += can[i];
    }
  return can;
}

void
regress_explain (RegressComparison *self, const Scenario *scenario, const StrategySet *strategies,
                 const PredictOptions *options, RegressRead read)
{
  Explained              explained = { self, scenario, strategies, *options, read };
  guint                  n = 0;
  g_autofree gboolean   *can = find_simulated (&explained, &n);
  g_autoptr (RegressRow) before = NULL;

  explained.options.count = NULL;
  if (self->was == NULL || self->n[REGRESS_MOVED] == 0 || n == 0)
    return;
  before = simulate (&explained, can, G_MAXUINT);
  if (before == NULL)
    return;
  if (n == self->causes->len) /* else what stays is not the program's alone */
    self->program = effects_between (self, self->was, before);
  for (guint i = 0; i < self->causes->len && n <= REGRESS_MAX_CAUSES; i++)
    {
      RegressCause          *cause = &g_array_index (self->causes, RegressCause, i);
      g_autoptr (RegressRow) alone = NULL;

      if (!can[i])
        continue;
      alone = n > 1 ? simulate (&explained, can, i) : NULL;
      if (n == 1 || alone != NULL)
        cause->effects = effects_between (self, before, n == 1 ? self->now : alone);
    }
}
