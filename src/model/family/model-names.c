#include "model/family/model-names.h"

#include <string.h>

#include "base/config/csv.h"
#include "base/config/suggest.h"
#include "base/file/layout.h"

#define NAMES_FILE "workloads/models/names.csv"

/* A row: the id's pattern, and the shape's name; "": an ending. */
typedef struct
{
  char *name, *id;
} Alias;

static void
clear_alias (gpointer data)
{
  Alias *alias = data;

  g_free (alias->name);
  g_free (alias->id);
}

/* Faults of a file that is shipped are those of a test to find. */
static GArray *
read_aliases (void)
{
  g_autofree char      *file = layout_data_file (NAMES_FILE);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  GArray               *aliases = g_array_new (FALSE, FALSE, sizeof (Alias));
  gint                  name, id;

  g_array_set_clear_func (aliases, clear_alias);
  if (reader == NULL)
    return aliases;
  name = csv_reader_find (reader, "name");
  id = csv_reader_find (reader, "id");
  while (name >= 0 && id >= 0 && csv_reader_next (reader, diags))
    {
      Alias alias = { g_strdup (csv_reader_field (reader, (guint) name)),
                      g_strdup (csv_reader_field (reader, (guint) id)) };

      g_array_append_val (aliases, alias);
    }
  return aliases;
}

/* The length of WORD without ENDING; its own where it has another one. */
static gsize
length_without (const char *word, const char *ending)
{
  gsize length = strlen (word), part = strlen (ending);

  if (part >= length)
    return length;
  for (gsize i = 0; i < part; i++)
    {
      char c = word[length - part + i];

      if (ending[i] == '0' ? !g_ascii_isdigit (c) : c != ending[i])
        return length;
    }
  return length - part;
}

static const char *
find_word (const char *word, const GArray *aliases, const char *const *shipped)
{
  gint index = name_index (word, shipped);

  for (guint i = 0; index < 0 && i < aliases->len; i++)
    {
      const Alias *alias = &g_array_index (aliases, Alias, i);

      if (*alias->name != '\0' && g_pattern_match_simple (alias->id, word))
        index = name_index (alias->name, shipped);
    }
  return index >= 0 ? shipped[index] : NULL;
}

const char *
model_names_find (const char *name, const char *const *shipped)
{
  g_autoptr (GArray) aliases = read_aliases ();
  const char        *slash = strchr (name, '/');
  g_autofree char   *word = g_ascii_strdown (slash != NULL ? slash + 1 : name, -1);
  const char        *found = find_word (word, aliases, shipped);
  gsize              before = 0;

  if (slash != NULL && strchr (slash + 1, '/') != NULL)
    return NULL;
  while (found == NULL && before != strlen (word))
    {
      before = strlen (word);
      for (guint i = 0; found == NULL && i < aliases->len; i++)
        {
          const Alias *alias = &g_array_index (aliases, Alias, i);
          const gsize  length =
              *alias->name == '\0' ? length_without (word, alias->id) : strlen (word);

          if (length == strlen (word))
            continue;
          word[length] = '\0';
          found = find_word (word, aliases, shipped);
        }
    }
  return found;
}
