/*
 * Command lines: an input is the words after `shardsim`, one a line, and after lines "%%" the
 * files "a", "b" and "c". The whole program runs in a child process, in a folder with these files
 * only, with nothing on its standard input and no gnuplot. It ends by itself with one of its
 * statuses; one that computes for seconds is stopped, which is no finding.
 *
 * Words with paths that leave the folder are not run: a command line may name a file to write. Nor
 * is `web`, which serves until it is told to end.
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"
#include "mutate.h"

#define MAX_WORDS   64
#define MAX_SECONDS 4   /* of its processor */
#define MAX_WAIT    300 /* seconds: who waits that long waits for good */
#define MAX_FILE    (64u << 20)
#define LAST_STATUS 3 /* of cli/argument/common.h */

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* The program's main, renamed. */
int shardsim_main (int argc, char **argv);

/* ---- coverage -------------------------------------------------------------------------------- */

/*
 * A fuzzer reads its counters in its own process: the child hands them over when it ends. All code
 * is linked into the target, so that it is one array. Absent where nothing is instrumented.
 */
extern guint8 __start___sancov_cntrs[] __attribute__ ((weak));
extern guint8 __stop___sancov_cntrs[] __attribute__ ((weak));

static gsize
n_counters (void)
{
  return (gsize) (__stop___sancov_cntrs - __start___sancov_cntrs);
}

static guint8 *
shared_counters (void)
{
  static guint8 *shared;

  if (shared == NULL && n_counters () > 0)
    {
      shared =
          mmap (NULL, n_counters (), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      g_assert (shared != MAP_FAILED);
    }
  return shared;
}

static void
copy_counters (guint8 *to, const guint8 *from)
{
  if (n_counters () > 0)
    memcpy (to, from, n_counters ());
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Options that are shorthands of a section's name go by that name. */
char *
fuzz_option_line (const char *section, const char *key, const char *value)
{
  g_autofree char *option = g_strdelimit (g_strdup (key), "_", '-');

  if (g_str_equal (key, "name"))
    return g_strdup_printf ("--%s=%s", section, value);
  if (g_str_equal (section, "strategy") || g_str_equal (section, "memory"))
    return g_strdup_printf ("--set=%s.%s=%s", section, key, value);
  return g_strdup_printf ("--%s=%s", option, value);
}

static gboolean
stays_inside (const char *word)
{
  if (strstr (word, "..") != NULL)
    return FALSE;
  for (const char *slash = strchr (word, '/'); slash != NULL; slash = strchr (slash + 1, '/'))
    if (slash == word || !(g_ascii_isalnum (slash[-1]) || strchr ("._-/", slash[-1]) != NULL))
      return FALSE;
  return TRUE;
}

static gboolean
serves (const char *word)
{
  return g_ascii_strcasecmp (word, "web") == 0;
}

/* The words of INPUT behind the program's name; NULL when they are not to be run. */
static char **
split_words (const FuzzPart *input)
{
  g_autofree char *text = g_strndup (input->data, input->size);
  g_autofree char *all = g_strconcat ("shardsim\n", text, NULL);
  g_auto (GStrv)   words = g_strsplit (all, "\n", MAX_WORDS);
  guint            n = g_strv_length (words);

  while (n > 1 && *words[n - 1] == '\0') /* the last line's end */
    g_clear_pointer (&words[--n], g_free);
  for (guint i = 0; i < n; i++)
    if (!stays_inside (words[i]) || serves (words[i]))
      return NULL;
  return g_steal_pointer (&words);
}

/* ---- the child ------------------------------------------------------------------------------- */

static void
limit (int resource, rlim_t soft, rlim_t hard)
{
  const struct rlimit most = { soft, hard };

  setrlimit (resource, &most);
}

static void
redirect (int to, const char *file, int flags)
{
  const int fd = open (file, flags, 0600);

  g_assert (fd >= 0 && dup2 (fd, to) == to);
  close (fd);
}

static void
run_child (char **words, const char *folder, const char *messages)
{
  int status;

  g_assert (g_chdir (folder) == 0);
  redirect (STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect (STDOUT_FILENO, "/dev/null", O_WRONLY);
  redirect (STDERR_FILENO, messages, O_WRONLY | O_CREAT | O_TRUNC);
  signal (SIGXFSZ, SIG_IGN); /* a write then fails, as on a full disk */
  signal (SIGXCPU, SIG_DFL);
  signal (SIGALRM, SIG_DFL);
  limit (RLIMIT_CPU, MAX_SECONDS, MAX_SECONDS + 1);
  limit (RLIMIT_FSIZE, MAX_FILE, MAX_FILE);
  alarm (MAX_WAIT);
  g_setenv ("PATH", "/nonexistent", TRUE);
  status = shardsim_main ((int) g_strv_length (words), words);
  fflush (NULL);
  copy_counters (shared_counters (), __start___sancov_cntrs);
  _exit (status);
}

static gboolean
is_sound (int status)
{
  if (WIFSIGNALED (status))
    return WTERMSIG (status) == SIGXCPU || WTERMSIG (status) == SIGKILL;
  return WIFEXITED (status) && WEXITSTATUS (status) <= LAST_STATUS;
}

static void
report (char **words, int status, const char *messages)
{
  g_autofree char *line = g_strjoinv (" ", words);
  g_autofree char *text = NULL;

  g_file_get_contents (messages, &text, NULL, NULL);
  g_printerr ("%s\n%s\nended with status %#x\n", line, text != NULL ? text : "", (guint) status);
}

static void
run_words (char **words, const char *folder)
{
  g_autofree char *messages = g_build_filename (fuzz_folder (), "messages", NULL);
  int              status;
  pid_t            child;

  copy_counters (shared_counters (), __start___sancov_cntrs);
  child = fork ();
  g_assert (child >= 0);
  if (child == 0)
    run_child (words, folder, messages);
  g_assert (TEMP_FAILURE_RETRY (waitpid (child, &status, 0)) == child);
  copy_counters (__start___sancov_cntrs, shared_counters ());
  if (is_sound (status))
    return;
  report (words, status, messages);
  abort ();
}

/* A sanitizer's report has a status of its own: no command ends with it. */
const char *__asan_default_options (void);
const char *__ubsan_default_options (void);

const char *
__asan_default_options (void)
{
  return "exitcode=99";
}

const char *
__ubsan_default_options (void)
{
  return "exitcode=99";
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  static const char *const names[] = { "run/a", "run/b", "run/c" };
  FuzzPart                 parts[1 + G_N_ELEMENTS (names)];
  const guint              n = fuzz_split (data, size, parts, G_N_ELEMENTS (parts));
  g_auto (GStrv)           words = split_words (&parts[0]);
  g_autofree char         *folder = g_build_filename (fuzz_folder (), "run", NULL);

  if (words == NULL)
    return -1;
  fuzz_begin ();
  g_mkdir_with_parents (folder, 0700);
  for (guint i = 1; i < n; i++)
    g_free (fuzz_file (names[i - 1], parts[i].data, parts[i].size));
  run_words (words, folder);
  fuzz_remove ("run");
  return 0;
}
