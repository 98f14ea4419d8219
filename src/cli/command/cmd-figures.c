/* shardsim figures: published figures beside what the simulator makes of the same runs. */
#include "base/file/layout.h"
#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "cli/output/progress.h"
#include "report/figure/figure-claims.h"
#include "report/figure/figures.h"

static const ListingColumn columns[] = { { "name", LISTING_TEXT }, { NULL, LISTING_TEXT } };

static ExitStatus
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

/* What is asked of the figures NAME. */
typedef struct
{
  const char    *folder, *name;
  const char    *plot; /* NULL: no pictures */
  gboolean       details;
  DocumentFormat format;
} FigureWish;

/* JUDGED: claims are, with a score: not on a part of the rows. FALSE after diagnostics. */
static gboolean
print_format (const Figures *figures, const FigureWish *wish, gboolean judged, GString *out,
              DiagList *diags)
{
  const GArray            *evidence = figures->evidence;
  g_autoptr (FigureClaims) claims =
      judged ? figure_claims_judge (wish->folder, wish->name, evidence, diags) : NULL;

  if (judged && claims == NULL)
    return FALSE;
  if (wish->format == FORMAT_CSV)
    report_figures_csv (figures, out);
  else if (wish->format == FORMAT_JSON)
    {
      report_figures_json (figures, out);
      if (claims != NULL)
        report_claims_json (claims, evidence, out);
    }
  else
    {
      if (claims != NULL)
        report_claims_text (claims, evidence, out);
      report_figures_text (figures, wish->details, out);
    }
  return TRUE;
}

static ExitStatus
print_figures (const Common *common, const FigureWish *wish)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  out = g_string_new (NULL);
  g_autoptr (Figures)  figures = NULL;
  g_autoptr (GError)   error = NULL;
  g_autofree char     *style = layout_data_file ("plots/style.gp");
  gboolean             judged, drawn;
  Progress            *progress;
  PredictOptions       options = { .profile_dir = common->hwprofiles,
                                   .files = common->read,
                                   .replay.stop = patience_stop (common->patience) };
  ExitStatus           status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  progress = patience_begin (common->patience, "predicting", "scenarios");
  options.count = progress_count (progress);
  figures = figures_compute (wish->folder, wish->name, &options, common_n_jobs (common), diags);
  patience_end (common->patience, progress);
  judged = patience_partial (common->patience)->reason == NULL;
  status =
      figures != NULL && print_format (figures, wish, judged, out, diags) ? EXIT_DONE : EXIT_USAGE;
  stream_report_diags (diags);
  if (status != EXIT_DONE)
    return status;
  status = common_print_result (common, out);
  drawn = wish->plot == NULL || report_figures_plot (figures, wish->plot, style, &error);
  return stream_note_output (status, drawn, error);
}

typedef struct
{
  char    *folder; /* NULL: the shipped one */
  char    *plot;
  gboolean details;
} Settings;

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  const Settings *settings = data;

  (void) common;
  if (settings->folder != NULL && !g_file_test (settings->folder, G_FILE_TEST_IS_DIR))
    diag_error (diags, NULL, NULL, "--folder: '%s' is not a folder", settings->folder);
  return TRUE;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings  *settings = data;
  g_autofree char *shipped = layout_data_file ("workloads/figures");
  const char      *folder = settings->folder != NULL ? settings->folder : shipped;
  g_auto (GStrv)   names = figures_list (folder);
  const char      *word = common->files[0];
  const gint       index = word != NULL ? name_index (word, (const char *const *) names) : -1;
  const FigureWish wish = { folder, index >= 0 ? names[index] : word, settings->plot,
                            settings->details, common->format };

  return word == NULL ? list_figures (common, folder) : print_figures (common, &wish);
}

static const CommandOption options[] = {
  { OPTION ("folder", VALUE_FOLDER, folder, "DIR",
            "take the figures of the folder DIR: copies of shipped ones, or your own") },
  { OPTION ("plot", VALUE_FOLDER, plot, "DIR",
            "draw published and predicted numbers into the folder DIR (gnuplot)"),
    .check = stream_check_pictures },
  { OPTION ("details", VALUE_SWITCH, details, NULL,
            "print each scenario of a band as well, and what is assumed") },
  { 0 },
};

const Command command_figures = {
  .name = "figures",
  .help = "published figures beside predictions of the same runs",
  .arguments = "[NAME]",
  .summary = "Published tables and figures beside predictions of the same runs: a score, what each "
             "claim rests on, and the rows. Without a name: the list of them. The scenarios are "
             "files of workloads/figures.",
  .examples = "Examples:\n"
              "  shardsim figures\n"
              "  shardsim figures megatron\n"
              "  shardsim figures megatron --details\n"
              "  shardsim figures frontier --format csv\n"
              "  shardsim figures zeropp --plot pictures\n"
              "  shardsim figures scaling --plot pictures\n"
              "  shardsim figures my-star --folder .\n",
  .takes = COMMON_FORMAT | COMMON_JOBS | COMMON_TIME,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = 1,
  .words = &words_figures,
  .check = check,
  .run = run,
};
