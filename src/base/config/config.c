#include "base/config/config-private.h"
#include "base/intern.h"

#include <string.h>

/*
 * Maps of more entries have an index: keeps a hostile map of a million keys from taking quadratic
 * time.
 */
#define INDEX_FROM 16

static void
entry_clear (ConfigEntry *entry)
{
  g_free (entry->key);
}

static void
node_free (ConfigNode *node)
{
  g_free (node->text);
  g_clear_pointer (&node->index, g_hash_table_unref);
  g_clear_pointer (&node->entries, g_array_unref);
  g_free (node);
}

ConfigEntry *
config_node_entry (const ConfigNode *self, guint i)
{
  g_assert (self->entries && i < self->entries->len);
  return &g_array_index (self->entries, ConfigEntry, i);
}

ConfigEntry *
config_node_find (const ConfigNode *self, const char *key)
{
  if (self->index)
    {
      guint position = GPOINTER_TO_UINT (g_hash_table_lookup (self->index, key));
      return position > 0 ? config_node_entry (self, position - 1) : NULL;
    }
  for (guint i = 0; i < self->entries->len; i++)
    if (strcmp (config_node_entry (self, i)->key, key) == 0)
      return config_node_entry (self, i);
  return NULL;
}

void
config_node_append (ConfigNode *self, const char *key, const SourceMark *mark,
                    const ConfigNode *value)
{
  ConfigEntry entry = { g_strdup (key), *mark, value };
  guint       first;

  g_array_append_val (self->entries, entry);
  if (!key || self->entries->len < INDEX_FROM)
    return;

  first = self->entries->len - 1;
  if (!self->index)
    {
      self->index = g_hash_table_new (g_str_hash, g_str_equal);
      first = 0;
    }
  for (guint i = first; i < self->entries->len; i++)
    g_hash_table_insert (self->index, config_node_entry (self, i)->key, GUINT_TO_POINTER (i + 1));
}

/* Length of the line break at P as libyaml counts them (a mark's line must find its text), or 0. */
static guint
break_length (const char *p)
{
  if (p[0] == '\r')
    return p[1] == '\n' ? 2 : 1;
  if (p[0] == '\n')
    return 1;
  if (p[0] == '\xC2' && p[1] == '\x85')
    return 2;
  if (p[0] == '\xE2' && p[1] == '\x80' && (p[2] == '\xA8' || p[2] == '\xA9'))
    return 3;
  return 0;
}

ConfigDoc *
config_doc_new (const char *name, const char *text, gsize length)
{
  ConfigDoc  *self = g_new0 (ConfigDoc, 1);
  const char *start;

  self->name = intern_text (name);
  self->text = g_strndup (text, length);
  self->lines = g_array_new (FALSE, FALSE, sizeof (const char *));
  self->nodes = g_ptr_array_new_with_free_func ((GDestroyNotify) node_free);
  self->bases = g_ptr_array_new_with_free_func ((GDestroyNotify) config_doc_free);
  start = self->text;
  g_array_append_val (self->lines, start);
  for (char *p = self->text; *p;)
    {
      guint length = break_length (p);
      if (length == 0)
        {
          p++;
          continue;
        }
      *p = '\0';
      p += length;
      start = p;
      g_array_append_val (self->lines, start);
    }
  return self;
}

void
config_doc_free (ConfigDoc *self)
{
  if (!self)
    return;
  g_ptr_array_unref (self->nodes);
  g_ptr_array_unref (self->bases);
  g_array_unref (self->lines);
  g_free (self->text);
  g_free (self);
}

ConfigNode *
config_doc_add_node (ConfigDoc *self, ConfigKind kind, const SourceMark *mark)
{
  ConfigNode *node = g_new0 (ConfigNode, 1);

  node->kind = kind;
  node->mark = *mark;
  if (kind != CONFIG_SCALAR)
    {
      node->entries = g_array_new (FALSE, FALSE, sizeof (ConfigEntry));
      g_array_set_clear_func (node->entries, (GDestroyNotify) entry_clear);
    }
  g_ptr_array_add (self->nodes, node);
  return node;
}

SourceMark
config_doc_mark (const ConfigDoc *self, gsize line, gsize column)
{
  const guint last = self->lines->len - 1;
  SourceMark  mark = { self->name, (guint) line + 1, (guint) column + 1, 0, NULL };

  /* libyaml sets the end of an input without a last newline into a line of its own. */
  mark.text = g_array_index (self->lines, const char *, MIN (line, last));
  if (line > last)
    {
      mark.line = last + 1;
      mark.column = (guint) g_utf8_strlen (mark.text, -1) + 1;
    }
  return mark;
}

const ConfigNode *
config_doc_root (const ConfigDoc *self)
{
  return self->root;
}

ConfigKind
config_node_kind (const ConfigNode *self)
{
  return self->kind;
}

const SourceMark *
config_node_mark (const ConfigNode *self)
{
  return &self->mark;
}

const char *
config_node_text (const ConfigNode *self)
{
  return self->text;
}

gboolean
config_node_is_null (const ConfigNode *self)
{
  static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };

  return self->plain && g_strv_contains (nulls, self->text);
}

guint
config_node_length (const ConfigNode *self)
{
  return self->entries ? self->entries->len : 0;
}

const ConfigNode *
config_node_item (const ConfigNode *self, guint i)
{
  return config_node_entry (self, i)->value;
}

const char *
config_node_key (const ConfigNode *self, guint i)
{
  return config_node_entry (self, i)->key;
}

const SourceMark *
config_node_key_mark (const ConfigNode *self, guint i)
{
  return &config_node_entry (self, i)->mark;
}

const ConfigNode *
config_node_get (const ConfigNode *self, const char *key)
{
  const ConfigEntry *entry = self->kind == CONFIG_MAP ? config_node_find (self, key) : NULL;

  return entry ? entry->value : NULL;
}

gboolean
config_node_expect (const ConfigNode *self, ConfigKind kind, DiagList *diags)
{
  static const char *const names[] = { "value", "list", "map" };

  if (self->kind == kind)
    return TRUE;
  diag_error (diags, &self->mark, NULL, "expected a %s, got a %s", names[kind], names[self->kind]);
  return FALSE;
}
