#include "base/file/input-files.h"

#include <pthread.h>

typedef struct
{
  gpointer       what; /* NULL: it could not be read */
  GDestroyNotify free;
  DiagList      *diags;
} Entry;

struct _InputFiles
{
  pthread_mutex_t lock;    /* recursive: a profile that is read may extend another one */
  GHashTable     *entries; /* key -> Entry */
  guint           n_read;
};

static void
entry_free (gpointer data)
{
  Entry *entry = data;

  if (entry->what != NULL && entry->free != NULL)
    entry->free (entry->what);
  diag_list_free (entry->diags);
  g_free (entry);
}

InputFiles *
input_files_new (void)
{
  InputFiles         *self = g_new0 (InputFiles, 1);
  pthread_mutexattr_t recursive;

  pthread_mutexattr_init (&recursive);
  pthread_mutexattr_settype (&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init (&self->lock, &recursive);
  pthread_mutexattr_destroy (&recursive);
  self->entries = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, entry_free);
  return self;
}

void
input_files_free (InputFiles *self)
{
  if (self == NULL)
    return;
  g_hash_table_unref (self->entries);
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}

static Entry *
read_entry (InputFiles *self, const char *key, InputRead read, gconstpointer user,
            GDestroyNotify free)
{
  Entry *entry = g_new0 (Entry, 1);

  entry->free = free;
  entry->diags = diag_list_new ();
  entry->what = read (user, entry->diags);
  if (entry->what == NULL && diag_list_is_empty (entry->diags))
    {
      entry_free (entry);
      return NULL;
    }
  self->n_read++;
  g_hash_table_insert (self->entries, g_strdup (key), entry);
  return entry;
}

gconstpointer
input_files_get (InputFiles *self, const char *key, InputRead read, gconstpointer user,
                 GDestroyNotify free, DiagList *diags)
{
  gconstpointer what = NULL;
  const Entry  *entry;

  pthread_mutex_lock (&self->lock);
  entry = g_hash_table_lookup (self->entries, key);
  if (entry == NULL)
    entry = read_entry (self, key, read, user, free);
  if (entry != NULL)
    {
      diag_list_append (diags, entry->diags);
      what = entry->what;
    }
  pthread_mutex_unlock (&self->lock);
  return what;
}

guint
input_files_n_read (InputFiles *self)
{
  guint n;

  pthread_mutex_lock (&self->lock);
  n = self->n_read;
  pthread_mutex_unlock (&self->lock);
  return n;
}
