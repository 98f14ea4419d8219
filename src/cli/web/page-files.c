#include "cli/web/page-files.h"

#include "base/file/layout.h"

#define BEGIN "index.html"

static const struct
{
  const char *ending, *type;
} kinds[] = {
  { ".html", "text/html; charset=utf-8" },
  { ".js", "text/javascript; charset=utf-8" },
  { ".css", "text/css; charset=utf-8" },
};

static void
page_file_free (gpointer data)
{
  PageFile *self = data;

  g_free (self->name);
  g_free (self->path);
  g_clear_pointer (&self->content, g_bytes_unref);
  g_free (self);
}

/* NAME is taken. FALSE with ERROR set. */
static gboolean
add (GPtrArray *self, const char *folder, char *name, const char *type, GError **error)
{
  g_autofree char *file = g_build_filename (folder, name, NULL);
  PageFile        *page = g_new0 (PageFile, 1);
  char            *text;
  gsize            length;

  page->name = name;
  page->path = g_str_equal (name, BEGIN) ? g_strdup ("/") : g_strconcat ("/", name, NULL);
  page->type = type;
  g_ptr_array_add (self, page);
  if (!g_file_get_contents (file, &text, &length, error))
    return FALSE;
  page->content = g_bytes_new_take (text, length);
  return TRUE;
}

GPtrArray *
page_files_read (const char *folder, GError **error)
{
  g_autoptr (GPtrArray) self = g_ptr_array_new_with_free_func (page_file_free);

  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    {
      g_auto (GStrv) names = folder_entries (folder, kinds[kind].ending);

      for (guint i = 0; names[i] != NULL; i++)
        if (!add (self, folder, g_strconcat (names[i], kinds[kind].ending, NULL), kinds[kind].type,
                  error))
          return NULL;
    }
  if (page_files_find (self, "/") != NULL)
    return g_steal_pointer (&self);
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_NOENT, "there is no page in '%s'", folder);
  return NULL;
}

const PageFile *
page_files_find (const GPtrArray *self, const char *path)
{
  for (guint i = 0; i < self->len; i++)
    {
      const PageFile *page = g_ptr_array_index (self, i);

      if (g_str_equal (page->path, path))
        return page;
    }
  return NULL;
}
