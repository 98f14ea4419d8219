#include "cli/command/serve-vary.h"

#include <string.h>

#include "base/intern.h"
#include "decide/sweep/vary.h"

#define MOST_POINTS 10000

static const struct
{
  const char       *section;
  const OptionSpec *table;
} varied[] = { { "generation", generation_options }, { "serving", serving_options } };

/* The section of varied options that TEXT, "tp=1,2" or "generation.tp=1,2", is of; else -1. */
static gint
section_of (const char *text)
{
  g_autofree char *key = g_strndup (text, strcspn (text, "="));
  const char      *dot = strchr (key, '.');

  for (guint i = 0; i < G_N_ELEMENTS (varied); i++)
    if (dot == NULL ? option_table_find (varied[i].table, key) != NULL
                    : strlen (varied[i].section) == (gsize) (dot - key)
                          && g_str_has_prefix (key, varied[i].section))
      return (gint) i;
  return -1;
}

/* NULL after diagnostics. */
static Vary *
axes_of (char *const *texts, DiagList *diags)
{
  g_autoptr (Vary) axes = vary_new ();
  const SourceMark mark = { .file = intern_text ("--vary") };

  for (guint i = 0; texts[i] != NULL; i++)
    {
      const gint       section = section_of (texts[i]);
      g_autofree char *whole = section < 0 || strchr (texts[i], '.') != NULL
                                   ? g_strdup (texts[i])
                                   : g_strdup_printf ("%s.%s", varied[section].section, texts[i]);

      if (section < 0)
        diag_error (diags, &mark, "such as 'generation.tp=1,2,4' or 'serving.max_sequences=64,256'",
                    "'%s' is no option of how models are served", texts[i]);
      else
        vary_add (axes, whole, &mark, diags);
    }
  if (!diag_list_has_errors (diags) && vary_length (axes) > MOST_POINTS)
    diag_error (diags, &mark, NULL, "the values make more than %u combinations", MOST_POINTS);
  return diag_list_has_errors (diags) ? NULL : g_steal_pointer (&axes);
}

/* Sets what POINT says; its label, newly allocated. */
static char *
set_point (const Vary *axes, guint64 point, GenerationOptions *generation, ServingOptions *serving,
           DiagList *diags)
{
  const SourceMark    mark = { .file = intern_text ("--vary") };
  g_autoptr (GString) label = g_string_new (NULL);

  for (guint axis = 0; axis < vary_n_axes (axes); axis++)
    {
      const char      *key = vary_key (axes, axis), *word = strchr (key, '.') + 1;
      const gint       section = section_of (key);
      g_autofree char *value = vary_value (axes, point, axis);

      g_string_append_printf (label, "%s%s=%s", axis > 0 ? " " : "", word, value);
      option_set_key (varied[section].table, section == 0 ? (gpointer) generation : serving, word,
                      value, &mark, diags);
    }
  return g_string_free (g_steal_pointer (&label), FALSE);
}

static ServeGridRow
row_of (const ServeVary *asked, const Vary *axes, guint64 point)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  GenerationOptions    generation = *asked->generation;
  ServingOptions       serving = *asked->serving;
  ServeGridRow         row = { 0 };

  row.label = set_point (axes, point, &generation, &serving, diags);
  if (diag_list_has_errors (diags)
      || !asked->answer (asked->user, &generation, &serving, &row, diags))
    row.reason = g_strdup (diag_list_first_message (diags));
  return row;
}

static void
clear_row (gpointer row)
{
  serve_grid_row_clear (row);
}

ExitStatus
serve_vary (Common *common, char *const *vary, const ServeVary *asked)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Vary)     axes = axes_of (vary, diags);
  g_autoptr (GArray)   rows = g_array_new (FALSE, FALSE, sizeof (ServeGridRow));
  g_autoptr (GString)  out = g_string_new (NULL);
  const ServeGrid      grid = { asked->model, asked->cluster, rows };
  ExitStatus           status;

  g_array_set_clear_func (rows, clear_row);
  if (stream_report_diags (diags) != EXIT_DONE || axes == NULL)
    return EXIT_USAGE;
  status = common_check_outputs (common);
  for (guint64 i = 0; status == EXIT_DONE && i < vary_length (axes); i++)
    {
      const ServeGridRow row = row_of (asked, axes, i);

      g_array_append_val (rows, row);
    }
  if (status != EXIT_DONE)
    return status;
  report_answer (asked->kind, &grid, common->format, out);
  return common_write_pages (common, asked->kind, &grid, stream_print (out));
}
