/* The command that began a run, as a log or the words around it show it. */
#include <string.h>

#include "import/log/nccl-log-line-private.h"

#define MAX_RANKS 1000000

#define MAX_COMMAND (1u << 16) /* bytes of one that goes over several lines */

typedef struct
{
  char      *name, *value; /* "NCCL_ALGO", "Ring" */
  SourceMark mark;
} Setting;

static void
setting_clear (gpointer data)
{
  Setting *self = data;

  g_free (self->name);
  g_free (self->value);
}

void
log_command_init (LogCommand *self)
{
  *self = (LogCommand){ .settings = g_array_new (FALSE, TRUE, sizeof (Setting)),
                        .continued = g_string_new (NULL) };
  g_array_set_clear_func (self->settings, setting_clear);
}

void
log_command_clear (LogCommand *self)
{
  g_free (self->test);
  g_array_unref (self->settings);
  g_string_free (self->continued, TRUE);
}

/* Bytes of a variable's value: up to what ends a word, or a list of assignments. */
static gsize
value_length (const char *value)
{
  const gsize whole = strcspn (value, " \t`'\";)}");

  for (gsize i = 0; i < whole; i++)
    if (value[i] == ',')
      {
        const gsize name = strspn (value + i + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

        if (name > 0 && value[i + 1 + name] == '=')
          return i;
      }
  return whole;
}

/* Adds a Setting for each variable of the library that TEXT of LINE sets. */
static void
find_settings (const LogLine *line, const char *text, GArray *settings)
{
  for (const char *found = strstr (text, "NCCL_"); found != NULL; found = strstr (found, "NCCL_"))
    {
      const gsize name = strspn (found, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
      const char *value = found + name + 1;
      const gsize blank = found[name] == ' ' ? strspn (found + name, " ") : 0;
      /* "-genv NCCL_ALGO Ring" of MPICH and Intel */
      const gboolean apart = blank > 0 && found > text + 5 && strncmp (found - 5, "genv ", 5) == 0;
      const char    *quoted = apart ? found + name + blank : value;
      const gboolean quote = (found[name] == '=' || apart) && (*quoted == '"' || *quoted == '\'');

      if (found[name] == '=' || apart)
        {
          const char *start = quoted + quote;
          Setting     setting = { g_strndup (found, name), g_strndup (start, value_length (start)),
                                  log_mark (line, found, name) };

          g_array_append_val (settings, setting);
        }
      found += name;
    }
}

/* The number behind OPTION among the words FROM to TO: "-np 2", "--ntasks=2"; 0: none. */
static guint64
number_of (const LogWords *words, guint from, guint to, const char *option)
{
  const gsize length = strlen (option);

  for (guint i = from; i < to; i++)
    {
      const char *word = words->words[i];

      if (log_word_is (words, i, option) && i + 1 < words->n)
        return g_ascii_strtoull (words->words[i + 1], NULL, 10);
      if (words->lengths[i] > length + 1 && strncmp (word, option, length) == 0
          && word[length] == '=')
        return g_ascii_strtoull (word + length + 1, NULL, 10);
    }
  return 0;
}

/* That of the first of OPTIONS that is there; OTHERWISE where none is. */
static guint64
first_number (const LogWords *words, guint from, guint to, const char *const *options,
              guint64 otherwise)
{
  for (guint i = 0; options[i] != NULL; i++)
    {
      const guint64 number = number_of (words, from, to, options[i]);

      if (number > 0)
        return MIN (number, MAX_RANKS);
    }
  return otherwise;
}

/* A word before the test starts processes. */
static gboolean
has_launcher (const LogWords *words, guint test)
{
  static const char *const launchers[] = {
    "mpirun", "mpiexec", "orterun", "prterun", "srun", NULL
  };

  for (guint i = 0; i < test; i++)
    for (guint k = 0; launchers[k] != NULL; k++)
      if (g_strstr_len (words->words[i], (gssize) words->lengths[i], launchers[k]) != NULL)
        return TRUE;
  return FALSE;
}

/* Ranks that "mpirun -np 2 ./all_reduce_perf -g 4" starts; 0: of processes nothing is said. */
static guint
count_ranks (const char *text)
{
  static const char *const processes[] = { "-np", "--np", "-n", "--ntasks", NULL };
  static const char *const gpus[] = { "-g", "--ngpus", NULL };
  static const char *const threads[] = { "-t", "--nthreads", NULL };
  LogWords                 words;
  guint                    test = 0;
  guint64                  n;

  log_split (text, &words);
  while (test < words.n
         && g_strstr_len (words.words[test], (gssize) words.lengths[test], "_perf") == NULL)
    test++;
  if (!has_launcher (&words, test))
    return 0;
  n = first_number (&words, 0, test, processes, 0) * first_number (&words, test, words.n, gpus, 1);
  n *= first_number (&words, test, words.n, threads, 1);
  return test < words.n && n <= MAX_RANKS ? (guint) n : 0;
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Settings from the FIRST on are RUN's. */
static void
apply_settings (const LogCommand *self, guint first, LogRun *run, DiagList *diags)
{
  for (guint i = first; run != NULL && i < self->settings->len; i++)
    {
      const Setting *setting = &g_array_index (self->settings, Setting, i);

      log_run_set_variable (run, setting->name, setting->value, &setting->mark, diags);
    }
}

static void
note_test (LogCommand *self, const char *text)
{
  char *test = log_test_name (text);

  if (test == NULL)
    return;
  g_free (self->test);
  self->test = test;
  self->n_ranks = count_ranks (text);
}

void
log_command_read (LogCommand *self, const LogLine *line, const char *content, LogRun *run,
                  DiagList *diags)
{
  const gsize    length = strlen (content);
  const gboolean goes_on = length > 0 && content[length - 1] == '\\';
  guint          before;

  if (self->used && run == NULL)
    g_array_set_size (self->settings, 0);
  self->used = self->used && run != NULL;
  before = self->settings->len;
  find_settings (line, content, self->settings);
  apply_settings (self, before, run, diags);
  if (self->continued->len < MAX_COMMAND)
    g_string_append_printf (self->continued, "%.*s ", (int) (length - goes_on), content);
  if (goes_on)
    return;
  note_test (self, self->continued->str);
  g_string_truncate (self->continued, 0);
}

void
log_command_begin (LogCommand *self, LogRun *run, DiagList *diags)
{
  run->n_ranks = self->n_ranks;
  apply_settings (self, 0, run, diags);
  self->used = TRUE;
}
