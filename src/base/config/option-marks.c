#include "base/config/option-marks.h"

static guint
table_length (const OptionSpec *table)
{
  guint n = 0;

  while (table[n].key != NULL)
    n++;
  return n;
}

void
option_marks_clear (OptionMarks *self)
{
  g_clear_pointer (&self->keys, g_free);
  g_clear_pointer (&self->implied, g_free);
  self->section = (SourceMark){ 0 };
}

void
option_marks_copy (const OptionMarks *source, OptionMarks *target)
{
  option_marks_clear (target);
  *target = *source;
  if (source->keys != NULL)
    target->keys = g_memdup2 (source->keys, table_length (source->table) * sizeof *source->keys);
  if (source->implied != NULL)
    target->implied =
        g_memdup2 (source->implied, table_length (source->table) * sizeof *source->implied);
}

void
option_marks_set (OptionMarks *self, const char *key, const SourceMark *mark)
{
  const OptionSpec *spec = option_table_find (self->table, key);

  if (spec == NULL)
    return;
  if (self->keys == NULL)
    self->keys = g_new0 (SourceMark, table_length (self->table));
  self->keys[spec - self->table] = source_mark_keep (mark);
  if (self->implied != NULL)
    self->implied[spec - self->table] = FALSE;
}

void
option_marks_set_section (OptionMarks *self, const SourceMark *mark)
{
  self->section = source_mark_keep (mark);
}

static void
set_group (OptionMarks *self, const char *group, const ConfigNode *node)
{
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char *key = option_table_find_in_group (self->table, group, config_node_key (node, i));

      if (key != NULL)
        option_marks_set (self, key, config_node_mark (config_node_item (node, i)));
    }
}

void
option_marks_load (OptionMarks *self, const ConfigNode *node)
{
  option_marks_set_section (self, config_node_mark (node));
  for (guint i = 0; config_node_kind (node) == CONFIG_MAP && i < config_node_length (node); i++)
    {
      const char       *key = config_node_key (node, i);
      const ConfigNode *item = config_node_item (node, i);

      if (config_node_kind (item) == CONFIG_MAP && option_table_find (self->table, key) == NULL)
        set_group (self, key, item);
      else
        option_marks_set (self, key, config_node_mark (item));
    }
}

gboolean
option_marks_has (const OptionMarks *self, const char *key)
{
  const OptionSpec *spec = option_table_find (self->table, key);

  return spec != NULL && self->keys != NULL && self->keys[spec - self->table].file != NULL;
}

gboolean
option_marks_has_any (const OptionMarks *self)
{
  if (self->section.file != NULL)
    return TRUE;
  for (guint i = 0; self->keys != NULL && self->table[i].key != NULL; i++)
    if (self->keys[i].file != NULL)
      return TRUE;
  return FALSE;
}

void
option_marks_imply (OptionMarks *self, const char *key, gboolean implied)
{
  const OptionSpec *spec = option_table_find (self->table, key);

  g_assert (spec != NULL);
  if (self->implied == NULL)
    self->implied = g_new0 (gboolean, table_length (self->table));
  self->implied[spec - self->table] = implied;
}

gboolean
option_marks_has_own (const OptionMarks *self, const char *key)
{
  const OptionSpec *spec = option_table_find (self->table, key);

  return option_marks_has (self, key)
         && (self->implied == NULL || !self->implied[spec - self->table]);
}

const SourceMark *
option_mark (const OptionMarks *self, ...)
{
  const SourceMark *found = NULL;
  const char       *key;
  va_list           keys;

  if (self == NULL)
    return NULL;
  va_start (keys, self);
  while (found == NULL && (key = va_arg (keys, const char *)) != NULL)
    {
      const OptionSpec *spec = self->keys != NULL ? option_table_find (self->table, key) : NULL;

      if (spec != NULL && self->keys[spec - self->table].file != NULL)
        found = &self->keys[spec - self->table];
    }
  va_end (keys);
  if (found == NULL && self->section.file != NULL)
    found = &self->section;
  return found;
}
