/* Measured collectives: the words of the column `env`. */
#include "import/log/measurement.h"

#include <string.h>

#define SEPARATORS " ;\t"

/*
 * What a word sets: an option of the library or of the cluster, by the key and the value that a
 * scenario would have. KEY NULL: nothing, the traffic is the same.
 */
static const struct
{
  const char       *word;
  const OptionSpec *table;
  const char       *key, *value;
} plain_words[] = {
  { "single-process", collective_options, "single_process", "true" },
  { "nvls=0", collective_options, "nvls", "off" },
  { "nvls=1", collective_options, "nvls", "on" },
  { "pxn=0", collective_options, "pxn", "off" },
  { "pxn=1", collective_options, "pxn", "on" },
  { "sharp", collective_options, "sharp", "true" },
  { "collnet=1", collective_options, "collnet_refused", "true" },
  { "split-data", collective_options, "split_data", "true" },
  { "torch", collective_options, "timed_calls", "true" },
  { "no-gpudirect", cluster_options, "gpu_direct", "off" },
  { "acs-on", cluster_options, "pcie_acs", "on" },
  { "no-cxi-hook", cluster_options, "nic_sockets", "true" },
  { "in-place", NULL, NULL, NULL },
  { "out-of-place", NULL, NULL, NULL },
  { "collnet=0", NULL, NULL, NULL }, /* NCCL's default */
};

/* Words with a value: keys of the library or of the cluster. */
static const struct
{
  const char       *prefix;
  const OptionSpec *table;
  const char       *key;
} valued_words[] = {
  { "nchannels=", collective_options, "nchannels" },
  { "nchannels_per_net_peer=", collective_options, "nchannels_per_net_peer" },
  { "buffsize=", collective_options, "buffsize" },
  { "qps=", cluster_options, "qps" },
};

/* Words that say which ranks, and may come again: measurement_group. */
static const char *const groups[] = { "ranks=", "beside=", NULL };

/* ---- where a word stands --------------------------------------------------------------------- */

/* Of a word that begins at AT of SELF's `env`, LENGTH bytes long. */
static gboolean
mark_at (const Measurement *self, gsize at, gsize length, SourceMark *mark)
{
  const char *cell, *found = NULL;

  *mark = self->env_mark;
  if (mark->file == NULL)
    return FALSE;
  if (mark->column > 0 && mark->text != NULL)
    {
      g_autofree char *word = g_strndup (self->env + at, length);

      cell = g_utf8_offset_to_pointer (mark->text, mark->column - 1);
      if (strlen (cell) > at) /* a quote may stand before it */
        found = strstr (cell + at, word);
      if (found != NULL)
        {
          mark->column += (guint) g_utf8_strlen (cell, found - cell);
          mark->length = (guint) g_utf8_strlen (word, -1);
        }
    }
  return TRUE;
}

gboolean
measurement_word_mark (const Measurement *self, const char *prefix, SourceMark *mark)
{
  gsize at = 0;

  for (; *prefix != '\0' && self->env[at] != '\0'; at += strcspn (self->env + at, SEPARATORS))
    {
      at += strspn (self->env + at, SEPARATORS);
      if (g_str_has_prefix (self->env + at, prefix))
        return mark_at (self, at, strcspn (self->env + at, SEPARATORS), mark);
    }
  *mark = self->env_mark;
  return mark->file != NULL;
}

/* ---- words one by one ------------------------------------------------------------------------ */

typedef struct
{
  CollectiveConfig  config;
  ClusterOptions   *cluster;
  const SourceMark *mark; /* of the word */
  DiagList         *diags;
  gboolean          unknown; /* the word is none of ours */
} Reader;

static void
set_option (Reader *self, const OptionSpec *table, const char *key, const char *value)
{
  gpointer target = table == cluster_options ? (gpointer) self->cluster : &self->config;

  option_set_key (table, target, key, value, self->mark, self->diags);
}

/* Sets *CHOICE to 1 + the index of what "algo=..." or "proto=..." names among N NAMES. */
static void
set_choice (Reader *self, gint *choice, const char *what, const char *const *names, guint n,
            const char *word)
{
  const char      *name = strchr (word, '=') + 1;
  guint            found = name_find_loosely (names, n, name);
  g_autofree char *hint = NULL;

  *choice = (gint) found + 1;
  if (found < n)
    return;
  hint = suggest_hint (name, names);
  diag_warning (self->diags, self->mark, hint, "unknown %s '%s' in 'env'", what, name);
}

/* "nvls=" of "nvls=1"; the whole word where it has no value. */
static gsize
key_length (const char *word)
{
  return strcspn (word, "=") + (strchr (word, '=') != NULL);
}

/* A word with another value, as in "nvls=2". FALSE where WORD is no such. */
static gboolean
refuse_value (Reader *self, const char *word)
{
  g_autoptr (GString) known = g_string_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (plain_words); i++)
    if (strchr (word, '=') != NULL && strncmp (plain_words[i].word, word, key_length (word)) == 0)
      g_string_append_printf (known, "%s%s", known->len > 0 ? ", " : "write ", plain_words[i].word);
  if (known->len > 0)
    diag_error (self->diags, self->mark, known->str, "'%s' in 'env' has no such value", word);
  return known->len > 0;
}

static void
apply_word (Reader *self, const char *word)
{
  if (g_str_has_prefix (word, "algo="))
    {
      set_choice (self, &self->config.algorithm, "algorithm", COLLECTIVE_ALGORITHM_NAMES,
                  ALGORITHM_N, word);
      return;
    }
  if (g_str_has_prefix (word, "proto="))
    {
      set_choice (self, &self->config.protocol, "protocol", COLLECTIVE_PROTOCOL_NAMES, PROTOCOL_N,
                  word);
      return;
    }
  for (guint i = 0; i < G_N_ELEMENTS (plain_words); i++)
    if (strcmp (plain_words[i].word, word) == 0)
      {
        if (plain_words[i].key != NULL)
          set_option (self, plain_words[i].table, plain_words[i].key, plain_words[i].value);
        return;
      }
  for (guint i = 0; i < G_N_ELEMENTS (valued_words); i++)
    if (g_str_has_prefix (word, valued_words[i].prefix))
      {
        set_option (self, valued_words[i].table, valued_words[i].key,
                    word + strlen (valued_words[i].prefix));
        return;
      }
  for (guint i = 0; groups[i] != NULL; i++)
    if (g_str_has_prefix (word, groups[i]))
      return;
  self->unknown = !refuse_value (self, word);
}

/* "did you mean 'nchannels='?"; NULL: WORD is like none, and keeps the row out on purpose. */
static char *
suggest_word (const char *word)
{
  g_autoptr (GPtrArray) words = g_ptr_array_new (), keys = g_ptr_array_new ();
  g_autofree char      *key = g_strndup (word, key_length (word));
  const char           *nearest;

  for (guint i = 0; i < G_N_ELEMENTS (plain_words); i++)
    g_ptr_array_add (words, (gpointer) plain_words[i].word);
  for (guint i = 0; i < G_N_ELEMENTS (valued_words); i++)
    g_ptr_array_add (keys, (gpointer) valued_words[i].prefix);
  for (guint i = 0; groups[i] != NULL; i++)
    g_ptr_array_add (keys, (gpointer) groups[i]);
  g_ptr_array_add (keys, (gpointer) "algo=");
  g_ptr_array_add (keys, (gpointer) "proto=");
  g_ptr_array_add (words, NULL);
  g_ptr_array_add (keys, NULL);
  nearest = suggest_nearest (word, (const char *const *) words->pdata);
  if (nearest == NULL && strchr (word, '=') != NULL)
    nearest = suggest_nearest (key, (const char *const *) keys->pdata);
  return nearest != NULL ? g_strdup_printf ("did you mean '%s'?", nearest) : NULL;
}

/* An earlier word of another value about the same: one of them is not how the run was. */
static const char *
find_contradicted (char *const *said, guint n, const char *word)
{
  static const char *const places[] = { "in-place", "out-of-place", NULL };

  for (guint i = 0; i < n; i++)
    if (strcmp (said[i], word) != 0 && g_strv_contains (places, said[i])
        && g_strv_contains (places, word))
      return said[i];
    else if (strchr (word, '=') != NULL && strncmp (said[i], word, key_length (word)) == 0
             && strcmp (said[i], word) != 0 && !g_str_has_prefix (word, "ranks=")
             && !g_str_has_prefix (word, "beside="))
      return said[i];
  return NULL;
}

/* Adds what is wrong with word I of SAID. */
static void
read_word (Reader *self, char *const *said, guint i)
{
  const char      *word = said[i], *earlier = find_contradicted (said, i, word);
  g_autofree char *hint = NULL;

  self->unknown = FALSE;
  if (earlier != NULL)
    diag_error (self->diags, self->mark, "drop one of the two", "'%s' in 'env' contradicts '%s'",
                word, earlier);
  else if (g_str_has_suffix (word, "="))
    diag_error (self->diags, self->mark,
                g_strv_contains (groups, word) ? "such as 'ranks=0,4-6'" : "such as 'nchannels=16'",
                "'%s' in 'env' has no value", word);
  else
    apply_word (self, word);
  if (!self->unknown)
    return;
  hint = suggest_word (word);
  diag_warning (self->diags, self->mark, hint, "unknown word '%s' in 'env'", word);
}

/* Those of READ that are for the user to see: not of a word that is like none. */
static void
pass_on (const DiagList *read, DiagList *diags)
{
  DiagView view;

  if (diags != NULL && diag_list_get (read, 0, &view) && view.file != NULL
      && (view.severity == DIAG_ERROR || view.hint != NULL))
    diag_list_append (diags, read);
}

char *
measurement_environment (const Measurement *self, CollectiveOptions *options,
                         ClusterOptions *cluster, DiagList *diags)
{
  g_auto (GStrv)       said = g_strsplit_set (self->env, SEPARATORS, -1);
  g_autoptr (DiagList) read = diag_list_new ();
  Reader               reader = { .cluster = cluster, .diags = read };
  g_autofree char     *refusal = NULL;
  RefusedWish          wish;
  SourceMark           mark;
  DiagView             first;

  option_table_defaults (collective_options, &reader.config);
  for (guint i = 0, at = 0; said[i] != NULL && diag_list_is_empty (read); i++)
    {
      reader.mark = mark_at (self, at, strlen (said[i]), &mark) ? &mark : NULL;
      if (*said[i] != '\0')
        read_word (&reader, said, i);
      at += (guint) strlen (said[i]) + 1;
    }
  *options = collective_config_options (&reader.config);
  options->library = self->library;
  option_table_clear (collective_options, &reader.config);
  refusal = collective_options_refusal (options, NULL, &wish);
  if (refusal != NULL && diag_list_is_empty (read))
    diag_error (read, measurement_word_mark (self, "", &mark) ? &mark : NULL, wish.hint, "%s",
                refusal);
  pass_on (read, diags);
  return diag_list_get (read, 0, &first) && first.hint != NULL
                 && g_str_has_prefix (first.hint, "did you mean")
             ? diag_list_first_reason (read)
             : g_strdup (diag_list_first_message (read)); /* a list of names would be long */
}

char *
measurement_words_refusal (const char *env)
{
  g_autoptr (GPtrArray) owner = measurement_array_new ();
  Measurement          *words = measurement_new ();
  CollectiveOptions     options;

  g_ptr_array_add (owner, words);
  g_free (words->env);
  words->env = g_strdup (env);
  return measurement_environment (words, &options, &words->cluster, NULL);
}

/* ENV has WORD, or the same with another value. */
static gboolean
has_word_about (const char *env, const char *word)
{
  g_auto (GStrv) own = g_strsplit_set (env, SEPARATORS, -1);

  for (guint i = 0; own[i] != NULL; i++)
    if (strcmp (own[i], word) == 0
        || (strchr (word, '=') != NULL && strncmp (own[i], word, key_length (word)) == 0))
      return TRUE;
  return FALSE;
}

char *
measurement_words_merge (const char *env, const char *words)
{
  GString       *merged = g_string_new (env);
  g_auto (GStrv) more = g_strsplit_set (words != NULL ? words : "", SEPARATORS, -1);

  for (guint i = 0; more[i] != NULL; i++)
    if (*more[i] != '\0' && !has_word_about (env, more[i]))
      g_string_append_printf (merged, "%s%s", merged->len > 0 ? " " : "", more[i]);
  return g_string_free (merged, FALSE);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Appends "3" or "4-7"; FALSE where TEXT is neither, or names a rank that is none or is taken. */
static gboolean
add_ranks (const char *text, gboolean *taken, guint n_gpus, GArray *ranks)
{
  g_auto (GStrv) ends = g_strsplit (text, "-", 2);
  guint64        first, last;

  if (ends[0] == NULL || !g_ascii_string_to_unsigned (ends[0], 10, 0, G_MAXUINT32, &first, NULL)
      || !g_ascii_string_to_unsigned (ends[1] != NULL ? ends[1] : ends[0], 10, first, G_MAXUINT32,
                                      &last, NULL)
      || last >= n_gpus)
    return FALSE;
  for (guint32 rank = (guint32) first; rank <= last; rank++)
    {
      if (taken[rank])
        return FALSE;
      taken[rank] = TRUE;
      g_array_append_val (ranks, rank);
    }
  return TRUE;
}

GArray *
measurement_group (const Measurement *self, const char *word, guint n_gpus, char **reason)
{
  g_auto (GStrv)       words = g_strsplit_set (self->env, SEPARATORS, -1);
  g_autofree char     *prefix = g_strdup_printf ("%s=", word);
  g_autofree gboolean *taken = g_new0 (gboolean, n_gpus);
  g_autoptr (GArray)   ranks = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint i = 0; words[i] != NULL; i++)
    if (g_str_has_prefix (words[i], prefix))
      {
        g_auto (GStrv) parts = g_strsplit (words[i] + strlen (prefix), ",", -1);
        gboolean       good = parts[0] != NULL;

        for (guint p = 0; good && parts[p] != NULL; p++)
          good = add_ranks (parts[p], taken, n_gpus, ranks);
        if (!good)
          {
            *reason = g_strdup_printf ("'%s' in 'env' are no ranks of %u", words[i], n_gpus);
            return NULL;
          }
      }
  return ranks->len > 0 ? g_steal_pointer (&ranks) : NULL;
}
