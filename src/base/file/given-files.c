#include "base/file/given-files.h"

#include "base/limits.h"

#define FOLDER "given/"

typedef struct
{
  char   *name;
  GBytes *text;
} Given;

static struct
{
  GMutex lock;
  GQueue files; /* Given, the newest first */
} process = { .files = G_QUEUE_INIT };

static Given *
find (const char *name)
{
  for (GList *i = process.files.head; i != NULL; i = i->next)
    if (g_str_equal (((Given *) i->data)->name, name))
      return i->data;
  return NULL;
}

static void
given_free (Given *self)
{
  g_free (self->name);
  g_bytes_unref (self->text);
  g_free (self);
}

char *
given_files_add (const char *text, gsize length, const char *ending)
{
  g_autofree char *hash = NULL;
  char            *name;

  if (length > CONFIG_MAX_BYTES)
    return NULL;
  hash = g_compute_checksum_for_data (G_CHECKSUM_SHA256, (const guchar *) text, length);
  name = g_strconcat (FOLDER, hash, ending, NULL);
  g_mutex_lock (&process.lock);
  if (find (name) == NULL)
    {
      Given *given = g_new (Given, 1);

      *given = (Given){ g_strdup (name), g_bytes_new (text, length) };
      g_queue_push_head (&process.files, given);
    }
  if (process.files.length > GIVEN_FILES_MOST)
    given_free (g_queue_pop_tail (&process.files));
  g_mutex_unlock (&process.lock);
  return name;
}

GBytes *
given_files_find (const char *file)
{
  GBytes *text = NULL;
  Given  *given;

  if (!g_str_has_prefix (file, FOLDER))
    return NULL;
  g_mutex_lock (&process.lock);
  given = find (file);
  if (given != NULL)
    text = g_bytes_ref (given->text);
  g_mutex_unlock (&process.lock);
  return text;
}
