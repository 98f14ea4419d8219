/* Reads YAML and JSON text into the tree of a ConfigDoc, from libyaml's events. */
#include "base/config/config-private.h"
#include "base/file/file-roles.h"
#include "base/file/given-files.h"
#include "base/intern.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yaml.h>

/* Longest key that libyaml recognizes as one. */
#define LONGEST_KEY 1024

typedef struct
{
  ConfigDoc    *doc;
  DiagList     *diags;
  yaml_parser_t yaml;
  gboolean      refused; /* the document cannot be used; reading goes on, to find more errors */
  gboolean      stopped; /* reading cannot go on */
  gboolean      last;    /* of two keys the last one counts */
} Loader;

/* A node of its own; beyond the limit reading stops. */
static ConfigNode *
new_node (Loader *loader, ConfigKind kind, const SourceMark *mark)
{
  if (loader->doc->nodes->len == CONFIG_MAX_NODES && !loader->stopped)
    {
      diag_error (loader->diags, mark, NULL, "more than %u values", CONFIG_MAX_NODES);
      loader->stopped = TRUE;
    }
  return config_doc_add_node (loader->doc, kind, mark);
}

/* The mark of a scalar underlines it; that of a list or map shows where it starts. */
static SourceMark
event_mark (const ConfigDoc *doc, const yaml_event_t *event)
{
  const yaml_mark_t *start = &event->start_mark;
  const yaml_mark_t *end = &event->end_mark;
  SourceMark         mark = config_doc_mark (doc, start->line, start->column);

  if (event->type == YAML_SCALAR_EVENT && start->line == end->line)
    mark.length = (guint) (end->column - start->column);
  return mark;
}

/* What may be behind a message of libyaml's, or NULL. */
static const char *
syntax_hint (const SourceMark *mark, const char *problem)
{
  if (strstr (problem, "Unicode character escape"))
    return "surrogate pairs such as '\\ud83d\\ude00' are not supported: write the character "
           "itself, in UTF-8";
  if (mark->column > LONGEST_KEY
      && (strstr (problem, "expected ','") || strstr (problem, "expected ':'")))
    return "a key is limited to 1024 bytes";
  if (strstr (problem, "cannot start any token"))
    return "indent with spaces, and quote values that start with a special character";
  return NULL;
}

static void
report_syntax (Loader *loader)
{
  const yaml_parser_t *yaml = &loader->yaml;
  const char          *problem = yaml->problem ? yaml->problem : "malformed input";
  SourceMark           mark =
      config_doc_mark (loader->doc, yaml->problem_mark.line, yaml->problem_mark.column);
  g_autofree char *context = NULL;

  loader->stopped = TRUE;
  if (yaml->error == YAML_READER_ERROR)
    {
      SourceMark whole = { loader->doc->name, 0, 0, 0, NULL };
      diag_error (loader->diags, &whole, NULL, "not a text file: %s (at byte %zu)", problem,
                  yaml->problem_offset);
      return;
    }
  if (yaml->context
      && (mark.line == loader->doc->lines->len
          && (glong) mark.column > g_utf8_strlen (mark.text, -1)))
    {
      /* The end of a truncated input shows nothing; what was left open does. */
      mark = config_doc_mark (loader->doc, yaml->context_mark.line, yaml->context_mark.column);
      context = g_strdup_printf (" %s that starts here", yaml->context);
    }
  else if (yaml->context)
    context =
        g_strdup_printf (" %s that starts in line %zu", yaml->context, yaml->context_mark.line + 1);
  diag_error (loader->diags, &mark, syntax_hint (&mark, problem), "%s%s", problem,
              context ? context : "");
}

/* Next event, to be deleted by the caller; FALSE after a syntax error. */
static gboolean
next_event (Loader *loader, yaml_event_t *event)
{
  if (loader->stopped)
    return FALSE;
  if (yaml_parser_parse (&loader->yaml, event))
    return TRUE;
  report_syntax (loader);
  return FALSE;
}

static void
refuse (Loader *loader, const SourceMark *mark, const char *what, const char *name,
        const char *hint)
{
  diag_error (loader->diags, mark, hint, "%s such as '%s' are not supported", what, name);
  loader->refused = TRUE;
}

/* Diagnoses what libyaml knows and this format does not: anchors, aliases and tags. */
static void
refuse_extras (Loader *loader, const yaml_event_t *event)
{
  SourceMark  mark = event_mark (loader->doc, event);
  const char *anchor = NULL;
  const char *tag = NULL;

  switch (event->type)
    {
    case YAML_SCALAR_EVENT:
      anchor = (const char *) event->data.scalar.anchor;
      tag = (const char *) event->data.scalar.tag;
      break;
    case YAML_SEQUENCE_START_EVENT:
      anchor = (const char *) event->data.sequence_start.anchor;
      tag = (const char *) event->data.sequence_start.tag;
      break;
    case YAML_MAPPING_START_EVENT:
      anchor = (const char *) event->data.mapping_start.anchor;
      tag = (const char *) event->data.mapping_start.tag;
      break;
    case YAML_ALIAS_EVENT:
      refuse (loader, &mark, "aliases", (const char *) event->data.alias.anchor, "use 'extends:'");
      break;
    default:
      break;
    }
  if (anchor)
    refuse (loader, &mark, "anchors", anchor, "use 'extends:'");
  if (tag)
    refuse (loader, &mark, "tags", tag, "all values are read by their place; drop the tag");
}

static ConfigNode *parse_node (Loader *loader, yaml_event_t *event, guint depth);

static void
parse_list (Loader *loader, ConfigNode *list, guint depth)
{
  yaml_event_t event;

  while (next_event (loader, &event))
    {
      if (event.type == YAML_SEQUENCE_END_EVENT)
        {
          yaml_event_delete (&event);
          return;
        }
      ConfigNode *value = parse_node (loader, &event, depth + 1);
      config_node_append (list, NULL, &value->mark, value);
    }
}

static void
add_pair (Loader *loader, ConfigNode *map, const ConfigNode *key, const ConfigNode *value)
{
  ConfigEntry *first;

  if (key->kind != CONFIG_SCALAR)
    {
      diag_error (loader->diags, &key->mark, NULL, "a key must be a single value, got a %s",
                  key->kind == CONFIG_LIST ? "list" : "map");
      loader->refused = TRUE;
      return;
    }
  first = config_node_find (map, key->text);
  if (first)
    {
      g_autofree char *hint = g_strdup_printf ("first given in line %u", first->mark.line);

      if (loader->last)
        {
          diag_warning (loader->diags, &key->mark, hint,
                        "key '%s' comes twice: the last one counts", key->text);
          first->mark = key->mark;
          first->value = value;
          return;
        }
      diag_error (loader->diags, &key->mark, hint, "duplicate key '%s'", key->text);
      return;
    }
  config_node_append (map, key->text, &key->mark, value);
}

static void
parse_map (Loader *loader, ConfigNode *map, guint depth)
{
  yaml_event_t event;

  while (next_event (loader, &event))
    {
      if (event.type == YAML_MAPPING_END_EVENT)
        {
          yaml_event_delete (&event);
          return;
        }
      ConfigNode *key = parse_node (loader, &event, depth + 1);
      if (!next_event (loader, &event))
        return;
      ConfigNode *value = parse_node (loader, &event, depth + 1);
      if (!loader->stopped)
        add_pair (loader, map, key, value);
    }
}

static ConfigNode *
parse_scalar (Loader *loader, const yaml_event_t *event, const SourceMark *mark)
{
  ConfigNode *node = new_node (loader, CONFIG_SCALAR, mark);

  if (event->type == YAML_ALIAS_EVENT)
    {
      node->text = g_strdup (""); /* refused already */
      return node;
    }
  node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
  node->text = g_strndup ((const char *) event->data.scalar.value, event->data.scalar.length);
  if (strlen (node->text) < event->data.scalar.length)
    {
      diag_error (loader->diags, mark, NULL, "a value must not contain a NUL character");
      loader->refused = TRUE;
    }
  return node;
}

/* The node that starts with EVENT, which is deleted; consumes the events up to the node's end. */
static ConfigNode *
parse_node (Loader *loader, yaml_event_t *event, guint depth)
{
  SourceMark  mark = event_mark (loader->doc, event);
  gboolean    is_map = event->type == YAML_MAPPING_START_EVENT;
  ConfigNode *node;

  refuse_extras (loader, event);
  if (!is_map && event->type != YAML_SEQUENCE_START_EVENT)
    {
      node = parse_scalar (loader, event, &mark);
      yaml_event_delete (event);
      return node;
    }

  yaml_event_delete (event);
  node = new_node (loader, is_map ? CONFIG_MAP : CONFIG_LIST, &mark);
  if (depth > CONFIG_MAX_DEPTH)
    {
      diag_error (loader->diags, &mark, NULL, "nested deeper than %d levels", CONFIG_MAX_DEPTH);
      loader->stopped = TRUE;
    }
  else if (is_map)
    parse_map (loader, node, depth);
  else
    parse_list (loader, node, depth);
  return node;
}

/*
 * Sets the root from the first document and diagnoses a second. An input without a document is an
 * empty map.
 */
static void
parse_stream (Loader *loader)
{
  ConfigDoc   *doc = loader->doc;
  guint        n_documents = 0;
  gboolean     at_end = FALSE;
  yaml_event_t event;

  while (!at_end && next_event (loader, &event))
    {
      at_end = event.type == YAML_STREAM_END_EVENT;
      if (event.type == YAML_STREAM_START_EVENT || event.type == YAML_DOCUMENT_END_EVENT || at_end)
        yaml_event_delete (&event);
      else if (event.type != YAML_DOCUMENT_START_EVENT)
        doc->root = parse_node (loader, &event, 1);
      else
        {
          SourceMark mark = event_mark (doc, &event);
          yaml_event_delete (&event);
          if (++n_documents == 1)
            continue;
          diag_error (loader->diags, &mark, NULL, "more than one document in a file");
          loader->stopped = TRUE;
        }
    }
  if (!doc->root || (config_node_is_null (doc->root) && !*doc->root->text))
    {
      SourceMark mark = config_doc_mark (doc, 0, 0);
      doc->root = config_doc_add_node (doc, CONFIG_MAP, &mark);
    }
}

/* Diagnoses bytes that no text has. libyaml would guess at UTF-16 instead. */
static gboolean
check_is_text (const char *name, const char *text, gsize length, DiagList *diags)
{
  SourceMark  mark = { intern_text (name), 0, 0, 0, NULL };
  const char *bad;

  if (length > CONFIG_MAX_BYTES)
    {
      diag_error (diags, &mark, NULL, "larger than %u MiB", CONFIG_MAX_BYTES >> 20);
      return FALSE;
    }
  if (!g_utf8_validate_len (text, length, &bad))
    {
      diag_error (diags, &mark, NULL, "not a text file: byte 0x%02x at offset %zu", (guchar) *bad,
                  (gsize) (bad - text));
      return FALSE;
    }
  return TRUE;
}

static ConfigDoc *
load_text (const char *name, const char *text, gssize length, gboolean last, DiagList *diags)
{
  gsize  n_bytes = length < 0 ? strlen (text) : (gsize) length;
  Loader loader = { .last = last };

  if (!check_is_text (name, text, n_bytes, diags))
    return NULL;
  if (n_bytes >= 3 && memcmp (text, "\xEF\xBB\xBF", 3) == 0)
    {
      text += 3; /* a byte order mark */
      n_bytes -= 3;
    }

  g_autoptr (ConfigDoc) doc = config_doc_new (name, text, n_bytes);
  loader.doc = doc;
  loader.diags = diags;
  if (!yaml_parser_initialize (&loader.yaml))
    {
      diag_error (diags, NULL, NULL, "out of memory");
      return NULL;
    }
  yaml_parser_set_encoding (&loader.yaml, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string (&loader.yaml, (const guchar *) text, n_bytes);
  parse_stream (&loader);
  yaml_parser_delete (&loader.yaml);
  return loader.stopped || loader.refused ? NULL : g_steal_pointer (&doc);
}

ConfigDoc *
config_load_text (const char *name, const char *text, gssize length, DiagList *diags)
{
  return load_text (name, text, length, FALSE, diags);
}

ConfigDoc *
config_load_text_foreign (const char *name, const char *text, DiagList *diags)
{
  return load_text (name, text, -1, TRUE, diags);
}

/*
 * Reads up to one byte more than the limit, so that what grows or never ends (a pipe) is refused,
 * not read.
 */
GByteArray *
config_read_file (const char *file, int *error)
{
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  guint8                 buffer[1 << 16];
  GBytes                *given = given_files_find (file);
  int                    use, fd;

  *error = 0;
  if (given != NULL)
    return g_bytes_unref_to_array (given);
  use = file_roles_read (file);
  fd = use == 0 ? open (file, O_RDONLY | O_CLOEXEC) : -1;
  *error = use != 0 ? use : fd < 0 ? errno : 0;
  while (fd >= 0 && bytes->len <= CONFIG_MAX_BYTES)
    {
      ssize_t n = read (fd, buffer, sizeof buffer);

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        *error = errno;
      if (n <= 0)
        break;
      g_byte_array_append (bytes, buffer, (guint) n);
    }
  if (fd >= 0)
    close (fd);
  return *error ? NULL : g_steal_pointer (&bytes);
}

ConfigDoc *
config_load (const char *file, DiagList *diags)
{
  int                    error;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);

  if (!bytes)
    {
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, file_roles_why (error));
      return NULL;
    }
  return config_load_text (file, bytes->data ? (const char *) bytes->data : "", bytes->len, diags);
}

/* config_peek in the events of YAML. */
static char *
find_scalar (yaml_parser_t *yaml, const char *key)
{
  yaml_event_t event;
  guint        depth = 0;
  gboolean     at_key = TRUE, wanted = FALSE, at_end = FALSE;
  char        *found = NULL;

  while (found == NULL && !at_end && yaml_parser_parse (yaml, &event))
    {
      const gboolean scalar = event.type == YAML_SCALAR_EVENT;
      const char    *text = scalar ? (const char *) event.data.scalar.value : NULL;

      at_end = event.type == YAML_STREAM_END_EVENT;
      if (event.type == YAML_MAPPING_END_EVENT || event.type == YAML_SEQUENCE_END_EVENT)
        depth--;
      if (depth == 1 && scalar && wanted && !at_key)
        found = g_strdup (text);
      if (depth == 1 && event.type != YAML_MAPPING_START_EVENT
          && event.type != YAML_SEQUENCE_START_EVENT)
        {
          wanted = at_key && scalar && g_str_equal (text, key);
          at_key = !at_key; /* a scalar, or the end of a nested value */
        }
      if (event.type == YAML_MAPPING_START_EVENT || event.type == YAML_SEQUENCE_START_EVENT)
        depth++;
      yaml_event_delete (&event);
    }
  return found;
}

char *
config_peek (const char *file, const char *key)
{
  int                    error;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);
  yaml_parser_t          yaml;
  char                  *found;

  if (bytes == NULL || bytes->len == 0 || !yaml_parser_initialize (&yaml))
    return NULL; /* libyaml takes no empty array */
  yaml_parser_set_encoding (&yaml, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string (&yaml, bytes->data, bytes->len);
  found = find_scalar (&yaml, key);
  yaml_parser_delete (&yaml);
  return found;
}
