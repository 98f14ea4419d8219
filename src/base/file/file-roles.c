#include "base/file/file-roles.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file/same-file.h"

static struct
{
  pthread_mutex_t lock;
  GHashTable     *roles;   /* key -> a bit a role; NULL: nothing is kept */
  GHashTable     *written; /* key_of_name of what has been replaced: then its inode is another */
  int             fault;   /* errno of the process's surroundings; 0: none */
  char           *clash;   /* the first file with roles that do not go together */
  char           *only;    /* the folder, with a separator at its end; NULL: any. Never changes */
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

void
file_roles_keep (void)
{
  process.roles = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  process.written = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
}

/* ---- which file it is ------------------------------------------------------------------------ */

static char *
key_of_node (const GStatBuf *info, const char *rest)
{
  return g_strdup_printf ("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT "%s", (guint64) info->st_dev,
                          (guint64) info->st_ino, rest);
}

/* The nearest folder above FILE, there or not, that is there, and the rest of FILE's name. */
static char *
key_of_name (const char *file)
{
  g_autofree char *target = file_follow_links (file);
  g_autofree char *path = g_canonicalize_filename (target != NULL ? target : file, NULL);
  GStatBuf         info;

  for (gsize i = strlen (path); i > 0; i--)
    if (path[i - 1] == G_DIR_SEPARATOR)
      {
        g_autofree char *folder = g_strndup (path, MAX (i - 1, 1));

        if (g_stat (folder, &info) == 0)
          return key_of_node (&info, path + i - 1);
      }
  return g_steal_pointer (&path);
}

/* NULL: of no file that can be lost. Newly allocated. */
static char *
key_of (const char *file)
{
  GStatBuf info;

  if (file == NULL || *file == '\0')
    return NULL;
  if (g_stat (file, &info) != 0)
    return key_of_name (file);
  return S_ISREG (info.st_mode) && file_own_output (&info) < 0 ? key_of_node (&info, "") : NULL;
}

/* ---- the list: under the lock ---------------------------------------------------------------- */

static gboolean
has (guint bits, FileRole role)
{
  return (bits & (1u << role)) != 0;
}

/* Why a file with the roles BITS cannot have ROLE as well, or NULL. */
static const char *
objection (guint bits, FileRole role)
{
  if (role == FILE_ROLE_INPUT)
    return has (bits, FILE_ROLE_OUTPUT) ? "an output of this command goes there" : NULL;
  if (has (bits, FILE_ROLE_OUTPUT) || (role == FILE_ROLE_OUTPUT && has (bits, FILE_ROLE_UPDATED)))
    return "another output of this command goes there";
  return role == FILE_ROLE_OUTPUT && has (bits, FILE_ROLE_INPUT) ? "this command reads it" : NULL;
}

static guint
bits_of (const char *key)
{
  return GPOINTER_TO_UINT (g_hash_table_lookup (process.roles, key));
}

/* Adds BIT to FILE's, also where that is objected to: what was once said of a file stays. */
static const char *
take (const char *file, FileRole role)
{
  g_autofree char *key = key_of (file);
  const char      *why;
  guint            bits;

  if (key == NULL)
    return NULL;
  pthread_mutex_lock (&process.lock);
  bits = bits_of (key);
  why = objection (bits, role);
  if (why != NULL && process.clash == NULL)
    process.clash = g_strdup (file);
  if (!has (bits, role))
    g_hash_table_insert (process.roles, g_steal_pointer (&key),
                         GUINT_TO_POINTER (bits | (1u << role)));
  pthread_mutex_unlock (&process.lock);
  return why;
}

/* ---- what may be read ------------------------------------------------------------------------ */

void
file_roles_only_below (const char *folder)
{
  g_autofree char *whole = realpath (folder, NULL);

  g_assert (process.only == NULL);
  process.only = g_strconcat (whole != NULL ? whole : folder, G_DIR_SEPARATOR_S, NULL);
}

/* What is not there is nowhere: the caller cannot tell whether a file exists elsewhere. */
static gboolean
is_below (const char *file, const char *folder)
{
  g_autofree char *whole = realpath (file, NULL);

  return whole != NULL && g_str_has_prefix (whole, folder);
}

/* ---- what is asked --------------------------------------------------------------------------- */

static gboolean
refuse (const char *file, const char *why, GError **error)
{
  g_set_error (error, FILE_ROLES_ERROR, FILE_ROLES_REFUSED,
               "cannot write '%s': %s: name another file", file, why);
  return FALSE;
}

gboolean
file_roles_add (const char *file, FileRole role, GError **error)
{
  const char *why = process.roles != NULL ? take (file, role) : NULL;

  return why == NULL || refuse (file, why, error);
}

int
file_roles_read (const char *file)
{
  if (process.only != NULL && !is_below (file, process.only))
    return EACCES;
  return file_roles_add (file, FILE_ROLE_INPUT, NULL) ? 0 : ETXTBSY;
}

FILE *
file_roles_open (const char *file)
{
  const int code = file_roles_read (file);

  errno = code;
  return code == 0 ? fopen (file, "rbe") : NULL;
}

const char *
file_roles_why (int code)
{
  if (code == EMFILE || code == ENFILE || code == ENOMEM || code == EIO)
    {
      pthread_mutex_lock (&process.lock);
      process.fault = code;
      pthread_mutex_unlock (&process.lock);
    }
  return code == ETXTBSY ? "an output of this command goes there: name another file for it"
                         : g_strerror (code);
}

gboolean
file_roles_replace (const char *file, GError **error)
{
  g_autofree char *key = process.roles != NULL ? key_of (file) : NULL;
  const char      *why = NULL;
  guint            bits;

  if (key == NULL)
    return TRUE;
  pthread_mutex_lock (&process.lock);
  bits = bits_of (key);
  if (has (bits, FILE_ROLE_INPUT) && !has (bits, FILE_ROLE_UPDATED))
    why = "this command reads it";
  else if (!g_hash_table_add (process.written, key_of_name (file)))
    why = "another output of this command went there";
  pthread_mutex_unlock (&process.lock);
  return why == NULL || refuse (file, why, error);
}

gboolean
file_roles_check (GError **error)
{
  g_autofree char *file = NULL;
  int              fault;

  pthread_mutex_lock (&process.lock);
  file = g_strdup (process.clash);
  fault = process.fault;
  pthread_mutex_unlock (&process.lock);
  if (fault != 0)
    {
      g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (fault),
                   "inputs cannot be read any more: %s", g_strerror (fault));
      return FALSE;
    }
  return file == NULL || refuse (file, "it has two uses in this command", error);
}
