#include "report/export/emit-write.h"

#include <string.h>

#include "base/config/suggest.h"
#include "report/document/json-private.h"

static const EmitValue *
value_at (const GArray *values, guint i)
{
  return &g_array_index (values, EmitValue, i);
}

static void
comment_hash (const char *line, GString *out)
{
  g_string_append_printf (out, "#%s%s\n", *line != '\0' ? " " : "", line);
}

/* In double quotes, with JSON's escapes: TOML, YAML and JSON read them alike. */
static void
append_quoted (GString *out, const char *text)
{
  struct json_object *string = json_object_new_string (text);

  g_string_append (out, json_object_to_json_string_ext (string, JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put (string);
}

/* A number that does not read as a whole one. */
static void
append_float (GString *out, const char *text)
{
  g_string_append (out, text);
  if (strpbrk (text, ".e") == NULL)
    g_string_append (out, ".0");
}

/* The strings of a list. */
static char **
split_words (const char *text)
{
  char **words = g_strsplit (text, ",", -1);

  for (guint i = 0; words[i] != NULL; i++)
    g_strstrip (words[i]);
  return words;
}

/* As TOML and YAML have it. */
static void
append_value (GString *out, const EmitValue *value)
{
  g_auto (GStrv) words = NULL;

  switch (value->option->type)
    {
    case FRAMEWORK_INT:
    case FRAMEWORK_BOOL:
    case FRAMEWORK_FLAG:
      g_string_append (out, value->text);
      break;
    case FRAMEWORK_FLOAT:
      append_float (out, value->text);
      break;
    case FRAMEWORK_STRING:
      append_quoted (out, value->text);
      break;
    case FRAMEWORK_WORDS:
      words = split_words (value->text);
      g_string_append_c (out, '[');
      for (guint i = 0; words[i] != NULL; i++)
        {
          g_string_append (out, i > 0 ? ", " : "");
          append_quoted (out, words[i]);
        }
      g_string_append_c (out, ']');
      break;
    }
}

/* Bytes of KEY up to its last dot. */
static gsize
section_length (const char *key)
{
  const char *dot = strrchr (key, '.');

  return dot != NULL ? (gsize) (dot - key) : 0;
}

static gboolean
same_section (const char *a, const char *b)
{
  const gsize n = section_length (a);

  return n == section_length (b) && strncmp (a, b, n) == 0;
}

static void
write_toml (const GArray *values, GString *out)
{
  const char *before = "";

  for (guint i = 0; i < values->len; i++)
    {
      const char *key = value_at (values, i)->option->key;
      const gsize n = section_length (key);

      if (n > 0 && !same_section (key, before))
        g_string_append_printf (out, "\n[%.*s]\n", (int) n, key);
      g_string_append_printf (out, "%s = ", n > 0 ? key + n + 1 : key);
      append_value (out, value_at (values, i));
      g_string_append_c (out, '\n');
      before = key;
    }
}

static void
write_yaml (const GArray *values, GString *out)
{
  const char *before = "";

  for (guint i = 0; i < values->len; i++)
    {
      const char *key = value_at (values, i)->option->key;
      const gsize n = section_length (key);

      if (n > 0 && !same_section (key, before))
        g_string_append_printf (out, "%.*s:\n", (int) n, key);
      g_string_append_printf (out, "%s%s: ", n > 0 ? "  " : "", n > 0 ? key + n + 1 : key);
      append_value (out, value_at (values, i));
      g_string_append_c (out, '\n');
      before = key;
    }
}

static struct json_object *
json_value (const EmitValue *value)
{
  switch (value->option->type)
    {
    case FRAMEWORK_INT:
      return json_object_new_int64 (g_ascii_strtoll (value->text, NULL, 10));
    case FRAMEWORK_FLOAT:
      {
        g_autoptr (GString) text = g_string_new (NULL);

        append_float (text, value->text);
        return json_object_new_double_s (g_ascii_strtod (value->text, NULL), text->str);
      }
    case FRAMEWORK_BOOL:
    case FRAMEWORK_FLAG:
      return json_object_new_boolean (g_str_equal (value->text, "true"));
    case FRAMEWORK_STRING:
    case FRAMEWORK_WORDS:
      break;
    }
  return json_object_new_string (value->text);
}

static void
write_json (const GArray *values, GString *out)
{
  struct json_object *root = json_object_new_object ();

  for (guint i = 0; i < values->len; i++)
    {
      g_auto (GStrv)      path = g_strsplit (value_at (values, i)->option->key, ".", -1);
      struct json_object *at = root;
      guint               depth = 0;

      for (; path[depth + 1] != NULL; depth++)
        {
          struct json_object *child;

          if (!json_object_object_get_ex (at, path[depth], &child))
            {
              child = json_object_new_object ();
              json_object_object_add (at, path[depth], child);
            }
          at = child;
        }
      json_object_object_add (at, path[depth], json_value (value_at (values, i)));
    }
  g_string_append_printf (
      out, "%s\n",
      json_object_to_json_string_ext (root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED
                                                | JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put (root);
}

/* Quoted for bash where it has to be. */
static void
append_shell_word (GString *out, const char *text)
{
  g_autofree char *quoted = g_shell_quote (text);
  const gboolean   plain =
      strspn (text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._+-") == strlen (text);

  g_string_append_printf (out, " %s", plain ? text : quoted);
}

/* An array of bash: the file is sourced, "${ARGUMENTS[@]}" are the words. */
static void
write_shell (const GArray *values, GString *out)
{
  g_string_append (out, "ARGUMENTS=(\n");
  for (guint i = 0; i < values->len; i++)
    {
      const EmitValue *value = value_at (values, i);
      g_auto (GStrv)   words = NULL;

      g_string_append_printf (out, "  %s", value->option->key);
      if (value->option->type == FRAMEWORK_WORDS)
        words = split_words (value->text);
      else if (value->option->type != FRAMEWORK_FLAG)
        append_shell_word (out, value->text);
      for (guint j = 0; words != NULL && words[j] != NULL; j++)
        append_shell_word (out, words[j]);
      g_string_append_c (out, '\n');
    }
  g_string_append (out, ")\n");
}

const EmitFormat *
emit_format_find (const char *name, DiagList *diags)
{
  static const EmitFormat formats[] = {
    { "toml", comment_hash, write_toml },
    { "yaml", comment_hash, write_yaml },
    { "json", NULL, write_json },
    { "shell", comment_hash, write_shell },
  };

  for (guint i = 0; i < G_N_ELEMENTS (formats); i++)
    if (g_str_equal (formats[i].name, name))
      return &formats[i];
  diag_error (diags, NULL, "valid values: toml, yaml, json, shell", "unknown format '%s'", name);
  return NULL;
}
