#include "import/topology/import-xml.h"

#include <string.h>

#include "base/file/file-roles.h"
#include "base/intern.h"

struct _XmlDoc
{
  const char *name; /* interned */
  char       *text; /* lines end with NUL */
  gsize       length;
  GArray     *lines; /* const char *: where each starts */
  GPtrArray  *nodes; /* owns them all */
  XmlNode    *root;
};

static void
node_free (gpointer data)
{
  XmlNode *self = data;
  g_free (self->name);
  g_strfreev (self->attributes);
  g_clear_pointer (&self->children, g_ptr_array_unref);
  g_free (self->text);
  g_free (self);
}

static XmlDoc *
doc_new (const char *name, const char *text, gsize length)
{
  XmlDoc *self = g_new0 (XmlDoc, 1);
  self->name = intern_text (name);
  self->text = g_strndup (text, length);
  self->length = length;
  self->lines = g_array_new (FALSE, FALSE, sizeof (const char *));
  self->nodes = g_ptr_array_new_with_free_func (node_free);
  const char *start = self->text, *end = start + strlen (start);
  g_array_append_val (self->lines, start);
  while ((start = memchr (start, '\n', (gsize) (end - start))) != NULL)
    {
      start++;
      g_array_append_val (self->lines, start);
    }
  return self;
}

void
xml_doc_free (XmlDoc *self)
{
  g_ptr_array_unref (self->nodes);
  g_array_unref (self->lines);
  g_free (self->text);
  g_free (self);
}

const XmlNode *
xml_doc_root (const XmlDoc *self)
{
  return self->root;
}

/* ---- places ---------------------------------------------------------------------------------- */

static const char *
line_start (const XmlDoc *self, guint line)
{
  return g_array_index (self->lines, const char *, line - 1);
}

static SourceMark
mark_at (const XmlDoc *self, guint line, guint column, guint length)
{
  const guint at = CLAMP (line, 1, self->lines->len);
  return (SourceMark){ self->name, at, column, length, line_start (self, at) };
}

/* KEY="..." behind the element's start on its first line; NULL when it is elsewhere. */
static const char *
find_attribute (const char *from, const char *key)
{
  g_autofree char *form = g_strdup_printf (" %s=\"", key);
  const char      *found = strstr (from, form);
  return found != NULL ? found + strlen (form) : NULL;
}

SourceMark
xml_doc_mark (const XmlDoc *self, const XmlNode *node, const char *key)
{
  const char *start = line_start (self, node->line);
  const char *value =
      key != NULL && xml_node_get (node, key) != NULL ? find_attribute (node->at, key) : NULL;
  if (value == NULL)
    return mark_at (self, node->line, node->column, (guint) g_utf8_strlen (node->name, -1) + 1);
  const char *end = strchr (value, '"');
  return mark_at (self, node->line, (guint) g_utf8_strlen (start, value - start) + 1,
                  end != NULL ? (guint) g_utf8_strlen (value, end - value) : 0);
}

/* ---- parsing --------------------------------------------------------------------------------- */

/*
 * GMarkup says where it stands but not where a tag started, so AT follows through the text from
 * element to element.
 */
typedef struct
{
  XmlDoc     *doc;
  GPtrArray  *open; /* XmlNode */
  const char *at;
  guint       line, column;
} Loader;

static gboolean
starts (const char *p, const char *prefix)
{
  return strncmp (p, prefix, strlen (prefix)) == 0;
}

static const char *
skip_past (const char *p, const char *end)
{
  while (*p != '\0' && !starts (p, end))
    p++;
  return *p != '\0' ? p + strlen (end) : p;
}

/* Behind the tag at P, whose quotes may hold anything. */
static const char *
skip_tag (const char *p)
{
  char quote = '\0';
  for (; *p != '\0'; p++)
    if (quote != '\0' && *p == quote)
      quote = '\0';
    else if (quote == '\0' && (*p == '"' || *p == '\''))
      quote = *p;
    else if (quote == '\0' && *p == '>')
      return p + 1;
  return p;
}

/*
 * The next "<name" from P on, or the text's end. Steps by hand: the text is long, and the library
 * may measure it.
 */
static const char *
next_element (const char *p)
{
  while (*p != '\0')
    if (*p != '<')
      p++;
    else if (starts (p, "<!--"))
      p = skip_past (p, "-->");
    else if (starts (p, "<![CDATA["))
      p = skip_past (p, "]]>");
    else if (p[1] == '?')
      p = skip_past (p, "?>");
    else if (p[1] == '!' || p[1] == '/')
      p = skip_tag (p);
    else
      break;
  return p;
}

static void
find_start (Loader *self, XmlNode *node)
{
  const char *from = self->at;
  self->at = next_element (self->doc->root != NULL ? skip_tag (from) : from);
  for (const char *q = from; q < self->at; q = g_utf8_next_char (q))
    {
      self->column++;
      if (*q == '\n')
        {
          self->line++;
          self->column = 1;
        }
    }
  node->at = self->at;
  node->line = self->line;
  node->column = self->column;
}

static void
start_element (G_GNUC_UNUSED GMarkupParseContext *context, const char *name, const char **keys,
               const char **values, gpointer user, GError **error)
{
  Loader    *loader = user;
  XmlNode   *node = g_new0 (XmlNode, 1);
  GPtrArray *attributes = g_ptr_array_new ();
  XmlNode   *parent =
      loader->open->len > 0 ? g_ptr_array_index (loader->open, loader->open->len - 1) : NULL;
  for (guint i = 0; keys[i] != NULL; i++)
    {
      g_ptr_array_add (attributes, g_strdup (keys[i]));
      g_ptr_array_add (attributes, g_strdup (values[i]));
    }
  g_ptr_array_add (attributes, NULL);
  g_ptr_array_add (loader->doc->nodes, node);
  node->name = g_strdup (name);
  node->attributes = (char **) g_ptr_array_free (attributes, FALSE);
  find_start (loader, node);
  if (parent == NULL && loader->doc->root != NULL)
    g_set_error (error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT,
                 "more than one root element");
  else if (parent == NULL)
    loader->doc->root = node;
  else
    {
      if (parent->children == NULL)
        parent->children = g_ptr_array_new ();
      g_ptr_array_add (parent->children, node);
    }
  g_ptr_array_add (loader->open, node);
  if (loader->open->len > XML_MAX_DEPTH)
    g_set_error (error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT,
                 "nested deeper than %d levels", XML_MAX_DEPTH);
}

static void
end_element (G_GNUC_UNUSED GMarkupParseContext *context, G_GNUC_UNUSED const char *name,
             gpointer user, G_GNUC_UNUSED GError **error)
{
  Loader *loader = user;
  g_ptr_array_set_size (loader->open, (gint) loader->open->len - 1);
}

static void
add_text (G_GNUC_UNUSED GMarkupParseContext *context, const char *text, gsize length, gpointer user,
          G_GNUC_UNUSED GError **error)
{
  Loader          *loader = user;
  g_autofree char *own = g_strstrip (g_strndup (text, length));
  XmlNode         *node =
      loader->open->len > 0 ? g_ptr_array_index (loader->open, loader->open->len - 1) : NULL;
  if (*own != '\0' && node != NULL && node->children == NULL && node->text == NULL)
    node->text = g_steal_pointer (&own);
}

/* "Error on line 3 char 5: Element 'a' was closed": the place is said apart. */
static void
report (const Loader *loader, GMarkupParseContext *context, const GError *error, DiagList *diags)
{
  const char *message = error->message, *rest = NULL;
  gint        line, column;
  g_markup_parse_context_get_position (context, &line, &column);
  const SourceMark mark = mark_at (loader->doc, (guint) MAX (line, 1), (guint) MAX (column, 1), 0);
  if (g_error_matches (error, G_MARKUP_ERROR, G_MARKUP_ERROR_EMPTY))
    {
      const SourceMark file = { loader->doc->name, 0, 0, 0, NULL };
      diag_error (diags, &file, NULL, "the file is empty");
    }
  else if (g_error_matches (error, G_MARKUP_ERROR, G_MARKUP_ERROR_INVALID_CONTENT))
    diag_error (diags, &mark, NULL, "%s", message);
  else
    {
      if (g_str_has_prefix (message, "Error on line ") && (rest = strstr (message, ": ")) != NULL)
        message = rest + 2;
      diag_error (diags, &mark, message, "malformed XML");
    }
}

static gboolean
parse (XmlDoc *doc, DiagList *diags)
{
  static const GMarkupParser parser = { start_element, end_element, add_text, NULL, NULL };
  g_autoptr (GPtrArray)      open = g_ptr_array_new ();
  Loader                     loader = { doc, open, doc->text, 1, 1 };
  g_autoptr (GError)         error = NULL;
  GMarkupParseContext       *context =
      g_markup_parse_context_new (&parser, G_MARKUP_TREAT_CDATA_AS_TEXT, &loader, NULL);
  const gboolean ok =
      g_markup_parse_context_parse (context, doc->text, (gssize) doc->length, &error)
      && g_markup_parse_context_end_parse (context, &error);
  g_strdelimit (doc->text, "\r\n", '\0');
  if (!ok)
    report (&loader, context, error, diags);
  g_markup_parse_context_free (context);
  return ok;
}

gboolean
xml_check_text (const char *name, const char **text, gsize *length, DiagList *diags)
{
  const SourceMark mark = { intern_text (name), 0, 0, 0, NULL };
  const char      *bad;
  if (*length > XML_MAX_BYTES)
    {
      diag_error (diags, &mark, NULL, "larger than %u MiB", XML_MAX_BYTES >> 20);
      return FALSE;
    }
  if (!g_utf8_validate_len (*text, *length, &bad))
    {
      diag_error (diags, &mark, NULL, "not a text file: byte 0x%02x at offset %zu", (guchar) *bad,
                  (gsize) (bad - *text));
      return FALSE;
    }
  if (*length >= 3 && memcmp (*text, "\xEF\xBB\xBF", 3) == 0)
    {
      *text += 3;
      *length -= 3;
    }
  return TRUE;
}

XmlDoc *
xml_doc_load_text (const char *name, const char *text, gsize length, DiagList *diags)
{
  if (!xml_check_text (name, &text, &length, diags))
    return NULL;
  g_autoptr (XmlDoc) doc = doc_new (name, text, length);
  if (!parse (doc, diags))
    return NULL;
  if (doc->root == NULL) /* comments and processing instructions alone are well formed to GMarkup */
    {
      const SourceMark mark = { doc->name, 0, 0, 0, NULL };
      diag_error (diags, &mark, NULL, "the file has no XML element");
      return NULL;
    }
  return g_steal_pointer (&doc);
}

XmlDoc *
xml_doc_load (const char *file, DiagList *diags)
{
  int                    error;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);
  if (bytes == NULL)
    {
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, file_roles_why (error));
      return NULL;
    }
  return xml_doc_load_text (file, bytes->data != NULL ? (const char *) bytes->data : "", bytes->len,
                            diags);
}

/* ---- elements -------------------------------------------------------------------------------- */

guint
xml_node_length (const XmlNode *self)
{
  return self->children != NULL ? self->children->len : 0;
}

const XmlNode *
xml_node_child (const XmlNode *self, guint i)
{
  return g_ptr_array_index (self->children, i);
}

gboolean
xml_node_is (const XmlNode *self, const char *name)
{
  return strcmp (self->name, name) == 0;
}

const char *
xml_node_get (const XmlNode *self, const char *key)
{
  for (guint i = 0; self->attributes[i] != NULL; i += 2)
    if (strcmp (self->attributes[i], key) == 0)
      return self->attributes[i + 1];
  return NULL;
}

const XmlNode *
xml_node_find (const XmlNode *self, const char *name)
{
  for (guint i = 0; i < xml_node_length (self); i++)
    if (xml_node_is (xml_node_child (self, i), name))
      return xml_node_child (self, i);
  return NULL;
}

gboolean
xml_node_number (const XmlNode *self, const char *key, guint64 *number)
{
  const char *text = xml_node_get (self, key);
  if (text == NULL)
    return FALSE;
  if (g_ascii_strncasecmp (text, "0x", 2) == 0)
    return g_ascii_string_to_unsigned (text + 2, 16, 0, G_MAXUINT64, number, NULL);
  return g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, number, NULL);
}

void
xml_doc_error (const XmlDoc *self, const XmlNode *node, const char *key, DiagList *diags,
               const char *hint, const char *format, ...)
{
  va_list arguments;
  if (diag_list_count_unread (diags))
    return;
  const SourceMark mark = xml_doc_mark (self, node, key);
  va_start (arguments, format);
  g_autofree char *message = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  diag_error (diags, &mark, hint, "%s", message);
}

const char *
xml_node_require (const XmlDoc *doc, const XmlNode *self, const char *key, DiagList *diags)
{
  const char *text = xml_node_get (self, key);
  if (text != NULL && *text != '\0')
    return text;
  xml_doc_error (doc, self, NULL, diags, NULL, "<%s> without '%s'", self->name, key);
  return NULL;
}
