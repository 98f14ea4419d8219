/* shardsim merge: the result stores of a sharded sweep as one. */
#include "cli/common.h"
#include "cli/store-output.h"
#include "report/sweep.h"

/* Before a target is made for them. */
static gboolean
are_stores (char *const *files, GError **error)
{
  for (; *files != NULL; files++)
    {
      g_autoptr (ResultStore) store = result_store_open_existing (*files, error);

      if (store == NULL)
        return FALSE;
    }
  return TRUE;
}

static ExitStatus
merge (const Common *common, const char *target)
{
  g_autofree ResultColumn *columns = report_result_columns ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (GString)      out = g_string_new (NULL);
  char *const             *files = common->files;
  g_autoptr (ResultStore)  store =
      are_stores (files, &error) ? result_store_open (target, columns, NULL, &error) : NULL;
  guint64 differing = 0;

  for (guint i = 0; store != NULL && files[i] != NULL && error == NULL; i++)
    {
      ResultMerge one = { 0 };

      if (!result_store_merge (store, files[i], &one, &error))
        break;
      g_string_append_printf (out, "%s: %" G_GUINT64_FORMAT " runs, %" G_GUINT64_FORMAT " new\n",
                              files[i], one.rows, one.added);
      differing += one.differing;
    }
  if (error != NULL)
    return store_report_error (error);
  if (differing > 0)
    stream_say ("shardsim merge: %" G_GUINT64_FORMAT
                " runs have another result in '%s', which stays\n",
                differing, target);
  return store_write_pages (common, store, target, stream_print (out));
}

int
cmd_merge (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  gboolean           done = FALSE;
  g_autofree char   *target = NULL;
  ExitStatus         status;
  const GOptionEntry extra[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &target, "the store that gets the runs of all",
      "FILE" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (&common, COMMON_PAGES, "STORE...",
                     "Joins the result stores of a sharded sweep. Runs that several have are kept "
                     "once. A store that is there is added to.",
                     "Example:\n  shardsim merge -o all.db shard-0.db shard-1.db\n", extra, argc,
                     argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (target == NULL || common.files[0] == NULL)
    {
      stream_say ("shardsim merge: give -o FILE and the stores to join\n  see 'shardsim merge "
                  "--help'\n");
      return EXIT_USAGE;
    }
  status = common_check_files (&common);
  return status == EXIT_DONE ? (int) merge (&common, target) : (int) status;
}
