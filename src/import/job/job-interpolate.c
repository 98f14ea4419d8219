#include "import/job/job-interpolate.h"

#include <string.h>

#include "import/job/job-private.h"

#define MOST_DEPTH 16   /* names that stand for names */
#define MOST_TEXT  4096 /* bytes of a value */

typedef struct
{
  GHashTable *by_key; /* key: JobSetting* */
  guint       depth;
} Interpolation;

static char *expand_text (Interpolation *self, const char *key, const char *text);

/* The '}' that closes what begins at TEXT, behind "${"; NULL: none does. */
static const char *
closing (const char *text)
{
  guint depth = 1;

  for (; *text != '\0'; text++)
    if (*text == '{')
      depth++;
    else if (*text == '}' && --depth == 0)
      return text;
  return NULL;
}

/* NAME as seen from KEY: a dot in front is KEY's own map, each more the one above. */
static char *
whole_name (const char *key, const char *name)
{
  g_autofree char *map = g_strdup (key);
  guint            dots = 0;

  while (name[dots] == '.')
    dots++;
  for (guint i = 0; i < dots; i++)
    {
      char *dot = strrchr (map, '.');

      if (dot == NULL)
        return g_strdup (name + dots);
      *dot = '\0';
    }
  return dots == 0 ? g_strdup (name) : g_strconcat (map, ".", name + dots, NULL);
}

/* What NeMo's resolver before COLON makes of two numbers; NULL: it is none of these. */
static char *
work_out (Interpolation *self, const char *key, const char *inside, const char *colon)
{
  static const struct
  {
    const char *name, *form; /* of the first number, then of the second */
  } resolvers[] = {
    { "multiply", "(%s)*(%s)" },
    { "divide_floor", "(%s)//(%s)" },
    { "divide_ceil", "0-(0-(%s))//(%s)" },
  };
  g_autofree char *arguments = expand_text (self, key, colon + 1);
  g_auto (GStrv)   two = g_strsplit (arguments != NULL ? arguments : "", ",", 3);

  for (guint i = 0; g_strv_length (two) == 2 && i < G_N_ELEMENTS (resolvers); i++)
    if (strncmp (inside, resolvers[i].name, (gsize) (colon - inside)) == 0
        && resolvers[i].name[colon - inside] == '\0')
      {
        g_auto (GStrv)   form = g_strsplit (resolvers[i].form, "%s", 3);
        g_autofree char *sum = g_strconcat (form[0], two[0], form[1], two[1], form[2], NULL);

        return job_work_out (sum);
      }
  return NULL;
}

/* What INSIDE stands for; NULL: not known. */
static char *
stands_for (Interpolation *self, const char *key, const char *inside)
{
  const char       *colon = strchr (inside, ':');
  const char       *comma = strchr (inside, ',');
  g_autofree char  *name = NULL;
  const JobSetting *setting;

  if (colon != NULL && g_str_has_prefix (inside, "oc.env:"))
    return comma != NULL ? expand_text (self, key, comma + 1 + strspn (comma + 1, " ")) : NULL;
  if (colon != NULL) /* a variable's name has no small letters, a resolver's has */
    return strcspn (inside, "abcdefghijklmnopqrstuvwxyz.") > (gsize) (colon - inside)
               ? expand_text (self, key, colon + 1 + (colon[1] == '-'))
               : work_out (self, key, inside, colon);
  name = whole_name (key, inside);
  setting = g_hash_table_lookup (self->by_key, name);
  return setting != NULL && setting->value != NULL
             ? expand_text (self, setting->key, setting->value)
             : NULL;
}

/* TEXT with what its "${...}" stand for; NULL: one is not known, or there are too many. */
static char *
expand_text (Interpolation *self, const char *key, const char *text)
{
  g_autoptr (GString) out = g_string_new (NULL);
  gboolean            good = ++self->depth <= MOST_DEPTH;

  while (good && *text != '\0')
    {
      const char      *close = g_str_has_prefix (text, "${") ? closing (text + 2) : NULL;
      g_autofree char *inside = close != NULL ? g_strndup (text + 2, close - text - 2) : NULL;
      g_autofree char *value = inside != NULL ? stands_for (self, key, inside) : NULL;

      if (close == NULL)
        g_string_append_c (out, *text++);
      else
        {
          good = value != NULL;
          g_string_append (out, value != NULL ? value : "");
          text = close + 1;
        }
      good = good && out->len <= MOST_TEXT;
    }
  self->depth--;
  return good ? g_string_free (g_steal_pointer (&out), FALSE) : NULL;
}

void
job_interpolate (GPtrArray *settings)
{
  g_autoptr (GHashTable) by_key = g_hash_table_new (g_str_hash, g_str_equal);
  Interpolation          self = { by_key, 0 };

  for (guint i = 0; i < settings->len; i++)
    g_hash_table_insert (by_key, ((JobSetting *) settings->pdata[i])->key, settings->pdata[i]);
  for (guint i = 0; i < settings->len; i++)
    {
      JobSetting *setting = settings->pdata[i];
      char       *value;

      if (setting->value == NULL || strstr (setting->value, "${") == NULL)
        continue;
      value = expand_text (&self, setting->key, setting->value);
      if (value == NULL)
        continue;
      g_free (setting->value);
      setting->value = value;
      if (g_str_equal (value, "null") || *value == '\0')
        g_clear_pointer (&setting->value, g_free);
    }
}
