/* shardsim merge: the result stores of a sharded sweep as one. */
#include "cli/argument/common.h"
#include "cli/output/store-output.h"
#include "report/answer/sweep.h"

typedef struct
{
  char *target;
} Settings;

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
    common_say (common, "%" G_GUINT64_FORMAT " runs have another result in '%s', which stays\n",
                differing, target);
  return store_write_pages (common, store, target, stream_print (out));
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings  *settings = data;
  const ExitStatus status = common_check_outputs (common);

  return status == EXIT_DONE ? merge (common, settings->target) : status;
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FILE, target, "FILE", "the store that gets the runs of all"),
    .letter = 'o' },
  { 0 },
};

#define MISSING "give -o FILE and the stores to join"

static const OptionRule rules[] = {
  { .needs = "output", .words = MISSING "\n  see 'shardsim merge --help'" },
  { 0 },
};

const Command command_merge = {
  .name = "merge",
  .help = "joins the result stores of a sharded sweep",
  .arguments = "STORE...",
  .summary = "Joins the result stores of a sharded sweep. Runs that several have are kept once. A "
             "store that is there is added to.",
  .examples = "Example:\n  shardsim merge -o all.db shard-0.db shard-1.db\n",
  .takes = COMMON_PAGES,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .missing = MISSING,
  .run = run,
};
