#include "fuzz.h"

#include <glib/gstdio.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/intern.h"
#include "cost/collective/library/collective.h"

/* Executions that share what was read of profiles. */
#define KEPT_FOR 8192

#define NAME_BYTES   (64u << 20)
#define NAME_BUCKETS 4096u

/* Clusters that are looked at, and replayed. */
#define MAX_NODES    4
#define MAX_GPUS     32
#define MAX_REPLAYED 8

typedef struct _Name Name;
struct _Name
{
  const Name *next;
  char        text[];
};

typedef struct
{
  gsize       used;
  const Name *buckets[NAME_BUCKETS];
} Names;

static struct
{
  guint64     n;
  char       *bytes;       /* NAME_BYTES of Name */
  Names       names, kept; /* all; those that profiles may point to */
  ProfileSet *profiles;
  char       *folder;
} state;

/* ---- names and profiles ---------------------------------------------------------------------- */

/*
 * It stands before the library's, which keeps every name for good: right for a program, whose
 * inputs are few, but under a fuzzer it takes all memory. When an execution ends, its names are
 * dead but for those of profiles. They lie in memory of their own, because a fuzzer takes an
 * execution that allocates more than it frees for one that may leak, and looks into it for long.
 * Threads of a command share them, as they share the library's: the caller holds the lock.
 */
static const char *
find_or_add_name (const char *string)
{
  const gsize size = strlen (string) + 1;
  const guint bucket = g_str_hash (string) % NAME_BUCKETS;
  Name       *name;

  for (const Name *known = state.names.buckets[bucket]; known != NULL; known = known->next)
    if (strcmp (known->text, string) == 0)
      return known->text;
  if (state.bytes == NULL)
    {
      state.bytes = mmap (NULL, NAME_BYTES, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      g_assert (state.bytes != MAP_FAILED);
    }
  g_assert (state.names.used + sizeof (Name) + size + G_MEM_ALIGN <= NAME_BYTES);
  name = (Name *) (void *) (state.bytes + state.names.used);
  state.names.used += (sizeof (Name) + size + G_MEM_ALIGN - 1) / G_MEM_ALIGN * G_MEM_ALIGN;
  memcpy (name->text, string, size);
  name->next = state.names.buckets[bucket];
  state.names.buckets[bucket] = name;
  return name->text;
}

/* The lock is not GLib's: ThreadSanitizer sees this one. */
const char *
intern_text (const char *string)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  const char            *name = NULL;

  if (string == NULL)
    return NULL;
  pthread_mutex_lock (&lock);
  name = find_or_add_name (string);
  pthread_mutex_unlock (&lock);
  return name;
}

/*
 * GLib ends a program that warns, or that has failed, with a trap, which a fuzzer does not take
 * for a crash: the input would be lost.
 */
static void
on_trap (int signal)
{
  (void) signal;
  abort ();
}

static void
make_warnings_fatal (void)
{
  g_log_set_always_fatal (G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING);
  signal (SIGTRAP, on_trap);
}

void
fuzz_begin (void)
{
  if (state.n == 0)
    make_warnings_fatal ();
  if (state.n++ % KEPT_FOR == 0)
    {
      g_clear_pointer (&state.profiles, profile_set_free);
      state.kept = (Names){ 0 };
    }
  state.names = state.kept;
}

static void
read_all (ProfileSet *profiles, const char *kind)
{
  g_auto (GStrv) ids = profile_set_list (profiles, kind);

  for (guint i = 0; ids[i] != NULL; i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (GArray)   figures = profile_set_figures (profiles, kind, ids[i], diags);

      g_assert (figures != NULL);
    }
}

ProfileSet *
fuzz_profiles (void)
{
  if (state.profiles == NULL)
    {
      state.profiles = profile_set_new (NULL);
      read_all (state.profiles, "gpu");
      read_all (state.profiles, "link");
      read_all (state.profiles, "node");
      read_all (state.profiles, "framework");
      state.kept = state.names;
    }
  return state.profiles;
}

/* ---- files ----------------------------------------------------------------------------------- */

static void
remove_tree (const char *folder)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      if (g_file_test (path, G_FILE_TEST_IS_DIR) && !g_file_test (path, G_FILE_TEST_IS_SYMLINK))
        remove_tree (path);
      else
        g_unlink (path);
    }
  g_rmdir (folder);
}

static void
remove_folder (void)
{
  remove_tree (state.folder);
  g_clear_pointer (&state.folder, g_free);
}

const char *
fuzz_folder (void)
{
  if (state.folder == NULL)
    {
      state.folder = g_dir_make_tmp ("shardsim-fuzz-XXXXXX", NULL);
      g_assert (state.folder != NULL);
      atexit (remove_folder);
    }
  return state.folder;
}

char *
fuzz_file (const char *name, gconstpointer data, gsize size)
{
  char            *path = g_build_filename (fuzz_folder (), name, NULL);
  g_autofree char *folder = g_path_get_dirname (path);
  FILE            *file;

  g_mkdir_with_parents (folder, 0700);
  file = fopen (path, "we"); /* not g_file_set_contents: it waits for the disk */
  g_assert (file != NULL && fwrite (size > 0 ? data : "", 1, size, file) == size);
  g_assert (fclose (file) == 0);
  return path;
}

void
fuzz_remove (const char *name)
{
  g_autofree char *path = g_build_filename (fuzz_folder (), name, NULL);

  remove_tree (path);
}

guint
fuzz_split (const guint8 *data, gsize size, FuzzPart *parts, guint n)
{
  static const char divider[] = "%%\n";
  const char       *rest = size > 0 ? (const char *) data : "";
  guint             i = 0;

  for (; i + 1 < n; i++)
    {
      const char *end = memmem (rest, size, divider, strlen (divider));

      if (end == NULL)
        break;
      parts[i] = (FuzzPart){ rest, (gsize) (end - rest) };
      size -= parts[i].size + strlen (divider);
      rest = end + strlen (divider);
    }
  parts[i] = (FuzzPart){ rest, size };
  return i + 1;
}

/* ---- checks ---------------------------------------------------------------------------------- */

void
fuzz_check_diags (const DiagList *diags, gboolean failed)
{
  g_autofree char *said = diag_list_format (diags, FALSE);

  g_assert (g_utf8_validate (said, -1, NULL));
  g_assert (diag_list_has_errors (diags) == failed);
}

/* "1000 x dgx-a100 + 2 x dgx-h100", "frontier-system" */
static gboolean
is_small_name (const char *name)
{
  g_auto (GStrv) terms = g_strsplit (name, "+", -1);
  gulong         n = 0;

  for (guint i = 0; terms[i] != NULL; i++)
    n += MIN (strtoul (terms[i], NULL, 10), MAX_NODES + 1);
  return n <= MAX_NODES && !profile_set_has (fuzz_profiles (), "cluster", name);
}

gboolean
fuzz_is_small_cluster (const ClusterOptions *options)
{
  return (options->name == NULL || is_small_name (options->name)) && options->nodes <= MAX_NODES;
}

/* Only what costs time is bounded: not lengths, widths and rates. */
gboolean
fuzz_is_small (const Scenario *scenario)
{
  const ModelOptions *model = &scenario->model;

  return fuzz_is_small_cluster (&scenario->cluster) && model->config == NULL && model->n_layers <= 2
         && model->n_experts <= 16 && scenario->training.grad_accum <= 2 && scenario->mesh.vp <= 2;
}

static void
check_figures (const Prediction *p)
{
  double sum = 0;

  for (guint i = 0; i < TIME_N; i++)
    {
      g_assert (isfinite (p->parts[i]) && p->parts[i] >= 0);
      sum += p->parts[i];
    }
  g_assert (isfinite (p->step_time_s) && p->step_time_s > 0);
  g_assert (fabs (sum - p->step_time_s) <= 1e-6 * p->step_time_s);
  g_assert (isfinite (p->mfu_percent) && p->mfu_percent >= 0);
  g_assert (isfinite (p->tokens_per_s) && p->tokens_per_s >= 0);
  g_assert (isfinite (p->exposed_comm_s) && p->exposed_comm_s >= 0);
  g_assert (p->hbm.allocated <= p->hbm.reserved && p->hbm.reserved <= p->hbm.device);
}

static gboolean
has_few_gpus (const ClusterOptions *options, ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster = cluster_new (options, profiles, NULL, diags);

  fuzz_check_diags (diags, cluster == NULL);
  return cluster == NULL || cluster_n_gpus (cluster) <= MAX_REPLAYED;
}

void
fuzz_check_prediction (const Scenario *scenario, ProfileSet *profiles)
{
  const PredictOptions         options = { .replay.max_periods = 3 };
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (GError)           error = NULL;
  g_autoptr (Prediction)       self = NULL;
  g_autoptr (ResolvedScenario) resolved = NULL;

  if (!fuzz_is_small (scenario) || !has_few_gpus (&scenario->cluster, profiles))
    return;
  resolved = resolved_new (scenario, profiles, diags);
  if (resolved != NULL)
    self = predict_replayed (resolved, &options, NULL, diags, &error);
  fuzz_check_diags (diags, self == NULL && error == NULL);
  if (self != NULL)
    check_figures (self);
}

void
fuzz_check_round_trip (const Scenario *scenario)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *text = scenario_print (scenario);
  g_autofree char      *file = fuzz_file ("printed.yaml", text, strlen (text));
  g_autoptr (GPtrArray) again = scenario_load (NULL, file, NULL, 0, diags);
  g_autofree char      *messages = diag_list_format (diags, FALSE);
  g_autofree char      *second = NULL;

  if (again == NULL)
    g_printerr ("%s\n%s", text, messages);
  g_assert (again != NULL && again->len == 1);
  second = scenario_print (g_ptr_array_index (again, 0));
  g_assert_cmpstr (text, ==, second);
}

/* ---- clusters -------------------------------------------------------------------------------- */

static void
check_routes (const Cluster *cluster)
{
  const guint n = MIN (cluster_n_gpus (cluster), MAX_GPUS);

  for (guint from = 0; from < n; from++)
    {
      const guint node = cluster_node_of_gpu (cluster, from);
      Route       route;

      for (guint card = 0; card < cluster_nics_of_node (cluster, node); card++)
        g_assert (cluster_gpu_card_pcie (cluster, from, card) <= PATH_SYS);
      for (guint to = 0; to < n; to++)
        if (from != to
            && (node == cluster_node_of_gpu (cluster, to)
                || cluster_nics_of_node (cluster, node) > 0))
          {
            cluster_route_gpus (cluster, from, to, -1, &route);
            g_assert (route.n <= ROUTE_MAX && isfinite (route.latency));
            for (guint i = 0; i < route.n; i++)
              g_assert (route.resources[i] < cluster_n_resources (cluster));
          }
    }
}

static void
check_resources (const Cluster *cluster)
{
  for (guint i = 0; i < MIN (cluster_n_resources (cluster), 1000); i++)
    {
      const ClusterResource *resource = cluster_resource (cluster, i);
      g_autofree char       *name = cluster_resource_name (cluster, i);

      g_assert (*name != '\0' && resource->kind < RESOURCE_N_KINDS);
      g_assert (isfinite (resource->capacity) && resource->capacity > 0);
    }
}

static void
check_collectives (const Cluster *cluster)
{
  const guint         n = cluster_n_gpus (cluster);
  g_autofree guint32 *ranks = g_new (guint32, n);

  for (guint i = 0; i < n; i++)
    ranks[i] = i;
  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    {
      g_autoptr (CollectivePlan) plan =
          collective_plan_new (cluster, (CollectiveKind) kind, ranks, n, NULL);

      for (double bytes = 1; bytes < 1e12; bytes *= 1 << 13)
        {
          CollectiveCost cost;

          collective_plan_cost (plan, bytes, &cost);
          g_assert (isfinite (cost.time) && (n == 1 ? cost.time >= 0 : cost.time > 0));
          g_assert (cost.binding == G_MAXUINT32 || cost.binding < cluster_n_resources (cluster));
        }
    }
}

void
fuzz_check_cluster (const ClusterOptions *options, ProfileSet *profiles, gboolean must_be)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster = NULL;

  if (!fuzz_is_small_cluster (options))
    return;
  cluster = cluster_new (options, profiles, NULL, diags);
  fuzz_check_diags (diags, cluster == NULL);
  if (cluster == NULL && must_be)
    g_printerr ("%s", diag_list_first_message (diags));
  g_assert (cluster != NULL || !must_be);
  if (cluster == NULL)
    return;
  g_assert (cluster_n_gpus (cluster) > 0 && *cluster_title (cluster) != '\0');
  check_resources (cluster);
  check_routes (cluster);
  if (cluster_n_gpus (cluster) <= MAX_GPUS)
    check_collectives (cluster);
}
