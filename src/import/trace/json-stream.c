#include "import/trace/json-stream.h"

#include <gio/gio.h>
#include <string.h>

#include "base/file/file-roles.h"
#include "base/intern.h"

#define CHUNK     65536
#define MAX_VALUE (16u << 20) /* bytes of one event, or of another value of the file */

struct _JsonStream
{
  GInputStream *stream;
  json_tokener *tokener;
  char          data[CHUNK];
  gsize         at, n;
  guint64       offset; /* of data[at] */
  SourceMark    mark;
  guint64       n_entries;
  gboolean      failed; /* after a diagnostic */
  DiagList     *diags;
};

gboolean
json_stream_fail (JsonStream *self, const char *hint, const char *what)
{
  if (!self->failed)
    diag_error (self->diags, &self->mark, hint,
                "event %" G_GUINT64_FORMAT ", byte %" G_GUINT64_FORMAT ": %s", self->n_entries,
                self->offset, what);
  self->failed = TRUE;
  return FALSE;
}

/* There is a byte at data[at]; FALSE at the end, or after a diagnostic. */
static gboolean
fill (JsonStream *self)
{
  g_autoptr (GError) error = NULL;
  gssize             got;

  if (self->failed)
    return FALSE;
  if (self->at < self->n)
    return TRUE;
  got = g_input_stream_read (self->stream, self->data, CHUNK, NULL, &error);
  if (got < 0)
    return json_stream_fail (self, "is the file complete?", error->message);
  self->at = 0;
  self->n = (gsize) got;
  return got > 0;
}

static void
skip (JsonStream *self, gsize n)
{
  self->at += n;
  self->offset += n;
}

char
json_stream_peek (JsonStream *self)
{
  while (fill (self))
    {
      char byte = self->data[self->at];

      if (byte == '\0')
        return '\1'; /* no end, and no JSON either */
      if (strchr (" \t\r\n", byte) == NULL)
        return byte;
      skip (self, 1);
    }
  return '\0';
}

gboolean
json_stream_expect (JsonStream *self, char wanted)
{
  char             got = json_stream_peek (self);
  g_autofree char *what = NULL;

  if (got == wanted)
    {
      skip (self, 1);
      return TRUE;
    }
  if (self->failed)
    return FALSE;
  if (got == '\0')
    return json_stream_fail (self, "is the file complete?", "the file ends here");
  what = g_strdup_printf ("expected '%c', got '%c'", wanted, g_ascii_isprint (got) ? got : '?');
  return json_stream_fail (self, NULL, what);
}

json_object *
json_stream_value (JsonStream *self)
{
  json_tokener *tokener = self->tokener;
  guint64       used = 0;

  json_tokener_reset (tokener);
  json_stream_peek (self);
  while (fill (self))
    {
      json_object *value =
          json_tokener_parse_ex (tokener, self->data + self->at, (int) (self->n - self->at));
      gsize                   parsed = json_tokener_get_parse_end (tokener);
      enum json_tokener_error error = json_tokener_get_error (tokener);

      skip (self, parsed);
      used += parsed;
      if (error == json_tokener_success)
        return value;
      if (error != json_tokener_continue || parsed == 0)
        {
          json_stream_fail (self, NULL, json_tokener_error_desc (error));
          return NULL;
        }
      if (used > MAX_VALUE)
        {
          json_stream_fail (self, NULL, "a value of more than 16 MiB");
          return NULL;
        }
    }
  json_stream_fail (self, "is the file complete?", "the file ends here");
  return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* The content of FILE; NULL after a diagnostic. */
static GInputStream *
open_stream (const char *file, DiagList *diags)
{
  g_autoptr (GFile)            path = g_file_new_for_path (file);
  g_autoptr (GError)           error = NULL;
  g_autoptr (GFileInputStream) raw = g_file_read (path, NULL, &error);
  guchar                       head[2] = { 0 };
  gsize                        n = 0;

  const int use = file_roles_read (file);

  if (use != 0)
    {
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, file_roles_why (use));
      return NULL;
    }
  if (raw == NULL || !g_input_stream_read_all (G_INPUT_STREAM (raw), head, 2, &n, NULL, &error)
      || !g_seekable_seek (G_SEEKABLE (raw), 0, G_SEEK_SET, NULL, &error))
    {
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, error->message);
      return NULL;
    }
  if (n == 2 && head[0] == 0x1f && head[1] == 0x8b)
    {
      g_autoptr (GConverter) gunzip =
          G_CONVERTER (g_zlib_decompressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP));

      return g_converter_input_stream_new (G_INPUT_STREAM (raw), gunzip);
    }
  return G_INPUT_STREAM (g_steal_pointer (&raw));
}

JsonStream *
json_stream_open (const char *file, DiagList *diags)
{
  GInputStream *stream = open_stream (file, diags);
  JsonStream   *self;

  if (stream == NULL)
    return NULL;
  self = g_new0 (JsonStream, 1);
  self->stream = stream;
  self->tokener = json_tokener_new ();
  self->mark.file = intern_text (file);
  self->diags = diags;
  return self;
}

void
json_stream_free (JsonStream *self)
{
  if (self == NULL)
    return;
  g_object_unref (self->stream);
  json_tokener_free (self->tokener);
  g_free (self);
}

void
json_stream_count (JsonStream *self)
{
  self->n_entries++;
}

guint64
json_stream_n_entries (const JsonStream *self)
{
  return self->n_entries;
}

gboolean
json_stream_failed (const JsonStream *self)
{
  return self->failed;
}

gboolean
json_stream_fail_whole (JsonStream *self, const char *hint, const char *what)
{
  if (!self->failed)
    diag_error (self->diags, &self->mark, hint, "%s", what);
  self->failed = TRUE;
  return FALSE;
}
