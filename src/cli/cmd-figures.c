/* shardsim figures: published figures beside what the simulator makes of the same runs. */
#include <stdio.h>

#include "base/layout.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "measure/figure-evidence.h"
#include "report/figure-claims.h"
#include "report/figure-curves.h"
#include "report/figure-map.h"
#include "report/figure-memband.h"
#include "report/figure-padding.h"
#include "report/figure-region.h"
#include "report/figure-scaling.h"
#include "report/figure-utilisation.h"
#include "report/figures.h"

static const ListingColumn columns[] = { { "name", LISTING_TEXT }, { NULL, LISTING_TEXT } };

static int
list_figures (const Common *common, const char *folder)
{
  g_auto (GStrv)      names = figures_list (folder);
  g_autoptr (Listing) listing = listing_new ("figures", columns);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; names[i] != NULL; i++)
    {
      listing_add (listing, names[i]);
      g_string_append_printf (text, "%s\n", names[i]);
    }
  return listing_print (listing, common->format, text);
}

/* ---- the kinds of figures -------------------------------------------------------------------- */

/* What a kind of figures can: a row of `kinds`. */
typedef struct
{
  const char *table; /* NAME.table.csv makes figures ones of the kind; NULL: it is of all others */
  gboolean (*is) (const char *folder, const char *name);
  gpointer (*predict) (const char *folder, const char *name, const PredictOptions *options, guint n,
                       DiagList *diags);
  void (*text) (gconstpointer figures, gboolean details, GString *out);
  void (*csv) (gconstpointer figures, GString *out);
  void (*json) (gconstpointer figures, GString *out);
  GArray *(*evidence) (gconstpointer figures);
  gboolean (*plot) (gconstpointer figures, const char *dir, const char *style, GError **error);
  void (*free) (gpointer figures);
} FigureKind;

/* The functions of a kind with the types of FigureKind, by their names in full. */
#define KIND(name, predict_, text_, csv_, json_, evidence_, plot_, free_)                 \
  static gpointer name##_predict (const char *folder, const char *figure,                 \
                                  const PredictOptions *how, guint n, DiagList *diags)    \
  {                                                                                       \
    return predict_ (folder, figure, how, n, diags);                                      \
  }                                                                                       \
  static void name##_text (gconstpointer figures, gboolean details, GString *out)         \
  {                                                                                       \
    text_ (figures, details, out);                                                        \
  }                                                                                       \
  static void name##_csv (gconstpointer figures, GString *out)                            \
  {                                                                                       \
    csv_ (figures, out);                                                                  \
  }                                                                                       \
  static void name##_json (gconstpointer figures, GString *out)                           \
  {                                                                                       \
    json_ (figures, out);                                                                 \
  }                                                                                       \
  static GArray *name##_evidence (gconstpointer figures)                                  \
  {                                                                                       \
    return evidence_ (figures);                                                           \
  }                                                                                       \
  static gboolean name##_plot (gconstpointer figures, const char *dir, const char *style, \
                               GError **error)                                            \
  {                                                                                       \
    return plot_ (figures, dir, style, error);                                            \
  }                                                                                       \
  static void name##_free (gpointer figures)                                              \
  {                                                                                       \
    free_ (figures);                                                                      \
  }

/* These follow from rules: nothing is predicted. */
static FigureUtilisation *
utilisation_of_rules (const char *folder, const char *name, const PredictOptions *options, guint n,
                      DiagList *diags)
{
  (void) options, (void) n;
  return figure_utilisation_predict (folder, name, diags);
}

static FigurePadding *
padding_of_tensors (const char *folder, const char *name, const PredictOptions *options, guint n,
                    DiagList *diags)
{
  (void) options, (void) n;
  return figure_padding_compute (folder, name, diags);
}

/* Nobody published a map. */
static GArray *
no_evidence (const FigureMap *figures)
{
  (void) figures;
  return figure_evidence_new ();
}

KIND (curves, figure_curves_predict, report_curves_text, report_curves_csv, report_curves_json,
      figure_curves_evidence, report_curves_plot, figure_curves_free)
KIND (map, figure_map_predict, report_figure_map_text, report_figure_map_csv,
      report_figure_map_json, no_evidence, report_figure_map_plot, figure_map_free)
KIND (memband, figure_memband_predict, report_memband_text, report_memband_csv, report_memband_json,
      figure_memband_evidence, report_memband_plot, figure_memband_free)
KIND (padding, padding_of_tensors, report_padding_text, report_padding_csv, report_padding_json,
      figure_padding_evidence, report_padding_plot, figure_padding_free)
KIND (region, figure_region_predict, report_region_text, report_region_csv, report_region_json,
      figure_region_evidence, report_region_plot, figure_region_free)
KIND (scaling, figure_scaling_predict, report_figure_scaling_text, report_figure_scaling_csv,
      report_figure_scaling_json, figure_scaling_evidence, report_figure_scaling_plot,
      figure_scaling_free)
KIND (utilisation, utilisation_of_rules, report_utilisation_text, report_utilisation_csv,
      report_utilisation_json, figure_utilisation_evidence, report_utilisation_plot,
      figure_utilisation_free)
KIND (table, figures_predict, report_figures_text, report_figures_csv, report_figures_json,
      figures_evidence, report_figures_plot, figures_free)

static const FigureKind kinds[] = {
  { "curves", figure_curves_is, curves_predict, curves_text, curves_csv, curves_json,
    curves_evidence, curves_plot, curves_free },
  { "map", figure_map_is, map_predict, map_text, map_csv, map_json, map_evidence, map_plot,
    map_free },
  { "memband", figure_memband_is, memband_predict, memband_text, memband_csv, memband_json,
    memband_evidence, memband_plot, memband_free },
  { "padding", figure_padding_is, padding_predict, padding_text, padding_csv, padding_json,
    padding_evidence, padding_plot, padding_free },
  { "region", figure_region_is, region_predict, region_text, region_csv, region_json,
    region_evidence, region_plot, region_free },
  { "collectives", figure_scaling_is, scaling_predict, scaling_text, scaling_csv, scaling_json,
    scaling_evidence, scaling_plot, scaling_free },
  { "utilisation", figure_utilisation_is, utilisation_predict, utilisation_text, utilisation_csv,
    utilisation_json, utilisation_evidence, utilisation_plot, utilisation_free },
  { NULL, NULL, table_predict, table_text, table_csv, table_json, table_evidence, table_plot,
    table_free },
};

/* The kind of the figures NAME in FOLDER; NULL after a diagnostic: they are of two. */
static const FigureKind *
kind_of (const char *folder, const char *name, DiagList *diags)
{
  const FigureKind *kind = kinds, *other;

  while (kind->is != NULL && !kind->is (folder, name))
    kind++;
  for (other = kind; other->is != NULL; other++)
    if (other > kind && other->is (folder, name))
      {
        diag_error (diags, NULL, "figures are of one kind: give each table a name of its own",
                    "'%s.%s.csv' and '%s.%s.csv' make figures of two kinds", name, kind->table,
                    name, other->table);
        return NULL;
      }
  return kind;
}

/* What is asked of the figures NAME. */
typedef struct
{
  const char  *folder, *name;
  const char  *plot; /* NULL: no pictures */
  gboolean     details;
  OutputFormat format;
  gboolean     judged; /* claims are, with a score: not on a part of the rows */
} FigureWish;

static ExitStatus
draw (const FigureKind *kind, gconstpointer figures, const char *dir, ExitStatus status)
{
  g_autofree char   *style = layout_data_file ("plots/style.gp");
  g_autoptr (GError) error = NULL;
  gboolean           drawn = dir == NULL || kind->plot (figures, dir, style, &error);

  return stream_note_output (status, drawn, error);
}

/* FALSE after diagnostics. */
static gboolean
print_kind (const FigureKind *kind, gconstpointer figures, const FigureWish *wish, GString *out,
            DiagList *diags)
{
  g_autoptr (GArray)       evidence = kind->evidence (figures);
  g_autoptr (FigureClaims) claims =
      wish->judged ? figure_claims_judge (wish->folder, wish->name, evidence, diags) : NULL;

  if (wish->judged && claims == NULL)
    return FALSE;
  if (wish->format == FORMAT_CSV)
    kind->csv (figures, out);
  else if (wish->format == FORMAT_JSON)
    {
      kind->json (figures, out);
      if (claims != NULL)
        report_claims_json (claims, evidence, out);
    }
  else
    {
      if (claims != NULL)
        report_claims_text (claims, evidence, out);
      kind->text (figures, wish->details, out);
    }
  return TRUE;
}

static ExitStatus
print_figures (const Common *common, FigureWish *wish)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const FigureKind    *kind = kind_of (wish->folder, wish->name, diags);
  g_autoptr (GString)  out = g_string_new (NULL);
  gpointer             figures;
  Progress            *progress;
  PredictOptions       options = { .profile_dir = common->hwprofiles,
                                   .files = common->read,
                                   .replay.stop = patience_stop (common->patience) };
  ExitStatus           status = stream_check_pictures ("--plot", wish->plot);

  if (status != EXIT_DONE)
    return status;
  if (kind == NULL)
    return stream_report_diags (diags);
  progress = patience_begin (common->patience, "predicting", "scenarios");
  options.count = progress_count (progress);
  figures = kind->predict (wish->folder, wish->name, &options, common_n_jobs (common), diags);
  patience_end (common->patience, progress);
  wish->judged = patience_partial (common->patience)->reason == NULL;
  status = figures != NULL && print_kind (kind, figures, wish, out, diags) ? EXIT_DONE : EXIT_USAGE;
  stream_report_diags (diags);
  if (status == EXIT_DONE)
    status = draw (kind, figures, wish->plot, common_print_result (common, out));
  if (figures != NULL)
    kind->free (figures);
  return status;
}

int
cmd_figures (int argc, char **argv)
{
  g_auto (Common)  common = { 0 };
  gboolean         done = FALSE;
  g_autofree char *folder = layout_data_file ("workloads/figures");
  g_autofree char *plot = NULL;
  gboolean         details = FALSE;
  g_auto (GStrv)   names = figures_list (folder);
  gint             index;
  FigureWish       wish;

  const GOptionEntry entries[] = {
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &plot,
      "draw published and predicted numbers into the folder DIR (gnuplot)", "DIR" },
    { "details", 0, 0, G_OPTION_ARG_NONE, &details,
      "print each scenario of a band as well, and what is assumed", NULL },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS | COMMON_TIME, "[NAME]",
          "Published tables and figures beside predictions of the same runs: a score, what each "
          "claim rests on, and the rows. Without a name: the list of them. The scenarios are "
          "files of workloads/figures.",
          "Examples:\n"
          "  shardsim figures\n"
          "  shardsim figures megatron\n"
          "  shardsim figures megatron --details\n"
          "  shardsim figures frontier --format csv\n"
          "  shardsim figures zeropp --plot pictures\n"
          "  shardsim figures scaling --plot pictures\n",
          entries, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (common.files[0] == NULL)
    return list_figures (&common, folder);
  if (!common_want_words (&common, 1))
    return EXIT_USAGE;
  index = name_index (common.files[0], (const char *const *) names);
  wish = (FigureWish){ folder,        index >= 0 ? names[index] : common.files[0],
                       plot,          details,
                       common.format, TRUE };
  return (int) patience_status (common.patience, print_figures (&common, &wish));
}
