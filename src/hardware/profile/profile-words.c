/* Profiles as text, by the tables that read them. */
#include "hardware/profile/profile-words.h"

#include <string.h>

#include "hardware/profile/profile-tables-private.h"

#define DIGEST_LENGTH 8

static void
word_clear (gpointer data)
{
  g_free (((ProfileWord *) data)->value);
}

static GArray *
words_new (void)
{
  GArray *words = g_array_new (FALSE, FALSE, sizeof (ProfileWord));

  g_array_set_clear_func (words, word_clear);
  return words;
}

/* Takes VALUE; what is empty is left out. */
static void
add_word (GArray *words, const char *key, char *value)
{
  const ProfileWord word = { .key = key, .value = value };

  if (value != NULL && *value != '\0')
    g_array_append_val (words, word);
  else
    g_free (value);
}

/* The start of a hash of TEXT. Newly allocated. */
static char *
digest_of (const GString *text)
{
  g_autofree char *whole =
      g_compute_checksum_for_string (G_CHECKSUM_SHA256, text->str, (gssize) text->len);

  return g_strndup (whole, DIGEST_LENGTH);
}

static void
add_figures (GArray *words, gpointer profile, const FigureSpec *specs)
{
  for (const FigureSpec *spec = specs; spec->key != NULL; spec++)
    {
      const Figure     *figure = profile_figure (profile, spec);
      const ProfileWord word = { spec->key,
                                 spec->kind == QUANTITY_RATIO
                                     ? number_format_exact (figure->value)
                                     : quantity_format_exact (spec->kind, figure->value),
                                 TRUE, spec->kind };

      g_array_append_val (words, word);
    }
}

static void
add_records (GArray *words, gconstpointer profile, const RecordSpec *specs)
{
  for (const RecordSpec *spec = specs; spec != NULL && spec->key != NULL; spec++)
    {
      const GArray       *records = G_STRUCT_MEMBER (GArray *, profile, spec->offset);
      g_autoptr (GString) text = g_string_new (NULL);

      for (guint i = 0; records != NULL && i < records->len; i++)
        {
          /* Where it comes from is for people as well. */
          for (const OptionSpec *key = spec->keys; key->key != NULL; key++)
            {
              g_autofree char *value = option_format (key, records->data + i * spec->size);

              if (strcmp (key->key, "source") != 0)
                g_string_append_printf (text, "%s=%s\n", key->key, value);
            }
        }
      add_word (words, spec->key, text->len > 0 ? digest_of (text) : NULL);
    }
}

static void
add_table (GArray *words, gconstpointer profile, const TableSpec *spec)
{
  const GArray       *points;
  g_autoptr (GString) text = g_string_new (NULL);

  if (spec == NULL)
    return;
  points = G_STRUCT_MEMBER (GArray *, profile, spec->offset);
  for (guint i = 0; points != NULL && i < points->len; i++)
    {
      const MatmulPoint *point = &g_array_index (points, MatmulPoint, i);
      g_autofree char   *seconds = number_format_exact (point->seconds);

      g_string_append_printf (text, "%.0f %.0f %.0f %.0f %d %s\n", point->batch, point->m, point->n,
                              point->k, (int) point->type, seconds);
    }
  if (text->len > 0)
    add_word (words, spec->name, digest_of (text));
}

GArray *
profile_set_words (ProfileSet *self, const char *kind, const char *id, DiagList *diags)
{
  const ProfileKind *table = profile_kind_find (kind);
  gpointer profile = table != NULL ? profile_set_get (self, table, id, NULL, diags) : NULL;
  GArray  *words = profile != NULL ? words_new () : NULL;

  if (profile == NULL)
    return NULL;
  add_figures (words, profile, table->figures);
  /* The title is for people. */
  for (const OptionSpec *spec = table->scalars; spec->key != NULL; spec++)
    if (strcmp (spec->key, "title") != 0)
      add_word (words, spec->key, option_format (spec, profile));
  for (const FactSpec *fact = table->facts; fact != NULL && fact->key != NULL; fact++)
    add_word (words, fact->key, g_strdup (G_STRUCT_MEMBER (Fact, profile, fact->offset).value));
  for (const ListSpec *list = table->lists; list != NULL && list->key != NULL; list++)
    {
      const GArray *places = G_STRUCT_MEMBER (GArray *, profile, list->offset);

      add_word (words, list->key, places != NULL ? placement_format (places) : NULL);
    }
  add_records (words, profile, table->records);
  add_table (words, profile, table->table);
  return words;
}

/* ---- clusters -------------------------------------------------------------------------------- */

/* What NODE says to a reader of it, comments and layout apart. */
static void
append_node (GString *text, const ConfigNode *node)
{
  const ConfigKind kind = config_node_kind (node);

  if (kind == CONFIG_SCALAR)
    g_string_append_printf (text, "'%s'", config_node_text (node));
  for (guint i = 0; kind != CONFIG_SCALAR && i < config_node_length (node); i++)
    {
      if (kind == CONFIG_MAP && g_str_equal (config_node_key (node, i), "title"))
        continue;
      g_string_append_printf (text, "%s(", kind == CONFIG_MAP ? config_node_key (node, i) : "-");
      append_node (text, config_node_item (node, i));
      g_string_append_c (text, ')');
    }
}

GArray *
profile_set_cluster_words (ProfileSet *self, const char *file, DiagList *diags)
{
  const ConfigDoc    *doc = profile_set_cluster (self, file, diags);
  g_autoptr (GString) text = g_string_new (NULL);
  GArray             *words = doc != NULL ? words_new () : NULL;

  if (doc == NULL)
    return NULL;
  append_node (text, config_doc_root (doc));
  add_word (words, "contents", digest_of (text));
  return words;
}
