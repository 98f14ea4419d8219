#include "report/figure/figures.h"

#include <math.h>

#include "base/words.h"
#include "report/figure/figure-report-private.h"

static const FigureReport *const reports[FIGURE_N_KINDS] = {
  [FIGURE_PUBLISHED] = &report_published,
  [FIGURE_APART] = &report_apart,
  [FIGURE_CURVES] = &report_curves,
  [FIGURE_GRIDS] = &report_grids,
  [FIGURE_MAP] = &report_map,
  [FIGURE_MEMBAND] = &report_memband,
  [FIGURE_PADDING] = &report_padding,
  [FIGURE_REGION] = &report_region,
  [FIGURE_SCALING] = &report_scaling,
  [FIGURE_SLIM] = &report_edge,
  [FIGURE_SPLIT] = &report_edge,
  [FIGURE_SUBMISSIONS] = &report_submissions,
  [FIGURE_UTILISATION] = &report_utilisation,
};

char *
figure_number (const char *format, double value)
{
  return isfinite (value) ? g_strdup_printf (format, value) : g_strdup ("");
}

void
figure_assumptions (const GArray *lines, gsize offset, GString *out)
{
  g_autoptr (GPtrArray) all = words_of (lines, offset);

  for (guint i = 0; i < all->len; i++)
    if (*(const char *) g_ptr_array_index (all, i) != '\0')
      g_string_append_printf (out, "Assumed: %s\n", (const char *) g_ptr_array_index (all, i));
}

void
report_figures_text (const Figures *self, gboolean details, GString *out)
{
  reports[self->kind]->text (self, details, out);
}

void
report_figures_csv (const Figures *self, GString *out)
{
  columns_csv (reports[self->kind]->columns, rows_of_array (self->rows), out);
}

void
report_figures_json (const Figures *self, GString *out)
{
  const FigureReport *report = reports[self->kind];
  struct json_object *root = json_document_new ();

  if (report->name_key != NULL)
    json_add_text (root, report->name_key, self->name);
  if (report->json != NULL)
    report->json (self, root);
  if (report->rows_key != NULL)
    json_object_object_add (root, report->rows_key,
                            column_list (report->columns, rows_of_array (self->rows)));
  json_finish (root, out);
}

gboolean
report_figures_plot (const Figures *self, const char *dir, const char *style_file, GError **error)
{
  g_autoptr (GArray) pictures = gnuplot_pictures_new ();
  g_autofree char   *style = NULL;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  reports[self->kind]->plot (self, style, pictures);
  return gnuplot_draw ((const GnuplotPicture *) (gconstpointer) pictures->data, pictures->len, dir,
                       error);
}
