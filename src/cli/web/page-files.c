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

PageFile *
page_file_new (const char *name, char *text, gsize length)
{
  PageFile *self = g_new0 (PageFile, 1);

  self->name = g_strdup (name);
  self->path = g_str_equal (name, BEGIN) ? g_strdup ("/") : g_strconcat ("/", name, NULL);
  self->content = g_bytes_new_take (text, length);
  return self;
}

GPtrArray *
page_files_new (void)
{
  return g_ptr_array_new_with_free_func (page_file_free);
}

/* That of FOLDER called STEM and the ending of KIND. FALSE with ERROR set. */
static gboolean
add (GPtrArray *self, const char *folder, const char *stem, guint kind, GError **error)
{
  g_autofree char *name = g_strconcat (stem, kinds[kind].ending, NULL);
  g_autofree char *file = g_build_filename (folder, name, NULL);
  PageFile        *page;
  char            *text;
  gsize            length;

  if (!g_file_get_contents (file, &text, &length, error))
    return FALSE;
  page = page_file_new (name, text, length);
  page->type = kinds[kind].type;
  g_ptr_array_add (self, page);
  return TRUE;
}

GPtrArray *
page_files_read (const char *folder, GError **error)
{
  g_autoptr (GPtrArray) self = page_files_new ();

  for (guint kind = 0; kind < G_N_ELEMENTS (kinds); kind++)
    {
      g_auto (GStrv) names = folder_entries (folder, kinds[kind].ending);

      for (guint i = 0; names[i] != NULL; i++)
        if (!add (self, folder, names[i], kind, error))
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
