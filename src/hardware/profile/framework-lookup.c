/* Which framework is meant: by a name, by its family, or as a strategy's of today. */
#include <string.h>

#include "base/config/suggest.h"
#include "hardware/profile/profile-tables-private.h"

/* TRUE when one of the framework's names is TEXT or, for FAMILY, has the same first word. */
static gboolean
is_called (const FrameworkProfile *framework, const char *text, gboolean family)
{
  g_auto (GStrv) names = g_strsplit (framework->names != NULL ? framework->names : "", ";", -1);
  gsize          word = strcspn (text, " ,");

  for (guint i = 0; names[i] != NULL; i++)
    {
      const char *name = g_strstrip (names[i]);

      if (family ? strcspn (name, " ,") == word && g_ascii_strncasecmp (name, text, word) == 0
                 : g_ascii_strcasecmp (name, text) == 0)
        return TRUE;
    }
  return FALSE;
}

const FrameworkProfile *
profile_set_find_framework (ProfileSet *self, const char *text, DiagList *diags)
{
  const ProfileKind      *kind = profile_kind_find ("framework");
  g_auto (GStrv)          ids = profile_set_list (self, "framework");
  const FrameworkProfile *nearest = NULL;

  if (name_index (text, (const char *const *) ids) >= 0)
    return profile_set_get (self, kind, text, NULL, diags);
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const FrameworkProfile *framework = profile_set_get (self, kind, ids[i], NULL, diags);

      if (framework == NULL)
        return NULL;
      if (is_called (framework, text, FALSE))
        return framework;
      if (is_called (framework, text, TRUE))
        nearest = framework;
    }
  return nearest;
}

const FrameworkProfile *
profile_set_framework (ProfileSet *self, const char *text, const SourceMark *mark, DiagList *diags)
{
  const guint             errors = diag_list_n_errors (diags);
  const FrameworkProfile *framework = profile_set_find_framework (self, text, diags);
  g_auto (GStrv)          ids = NULL;
  g_autofree char        *hint = NULL;

  if (framework != NULL || diag_list_n_errors (diags) > errors)
    return framework;
  ids = profile_set_list (self, "framework");
  hint = suggest_hint (text, (const char *const *) ids);
  diag_warning (diags, mark, hint, "no profile of framework '%s': host costs are the node's", text);
  return NULL;
}

/* The year that ID ends with; 0: none. */
static guint64
year_of (const char *id)
{
  const char *dash = strrchr (id, '-');

  return dash != NULL && strlen (dash) == 5 ? g_ascii_strtoull (dash + 1, NULL, 10) : 0;
}

/*
 * The frameworks that are some strategy's default, the latest year first. Most are none, and say
 * so by not having the key.
 */
static const GPtrArray *
dated_frameworks (ProfileSet *self)
{
  static const char *const words[] = { "default_for", NULL };
  g_autoptr (DiagList)     untold = diag_list_new ();
  const char *const       *ids;

  if (self->dated != NULL)
    return self->dated;
  self->dated = g_ptr_array_new ();
  ids = profile_set_mentioning (self, "framework", words);
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const FrameworkProfile *framework =
          year_of (ids[i]) > 0
              ? profile_set_get (self, profile_kind_find ("framework"), ids[i], NULL, untold)
              : NULL;
      guint at = 0;

      if (framework == NULL || framework->default_for == NULL)
        continue;
      while (at < self->dated->len
             && year_of (((const FrameworkProfile *) self->dated->pdata[at])->id)
                    >= year_of (ids[i]))
        at++;
      g_ptr_array_insert (self->dated, (gint) at, (gpointer) framework);
    }
  return self->dated;
}

const FrameworkProfile *
profile_set_todays_framework (ProfileSet *self, const char *strategy)
{
  const char *const wanted[] = { strategy, "*" };
  const GPtrArray  *dated = self->todays_frameworks ? dated_frameworks (self) : NULL;

  for (guint w = 0; w < G_N_ELEMENTS (wanted); w++)
    for (guint i = 0; dated != NULL && i < dated->len; i++)
      {
        const FrameworkProfile *framework = g_ptr_array_index (dated, i);
        g_auto (GStrv)          words = g_strsplit (framework->default_for, " ", -1);

        if (g_strv_contains ((const char *const *) words, wanted[w]))
          return framework;
      }
  return NULL;
}
