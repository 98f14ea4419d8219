#include "cli/completion.h"

const char *const completion_shells[] = { "bash", "zsh", "fish", NULL };

static void
shared_free (gpointer data)
{
  SharedOption *self = data;

  g_ptr_array_unref (self->pages);
  g_free (self);
}

static gboolean
same_words (char **a, char **b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return g_strv_equal ((const char *const *) a, (const char *const *) b);
}

static gboolean
is_same (const PageOption *a, const PageOption *b)
{
  return a->letter == b->letter && a->repeats == b->repeats && a->optional == b->optional
         && a->value.files == b->value.files && a->value.folders == b->value.folders
         && g_strcmp0 (a->argument, b->argument) == 0 && g_str_equal (a->help, b->help)
         && same_words (a->value.words, b->value.words);
}

static void
share (GPtrArray *shared, GHashTable *first, const Page *page, const PageOption *option)
{
  SharedOption *known = g_hash_table_lookup (first, option->name);
  SharedOption *added;

  for (guint i = 0; known != NULL && i < shared->len; i++)
    {
      SharedOption *other = g_ptr_array_index (shared, i);

      if (g_str_equal (other->option->name, option->name) && is_same (other->option, option))
        {
          g_ptr_array_add (other->pages, (gpointer) page);
          return;
        }
    }
  added = g_new0 (SharedOption, 1);
  added->option = option;
  added->pages = g_ptr_array_new ();
  added->everywhere = known == NULL;
  if (known != NULL)
    known->everywhere = FALSE;
  else
    g_hash_table_insert (first, option->name, added);
  g_ptr_array_add (added->pages, (gpointer) page);
  g_ptr_array_add (shared, added);
}

GPtrArray *
completion_share_options (const GPtrArray *pages)
{
  GPtrArray             *shared = g_ptr_array_new_with_free_func (shared_free);
  g_autoptr (GHashTable) first = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint p = 0; p < pages->len; p++)
    {
      const Page *page = g_ptr_array_index (pages, p);

      for (guint g = 0; g < page->groups->len; g++)
        {
          const PageGroup *group = g_ptr_array_index (page->groups, g);

          for (guint i = 0; i < group->options->len; i++)
            share (shared, first, page, g_ptr_array_index (group->options, i));
        }
    }
  return shared;
}

void
completion_append_quoted (GString *out, const char *text)
{
  g_autofree char *quoted = g_shell_quote (text);

  g_string_append (out, quoted);
}

char *
completion_subject_words (const Page *page)
{
  GString *words = g_string_new (NULL);

  for (guint i = 0; i < page->n_subjects; i++)
    g_string_append_printf (words, "%s%s", i > 0 ? " " : "", page->subjects[i].name);
  return g_string_free (words, FALSE);
}
