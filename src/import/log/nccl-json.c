/* The JSON of nccl-tests -J: one run a file, version 1. */
#include <math.h>
#include <string.h>

#include "base/config/units.h"
#include "base/intern.h"
#include "import/log/nccl-log-private.h"

#define KNOWN_VERSION 1

typedef struct
{
  LogTarget *target;
  LogRun    *run;
} Reader;

/* ---- values ---------------------------------------------------------------------------------- */

/* MAP's KEY, of KIND; NULL after a diagnostic. */
static const ConfigNode *
need (const Reader *self, const ConfigNode *map, const char *key, ConfigKind kind)
{
  const ConfigNode *node = config_node_get (map, key);

  if (node == NULL)
    diag_error (self->target->diags, config_node_mark (map), "a complete file of nccl-tests -J",
                "missing '%s'", key);
  else if (config_node_expect (node, kind, self->target->diags))
    return node;
  return NULL;
}

/* The number of NODE, at least LEAST; FALSE after a diagnostic. */
static gboolean
read_number (const Reader *self, const ConfigNode *node, const char *key, double least,
             double *value)
{
  const char *text = config_node_text (node);
  char       *end;

  *value = text != NULL ? g_ascii_strtod (text, &end) : 0;
  if (text != NULL && end != text && *end == '\0' && number_is_usable (*value) && *value >= least
      && *value <= 9007199254740992.0)
    return TRUE;
  diag_error (self->target->diags, config_node_mark (node), NULL,
              "expected a number for '%s', got '%s'", key, text != NULL ? text : "a list or a map");
  return FALSE;
}

static gboolean
need_number (const Reader *self, const ConfigNode *map, const char *key, double least,
             double *value)
{
  const ConfigNode *node = need (self, map, key, CONFIG_SCALAR);

  return node != NULL && read_number (self, node, key, least, value);
}

static char *
need_text (const Reader *self, const ConfigNode *map, const char *key)
{
  const ConfigNode *node = need (self, map, key, CONFIG_SCALAR);

  return g_strdup (node != NULL ? config_node_text (node) : "");
}

/* ---- head ------------------------------------------------------------------------------------ */

static void
read_device (const Reader *self, const ConfigNode *device)
{
  LogRank          rank = { .pid = -1,
                            .n_ranks = 1,
                            .mark = *config_node_mark (device),
                            .gpu_mark = *config_node_mark (device) };
  double           number, group, pid;
  g_autofree char *slot = NULL, *bus = NULL;

  if (!config_node_expect (device, CONFIG_MAP, self->target->diags))
    return;
  if (!need_number (self, device, "rank", 0, &number)
      || !need_number (self, device, "group", 0, &group)
      || !need_number (self, device, "pid", 0, &pid))
    return;
  rank.rank = (gint64) number;
  rank.group = (gint64) group;
  rank.pid = (gint64) pid;
  rank.host = need_text (self, device, "hostname");
  rank.gpu = need_text (self, device, "device_info");
  slot = need_text (self, device, "device");
  bus = need_text (self, device, "device_hex");
  rank.slot = g_strdup_printf ("%s %s", slot, bus);
  if (config_node_get (device, "device_info") != NULL)
    rank.gpu_mark = *config_node_mark (config_node_get (device, "device_info"));
  g_array_append_val (self->run->ranks, rank);
}

/* Only the first rank of each process is listed. */
static void
spread_processes (const Reader *self)
{
  GArray      *ranks = self->run->ranks;
  const guint  own = MAX (self->run->n_threads, 1) * MAX (self->run->n_gpus, 1);
  const gint64 step = ranks->len > 1 ? g_array_index (ranks, LogRank, 1).rank
                                           - g_array_index (ranks, LogRank, 0).rank
                                     : (gint64) own;

  for (guint i = 0; i < ranks->len && step == (gint64) own; i++)
    g_array_index (ranks, LogRank, i).n_ranks = own;
}

/* Ways to run that are no plain sequence of calls. */
static void
read_mode (const Reader *self, const ConfigNode *config)
{
  const ConfigNode *blocking = config_node_get (config, "blocking_collectives");
  const ConfigNode *aggregated = config_node_get (config, "aggregated_iterations");
  double            n;

  if (blocking != NULL && g_strcmp0 (config_node_text (blocking), "true") == 0)
    log_run_add_word (self->run, "blocking");
  if (aggregated != NULL && read_number (self, aggregated, "aggregated_iterations", 0, &n) && n > 1)
    log_run_add_word (self->run, "aggregated");
}

static void
read_head (const Reader *self, const ConfigNode *root)
{
  const ConfigNode *args = need (self, root, "args", CONFIG_LIST);
  const ConfigNode *config = need (self, root, "config", CONFIG_MAP);
  const ConfigNode *library = config_node_get (root, "nccl_version");
  const ConfigNode *env = config_node_get (root, "env");
  double            code;

  if (args != NULL && config_node_length (args) > 0
      && config_node_text (config_node_item (args, 0)) != NULL)
    self->run->test = log_test_name (config_node_text (config_node_item (args, 0)));
  if (library != NULL && read_number (self, library, "nccl_version", 0, &code))
    log_run_set_library_code (self->run, (guint64) code, config_node_mark (library),
                              self->target->diags);
  if (env != NULL && config_node_expect (env, CONFIG_LIST, self->target->diags))
    {
      /* "NCCL_ALGO=Ring" */
      for (guint i = 0; env != NULL && i < config_node_length (env); i++)
        {
          const ConfigNode *entry = config_node_item (env, i);
          const char       *text = config_node_text (entry);
          const char       *equals = text != NULL ? strchr (text, '=') : NULL;
          g_autofree char *name = equals != NULL ? g_strndup (text, (gsize) (equals - text)) : NULL;

          if (name != NULL)
            log_run_set_variable (self->run, name, equals + 1, config_node_mark (entry),
                                  self->target->diags);
        }
    }
  if (config != NULL)
    {
      const ConfigNode *devices = need (self, config, "devices", CONFIG_LIST);
      double            threads = 1, gpus = 1;

      if (need_number (self, config, "nthreads", 1, &threads)
          && need_number (self, config, "ngpus", 1, &gpus) && threads * gpus <= 1024)
        {
          self->run->n_threads = (guint) threads;
          self->run->n_gpus = (guint) gpus;
        }
      read_mode (self, config);
      for (guint i = 0; devices != NULL && i < config_node_length (devices); i++)
        read_device (self, config_node_item (devices, i));
      spread_processes (self);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void
read_half (const Reader *self, const ConfigNode *half, LogHalf *result)
{
  const ConfigNode *wrong, *cpu = config_node_get (half, "cpu_time");
  double            time, number;

  if (cpu != NULL)
    {
      diag_error (self->target->diags, config_node_mark (cpu), "run nccl-tests without -C",
                  "times of the CPU, not of the collective");
      return;
    }
  if (!need_number (self, half, "time", 0, &time))
    return;
  if (time <= 0)
    diag_error (self->target->diags, config_node_mark (config_node_get (half, "time")), NULL,
                "expected a time above 0, got '%s'",
                config_node_text (config_node_get (half, "time")));
  need_number (self, half, "alg_bw", 0, &result->rate);
  need_number (self, half, "bus_bw", 0, &number);
  wrong = config_node_get (half, "nwrong");
  if (wrong != NULL && !config_node_is_null (wrong)
      && read_number (self, wrong, "nwrong", 0, &number) && number > 0)
    diag_error (self->target->diags, config_node_mark (wrong),
                "a run that computes wrong results measures nothing", "wrong results: %s",
                config_node_text (wrong));
  result->time_us = time;
}

static void
read_result (const Reader *self, const ConfigNode *result)
{
  static const char *const halves[LOG_N_HALVES] = { "out_of_place", "in_place" };
  LogRow                   row = { .mark = *config_node_mark (result) };
  double                   bytes, count;
  g_autofree char         *type = NULL;

  if (!config_node_expect (result, CONFIG_MAP, self->target->diags)
      || !need_number (self, result, "size", 0, &bytes)
      || !need_number (self, result, "count", 0, &count))
    return;
  row.bytes = (guint64) bytes;
  row.count = (guint64) count;
  type = need_text (self, result, "type");
  row.element = log_element_size (type, strlen (type));
  for (guint i = 0; i < LOG_N_HALVES; i++)
    {
      const ConfigNode *half = config_node_get (result, halves[i]);

      if (half == NULL)
        diag_error (self->target->diags, config_node_mark (result), NULL, "missing '%s'",
                    halves[i]);
      else if (!config_node_is_null (half)
               && config_node_expect (half, CONFIG_MAP, self->target->diags))
        read_half (self, half, &row.halves[i]);
    }
  g_array_append_val (self->run->rows, row);
}

/* What closes a run, without which the file is cut. */
static void
check_closing (const Reader *self, const ConfigNode *root)
{
  const ConfigNode *bounds = config_node_get (root, "out_of_bounds");
  const ConfigNode *okay = bounds != NULL ? config_node_get (bounds, "okay") : NULL;

  need (self, root, "average_bus_bandwidth", CONFIG_MAP);
  if (okay != NULL && g_strcmp0 (config_node_text (okay), "false") == 0)
    diag_error (self->target->diags, config_node_mark (okay),
                "a run that computes wrong results measures nothing",
                "the run's results are wrong");
}

static void
read_root (Reader *self, const ConfigNode *root)
{
  const ConfigNode *results;
  double            version;

  if (!need_number (self, root, "version", 0, &version))
    return;
  if (version != KNOWN_VERSION)
    {
      diag_error (self->target->diags, config_node_mark (config_node_get (root, "version")), NULL,
                  "version %g of nccl-tests' JSON is not known, %d is", version, KNOWN_VERSION);
      return;
    }
  read_head (self, root);
  results = need (self, root, "results", CONFIG_LIST);
  for (guint i = 0; results != NULL && i < config_node_length (results); i++)
    read_result (self, config_node_item (results, i));
  check_closing (self, root);
  log_add_run (self->target, self->run);
}

GPtrArray *
nccl_json_load (const char *file, const MeasurementContext *context, DiagList *diags)
{
  const guint           errors = diag_list_n_errors (diags);
  g_autoptr (ConfigDoc) doc = config_load (file, diags);
  g_autoptr (GPtrArray) rows = measurement_array_new ();
  LogTarget             target = {
                .file = intern_text (file), .context = context, .rows = rows, .diags = diags
  };
  Reader reader = { .target = &target };

  if (doc == NULL || !config_node_expect (config_doc_root (doc), CONFIG_MAP, diags))
    return NULL;
  reader.run = log_run_new (config_node_mark (config_doc_root (doc)));
  read_root (&reader, config_doc_root (doc));
  log_run_free (reader.run);
  if (rows->len == 0 && diag_list_n_errors (diags) == errors)
    diag_error (diags, &(SourceMark){ .file = target.file }, NULL, "no row that can be taken");
  return diag_list_n_errors (diags) == errors ? g_steal_pointer (&rows) : NULL;
}
