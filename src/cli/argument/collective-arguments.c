#include "cli/argument/collective-arguments.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/intern.h"
#include "cli/argument/value-lists.h"
#include "hardware/profile/figure-settings.h"

SourceMark
argument_mark (const char *option, const char *value)
{
  g_autofree char *place = g_strdup_printf ("%s %s", option, value);

  return (SourceMark){ .file = intern_text (place) };
}

guint64
parse_size (const SourceMark *mark, const char *text, DiagList *diags)
{
  static const char suffixes[] = "KMGT";
  g_autofree char  *why = NULL;
  char             *end;
  double            value = g_ascii_strtod (text, &end);
  const char       *suffix = *end != '\0' ? strchr (suffixes, g_ascii_toupper (*end)) : NULL;

  if (suffix != NULL)
    {
      value *= ldexp (1, 10 * (int) (suffix - suffixes + 1));
      end++;
    }
  if ((end == text || *end != '\0' || !isfinite (value))
      && !quantity_parse (QUANTITY_BYTES, text, &value, &why))
    diag_error (
        diags, mark,
        "bytes, with K, M, G or T for 2^10, 2^20, 2^30 or 2^40, or a unit: 8, 64K, 8G, 1MiB",
        "expected a size, got '%s'", text);
  else if (value < 1 || value > 0x1p50)
    diag_error (diags, mark, NULL, "a size must lie between 1 and 1024T bytes, got '%s'", text);
  else
    return (guint64) value;
  return 0;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Appends "3" or "0-7" of PART to RANKS; each GPU once. N_GPUS 0: not known, appends nothing. */
static void
add_ranks (const char *part, guint n_gpus, gboolean *taken, GArray *ranks, const SourceMark *mark,
           DiagList *diags)
{
  char    *end;
  guint64  first = g_ascii_strtoull (part, &end, 10), last = first;
  gboolean number = g_ascii_isdigit (*part);

  if (number && *end == '-' && g_ascii_isdigit (end[1]))
    last = g_ascii_strtoull (end + 1, &end, 10);
  if (!number || *end != '\0' || last < first)
    diag_error (diags, mark, "GPUs in group order: 0-7,16", "expected a GPU or a range, got '%s'",
                part);
  else if (last >= n_gpus && n_gpus > 0)
    diag_error (diags, mark, NULL, "GPU %" G_GUINT64_FORMAT " does not exist: the cluster has %u",
                last, n_gpus);
  else
    for (guint32 gpu = (guint32) first; gpu <= last && gpu < n_gpus; gpu++)
      {
        if (taken[gpu])
          diag_error (diags, mark, NULL, "GPU %u is given twice", gpu);
        else
          g_array_append_val (ranks, gpu);
        taken[gpu] = TRUE;
      }
}

GArray *
parse_ranks (const SourceMark *mark, const char *text, guint n_gpus, DiagList *diags)
{
  GArray              *ranks = g_array_new (FALSE, FALSE, sizeof (guint32));
  g_autofree gboolean *taken = g_new0 (gboolean, n_gpus);
  g_auto (GStrv)       parts = text != NULL ? g_strsplit (text, ",", -1) : NULL;

  for (guint32 gpu = 0; text == NULL && gpu < n_gpus; gpu++)
    g_array_append_val (ranks, gpu);
  for (guint i = 0; parts != NULL && parts[i] != NULL; i++)
    add_ranks (g_strstrip (parts[i]), n_gpus, taken, ranks, mark, diags);
  if (parts != NULL && parts[0] == NULL)
    add_ranks (text, n_gpus, taken, ranks, mark, diags); /* says what is expected */
  return ranks;
}

/* ---- names ----------------------------------------------------------------------------------- */

guint
parse_word (const SourceMark *mark, const char *what, const char *text, const char *const *names,
            DiagList *diags)
{
  g_autofree char *hint = NULL;

  if (name_index (text, names) >= 0)
    return (guint) name_index (text, names);
  hint = suggest_hint (text, names);
  diag_error (diags, mark, hint, "unknown %s '%s'", what, text);
  return 0;
}

CollectiveKind
parse_kind (const SourceMark *mark, const char *text, DiagList *diags)
{
  CollectiveKind kind = collective_kind_parse (text);

  if (kind != COLLECTIVE_N_KINDS)
    return kind;
  return (CollectiveKind) parse_word (mark, "collective", text, collective_kind_names, diags);
}

/* ---- concurrent collectives ----------------------------------------------------------------- */

typedef enum
{
  KEY_RANKS,
  KEY_START,
  KEY_ALGORITHM,
  KEY_PROTOCOL,
} ConcurrentKey;

static const char *const concurrent_keys[] = { "ranks", "start", "algo", "proto", NULL };

static void
set_key (Concurrent *self, ConcurrentKey key, const char *value, guint n_gpus,
         const SourceMark *mark, DiagList *diags)
{
  static const OptionSpec start = {
    .key = "start", .type = OPTION_QUANTITY, .kind = QUANTITY_TIME, .max = -1
  };
  g_autofree char *lower = g_ascii_strdown (value, -1);

  switch (key)
    {
    case KEY_RANKS:
      g_array_unref (self->ranks);
      self->ranks = parse_ranks (mark, value, n_gpus, diags);
      break;
    case KEY_START:
      option_set (&start, &self->neighbour.start, value, mark, diags);
      break;
    case KEY_ALGORITHM:
      self->neighbour.library.algorithm = (CollectiveAlgorithm) parse_word (
          mark, "algorithm", lower, COLLECTIVE_ALGORITHM_NAMES, diags);
      self->forced_algorithm = TRUE;
      break;
    case KEY_PROTOCOL:
      self->neighbour.library.protocol = (CollectiveProtocol) parse_word (
          mark, "protocol", lower, COLLECTIVE_PROTOCOL_NAMES, diags);
      self->forced_protocol = TRUE;
      break;
    }
}

/* "ranks=8-15" */
static void
parse_assignment (Concurrent *self, char *text, guint n_gpus, guint *seen, const SourceMark *mark,
                  DiagList *diags)
{
  char *equals = strchr (text, '=');
  guint n_errors = diag_list_n_errors (diags), key;

  if (equals == NULL)
    {
      diag_error (diags, mark, "keys: ranks, start, algo, proto", "expected KEY=VALUE, got '%s'",
                  text);
      return;
    }
  *equals = '\0';
  key = parse_word (mark, "key", text, concurrent_keys, diags);
  if (diag_list_n_errors (diags) > n_errors)
    return;
  if (*seen & 1U << key)
    diag_error (diags, mark, NULL, "'%s' is given twice", text);
  *seen |= 1U << key;
  set_key (self, (ConcurrentKey) key, equals + 1, n_gpus, mark, diags);
}

/* A size that leaves each rank something; 0 for "same". */
static guint64
parse_own_size (const Concurrent *self, const char *text, const SourceMark *mark, DiagList *diags)
{
  guint64 bytes = g_str_equal (text, "same") ? 0 : parse_size (mark, text, diags);

  if (bytes > 0 && self->neighbour.n_ranks > 0
      && collective_whole_size (self->neighbour.kind, self->neighbour.n_ranks, bytes) == 0)
    diag_error (diags, mark, NULL, "%s bytes over %u ranks leave none for each", text,
                self->neighbour.n_ranks);
  return bytes;
}

void
parse_concurrent (const char *text, guint n_gpus, const CollectiveOptions *library,
                  Concurrent *concurrent, DiagList *diags)
{
  SourceMark     mark = argument_mark ("--beside", text);
  g_auto (GStrv) parts = g_strsplit (text, ":", -1);
  guint          seen = 0;

  *concurrent = (Concurrent){ .neighbour.library = *library,
                              .ranks = parse_ranks (&mark, NULL, n_gpus, diags) };
  if (g_strv_length (parts) < 2)
    {
      diag_error (diags, &mark, "such as all_gather:256M:ranks=8-15",
                  "expected COLLECTIVE:SIZE[:KEY=VALUE...], got '%s'", text);
      return;
    }
  concurrent->neighbour.kind = parse_kind (&mark, parts[0], diags);
  for (guint i = 2; parts[i] != NULL; i++)
    parse_assignment (concurrent, parts[i], n_gpus, &seen, &mark, diags);
  concurrent->neighbour.ranks = (const guint32 *) (gconstpointer) concurrent->ranks->data;
  concurrent->neighbour.n_ranks = concurrent->ranks->len;
  concurrent->neighbour.bytes = parse_own_size (concurrent, parts[1], &mark, diags);
}

void
concurrent_clear (gpointer data)
{
  g_clear_pointer (&((Concurrent *) data)->ranks, g_array_unref);
}

/* ---- options of the tables ------------------------------------------------------------------- */

void
apply_network_options (const Common *common, ClusterOptions *cluster, CollectiveConfig *library,
                       OptionMarks *marks, OptionMarks *library_marks, DiagList *diags)
{
  value_lists_refuse (common->overrides, diags);
  for (guint i = 0; i < common->overrides->len; i++)
    {
      const ScenarioOverride *override = &g_array_index (common->overrides, ScenarioOverride, i);
      SourceMark              mark = scenario_override_mark (override);
      const char             *key = strchr (override->key, '.') + 1;

      if (value_list_is_in (override))
        continue;
      if (scenario_key_is_figure (override->key))
        {
          if (marks != NULL)
            option_marks_set (marks, "figure", &mark);
          figure_settings_set (&cluster->figure, override->key, override->value, &mark, diags);
        }
      else if (g_str_has_prefix (override->key, "cluster."))
        {
          option_set_key (cluster_options, cluster, key, override->value, &mark, diags);
          if (marks != NULL)
            option_marks_set (marks, key, &mark);
        }
      else
        {
          option_set_key (collective_options, library, key, override->value, &mark, diags);
          if (library_marks != NULL)
            option_marks_set (library_marks, key, &mark);
        }
    }
}
