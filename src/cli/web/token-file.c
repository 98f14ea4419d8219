#include "cli/web/token-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_BYTES 32
#define TOKEN_MOST  1024 /* characters */
#define LETTERS \
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~" /* as they are in addresses \
                                                                        */

char *
token_draw (void)
{
  guint8   bytes[TOKEN_BYTES];
  GString *text = g_string_sized_new (2 * sizeof bytes);

  if (getrandom (bytes, sizeof bytes, 0) != (gssize) sizeof bytes) /* so few always come */
    g_error ("the system gives no random bytes");
  for (gsize i = 0; i < sizeof bytes; i++)
    g_string_append_printf (text, "%02x", bytes[i]);
  return g_string_free (text, FALSE);
}

static gboolean
fail (GError **error, const char *file, int code, const char *what)
{
  g_set_error (error, G_FILE_ERROR, g_file_error_from_errno (code), "%s '%s': %s", what, file,
               g_strerror (code));
  return FALSE;
}

/* FALSE with ERROR set, but for a FILE that is there. */
static gboolean
make (const char *file, GError **error)
{
  g_autofree char *token = NULL;
  const int        fd = open (file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  FILE            *out = fd >= 0 ? fdopen (fd, "w") : NULL;
  gboolean         good;

  if (out == NULL)
    return errno == EEXIST || fail (error, file, errno, "cannot make");
  token = token_draw ();
  good = fprintf (out, "%s\n", token) > 0;
  good = fclose (out) == 0 && good;
  if (!good)
    {
      unlink (file);
      return fail (error, file, errno, "cannot write");
    }
  return TRUE;
}

/* Of a pipe nobody else knows; FALSE with ERROR set. */
static gboolean
is_private (FILE *in, const char *file, GError **error)
{
  struct stat of;

  if (fstat (fileno (in), &of) != 0)
    return fail (error, file, errno, "cannot read");
  if (!S_ISREG (of.st_mode) || (of.st_mode & (S_IRWXG | S_IRWXO)) == 0)
    return TRUE;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_PERM,
               "others may read '%s', which holds the token\n  hint: chmod 600 '%s'", file, file);
  return FALSE;
}

static gboolean
is_token (const char *text, const char *file, GError **error)
{
  const gsize length = strlen (text);

  if (length >= TOKEN_LEAST && length <= TOKEN_MOST && strspn (text, LETTERS) == length)
    return TRUE;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL,
               "'%s' holds no token: one line of %u or more letters, digits and -._~\n  hint: name "
               "a file that is not there, and it is made",
               file, TOKEN_LEAST);
  return FALSE;
}

char *
token_file_read (const char *file, GError **error)
{
  char             text[TOKEN_MOST + 2] = "";
  g_autofree char *token = NULL;
  FILE            *in = make (file, error) ? fopen (file, "re") : NULL;

  if (in == NULL)
    {
      if (error == NULL || *error == NULL)
        fail (error, file, errno, "cannot read");
      return NULL;
    }
  if (is_private (in, file, error))
    {
      text[fread (text, 1, sizeof text - 1, in)] = '\0';
      token = g_strdup (g_strstrip (text));
    }
  fclose (in);
  return token != NULL && is_token (token, file, error) ? g_steal_pointer (&token) : NULL;
}
