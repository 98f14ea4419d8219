/* Commands that a shell has itself, those that run a script, and those that may train. */
#include <string.h>

#include "base/config/config.h"
#include "import/shell/shell-private.h"

#define MAX_FILES     64
#define MIN_ARGUMENTS 2 /* of a command that may train */

static const char *
word (const GPtrArray *fields, guint i)
{
  return i < fields->len ? ((const ShellText *) fields->pdata[i])->chars->str : "";
}

static ShellPlace
place_of (const GPtrArray *fields, guint i)
{
  return i < fields->len ? shell_text_place (fields->pdata[i], 0) : (ShellPlace){ NULL, 0 };
}

static const char *
base_name (const char *path)
{
  const char *slash = strrchr (path, '/');

  return slash == NULL ? path : slash + 1;
}

void
shell_command_free (ShellCommand *self)
{
  g_ptr_array_unref (self->fields);
  g_free (self);
}

/* ---- scripts that a command runs ------------------------------------------------------------- */

/* Arguments FROM and behind become $1 ...; returns what they were. */
static GPtrArray *
set_positional (Shell *shell, const GPtrArray *fields, guint from)
{
  GPtrArray *before = shell->positional;

  shell->positional = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
  for (guint i = from; i < fields->len; i++)
    g_ptr_array_add (shell->positional, shell_text_copy (shell, fields->pdata[i]));
  return before;
}

static void
restore_positional (Shell *shell, GPtrArray *before)
{
  /* An expansion that goes on may read one of them. */
  while (shell->positional->len > 0)
    g_ptr_array_add (shell->old, g_ptr_array_steal_index (shell->positional, 0));
  g_ptr_array_unref (shell->positional);
  shell->positional = before;
}

/* Environments of Python and the like set nothing of a job. */
static gboolean
is_environment (const char *name)
{
  return strcmp (name, "activate") == 0 || strstr (name, "conda") != NULL
         || strstr (name, "profile") != NULL || strstr (name, "bashrc") != NULL
         || g_str_has_prefix (name, "setvars") || g_str_has_prefix (name, "modules");
}

/* The path of a regular file NAME beside the script. Newly allocated; NULL: there is none. */
static char *
beside (const Shell *shell, const char *name)
{
  const char *const tries[] = { name, base_name (name) };

  for (guint i = 0; i < G_N_ELEMENTS (tries) && shell->folder != NULL; i++)
    {
      g_autofree char *path = g_build_filename (shell->folder, tries[i], NULL);

      if (tries[i][0] != '/' && tries[i][0] != '\0' && strstr (tries[i], "..") == NULL
          && g_file_test (path, G_FILE_TEST_IS_REGULAR))
        return g_steal_pointer (&path);
    }
  return NULL;
}

/* The last part of a path, behind what of it is not known. */
static char *
known_part (const ShellText *path)
{
  const char *known = strrchr (path->chars->str, SHELL_KNOWN);

  if (known == NULL)
    return g_strdup (path->chars->str + (g_str_has_prefix (path->chars->str, "./") ? 2 : 0));
  return g_strdup (known[1] == '/' ? known + 2 : known + 1);
}

static gboolean
follow_file (Shell *shell, const GPtrArray *fields, guint i)
{
  g_autofree char       *name = i < fields->len ? known_part (fields->pdata[i]) : g_strdup ("");
  g_autofree char       *path = beside (shell, name);
  const SourceMark       mark = shell_place_mark (place_of (fields, i), (guint) strlen (name));
  g_autoptr (GByteArray) bytes = NULL;
  GPtrArray             *before;
  int                    error = 0;

  if (path == NULL)
    {
      if (!is_environment (base_name (name)) && name[0] != '\0')
        diag_warning (shell->diags, &mark, "put it there, or write what it sets into the script",
                      "'%s' is not beside the script: what it sets is not known", base_name (name));
      return FALSE;
    }
  if (++shell->files > MAX_FILES)
    {
      shell_fail (shell, place_of (fields, i), NULL, "the script reads more than %d files",
                  MAX_FILES);
      return TRUE;
    }
  bytes = config_read_file (path, &error);
  if (bytes == NULL || bytes->len > CONFIG_MAX_BYTES
      || memchr (bytes->data, '\0', bytes->len) != NULL)
    {
      diag_warning (shell->diags, &mark, NULL, "'%s' cannot be read: what it sets is not known",
                    name);
      return TRUE;
    }
  g_byte_array_append (bytes, (const guint8 *) "", 1);
  if (!shell_spend (shell, bytes->len, place_of (fields, i)))
    return TRUE;
  before = set_positional (shell, fields, i + 1);
  for (guint k = 0; i + 1 >= fields->len && k < before->len; k++)
    g_ptr_array_add (shell->positional, shell_text_copy (shell, before->pdata[k]));
  shell_follow (shell, shell_source_new (shell, path, (const char *) bytes->data, NULL));
  restore_positional (shell, before);
  shell->returning = FALSE;
  return TRUE;
}

/* MADE, which is taken over, is read as a script. */
static void
follow_text (Shell *shell, ShellText *made)
{
  if (shell_spend (shell, made->chars->len, shell_text_place (made, 0)))
    shell_follow (shell, shell_source_new (shell, "", made->chars->str, made));
  else
    shell_text_free (made);
}

static ShellText *
join (Shell *shell, const GPtrArray *fields, guint from)
{
  ShellText *joined = shell_text_new ();

  for (guint i = from; i < fields->len; i++)
    {
      const ShellText *field = fields->pdata[i];

      if (i > from)
        shell_text_append (shell, joined, ' ', shell_text_place (field, 0));
      shell_text_append_range (shell, joined, field, 0, field->chars->len);
    }
  return joined;
}

/* ---- what launches --------------------------------------------------------------------------- */

/* Options of launchers and batch systems that say how many nodes, and GPUs in each. */
static const struct
{
  const char *option, *key;
} sizes[] = {
  { "--nnodes", "--nnodes" },
  { "--num-nodes", "--nnodes" },
  { "--num-machines", "--nnodes" },
  { "--nodes", "--nnodes" },
  { "-N", "--nnodes" },
  { "--nproc-per-node", "--nproc-per-node" },
  { "--num-gpus", "--nproc-per-node" },
  { "--npernode", "--nproc-per-node" },
  { "--ntasks-per-node", "--nproc-per-node" },
  { "--gpus-per-node", "--nproc-per-node" },
  { "--gres", "--nproc-per-node" },
};

static const char *
size_key (const char *option, gsize n)
{
  g_autofree char *dashes = g_strndup (option, n);

  g_strdelimit (dashes + MIN (n, 2), "_", '-');
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    if (strcmp (dashes, sizes[i].option) == 0)
      return sizes[i].key;
  return NULL;
}

/* The last number of "gpu:a100:8", the first of "1:4", or what is not known. */
static void
note_size (Shell *shell, const char *key, const ShellText *value, gsize from)
{
  const char *text = value->chars->str + from;
  const gsize n = value->chars->len;
  ShellText  *copy = shell_text_new ();
  gsize       begin = from;

  if (g_str_has_prefix (text, "gpu"))
    begin = (gsize) ((strrchr (text, ':') != NULL ? strrchr (text, ':') + 1 : text + strlen (text))
                     - value->chars->str);
  shell_text_append_range (shell, copy, value, begin,
                           g_ascii_isdigit (value->chars->str[begin])
                               ? begin + strspn (value->chars->str + begin, "0123456789")
                               : n);
  if (copy->chars->len > 0
      && (copy->chars->str[0] == SHELL_UNKNOWN || g_ascii_isdigit (copy->chars->str[0])))
    g_hash_table_replace (shell->launch, g_strdup (key), copy);
  else
    shell_text_free (copy);
}

void
shell_note_launcher (Shell *shell, const GPtrArray *fields, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      const char *option = word (fields, i);
      const gsize length = strcspn (option, "=");
      const char *key = option[0] == '-' ? size_key (option, length) : NULL;

      if (key == NULL)
        continue;
      if (option[length] == '=')
        note_size (shell, key, fields->pdata[i], length + 1);
      else if (i + 1 < n)
        note_size (shell, key, fields->pdata[i + 1], 0);
    }
}

/* ---- the command that trains ----------------------------------------------------------------- */

static gboolean
is_launcher (const char *name)
{
  static const char *const names[] = { "torchrun", "python",      "python3", "srun",   "mpirun",
                                       "mpiexec",  "accelerate",  "torchx",  "launch", "exec",
                                       "env",      "nohup",       "bash",    "sh",     "numactl",
                                       "nsys",     "singularity", NULL };

  return g_strv_contains (names, base_name (name));
}

static gboolean
is_argument (const char *text)
{
  return g_str_has_prefix (text, "--") && (g_ascii_isalpha (text[2]) || text[2] == '_');
}

/* The first argument of the program among FIELDS; their number: there is no program. */
static guint
find_program (const GPtrArray *fields)
{
  gboolean launched = is_launcher (word (fields, 0));

  if (is_argument (word (fields, 0)))
    return 0;
  for (guint i = 0; i < fields->len; i++)
    if (g_str_has_suffix (word (fields, i), ".py"))
      return i + 1;
  for (guint i = 1; i < fields->len; i++)
    if (strcmp (word (fields, i - 1), "-m") == 0
        && !g_str_has_prefix (word (fields, i), "torch.distributed"))
      return i + 1;
  for (guint i = 1; i < fields->len && launched; i++)
    {
      const char *text = word (fields, i);

      if (is_launcher (text) || text[0] == '-')
        continue;
      /* A word behind an option may be its value; one that is not known is the script. */
      if (word (fields, i - 1)[0] != '-' || text[0] == SHELL_UNKNOWN)
        return i + 1;
    }
  return fields->len;
}

static void
note_command (Shell *shell, GPtrArray *fields)
{
  const guint   split = find_program (fields);
  ShellCommand *self;
  guint         n = 0;

  for (guint i = split; i < fields->len; i++)
    if (is_argument (word (fields, i)) || strchr (word (fields, i), '=') != NULL)
      n++;
  shell_note_launcher (shell, fields, n < MIN_ARGUMENTS ? fields->len : split);
  if (n < MIN_ARGUMENTS)
    return;
  self = g_new0 (ShellCommand, 1);
  self->fields = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
  for (guint i = 0; i < fields->len; i++)
    g_ptr_array_add (self->fields, shell_text_copy (shell, fields->pdata[i]));
  self->split = split;
  self->n_arguments = n;
  g_ptr_array_add (shell->commands, self);
}

/* ---- commands -------------------------------------------------------------------------------- */

static ShellStatus
run_unset (Shell *shell, GPtrArray *fields)
{
  for (guint i = 1; i < fields->len; i++)
    {
      ShellVariable *variable = shell_variable (shell, word (fields, i));

      if (variable != NULL)
        variable->set = FALSE;
    }
  return SHELL_TRUE;
}

static ShellStatus
run_set (Shell *shell, GPtrArray *fields)
{
  for (guint i = 1; i < fields->len; i++)
    if (strcmp (word (fields, i), "--") == 0)
      {
        GPtrArray *before = set_positional (shell, fields, i + 1);

        g_ptr_array_extend_and_steal (shell->old, before);
        break;
      }
  return SHELL_TRUE;
}

static ShellStatus
run_shift (Shell *shell, GPtrArray *fields)
{
  guint64 n = fields->len > 1 ? g_ascii_strtoull (word (fields, 1), NULL, 10) : 1;

  for (; n > 0 && shell->positional->len > 0; n--)
    g_ptr_array_add (shell->old, g_ptr_array_steal_index (shell->positional, 0));
  return SHELL_TRUE;
}

static ShellStatus
run_source (Shell *shell, GPtrArray *fields)
{
  follow_file (shell, fields, 1);
  return SHELL_RAN;
}

static ShellStatus
run_eval (Shell *shell, GPtrArray *fields)
{
  follow_text (shell, join (shell, fields, 1));
  return SHELL_RAN;
}

static ShellStatus
run_return (Shell *shell, GPtrArray *fields)
{
  shell->returning = TRUE;
  return strcmp (word (fields, 1), "1") == 0 ? SHELL_FALSE : SHELL_TRUE;
}

/* A script that gives up for want of something is read on: what it wants may be elsewhere. */
static ShellStatus
run_exit (Shell *shell, G_GNUC_UNUSED GPtrArray *fields)
{
  shell->stopped = shell->commands->len > 0;
  return SHELL_TRUE;
}

static ShellStatus
run_true (G_GNUC_UNUSED Shell *shell, G_GNUC_UNUSED GPtrArray *fields)
{
  return SHELL_TRUE;
}

static ShellStatus
run_false (G_GNUC_UNUSED Shell *shell, G_GNUC_UNUSED GPtrArray *fields)
{
  return SHELL_FALSE;
}

static ShellStatus
run_nothing (G_GNUC_UNUSED Shell *shell, G_GNUC_UNUSED GPtrArray *fields)
{
  return SHELL_RAN;
}

typedef ShellStatus (*Run) (Shell *shell, GPtrArray *fields);

static const struct
{
  const char *name;
  Run         run;
} builtins[] = {
  { "unset", run_unset },    { "set", run_set },        { "shift", run_shift },
  { "source", run_source },  { ".", run_source },       { "eval", run_eval },
  { "return", run_return },  { "exit", run_exit },      { ":", run_true },
  { "true", run_true },      { "false", run_false },    { "echo", run_nothing },
  { "printf", run_nothing }, { "cd", run_nothing },     { "mkdir", run_nothing },
  { "let", run_nothing },    { "export", run_nothing },
};

/* "read NAME <<END" takes the here-document. */
static ShellStatus
run_read (Shell *shell, GPtrArray *fields, const ShellSource *source, const ShellDocument *document)
{
  const char *name = word (fields, fields->len - 1);

  if (document != NULL && shell_name_end (name, 0, strlen (name)) == strlen (name)
      && name[0] != '\0')
    shell_assign (shell, name, shell_expand_document (shell, source, document),
                  place_of (fields, fields->len - 1));
  return SHELL_RAN;
}

/* A shell among FIELDS from I on: "bash -c TEXT", "bash FILE ARGUMENTS". */
static gboolean
run_shell (Shell *shell, GPtrArray *fields, guint i)
{
  for (guint k = i + 1; k < fields->len; k++)
    {
      const char *text = word (fields, k);

      if (text[0] == '-' && strchr (text, 'c') != NULL && text[1] != '-' && k + 1 < fields->len)
        {
          ShellText *made = shell_text_copy (shell, fields->pdata[k + 1]);
          GPtrArray *before = set_positional (shell, fields, MIN (k + 3, fields->len));

          follow_text (shell, made);
          restore_positional (shell, before);
          return TRUE;
        }
      if (text[0] != '-')
        return g_str_has_suffix (text, ".sh") && follow_file (shell, fields, k);
    }
  return FALSE;
}

/* Programs that run a script: a shell, wherever it stands in the command, and sbatch. */
static gboolean
run_script (Shell *shell, GPtrArray *fields, const ShellSource *source,
            const ShellDocument *document)
{
  static const char *const takers[] = { "sbatch", "bash", "sh", "srun", "qsub", NULL };
  const gboolean           batch = strcmp (word (fields, 0), "sbatch") == 0;

  if (document != NULL && g_strv_contains (takers, base_name (word (fields, 0))))
    {
      follow_text (shell, shell_expand_document (shell, source, document));
      return TRUE;
    }
  for (guint i = 0; i < fields->len; i++)
    {
      const char *name = base_name (word (fields, i));

      if (strcmp (name, "bash") == 0 || strcmp (name, "sh") == 0 || strcmp (name, "zsh") == 0)
        {
          shell_note_launcher (shell, fields, i);
          return run_shell (shell, fields, i);
        }
      if (i > 0 && batch && g_str_has_suffix (name, ".sh"))
        {
          shell_note_launcher (shell, fields, i);
          return follow_file (shell, fields, i);
        }
    }
  return g_str_has_suffix (word (fields, 0), ".sh") && follow_file (shell, fields, 0);
}

static ShellStatus
call_function (Shell *shell, GPtrArray *fields, ShellPlace place)
{
  GPtrArray *before = set_positional (shell, fields, 1);

  shell_follow_body (shell, place);
  restore_positional (shell, before);
  return SHELL_RAN;
}

ShellStatus
shell_run_command (Shell *shell, GPtrArray *fields, const ShellSource *source,
                   const ShellDocument *document)
{
  const char       *name = word (fields, 0);
  const ShellPlace *function = g_hash_table_lookup (shell->functions, name);

  if (function != NULL)
    return call_function (shell, fields, *function);
  for (guint i = 0; i < G_N_ELEMENTS (builtins); i++)
    if (strcmp (name, builtins[i].name) == 0)
      return builtins[i].run (shell, fields);
  if (strcmp (name, "read") == 0)
    return run_read (shell, fields, source, document);
  if (!run_script (shell, fields, source, document) && !shell->failed)
    note_command (shell, fields);
  return SHELL_RAN;
}

/* ---- substitutions --------------------------------------------------------------------------- */

/* Fields of a command that stands alone in [FROM, TO); NULL: it does not. */
static GPtrArray *
lone_command (Shell *shell, const ShellSource *source, gsize from, gsize to,
              ShellDocument **document)
{
  g_autoptr (GPtrArray) fields = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
  gsize                 at = from;

  while (!shell->failed && (at = shell_skip_blanks (source, at, FALSE)) < to)
    {
      const gsize           end = MIN (shell_word_end (shell, source, at), to);
      g_autoptr (GPtrArray) more = NULL;

      if (end == at && shell_at (source, at, "<<") && *document == NULL)
        {
          at += 2;
          *document = shell_document_new (shell, source, &at);
          if (*document == NULL)
            return NULL;
          at += strcspn (source->text + at, "\n") + 1;
          at = shell_document_read (*document, source, MIN (at, source->length));
          continue;
        }
      if (end == at && source->text[at] == '\n' && shell_skip_blanks (source, at, TRUE) >= to)
        break;
      if (end == at)
        return NULL;
      more = shell_expand_fields (shell, source, at, end);
      while (more->len > 0)
        g_ptr_array_add (fields, g_ptr_array_steal_index (more, 0));
      at = end;
    }
  return shell->failed || fields->len == 0 ? NULL : g_steal_pointer (&fields);
}

static ShellText *
text_of (Shell *shell, const char *string, ShellPlace place)
{
  ShellText *text = shell_text_new ();

  shell_text_append_string (shell, text, string, place);
  return text;
}

static ShellText *
output_of (Shell *shell, GPtrArray *fields, ShellPlace place)
{
  const char           *name = word (fields, 0);
  g_autoptr (ShellText) joined = join (shell, fields, 1);
  g_autofree char      *path = NULL;
  gint64                value = 0;

  if (strcmp (name, "echo") == 0 && word (fields, 1)[0] != '-')
    return g_steal_pointer (&joined);
  if (strcmp (name, "pwd") == 0)
    return text_of (shell, ".", place);
  if (!shell_text_is_known (joined) || fields->len < 2)
    return NULL;
  if (strcmp (name, "expr") == 0 && shell_arithmetic (shell, joined, &value))
    {
      g_autofree char *digits = g_strdup_printf ("%" G_GINT64_FORMAT, value);

      return text_of (shell, digits, place);
    }
  if (strcmp (name, "dirname") == 0)
    path = g_path_get_dirname (word (fields, 1));
  else if (strcmp (name, "basename") == 0 && fields->len == 2)
    path = g_path_get_basename (word (fields, 1));
  else if (strcmp (name, "realpath") == 0 || strcmp (name, "readlink") == 0)
    path = g_strdup (word (fields, fields->len - 1));
  return path == NULL ? NULL : text_of (shell, path, place);
}

ShellText *
shell_substitute (Shell *shell, const ShellSource *source, gsize from, gsize to)
{
  ShellDocument        *document = NULL;
  ShellText            *out = NULL;
  g_autoptr (GPtrArray) fields = NULL;

  if (!shell_enter (shell, (ShellPlace){ source, from }))
    return NULL;
  fields = lone_command (shell, source, from, to, &document);
  if (fields != NULL && document != NULL && strcmp (word (fields, 0), "cat") == 0)
    out = shell_expand_document (shell, source, document);
  else if (fields != NULL && document == NULL)
    out = output_of (shell, fields, (ShellPlace){ source, from });
  g_clear_pointer (&document, shell_document_free);
  shell->depth--;
  return out;
}
