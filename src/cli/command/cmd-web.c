/* shardsim web: a page to play with, served, or written with the answers of a grid. */
#include <stdio.h>

#include "base/file/file-roles.h"
#include "base/file/temporary.h"
#include "cli/argument/common.h"
#include "cli/argument/value-lists.h"
#include "cli/web/export.h"
#include "cli/web/server.h"
#include "cli/web/token-file.h"

typedef struct
{
  gint     port;
  gboolean open;
  char    *listen, *token_file, *export;
  char   **vary;
} Settings;

/* A browser, where there is one; without, the printed address is enough. */
static void
open_browser (const char *address)
{
  g_autoptr (GError) error = NULL;

  if (!g_app_info_launch_default_for_uri (address, NULL, &error))
    stream_say ("shardsim: no browser could be opened (%s): open %s\n", error->message, address);
}

#define LOOK_MS 100 /* how often it is seen whether a signal came */

/* The process's signals are taken by a thread of its own (temporary.h), which sets the stop. */
static gboolean
look (gpointer data)
{
  const Stop *stop = data;

  return !stop_is_due (stop);
}

static void
serve (const Settings *settings, const char *address)
{
  Stop        stop = { 0 };
  const guint timer = g_timeout_add (LOOK_MS, look, &stop);

  temporary_set_stop (&stop);
  if (settings->open)
    open_browser (address);
  while (!stop_is_due (&stop))
    g_main_context_iteration (NULL, TRUE);
  temporary_set_stop (NULL);
  if (g_main_context_find_source_by_id (NULL, timer) != NULL)
    g_source_remove (timer);
}

/* The token itself is not said: terminals and logs are read by others, too. */
static ExitStatus
say_address (const Settings *settings, const char *address)
{
  g_autoptr (GString) out = g_string_new (address);
  ExitStatus          status;

  if (settings->token_file != NULL)
    g_string_append_printf (out, "?token=TOKEN, which is in '%s'", settings->token_file);
  g_string_append (out, " (ends with Ctrl-C)\n");
  status = stream_print (out);
  fflush (stdout);
  return status;
}

/* ---- a copy ---------------------------------------------------------------------------------- */

static ExitStatus
say_copy (const char *dir, const WebExported *copy)
{
  g_autofree char    *file = g_build_filename (dir, "index.html", NULL);
  g_autoptr (GString) out = g_string_new (NULL);

  g_string_append_printf (out, "%s: %u scenarios, %.1f MiB\n", file, copy->n_points,
                          (double) copy->n_bytes / 1048576);
  if (copy->n_refused > 0)
    stream_say ("shardsim web: %u of the %u cannot be, which the copy says, too; the first: %s\n",
                copy->n_refused, copy->n_points, copy->why);
  return stream_print (out);
}

/* Predicts the grid and writes the copy; an interrupt ends it, and leaves nothing. */
static ExitStatus
write_copy (const Settings *settings, const Common *common, const Vary *grid)
{
  g_autofree char     *folder = layout_data_file ("html/web");
  g_autoptr (GError)   error = NULL;
  g_auto (WebExported) copy = { 0 };
  Patience            *patience = patience_new (0);
  Progress            *progress = patience_begin (patience, "predicting", "scenarios");
  const WebExport      work = { .page = folder,
                                .dir = settings->export,
                                .grid = grid,
                                .n_threads = common_n_jobs (common),
                                .count = progress_count (progress) };
  const gboolean       good = web_export (&work, &copy, &error);
  ExitStatus           status;

  patience_end (patience, progress);
  patience_close (patience);
  status = good ? say_copy (settings->export, &copy) : stream_report_error (error);
  if (!good)
    status = patience_status (patience, status);
  patience_free (patience);
  return status;
}

static ExitStatus
export_page (const Settings *settings, const Common *common)
{
  g_autoptr (Vary)     grid = vary_new ();
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  const ExitStatus     status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  if (!export_grid_read (grid, settings->vary, diags))
    return stream_report_diags (diags);
  if (web_export_check (settings->export, &error))
    return write_copy (settings, common, grid);
  g_prefix_error (&error, "--export: ");
  stream_report_error (error);
  return EXIT_USAGE;
}

/* ---- the server ------------------------------------------------------------------------------ */

static ExitStatus
serve_page (const Settings *settings, const Common *common)
{
  g_autofree char       *folder = layout_data_file ("html/web");
  g_autofree char       *readable = layout_data_dir ();
  g_autofree char       *token = NULL;
  g_autoptr (GError)     error = NULL;
  g_autoptr (WebWork)    work = web_work_new (common_n_jobs (common));
  const WebServerModule *module = web_server_load (&error);
  WebPlace place = { .port = (guint) settings->port, .listen = settings->listen, .folder = folder };
  WebServer *server = NULL;
  ExitStatus status;

  if (module != NULL && settings->token_file != NULL)
    token = token_file_read (settings->token_file, &error);
  place.token = token;
  if (module != NULL && error == NULL)
    server = module->start (&place, work, &error);
  if (server == NULL)
    return stream_report_error (error);
  file_roles_only_below (readable);
  status = say_address (settings, module->address (server));
  if (status == EXIT_DONE)
    serve (settings, module->address (server));
  module->free (server);
  return status;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings *settings = data;

  return settings->export != NULL ? export_page (settings, common) : serve_page (settings, common);
}

static gboolean
check (Common *common, gpointer data, G_GNUC_UNUSED DiagList *diags)
{
  const Settings *settings = data;

  if (common->hwprofiles != NULL || common->plugins != NULL)
    {
      common_say (common, "the page has the shipped profiles and strategies alone: leave "
                          "--hwprofiles and --plugin away\n");
      return FALSE;
    }
  if (settings->port >= 0 && settings->port <= G_MAXUINT16)
    return TRUE;
  common_say (common, "--port expects a number from 0 to %u, got %d\n", G_MAXUINT16,
              settings->port);
  return FALSE;
}

static const OptionRule rules[] = {
  { "listen", NULL, "token-file",
    "--listen lets others of the network ask, who need a secret: add --token-file FILE, which is "
    "made where there is none\n  hint: without --listen, an ssh tunnel reaches the page, too: "
    "ssh -L 8080:localhost:8080 HOST" },
  { "vary", NULL, "export", "--vary is of the grid of --export: add that" },
  { "export", "open listen token-file", NULL, "--export serves nothing, and needs no way in" },
  { "open", "token-file", NULL,
    "--open would show the token of --token-file to who lists processes: open the address "
    "yourself" },
  { 0 },
};

static const CommandOption options[] = {
  { OPTION ("port", VALUE_INT, port, "PORT", "the port to listen on; 0: any that is free"),
    .fallback = 8080 },
  { OPTION ("open", VALUE_SWITCH, open, NULL, "also open the page in a browser") },
  { OPTION ("listen", VALUE_TEXT, listen, "ADDRESS",
            "the address or the name to listen on, 0.0.0.0: all of the machine's") },
  { OPTION ("token-file", VALUE_FILE, token_file, "FILE",
            "a file with a secret that all must know who ask; it is made where there is none") },
  { OPTION ("export", VALUE_FOLDER, export, "DIR",
            "write the page with the answers of a grid, which needs no server"),
    .check = stream_check_folder },
  { OPTION ("vary", VALUE_TEXTS, vary, "KEY=VALUES",
            "of --export: an axis of the grid, in the place of the usual one or beside these"),
    .words = &words_keys },
  { 0 },
};

const Command command_web = {
  .name = "web",
  .help = "a page to play with: sliders in the place of options",
  .arguments = "",
  .summary = "Serves a page for a browser of this machine, on the loopback interface unless it is "
             "told otherwise. It answers while one types, with the numbers of 'shardsim simulate'; "
             "its address holds the scenario, to be kept or sent. With --export it writes a copy "
             "that needs no server.",
  .examples = "Examples:\n"
              "  shardsim web --open\n"
              "  shardsim web --port 9000\n"
              "  shardsim web --listen 0.0.0.0 --token-file ~/.shardsim-token\n"
              "  shardsim web --export copy --vary model=llama-3.1-8b,mixtral-8x7b\n",
  .takes = COMMON_JOBS,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .check = check,
  .run = run,
};
