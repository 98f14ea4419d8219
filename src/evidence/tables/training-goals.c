#include "evidence/tables/training-goals.h"

#include <math.h>
#include <string.h>

#include "base/config/option.h"

#define SUFFIX ".goals.yaml"

/* A goal as its map says it. */
typedef struct
{
  char    *rows;
  gint     of, peak, outcome;
  double   bounds[5]; /* of the keys from `median` on */
  gint64   nodes;
  gboolean healthy, tensor_over_nodes, strategies;
} Draft;

static const char *const kinds[] = { "time", "memory", "fits", "ranking", "trend", NULL };
static const char *const peaks[] = { "reserved", "allocated", "device", NULL };
static const char *const outcomes[] = { "any", "ran", "out_of_memory", NULL };

#define BOUND(i, name, text)                                                                  \
  {                                                                                           \
    .key = name, .type = OPTION_QUANTITY, .kind = QUANTITY_RATIO, .optional = TRUE, .max = 1, \
    .offset = G_STRUCT_OFFSET (Draft, bounds) + (i) * sizeof (double), .help = text           \
  }

enum
{
  FIRST_BOUND = 2,
  MEDIAN = 0,
  P90,
  RIGHT,
  TAU,
  SLOPE,
  NOTHING
};

static const OptionSpec keys[] = {
  { .key = "rows",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Draft, rows),
    .help = "what the summary calls them" },
  { .key = "of",
    .type = OPTION_ENUM,
    .choices = kinds,
    .offset = G_STRUCT_OFFSET (Draft, of),
    .fallback = "time",
    .help = "what is judged" },
  BOUND (MEDIAN, "median", "at most: the median of |error|"),
  BOUND (P90, "p90", "at most: the 90th percentile of |error|"),
  BOUND (RIGHT, "right", "at least: the share of rows that are right"),
  BOUND (TAU, "tau", "at least: Kendall's tau-b, mean of the groups"),
  BOUND (SLOPE, "slope", "at most: how the error grows with each doubling of the nodes"),
  { .key = "peak",
    .type = OPTION_ENUM,
    .choices = peaks,
    .offset = G_STRUCT_OFFSET (Draft, peak),
    .fallback = "reserved",
    .help = "memory: which peak" },
  { .key = "outcome",
    .type = OPTION_ENUM,
    .choices = outcomes,
    .offset = G_STRUCT_OFFSET (Draft, outcome),
    .fallback = "any",
    .help = "fits: runs alone that ended so" },
  { .key = "nodes",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (Draft, nodes),
    .optional = TRUE,
    .min = 1,
    .max = 1e6,
    .help = "time, trend: rows on that many nodes and more" },
  { .key = "healthy",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Draft, healthy),
    .fallback = "false",
    .help = "time: without runs that are slow among their neighbours" },
  { .key = "tensor_over_nodes",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Draft, tensor_over_nodes),
    .fallback = "false",
    .help = "time: runs alone whose tensor groups span nodes" },
  { .key = "strategies",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Draft, strategies),
    .fallback = "false",
    .help = "ranking: of all strategies and layouts of a model on a cluster" },
  { 0 },
};

/* The bounds that a goal of each kind has. */
static const guint bounds_of[][2] = { [GOAL_TIME] = { MEDIAN, P90 },
                                      [GOAL_MEMORY] = { MEDIAN, P90 },
                                      [GOAL_FITS] = { RIGHT, NOTHING },
                                      [GOAL_RANKING] = { TAU, NOTHING },
                                      [GOAL_TREND] = { SLOPE, NOTHING } };

static void
check_bounds (const ConfigNode *node, gint kind, DiagList *diags)
{
  for (guint b = 0; b < NOTHING; b++)
    {
      const char    *key = keys[FIRST_BOUND + b].key;
      const gboolean given = config_node_get (node, key) != NULL;
      const gboolean wanted = bounds_of[kind][0] == b || bounds_of[kind][1] == b;

      if (wanted && !given && b != P90) /* without one nothing is wanted of it */
        diag_error (diags, config_node_mark (node), keys[FIRST_BOUND + b].help, "missing '%s'",
                    key);
      else if (given && !wanted)
        diag_error (diags, config_node_mark (config_node_get (node, key)), NULL,
                    "'%s' says nothing of '%s'", key, kinds[kind]);
    }
}

/* What narrows the rows down says something of some kinds alone. */
static void
check_filters (const ConfigNode *node, gint kind, DiagList *diags)
{
  static const struct
  {
    const char *key;
    guint       kinds;
  } filters[] = {
    { "peak", 1u << GOAL_MEMORY },
    { "outcome", 1u << GOAL_FITS },
    { "nodes", 1u << GOAL_TIME | 1u << GOAL_TREND },
    { "healthy", 1u << GOAL_TIME },
    { "tensor_over_nodes", 1u << GOAL_TIME },
    { "strategies", 1u << GOAL_RANKING },
  };

  for (guint i = 0; i < G_N_ELEMENTS (filters); i++)
    {
      const ConfigNode *given = config_node_get (node, filters[i].key);

      if (given != NULL && (filters[i].kinds & 1u << kind) == 0)
        diag_error (diags, config_node_mark (given), NULL, "'%s' says nothing of '%s'",
                    filters[i].key, kinds[kind]);
    }
}

static char **
read_sources (const ConfigNode *node, DiagList *diags)
{
  const ConfigNode        *list = config_node_get (node, "sources");
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();
  const guint              errors = diag_list_n_errors (diags);

  if (list == NULL || config_node_kind (list) != CONFIG_LIST || config_node_length (list) == 0)
    diag_error (diags, config_node_mark (list != NULL ? list : node), "write [bloom, layouts]",
                "expected a list of 'sources'");
  else
    for (guint i = 0; i < config_node_length (list); i++)
      if (config_node_expect (config_node_item (list, i), CONFIG_SCALAR, diags))
        g_strv_builder_add (names, config_node_text (config_node_item (list, i)));
  return diag_list_n_errors (diags) == errors ? g_strv_builder_end (names) : NULL;
}

static void
read_goal (GArray *goals, const ConfigNode *node, DiagList *diags)
{
  static const char *const others[] = { "sources", NULL };
  const guint              errors = diag_list_n_errors (diags);
  Draft                    draft = { 0 };
  TrainingGoal             goal = { 0 };

  if (!config_node_expect (node, CONFIG_MAP, diags))
    return;
  option_table_defaults (keys, &draft);
  option_load_map (keys, &draft, node, others, diags);
  option_check_required (keys, &draft, config_node_mark (node), diags);
  check_bounds (node, draft.of, diags);
  check_filters (node, draft.of, diags);
  goal.sources = read_sources (node, diags);
  if (diag_list_n_errors (diags) > errors)
    {
      g_strfreev (goal.sources);
      option_table_clear (keys, &draft);
      return;
    }
  goal.kind = (GoalKind) draft.of;
  goal.peak = (GoalPeak) draft.peak;
  goal.outcome = (GoalOutcome) draft.outcome;
  goal.title = draft.rows;
  goal.first = draft.bounds[bounds_of[goal.kind][0]];
  if (bounds_of[goal.kind][1] != NOTHING)
    goal.second = draft.bounds[bounds_of[goal.kind][1]];
  if (bounds_of[goal.kind][1] == P90 && config_node_get (node, "p90") == NULL)
    goal.second = INFINITY;
  goal.nodes = (guint) draft.nodes;
  goal.healthy = draft.healthy;
  goal.tensor_over_nodes = draft.tensor_over_nodes;
  goal.strategies = draft.strategies;
  g_array_append_val (goals, goal);
}

static void
goal_clear (gpointer data)
{
  TrainingGoal *self = data;

  g_free (self->title);
  g_strfreev (self->sources);
}

/* "runs.goals.yaml" of "runs.csv" and of "runs.csv.gz". */
static char *
goals_file (const char *table)
{
  static const char *const endings[] = { ".gz", ".csv" };
  g_autofree char         *stem = g_strdup (table);

  for (guint i = 0; i < G_N_ELEMENTS (endings); i++)
    if (g_str_has_suffix (stem, endings[i]))
      stem[strlen (stem) - strlen (endings[i])] = '\0';
  return g_strconcat (stem, SUFFIX, NULL);
}

GArray *
training_goals_load (const char *file, DiagList *diags)
{
  GArray               *goals = g_array_new (FALSE, FALSE, sizeof (TrainingGoal));
  g_autofree char      *beside = goals_file (file);
  g_autoptr (ConfigDoc) doc = NULL;

  g_array_set_clear_func (goals, goal_clear);
  if (g_file_test (beside, G_FILE_TEST_EXISTS))
    doc = config_load (beside, diags);
  if (doc == NULL || !config_node_expect (config_doc_root (doc), CONFIG_LIST, diags))
    return goals;
  for (guint i = 0; i < config_node_length (config_doc_root (doc)); i++)
    read_goal (goals, config_node_item (config_doc_root (doc), i), diags);
  return goals;
}
