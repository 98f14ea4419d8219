#include "cli/web/export.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <string.h>

#include "api/shardsim.h"
#include "base/file/output.h"
#include "base/intern.h"
#include "base/parallel.h"
#include "cli/web/bundle.h"
#include "cli/web/endpoints.h"

#define MARK  "/* a copy of shardsim's page */\n" /* by which an earlier one is known */
#define INDEX "index.html"
#define PAGE  "page.js"
#define DATA  "data.js"
#define STYLE ".css"

/* ---- the grid -------------------------------------------------------------------------------- */

/* Their first values are what the copy begins with. */
static const char *const usual[] = {
  "model.config=llama-3.1-8b,llama-3.2-1b,qwen3-14b,qwen3-30b-a3b,llama-3.1-70b",
  "cluster.name=8 x dgx-h100,1 x dgx-h100,64 x dgx-h100,8 x dgx-a100,8 x dgx-b200,8 x mi300x-8",
  "strategy.name=fsdp2,ddp,hsdp,zero1,zero3",
  "training.seq_len=8192",
  "training.micro_batch=1,2,4",
};

/* The full key of TEXT, "seq_len=8192". Newly allocated. */
static char *
key_of (const char *text)
{
  g_autofree char *word = g_strndup (text, strcspn (text, "="));

  return scenario_whole_key (word);
}

static gboolean
has_axis (const Vary *grid, const char *key)
{
  for (guint i = 0; i < vary_n_axes (grid); i++)
    if (g_str_equal (vary_key (grid, i), key))
      return TRUE;
  return FALSE;
}

gboolean
export_grid_read (Vary *grid, char *const *texts, DiagList *diags)
{
  gboolean good = TRUE;

  for (guint i = 0; texts != NULL && texts[i] != NULL; i++)
    {
      g_autofree char *place = g_strconcat ("--vary ", texts[i], NULL);
      const SourceMark mark = { .file = intern_text (place) };

      good &= vary_add (grid, texts[i], &mark, diags);
    }
  for (guint i = 0; good && i < G_N_ELEMENTS (usual); i++)
    {
      g_autofree char *key = key_of (usual[i]);

      if (!has_axis (grid, key))
        good &= vary_add (grid, usual[i], NULL, diags);
    }
  if (good && vary_length (grid) > EXPORT_MOST_POINTS)
    {
      diag_error (diags, NULL, "give fewer values",
                  "the copy would hold %" G_GUINT64_FORMAT " scenarios, and at most %u",
                  vary_length (grid), EXPORT_MOST_POINTS);
      return FALSE;
    }
  return good;
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What the page asks about a point, and is answered. */
typedef struct
{
  char *prediction, *texts;
} Point;

typedef struct
{
  const Vary *grid;
  Point      *points;
} Points;

/* The request of POINT. Newly allocated. */
static char *
request_of (const Vary *grid, guint point)
{
  struct json_object *root = json_object_new_object (), *set = json_object_new_object ();
  char               *text;

  for (guint axis = 0; axis < vary_n_axes (grid); axis++)
    {
      g_autofree char *value = vary_value (grid, point, axis);

      json_object_object_add (set, vary_key (grid, axis), json_object_new_string (value));
    }
  json_object_object_add (root, "set", set);
  json_object_object_add (root, "jobs", json_object_new_int (1));
  text = g_strdup (json_object_to_json_string_ext (root, JSON_C_TO_STRING_PLAIN));
  json_object_put (root);
  return text;
}

static void
ask (guint i, gpointer user)
{
  const Points    *self = user;
  g_autofree char *request = request_of (self->grid, i);

  self->points[i] = (Point){ shardsim_predict (request), shardsim_scenario (request) };
}

/* The message of ANSWER, newly allocated, where it has no result; else NULL. */
static char *
why_refused (const char *answer)
{
  struct json_object *root = json_tokener_parse (answer);
  struct json_object *results = json_object_object_get (root, "results");
  struct json_object *diags = json_object_object_get (root, "diagnostics");
  struct json_object *text = json_object_object_get (root, "error");
  char               *why = NULL;

  if (json_object_array_length (results) == 0 && json_object_array_length (diags) > 0)
    text = json_object_object_get (json_object_array_get_idx (diags, 0), "message");
  if (json_object_array_length (results) == 0)
    why = g_strdup (text != NULL ? json_object_get_string (text) : "there is no prediction");
  json_object_put (root);
  return why;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* [{"key": "mesh.tp", "values": ["1", "2"]}], the last of which runs fastest. */
static void
append_axes (const Vary *grid, GString *out)
{
  struct json_object *axes = json_object_new_array ();

  for (guint axis = 0; axis < vary_n_axes (grid); axis++)
    {
      struct json_object *one = json_object_new_object (), *values = json_object_new_array ();

      for (guint64 i = 0; i < vary_n_values (grid, axis); i++)
        {
          g_autofree char *value = vary_axis_value (grid, axis, i);

          json_object_array_add (values, json_object_new_string (value));
        }
      json_object_object_add (one, "key", json_object_new_string (vary_key (grid, axis)));
      json_object_object_add (one, "values", values);
      json_object_array_add (axes, one);
    }
  g_string_append (out, json_object_to_json_string_ext (axes, JSON_C_TO_STRING_PLAIN));
  json_object_put (axes);
}

/* What the page asks for beside predictions, whatever its scenario. */
static void
append_lists (GString *out)
{
  static const char *const paths[] = {
    "/api/options", "/api/version", "/api/list/models", "/api/list/node", "/api/list/strategies",
  };

  for (guint i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autofree char *text = endpoint_get (paths[i]);

      g_string_append_printf (out, "%s\"%s\": %s", i > 0 ? ", " : "", paths[i], text);
    }
}

static char *
data_text (const Points *self, guint n)
{
  GString *out = g_string_new (MARK "window.shardsimGrid = {\n\"axes\": ");

  append_axes (self->grid, out);
  g_string_append (out, ",\n\"lists\": {");
  append_lists (out);
  g_string_append (out, "},\n\"predictions\": [\n");
  for (guint i = 0; i < n; i++)
    g_string_append_printf (out, "%s%s", i > 0 ? "," : "", self->points[i].prediction);
  g_string_append (out, "],\n\"texts\": [\n");
  for (guint i = 0; i < n; i++)
    g_string_append_printf (out, "%s%s", i > 0 ? "," : "", self->points[i].texts);
  g_string_append (out, "]};\n");
  return g_string_free (out, FALSE);
}

static char *
text_of (const GPtrArray *pages, const char *path)
{
  const PageFile *page = page_files_find (pages, path);
  gsize           length = 0;
  gconstpointer   text = page != NULL ? g_bytes_get_data (page->content, &length) : "";

  return g_strndup (text, length);
}

/*
 * The page with scripts that a browser loads from a file, and a policy under which it asks nobody.
 * NULL with ERROR set.
 */
static char *
index_text (const GPtrArray *pages, GError **error)
{
  static const char *const modules = "<script type=\"module\" src=\"app.js\"></script>";
  g_autofree char         *text = text_of (pages, "/");
  const char              *at = strstr (text, modules);

  if (at == NULL)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "the page does not load 'app.js'");
      return NULL;
    }
  return g_strdup_printf (
      "%.*s<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src 'self' file:; style-src 'self' file:; img-src data:\" />\n"
      "    <script defer src=\"" DATA "\"></script>\n"
      "    <script defer src=\"page.js\"></script>%s",
      (int) (at - text), text, at + strlen (modules));
}

/* TEXT, which may be NULL and is taken, as the file NAME among FILES. FALSE where it is NULL. */
static gboolean
add_file (GPtrArray *files, const char *name, char *text)
{
  return text != NULL && (g_ptr_array_add (files, page_file_new (name, text, strlen (text))), TRUE);
}

/* TEXT, of the data; NULL with ERROR set, and it is freed: there is too much of it. */
static char *
limited (char *text, GError **error)
{
  const gsize mib = strlen (text) >> 20;

  if (mib < EXPORT_MOST_MIB)
    return text;
  g_free (text);
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
               "the copy would have %zu MiB, and at most %u: give fewer values", mib,
               EXPORT_MOST_MIB);
  return NULL;
}

/* PageFile, owned by the array; NULL with ERROR set. */
static GPtrArray *
copy_of (const WebExport *self, const Points *points, GError **error)
{
  g_autoptr (GPtrArray) pages = page_files_read (self->page, error);
  g_autoptr (GPtrArray) files = page_files_new ();
  const guint           n = (guint) vary_length (self->grid);

  if (pages == NULL || !add_file (files, INDEX, index_text (pages, error))
      || !add_file (files, PAGE, bundle_modules (pages, "app.js", error))
      || !add_file (files, DATA, limited (data_text (points, n), error)))
    return NULL;
  for (guint i = 0; i < pages->len; i++)
    {
      const PageFile *page = g_ptr_array_index (pages, i);

      if (g_str_has_suffix (page->name, STYLE))
        add_file (files, page->name, text_of (pages, page->path));
    }
  return g_steal_pointer (&files);
}

/* Opens FILE in DIR and fills it. NULL with ERROR set. */
static OutputFile *
write_file (const char *dir, const PageFile *file, GError **error)
{
  g_autofree char *path = g_build_filename (dir, file->name, NULL);
  OutputFile      *out = output_file_open (path, error);
  gsize            length;
  gconstpointer    text = g_bytes_get_data (file->content, &length);

  if (out != NULL) /* where it fails, publishing says so */
    fwrite (text, 1, length, output_file_stream (out));
  return out;
}

/* All of FILES, or none of them. FALSE with ERROR set. */
static gboolean
write_all (const char *dir, const GPtrArray *files, gsize *n_bytes, GError **error)
{
  g_autoptr (GPtrArray) out = g_ptr_array_new_with_free_func ((GDestroyNotify) output_file_free);
  const gboolean        was = g_file_test (dir, G_FILE_TEST_EXISTS);
  gboolean              good = TRUE;

  g_mkdir_with_parents (dir, 0777); /* where it fails, the first file says why */
  for (guint i = 0; good && i < files->len; i++)
    {
      const PageFile *file = g_ptr_array_index (files, i);
      OutputFile     *one = write_file (dir, file, error);

      good = one != NULL;
      if (good)
        g_ptr_array_add (out, one);
      *n_bytes += g_bytes_get_size (file->content);
    }
  good = good && output_files_publish ((OutputFile *const *) out->pdata, out->len, error);
  g_ptr_array_set_size (out, 0); /* drafts go before their folder can */
  if (!good && !was)
    g_rmdir (dir);
  return good;
}

/* ---- the copy -------------------------------------------------------------------------------- */

void
web_exported_clear (WebExported *self)
{
  g_free (self->why);
}

static gboolean
is_of_copy (const char *name)
{
  return g_str_equal (name, INDEX) || g_str_equal (name, PAGE) || g_str_equal (name, DATA)
         || g_str_has_suffix (name, STYLE);
}

/* Whether DIR's data say that they are a copy's. */
static gboolean
has_mark (const char *dir)
{
  g_autofree char *path = g_build_filename (dir, DATA, NULL);
  char             begin[sizeof MARK] = "";
  FILE            *in = fopen (path, "re");
  gboolean         good;

  if (in == NULL)
    return FALSE;
  good = fread (begin, 1, strlen (MARK), in) == strlen (MARK) && g_str_equal (begin, MARK);
  fclose (in);
  return good;
}

gboolean
web_export_check (const char *dir, GError **error)
{
  g_autoptr (GDir) entries = g_dir_open (dir, 0, NULL);
  const char      *name;
  guint            n = 0;

  while (entries != NULL && (name = g_dir_read_name (entries)) != NULL)
    {
      n++;
      if (is_of_copy (name))
        continue;
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
                   "'%s' holds '%s', which is of no copy of the page: name an empty folder", dir,
                   name);
      return FALSE;
    }
  if (n == 0 || has_mark (dir))
    return TRUE;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_EXIST,
               "'%s' holds files, and no copy of the page: name an empty folder", dir);
  return FALSE;
}

/* What cannot be is counted. FALSE with ERROR set: that is all. */
static gboolean
count_refused (const Points *points, WebExported *exported, GError **error)
{
  for (guint i = 0; i < exported->n_points; i++)
    {
      char *why = why_refused (points->points[i].prediction);

      exported->n_refused += why != NULL;
      if (exported->why == NULL)
        exported->why = why;
      else
        g_free (why);
    }
  if (exported->n_refused < exported->n_points)
    return TRUE;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "no scenario of the grid can be: %s",
               exported->why);
  return FALSE;
}

gboolean
web_export (const WebExport *self, WebExported *exported, GError **error)
{
  const guint           n = (guint) vary_length (self->grid);
  g_autofree Point     *each = g_new0 (Point, n);
  const Points          points = { self->grid, each };
  g_autoptr (GPtrArray) files = NULL;
  gboolean              whole, good;

  exported->n_points = n;
  parallel_run (n, self->n_threads, ask, (gpointer) &points, self->count);
  whole = !stop_is_due (self->count->stop);
  if (!whole)
    g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_INTR, "interrupted; nothing was written");
  if (whole && count_refused (&points, exported, error))
    files = copy_of (self, &points, error);
  good = files != NULL && write_all (self->dir, files, &exported->n_bytes, error);
  for (guint i = 0; i < n; i++)
    {
      shardsim_free (each[i].prediction);
      shardsim_free (each[i].texts);
    }
  return good;
}
