/* shardsim web: a page to play with, in a browser of this machine. */
#include <stdio.h>

#include "base/file/file-roles.h"
#include "base/file/temporary.h"
#include "cli/argument/common.h"
#include "cli/web/server.h"
#include "cli/web/token-file.h"

typedef struct
{
  gint     port;
  gboolean open;
  char    *listen, *token_file;
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

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings        *settings = data;
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
    place.token = token = token_file_read (settings->token_file, &error);
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
  { 0 },
};

const Command command_web = {
  .name = "web",
  .help = "a page to play with: sliders in the place of options",
  .arguments = "",
  .summary = "Serves a page for a browser of this machine, on the loopback interface alone. It "
             "answers while one types, with the numbers of 'shardsim simulate'; its address holds "
             "the scenario, to be kept or sent.",
  .examples = "Examples:\n"
              "  shardsim web --open\n"
              "  shardsim web --port 9000\n",
  .takes = COMMON_JOBS,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .check = check,
  .run = run,
};
