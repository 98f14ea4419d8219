#include <string.h>

#include <json-c/json.h>

#include "base/config/csv.h"
#include "base/config/printable.h"
#include "base/file/layout.h"
#include "base/file/output.h"
#include "report/document/html-parts-private.h"

#define MAX_MEMORY_LEVELS 2000

struct _HtmlPage
{
  char       *title;
  GString    *contents; /* the list at the top */
  GString    *body;
  guint       n_sections, n_pictures;
  gboolean    folded;
  gboolean    in_section;
  const char *facts_class; /* of the list of facts that ends ... */
  gsize       facts_end;   /* ... where the body did */
};

/* ---- text ------------------------------------------------------------------------------------ */

/* Names from files: no tabulators or ends of lines. */
static void
append_element (GString *out, const char *element, const char *text)
{
  g_string_append_printf (out, "<%s>", element);
  html_append_escaped (out, text);
  g_string_append_printf (out, "</%s>\n", element);
}

HtmlPage *
html_page_new (const char *title)
{
  HtmlPage *self = g_new0 (HtmlPage, 1);

  self->title = g_strdup (title);
  self->contents = g_string_new (NULL);
  self->body = g_string_new (NULL);
  return self;
}

void
html_page_set_title (HtmlPage *self, const char *title)
{
  g_free (self->title);
  self->title = g_strdup (title);
}

void
html_page_free (HtmlPage *self)
{
  if (self == NULL)
    return;
  g_free (self->title);
  g_string_free (self->contents, TRUE);
  g_string_free (self->body, TRUE);
  g_free (self);
}

void
html_page_add_verdict (HtmlPage *self, HtmlTone tone, const char *text)
{
  g_string_append_printf (self->body, "<p class=\"verdict %s\">", html_tone_names[tone]);
  html_append_escaped (self->body, text);
  g_string_append (self->body, "</p>\n");
}

void
html_page_end_fold (HtmlPage *self)
{
  if (self->folded)
    g_string_append (self->body, "</details>\n");
  self->folded = FALSE;
}

void
html_page_begin_fold (HtmlPage *self, const char *summary)
{
  html_page_end_fold (self);
  g_string_append (self->body, "<details>\n");
  append_element (self->body, "summary", summary);
  self->folded = TRUE;
}

static void
end_section (HtmlPage *self)
{
  html_page_end_fold (self);
  if (self->in_section)
    g_string_append (self->body, "</section>\n");
  self->in_section = FALSE;
}

void
html_page_add_section (HtmlPage *self, const char *title)
{
  end_section (self);
  self->in_section = TRUE;
  g_string_append_printf (self->body, "<section id=\"s%u\">\n", ++self->n_sections);
  append_element (self->body, "h2", title);
  g_string_append_printf (self->contents, "<a href=\"#s%u\">", self->n_sections);
  html_append_escaped (self->contents, title);
  g_string_append (self->contents, "</a>\n");
}

void
html_page_add_subheading (HtmlPage *self, const char *title)
{
  append_element (self->body, "h3", title);
}

void
html_page_add_text (HtmlPage *self, const char *format, ...)
{
  va_list          arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  append_element (self->body, "p", text);
}

void
html_page_add_lines (HtmlPage *self, const char *text)
{
  g_string_append (self->body, "<pre class=\"lines\">");
  html_append_escaped (self->body, text);
  g_string_append (self->body, "</pre>\n");
}

void
html_page_add_copyable (HtmlPage *self, const char *text)
{
  const gboolean one_line = strchr (text, '\n') == NULL;

  g_string_append_printf (self->body,
                          "<div class=\"copy\"><button type=\"button\">Copy</button>\n<pre%s>",
                          one_line ? " class=\"lines\"" : "");
  html_append_escaped (self->body, text);
  g_string_append (self->body, "</pre>\n</div>\n");
}

/* ---- facts ----------------------------------------------------------------------------------- */

#define FACTS_END "</dl>\n"

void
html_page_add_fact (HtmlPage *self, const char *class, const char *name, const char *value,
                    const char *note)
{
  if (self->body->len > 0 && self->facts_end == self->body->len
      && g_str_equal (self->facts_class, class))
    g_string_truncate (self->body, self->body->len - strlen (FACTS_END));
  else
    g_string_append_printf (self->body, "<dl class=\"%s\">\n", class);
  g_string_append (self->body, "<div>");
  append_element (self->body, "dt", name);
  append_element (self->body, "dd", value);
  if (note != NULL)
    {
      g_string_append (self->body, "<dd class=\"note\">");
      html_append_escaped (self->body, note);
      g_string_append (self->body, "</dd>");
    }
  g_string_append (self->body, "</div>\n" FACTS_END);
  self->facts_class = class;
  self->facts_end = self->body->len;
}

/* ---- tables ---------------------------------------------------------------------------------- */

void
html_page_take_table (HtmlPage *self, HtmlTable *table)
{
  html_table_finish (table, self->body);
}

/* A row by itself reads better as a column. */
static HtmlTable *
table_of_row (const CsvReader *reader)
{
  static const HtmlColumn columns[] = { { "column", FALSE }, { "value", FALSE } };
  HtmlTable              *table = html_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < csv_reader_n_columns (reader); i++)
    {
      html_table_add_text (table, csv_reader_column (reader, i));
      html_table_add_text (table, csv_reader_field (reader, i));
    }
  return table;
}

static HtmlTable *
table_of_rows (CsvReader *reader, DiagList *diags)
{
  guint                  n = csv_reader_n_columns (reader);
  g_autofree HtmlColumn *columns = g_new0 (HtmlColumn, n);
  HtmlTable             *table;

  for (guint i = 0; i < n; i++)
    columns[i].title = csv_reader_column (reader, i);
  table = html_table_new (columns, n);
  while (csv_reader_next (reader, diags))
    for (guint i = 0; i < n; i++)
      html_table_add_either (table, csv_reader_field (reader, i));
  return table;
}

/* Whether CSV has one row below its titles. */
static gboolean
has_one_row (const char *csv)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (CsvReader) reader = csv_reader_open_text ("results", csv, strlen (csv), diags);

  return reader != NULL && csv_reader_next (reader, diags) && !csv_reader_next (reader, diags);
}

void
html_page_add_csv (HtmlPage *self, const char *given)
{
  g_autofree char      *csv = printable_text (given, strlen (given), FALSE);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (CsvReader) reader = csv_reader_open_text ("results", csv, strlen (csv), diags);

  if (reader != NULL && !has_one_row (csv))
    html_page_take_table (self, table_of_rows (reader, diags));
  else if (reader != NULL && csv_reader_next (reader, diags))
    html_page_take_table (self, table_of_row (reader));
  if (diag_list_has_errors (diags)) /* above a limit */
    html_page_add_text (self, "The table is cut: %s.", diag_list_first_message (diags));
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* TEXT with what REGEX matches replaced by WITH, as g_regex_replace has it. Takes TEXT. */
static char *
replace (char *text, const char *regex, const char *with)
{
  g_autoptr (GRegex) compiled = g_regex_new (regex, 0, 0, NULL);
  g_autofree char   *old = text;

  return g_regex_replace (compiled, old, -1, 0, with, 0, NULL);
}

/*
 * A colour "rgb(r, g, b)" becomes "var(--c-rrggbb, #rrggbb)", so that the page's style may have
 * another one in its place in the dark.
 */
static gboolean
name_colour (const GMatchInfo *match, GString *out, gpointer unused)
{
  guint rgb[3];

  (void) unused;
  for (guint i = 0; i < 3; i++)
    {
      g_autofree char *digits = g_match_info_fetch (match, (gint) i + 1);

      rgb[i] = (guint) g_ascii_strtoull (digits, NULL, 10);
    }
  g_string_append_printf (out, "var(--c-%02x%02x%02x, #%02x%02x%02x)", rgb[0], rgb[1], rgb[2],
                          rgb[0], rgb[1], rgb[2]);
  return FALSE;
}

static char *
name_colours (char *text)
{
  g_autoptr (GRegex) rgb =
      g_regex_new ("rgb\\(\\s*([0-9]+),\\s*([0-9]+),\\s*([0-9]+)\\)", 0, 0, NULL);
  g_autofree char *old = NULL;

  text = replace (text, "\"black\"", "\"rgb(0,0,0)\"");
  old = replace (text, "\"#[Ff]{6}\"", "\"rgb(255,255,255)\"");
  return g_regex_replace_eval (rgb, old, -1, 0, 0, name_colour, NULL, NULL);
}

/* gnuplot's document as an element: its names are the page's, and the page says its size. */
static char *
inline_svg (const char *svg, guint number)
{
  const char      *start = strstr (svg, "<svg");
  g_autofree char *own = g_strdup_printf ("\\1p%u-\\2", number);
  char            *text = g_strdup (start != NULL ? start : "<svg></svg>");

  text = replace (text, "(\\sid=[\"'])([^\"']*)", own);
  text = replace (text, "(xlink:href=[\"']#)([^\"']*)", own);
  text = replace (text, "(url\\(#)([^)]*)", own);
  text = name_colours (text);
  text = replace (text, "<(title|desc)>[^<]*</\\1>", "");
  return replace (text, "<svg\\s+width=\"([0-9]+)\" height=\"([0-9]+)\"",
                  "<svg role=\"img\" style=\"--width: \\1px\"");
}

void
html_page_add_svg (HtmlPage *self, const char *svg, const char *caption)
{
  g_autofree char *text = inline_svg (svg, ++self->n_pictures);

  g_string_append (self->body, "<figure class=\"picture\"><div class=\"scroll\">\n");
  g_string_append (self->body, text);
  g_string_append (self->body, "</div>\n");
  append_element (self->body, "figcaption", caption);
  g_string_append (self->body, "</figure>\n");
}

/* ---- timeline -------------------------------------------------------------------------------- */

static void
add_int (struct json_object *list, guint64 value)
{
  json_object_array_add (list, json_object_new_uint64 (value));
}

/* Whole nanoseconds: finer than any screen. */
static void
add_time (struct json_object *list, SimTime time)
{
  add_int (list, (time + 500) / 1000);
}

static struct json_object *
strings_json (const GPtrArray *strings)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < strings->len; i++)
    {
      const char      *string = g_ptr_array_index (strings, i);
      g_autofree char *plain = printable_name (string);

      json_object_array_add (list, json_object_new_string (plain));
    }
  return list;
}

/* Five numbers a slice: lane, begin, duration, label, part. */
static struct json_object *
slices_json (const Timeline *timeline)
{
  struct json_object *list = json_object_new_array_ext ((int) timeline->slices->len * 5);

  for (guint i = 0; i < timeline->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (timeline->slices, TimelineSlice, i);

      add_int (list, slice->lane);
      add_time (list, slice->begin);
      add_time (list, slice->duration);
      add_int (list, slice->label);
      add_int (list, slice->part);
    }
  return list;
}

static struct json_object *
lanes_json (const Timeline *timeline)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < timeline->lanes->len; i++)
    {
      const TimelineLane *lane = &g_array_index (timeline->lanes, TimelineLane, i);
      struct json_object *entry = json_object_new_object ();

      json_object_object_add (entry, "name", json_object_new_string (lane->name));
      json_object_object_add (entry, "rank", json_object_new_uint64 (lane->rank));
      json_object_array_add (list, entry);
    }
  return list;
}

/* A time and the bytes of each category, one after another. */
static struct json_object *
memory_json (const Timeline *timeline)
{
  g_autoptr (GArray)  levels = timeline_thin_memory (timeline, MAX_MEMORY_LEVELS);
  struct json_object *memory = json_object_new_object (), *names = json_object_new_array (),
                     *list = json_object_new_array ();

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    json_object_array_add (names, json_object_new_string (pool_category_name ((PoolCategory) c)));
  for (guint i = 0; i < levels->len; i++)
    {
      const TimelineLevel *level = &g_array_index (levels, TimelineLevel, i);

      add_time (list, level->time);
      for (guint c = 0; c < POOL_N_CATEGORIES; c++)
        add_int (list, level->bytes[c]);
    }
  json_object_object_add (memory, "capacity", json_object_new_uint64 (timeline->capacity));
  json_object_object_add (memory, "categories", names);
  json_object_object_add (memory, "levels", list);
  return memory;
}

static struct json_object *
timeline_json (const Timeline *timeline)
{
  struct json_object *root = json_object_new_object (), *parts = json_object_new_array ();

  for (guint i = 0; i < TIME_N; i++)
    json_object_array_add (parts, json_object_new_string (time_part_name ((TimePart) i)));
  json_object_object_add (root, "length", json_object_new_uint64 ((timeline->length + 500) / 1000));
  json_object_object_add (root, "parts", parts);
  json_object_object_add (root, "ranks", strings_json (timeline->ranks));
  json_object_object_add (root, "lanes", lanes_json (timeline));
  json_object_object_add (root, "labels", strings_json (timeline->labels));
  json_object_object_add (root, "slices", slices_json (timeline));
  json_object_object_add (root, "memory", memory_json (timeline));
  return root;
}

void
html_page_add_timeline (HtmlPage *self, const Timeline *timeline)
{
  struct json_object *root = timeline_json (timeline);

  g_string_append (self->body, "<div class=\"timeline\"><script type=\"application/json\">");
  html_append_json (self->body, root);
  g_string_append (self->body, "</script><noscript>The timeline is drawn by the page's own "
                               "script.</noscript></div>\n");
  json_object_put (root);
}

/* ---- writing --------------------------------------------------------------------------------- */

static gboolean
read_part (const char *name, char **text, GError **error)
{
  g_autofree char *file = layout_data_file (name);

  return g_file_get_contents (file, text, NULL, error);
}

gboolean
html_page_write (const HtmlPage *self, const char *file, GError **error)
{
  static const char policy[] = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                               "'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n";
  g_autoptr (GString) out = g_string_new ("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
                                          "<meta charset=\"utf-8\">\n");
  g_autofree char    *style = NULL, *script = NULL;

  if (!read_part ("html/page.css", &style, error) || !read_part ("html/page.js", &script, error))
    return FALSE;
  g_string_append (out, policy);
  g_string_append (out,
                   "<meta name=\"viewport\" content=\"width=device-width, "
                   "initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
  append_element (out, "title", self->title);
  g_string_append_printf (out, "<style>\n%s</style>\n</head>\n<body>\n<header>\n", style);
  append_element (out, "h1", self->title);
  g_string_append_printf (out, "<nav>\n%s</nav>\n</header>\n<main>\n%s%s%s</main>\n",
                          self->contents->str, self->body->str, self->folded ? "</details>\n" : "",
                          self->in_section ? "</section>\n" : "");
  g_string_append (out, "<footer><p>Made by shardsim ");
  html_append_escaped (out, layout_program_version ());
  g_string_append_printf (out, ".</p></footer>\n<script>\n%s</script>\n</body>\n</html>\n", script);
  return output_file_write (file, out->str, error);
}
