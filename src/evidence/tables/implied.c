#include "evidence/tables/implied.h"

#include <string.h>

#include "evidence/tables/training-columns.h"

struct _Implied
{
  ProfileSet *profiles;
  GHashTable *found;   /* text -> FrameworkProfile *, or NULL */
  GHashTable *checked; /* set of FrameworkProfile * */
};

Implied *
implied_new (ProfileSet *profiles)
{
  Implied *self = g_new0 (Implied, 1);

  self->profiles = profiles;
  self->found = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  self->checked = g_hash_table_new (NULL, NULL);
  return self;
}

void
implied_free (Implied *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->found);
  g_hash_table_unref (self->checked);
  g_free (self);
}

ProfileSet *
implied_profiles (const Implied *self)
{
  return self->profiles;
}

/* ---- mistakes in a profile ------------------------------------------------------------------- */

static void
check_setting (const FrameworkImplied *setting, DiagList *diags)
{
  const char      *dot = strchr (setting->set, '.'), *key = dot != NULL ? dot + 1 : "";
  g_autofree char *name =
      dot != NULL ? g_strndup (setting->set, (gsize) (dot - setting->set)) : NULL;

  if (g_strcmp0 (name, "strategy") == 0)
    {
      const Strategy *strategy =
          setting->strategy != NULL
              ? training_find_strategy (setting->strategy, &setting->mark, diags)
              : NULL;

      /*
       * A strategy that is not named is the row's: it takes the option, or says that it has none.
       */
      if (strategy != NULL
          && (strategy->options == NULL || option_table_find (strategy->options, key) == NULL))
        diag_error (diags, &setting->mark, NULL, "strategy '%s' has no option '%s'", strategy->name,
                    key);
      return;
    }
  for (guint s = 0; s < TRAINING_N_SECTIONS; s++)
    if (g_strcmp0 (name, training_sections[s].name) == 0)
      {
        const TrainingSection *section = &training_sections[s];
        const OptionSpec      *table = scenario_section_table (section->name);
        g_autofree Scenario   *scratch = g_new0 (Scenario, 1);
        gpointer               structure = (guint8 *) scratch + section->offset;

        /* Its value is tried where nobody looks. */
        option_set_key (table, structure, key, setting->to, &setting->mark, diags);
        option_table_clear (table, structure);
        return;
      }
  diag_error (diags, &setting->mark, "write 'section.key', as on the command line",
              "'%s' is no setting of a run", setting->set);
}

/* "model.d_ff 10000": the setting, newly allocated, and *BOUND; NULL: something else. */
static char *
read_below (const char *below, double *bound)
{
  const char *space = strchr (below, ' ');
  char       *end = NULL;

  if (space == NULL)
    return NULL;
  *bound = g_ascii_strtod (space, &end);
  return end > space + 1 && *end == '\0' ? g_strndup (below, (gsize) (space - below)) : NULL;
}

/* Whether KEY is a setting of a run, as "model.d_ff" is. */
static gboolean
is_setting (const char *key)
{
  const char *dot = strchr (key, '.');
  guint       section;

  return dot != NULL && training_find_setting (dot + 1, &section) != NULL
         && g_str_has_prefix (key, training_sections[section].name);
}

/* "training.peft: lora", "mesh.cp: 1": none where SETTING holds always. */
static char **
split_where (const FrameworkImplied *setting)
{
  return g_strsplit (setting->where != NULL ? setting->where : "", ", ", -1);
}

static void
check_where (const FrameworkImplied *setting, DiagList *diags)
{
  g_auto (GStrv) terms = split_where (setting);

  for (char **term = terms; *term != NULL; term++)
    {
      g_auto (GStrv) parts = g_strsplit (*term, ": ", 2);

      if (g_strv_length (parts) != 2 || !is_setting (parts[0]))
        diag_error (diags, &setting->mark,
                    "write settings and their values, as 'training.peft: lora, mesh.cp: 1'",
                    "'where' cannot have '%s'", *term);
    }
}

static void
check_below (const FrameworkImplied *setting, DiagList *diags)
{
  double           bound;
  g_autofree char *key = setting->below != NULL ? read_below (setting->below, &bound) : NULL;

  if (setting->below != NULL && (key == NULL || !is_setting (key)))
    diag_error (diags, &setting->mark, "write a setting and a number, as 'model.d_ff 10000'",
                "'below' cannot be '%s'", setting->below);
}

/* ---- look-up --------------------------------------------------------------------------------- */

const FrameworkProfile *
implied_framework (Implied *self, const char *text, DiagList *diags)
{
  gpointer known = NULL;

  if (!g_hash_table_lookup_extended (self->found, text, NULL, &known))
    {
      const guint errors = diag_list_n_errors (diags);

      known = (gpointer) profile_set_find_framework (self->profiles, text, diags);
      if (known == NULL && diag_list_n_errors (diags) == errors)
        diag_warning (diags, NULL, "hwprofiles/framework holds those that there are",
                      "no profile of the framework '%s': its runs are predicted as those of none",
                      text);
      g_hash_table_insert (self->found, g_strdup (text), known);
    }
  return known;
}

const GArray *
implied_find (Implied *self, const char *text, DiagList *diags)
{
  const FrameworkProfile *framework = implied_framework (self, text, diags);

  if (framework == NULL || framework->implies == NULL)
    return NULL;
  if (g_hash_table_add (self->checked, (gpointer) framework))
    for (guint i = 0; i < framework->implies->len; i++)
      {
        check_setting (&g_array_index (framework->implies, FrameworkImplied, i), diags);
        check_below (&g_array_index (framework->implies, FrameworkImplied, i), diags);
        check_where (&g_array_index (framework->implies, FrameworkImplied, i), diags);
      }
  return framework->implies;
}

static gboolean
is_below (const FrameworkImplied *setting, ImpliedLookup find, gconstpointer row)
{
  double           bound = 0, number;
  g_autofree char *key = setting->below != NULL ? read_below (setting->below, &bound) : NULL;
  const char      *value = key != NULL ? find (row, key) : NULL;
  char            *end = NULL;

  if (setting->below == NULL)
    return TRUE;
  number = value != NULL ? g_ascii_strtod (value, &end) : 0;
  return value != NULL && end != value && *end == '\0' && number < bound;
}

static gboolean
is_where (const FrameworkImplied *setting, ImpliedLookup find, gconstpointer row)
{
  g_auto (GStrv) terms = split_where (setting);

  for (char **term = terms; *term != NULL; term++)
    {
      g_auto (GStrv) parts = g_strsplit (*term, ": ", 2);

      if (g_strcmp0 (find (row, parts[0]), parts[1]) != 0)
        return FALSE;
    }
  return TRUE;
}

gboolean
implied_fits (const FrameworkImplied *setting, ImpliedLookup find, gconstpointer row)
{
  return is_below (setting, find, row) && is_where (setting, find, row);
}

gboolean
implied_holds (const FrameworkImplied *setting, const char *text, const char *strategy,
               const char *architecture)
{
  return framework_implied_holds (setting, strategy, architecture)
         && (setting->called == NULL || g_ascii_strcasecmp (setting->called, text) == 0);
}
