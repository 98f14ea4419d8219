#include "cli/table-words.h"
#include "base/intern.h"

/* Of one option. */
typedef struct
{
  char    *text;  /* NULL: not given */
  gboolean given; /* of a switch */
} Word;

struct _TableWords
{
  const OptionSpec *table;
  Word             *words;   /* by the order of the table */
  GStringChunk     *strings; /* of the entries */
};

/* "micro_batch" to "micro-batch" after PREFIX. Newly allocated. */
static char *
option_name (const char *prefix, const char *key)
{
  return g_strdelimit (g_strconcat (prefix, key, NULL), "_", '-');
}

/* What the help shows of a value. Newly allocated. */
static char *
value_name (const OptionSpec *spec)
{
  if (spec->type == OPTION_ENUM)
    return g_strjoinv ("|", (char **) spec->choices);
  return g_strdup (spec->type == OPTION_INT ? "N" : "VALUE");
}

static GOptionEntry
entry_of (TableWords *self, const OptionSpec *spec, Word *word)
{
  const gboolean   is_switch = spec->type == OPTION_BOOL;
  g_autofree char *name = option_name ("", spec->key), *value = value_name (spec);
  g_autofree char *help = spec->fallback != NULL && !is_switch
                              ? g_strdup_printf ("%s (default %s)", spec->help, spec->fallback)
                              : g_strdup (spec->help);

  return (GOptionEntry){
    .long_name = g_string_chunk_insert (self->strings, name),
    .arg = is_switch ? G_OPTION_ARG_NONE : G_OPTION_ARG_STRING,
    .arg_data = is_switch ? (gpointer) &word->given : (gpointer) &word->text,
    .description = g_string_chunk_insert (self->strings, help),
    .arg_description = is_switch ? NULL : g_string_chunk_insert (self->strings, value),
  };
}

TableWords *
table_words_new (const OptionSpec *table, GArray *entries)
{
  TableWords *self = g_new0 (TableWords, 1);
  guint       n = 0;

  while (table[n].key != NULL)
    n++;
  *self = (TableWords){ .table = table,
                        .words = g_new0 (Word, n),
                        .strings = g_string_chunk_new (1024) };
  for (guint i = 0; i < n; i++)
    {
      const GOptionEntry entry = entry_of (self, &table[i], &self->words[i]);

      g_array_append_val (entries, entry);
    }
  return self;
}

gboolean
table_words_take (const TableWords *self, gpointer structure, DiagList *diags)
{
  gboolean good = TRUE;

  option_table_defaults (self->table, structure);
  for (guint i = 0; self->table[i].key != NULL; i++)
    {
      const Word      *word = &self->words[i];
      g_autofree char *name = option_name ("--", self->table[i].key);
      const SourceMark mark = { .file = intern_text (name) };

      if (word->given || word->text != NULL)
        good &= option_set (&self->table[i], structure, word->given ? "true" : word->text, &mark,
                            diags);
    }
  return good;
}

void
table_words_free (TableWords *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; self->table[i].key != NULL; i++)
    g_free (self->words[i].text);
  g_free (self->words);
  g_string_chunk_free (self->strings);
  g_free (self);
}
