/* One override, "section.key=value", laid over what a draft holds. */
#include <string.h>

#include "base/intern.h"
#include "hardware/profile/figure-settings.h"
#include "scenario/scenario-private.h"

SourceMark
scenario_override_mark (const ScenarioOverride *override)
{
  g_autofree char *place = NULL;

  if (g_strcmp0 (override->origin, "--set") == 0
      || (g_strcmp0 (override->origin, "--figure") == 0
          && !g_str_equal (override->key, "cluster.figure")))
    place = g_strdup_printf ("%s %s=%s", override->origin, override->key, override->value);
  else
    place = g_strdup_printf ("%s %s", override->origin != NULL ? override->origin : override->key,
                             override->value);
  return (SourceMark){ .file = intern_text (place) };
}

guint
scenario_key_depth (const char *key)
{
  guint depth = 1;

  if (!g_str_has_prefix (key, "strategy."))
    return 0;
  for (key += strlen ("strategy."); g_str_has_prefix (key, "inner."); key += strlen ("inner."))
    depth++;
  return g_str_equal (key, "name") ? depth : 0;
}

/* The strategy that KEY ("inner.inner.x") means, with *LEAF set to "x". NULL after a diagnostic. */
static StrategyConfig **
walk_inner (StrategyConfig **slot, const char *key, const char **leaf, const SourceMark *mark,
            DiagList *diags)
{
  for (; g_str_has_prefix (key, "inner."); key += strlen ("inner."))
    {
      if (*slot == NULL || !(*slot)->strategy->outer)
        {
          diag_error (diags, mark, NULL, "strategy '%s' takes no inner strategy",
                      *slot != NULL ? (*slot)->strategy->name : "");
          return NULL;
        }
      slot = &(*slot)->inner;
    }
  *leaf = key;
  return slot;
}

/* "~" unsets what may be unset, as YAML's null does in a file. */
static void
set_or_unset (const OptionSpec *table, gpointer options, const char *key, const char *value,
              const SourceMark *mark, DiagList *diags)
{
  const OptionSpec *spec = option_table_find (table, key);

  if (spec != NULL && g_str_equal (value, "~")
      && (spec->optional || (spec->type == OPTION_STRING && spec->fallback != NULL)))
    option_unset (spec, options);
  else if (spec != NULL && spec->pairs)
    figure_settings_add (G_STRUCT_MEMBER_P (options, spec->offset), value, mark, diags);
  else
    option_set_key (table, options, key, value, mark, diags);
}

static void
override_strategy (ScenarioDraft *draft, const char *key, const char *value, const SourceMark *mark,
                   DiagList *diags)
{
  StrategyConfig **slot = walk_inner (&draft->scenario->strategy, key, &key, mark, diags);

  if (slot == NULL)
    return;
  if (slot == &draft->scenario->strategy && g_str_equal (key, "name"))
    {
      draft->seen |= SEEN_STRATEGY;
      draft->scenario->strategy_mark = *mark;
    }
  if (g_str_equal (key, "name"))
    scenario_replace_strategy (draft->strategies, slot, value, mark, diags);
  else if (*slot != NULL)
    {
      option_marks_set (&(*slot)->marks, key, mark);
      (*slot)->shard_set |= g_str_equal (key, "shard");
      set_or_unset (scenario_strategy_table ((*slot)->strategy), (*slot)->options, key, value, mark,
                    diags);
    }
  else if (!(draft->seen & SEEN_STRATEGY)) /* else the unknown name has been reported */
    diag_error (diags, mark, "set 'strategy.name'", "there is no strategy whose '%s' could be set",
                key);
}

/* FALSE: nothing that options are called in short is near WORD. */
static gboolean
diagnose_word (const char *word, const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GPtrArray) words = scenario_words ();
  g_autofree char      *hint = NULL;
  const char           *near;

  g_ptr_array_add (words, NULL);
  near = suggest_nearest (word, (const char *const *) words->pdata);
  if (near == NULL)
    return FALSE;
  hint = g_strdup_printf ("did you mean '%s'?", near);
  diag_error (diags, mark, hint, "unknown key '%s'", word);
  return TRUE;
}

static void
set_section (ScenarioDraft *draft, const char *key, const char *value, const SourceMark *mark,
             DiagList *diags)
{
  const char            *dot = strchr (key, '.');
  g_autofree char       *name = dot != NULL ? g_strndup (key, dot - key) : g_strdup (key);
  const ScenarioSection *section = dot != NULL ? scenario_find_section (name) : NULL;

  if (section == NULL)
    {
      if (dot != NULL || !diagnose_word (name, mark, diags))
        scenario_diagnose_key (name, FALSE, mark, diags);
      return;
    }
  draft_mark_seen (draft, section);
  option_marks_set (draft_marks (draft, section), dot + 1, mark);
  if (section->table == training_options && g_str_equal (dot + 1, "seq_len"))
    draft->seen |= SEEN_SEQ_LEN;
  set_or_unset (section->table, scenario_section_options (draft->scenario, section), dot + 1, value,
                mark, diags);
}

/* "strategy.compression" for "compression", where the strategy has that and no section has. */
static char *
whole_key (const ScenarioDraft *draft, const char *key)
{
  char                 *whole = scenario_whole_key (key);
  const StrategyConfig *strategy = draft->scenario->strategy;

  if (strchr (whole, '.') != NULL || strategy == NULL
      || option_table_find (scenario_strategy_table (strategy->strategy), whole) == NULL)
    return whole;
  g_free (whole);
  return g_strconcat ("strategy.", key, NULL);
}

void
draft_set (ScenarioDraft *draft, const char *key, const char *value, const SourceMark *mark,
           DiagList *diags)
{
  g_autofree char *whole = whole_key (draft, key);

  if (g_str_equal (key, "name"))
    {
      g_free (draft->scenario->name);
      draft->scenario->name = g_strdup (value);
    }
  else if (g_str_has_prefix (whole, "strategy."))
    override_strategy (draft, whole + strlen ("strategy."), value, mark, diags);
  else if (scenario_key_is_figure (whole))
    {
      option_marks_set (draft_marks (draft, scenario_find_section ("cluster")), "figure", mark);
      figure_settings_set (&draft->scenario->cluster.figure, whole, value, mark, diags);
    }
  else
    set_section (draft, whole, value, mark, diags);
}

void
draft_override (ScenarioDraft *draft, const ScenarioOverride *override, DiagList *diags)
{
  const SourceMark mark = scenario_override_mark (override);

  draft_set (draft, override->key, override->value, &mark, diags);
}
