#include "report/document/page.h"

#include "base/file/output.h"
#include "report/document/html-private.h"

gboolean
report_page_check (const char *file, GError **error)
{
  return gnuplot_is_there (error) && output_check (file, OUTPUT_FILE, error);
}

/* NULL with ERROR set. */
static GArray *
pictures_of (const PageKind *kind, gconstpointer answer, const char *style_file, GError **error)
{
  g_autoptr (GArray)   pictures = gnuplot_pictures_new ();
  g_auto (PlotScripts) scripts = { 0 };

  if (kind->draw != NULL
      && (!plot_scripts_read (&scripts, style_file, error)
          || !kind->draw (pictures, &scripts, answer, error)))
    return NULL;
  return g_steal_pointer (&pictures);
}

gboolean
report_pictures_of (const PageKind *kind, gconstpointer answer, const char *style_file,
                    const char *dir, GError **error)
{
  g_autoptr (GArray) pictures = pictures_of (kind, answer, style_file, error);

  return pictures != NULL
         && (pictures->len == 0
             || gnuplot_draw (&g_array_index (pictures, GnuplotPicture, 0), pictures->len, dir,
                              error));
}

gboolean
report_page_of (const PageKind *kind, gconstpointer answer, const char *partial,
                const char *style_file, const char *file, GError **error)
{
  g_autofree char     *says = partial != NULL ? g_strdup_printf ("Partial: %s.", partial) : NULL;
  g_autoptr (HtmlPage) page = html_page_new ("");
  g_autoptr (GArray)   drawn = pictures_of (kind, answer, style_file, error);
  g_auto (GStrv)       svgs = NULL;
  PagePictures         pictures = { drawn, NULL };

  if (drawn == NULL)
    return FALSE;
  if (drawn->len > 0)
    {
      svgs = gnuplot_draw_svgs (&g_array_index (drawn, GnuplotPicture, 0), drawn->len, error);
      if (svgs == NULL)
        return FALSE;
    }
  pictures.svgs = svgs;
  if (says != NULL)
    html_page_add_verdict (page, HTML_BAD, says);
  page_describe (kind, answer, page, &pictures);
  return html_page_write (page, file, error);
}
