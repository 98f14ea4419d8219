#include "cli/web/bundle.h"

#include <string.h>

typedef struct
{
  const GPtrArray *pages;
  GHashTable      *done; /* names of modules: begun, TRUE when they are written */
  GString         *out;
} Bundle;

static gboolean
fail (GError **error, const char *module, const char *what)
{
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "the page's '%s' has %s", module, what);
  return FALSE;
}

/* "form_js": what the functions' values are called. Newly allocated. */
static char *
variable_of (const char *module)
{
  return g_strcanon (g_strdup (module), G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS, '_');
}

static gboolean add_module (Bundle *self, const char *name, GError **error);

/*
 * STATEMENT, "import { a, b as c } from './x.js';": that module comes first, and the names are
 * taken out of its value.
 */
static gboolean
add_import (Bundle *self, const char *module, const char *statement, GString *body, GError **error)
{
  g_autoptr (GRegex)     form = g_regex_new ("^import \\{([^}]*)\\} from '\\./([^']+)';\\s*$",
                                             G_REGEX_DEFAULT, G_REGEX_MATCH_DEFAULT, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  g_autofree char       *names = NULL, *from = NULL, *variable = NULL;
  g_auto (GStrv)         parts = NULL;

  if (!g_regex_match (form, statement, G_REGEX_MATCH_DEFAULT, &match))
    return fail (error, module, "an import of another form");
  from = g_match_info_fetch (match, 2);
  if (!add_module (self, from, error))
    return FALSE;
  names = g_match_info_fetch (match, 1);
  parts = g_strsplit (names, " as ", -1);
  g_free (names);
  names = g_strjoinv (": ", parts);
  variable = variable_of (from);
  g_string_append_printf (body, "const {%s} = %s;\n", names, variable);
  return TRUE;
}

/* LINE, "export function a (": the declaration goes into BODY, its name into EXPORTS. */
static gboolean
add_export (const char *module, const char *line, GString *body, GString *exports, GError **error)
{
  g_autoptr (GRegex) form =
      g_regex_new ("^export (?:(?:async )?function|class|const) ([A-Za-z_$][\\w$]*)",
                   G_REGEX_DEFAULT, G_REGEX_MATCH_DEFAULT, NULL);
  g_autoptr (GMatchInfo) match = NULL;
  g_autofree char       *name = NULL;

  if (!g_regex_match (form, line, G_REGEX_MATCH_DEFAULT, &match))
    return fail (error, module, "an export of another form");
  name = g_match_info_fetch (match, 1);
  g_string_append_printf (exports, "%s%s", exports->len > 0 ? ", " : "", name);
  g_string_append_printf (body, "%s\n", line + strlen ("export "));
  return TRUE;
}

/* The LINES of a module; an import may take several. */
static gboolean
add_lines (Bundle *self, const char *module, char **lines, GString *body, GString *exports,
           GError **error)
{
  for (guint i = 0; lines[i] != NULL; i++)
    if (g_str_has_prefix (lines[i], "import "))
      {
        g_autoptr (GString) statement = g_string_new (lines[i]);

        while (strchr (statement->str, ';') == NULL && lines[i + 1] != NULL)
          g_string_append (statement, lines[++i]);
        if (!add_import (self, module, statement->str, body, error))
          return FALSE;
      }
    else if (g_str_has_prefix (lines[i], "export "))
      {
        if (!add_export (module, lines[i], body, exports, error))
          return FALSE;
      }
    else
      g_string_append_printf (body, "%s\n", lines[i]);
  return TRUE;
}

/* Once, however many import it. */
static gboolean
add_module (Bundle *self, const char *name, GError **error)
{
  g_autofree char    *path = g_strconcat ("/", name, NULL), *text = NULL, *variable = NULL;
  const PageFile     *page = page_files_find (self->pages, path);
  g_autoptr (GString) body = g_string_new (NULL), exports = g_string_new (NULL);
  g_auto (GStrv)      lines = NULL;
  gsize               length;
  gconstpointer       content;

  if (g_hash_table_contains (self->done, name))
    return g_hash_table_lookup (self->done, name) != NULL
           || fail (error, name, "an import that comes back to it");
  if (page == NULL)
    return fail (error, name, "no file");
  g_hash_table_insert (self->done, g_strdup (name), NULL);
  content = g_bytes_get_data (page->content, &length);
  text = g_strndup (content, length);
  lines = g_strsplit (text, "\n", -1);
  if (!add_lines (self, name, lines, body, exports, error))
    return FALSE;
  variable = variable_of (name);
  g_string_append_printf (self->out, "const %s = (() => {\n%sreturn { %s };\n})();\n", variable,
                          body->str, exports->str);
  g_hash_table_insert (self->done, g_strdup (name), GINT_TO_POINTER (TRUE));
  return TRUE;
}

char *
bundle_modules (const GPtrArray *pages, const char *first, GError **error)
{
  Bundle   self = { .pages = pages,
                    .done = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL),
                    .out = g_string_new ("'use strict';\n") };
  gboolean good = add_module (&self, first, error);

  g_hash_table_unref (self.done);
  return g_string_free (self.out, !good);
}
