/*
 * The product of a comparison file's lists.
 *
 * Each axis is a sequence of points: of every entry, one for each combination of the lists of
 * values inside it. The file itself is the last axis, with one entry. Scenario i is the i-th
 * combination of points, the last axis running fastest.
 */
#include "scenario/scenario-private.h"

#include <string.h>

#define N_AXES (AXIS_N + 1) /* the last one: the file itself */

/* A list of values. */
typedef struct
{
  const ConfigNode *list;
  char             *key;  /* "training.micro_batch": what an override would call it */
  gboolean          bare; /* its values need no key to be understood: names */
  guint             n;    /* values that count: 1 of a list that an override replaces */
} ValueList;

typedef struct
{
  const ConfigNode *node;
  GArray           *lists; /* ValueList */
  guint             n;     /* combinations */
} Entry;

typedef struct
{
  guint entry, combination;
} Point;

typedef struct
{
  GArray *entries; /* Entry */
  GArray *points;  /* Point */
} Axis;

struct _ScenarioGrid
{
  Axis axes[N_AXES];
};

/* ---- finding lists --------------------------------------------------------------------------- */

static gboolean
is_list_of_values (const ConfigNode *node)
{
  if (config_node_kind (node) != CONFIG_LIST || config_node_length (node) == 0)
    return FALSE;
  for (guint i = 0; i < config_node_length (node); i++)
    if (config_node_kind (config_node_item (node, i)) != CONFIG_SCALAR
        || config_node_is_null (config_node_item (node, i)))
      return FALSE;
  return TRUE;
}

/* NODE is the value of PREFIX.KEY; BARE: the values need no key to be understood. */
static void
add_list (GArray *lists, const ConfigNode *node, const char *prefix, const char *key, gboolean bare)
{
  ValueList list = { .list = node, .bare = bare };

  if (!is_list_of_values (node))
    return;
  list.key = g_strdup_printf ("%s.%s", prefix, key);
  list.n = config_node_length (node);
  g_array_append_val (lists, list);
}

/* Whether values of KEY of SECTION name what they set themselves: "nic.bandwidth=100 Gbit/s". */
static gboolean
has_pairs (const char *section, const char *key)
{
  const OptionSpec *table = scenario_section_table (section);
  const OptionSpec *spec = table != NULL ? option_table_find (table, key) : NULL;

  return spec != NULL && spec->pairs;
}

/*
 * The lists of the section NODE. NAME (may be NULL) is the key that one word sets; with NAMES it is
 * a name.
 */
static void
find_in_section (GArray *lists, const ConfigNode *node, const char *prefix, const char *name,
                 gboolean names)
{
  if (name != NULL)
    add_list (lists, node, prefix, name, names);
  if (config_node_kind (node) != CONFIG_MAP)
    return;
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char *key = config_node_key (node, i);

      add_list (lists, config_node_item (node, i), prefix, key,
                (names && g_strcmp0 (key, name) == 0) || has_pairs (prefix, key));
    }
}

static void
find_in_strategy (GArray *lists, const ConfigNode *node)
{
  g_autoptr (GString) prefix = g_string_new ("strategy");

  for (; node != NULL; node = config_node_get (node, "inner"))
    {
      find_in_section (lists, node, prefix->str, "name", TRUE);
      g_string_append (prefix, ".inner");
    }
}

/* The lists of all sections of a scenario, or of a file. */
static void
find_in_scenario (GArray *lists, const ConfigNode *node)
{
  if (config_node_kind (node) != CONFIG_MAP)
    return;
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char            *key = config_node_key (node, i);
      const ScenarioSection *section = scenario_find_section (key);

      if (section != NULL)
        find_in_section (lists, config_node_item (node, i), key, section->shorthand,
                         section->is_named);
      else if (g_str_equal (key, "strategy"))
        find_in_strategy (lists, config_node_item (node, i));
    }
}

static void
find_in_model (GArray *lists, const ConfigNode *node)
{
  find_in_section (lists, node, "model", scenario_find_section ("model")->shorthand, TRUE);
}

/* By its own key, or with the strategy that it is an option of. */
static gboolean
is_replaced (const ValueList *list, const ScenarioOverride *overrides, guint n)
{
  for (guint i = 0; i < n && overrides != NULL; i++)
    {
      const char *key = overrides[i].key;

      if (g_str_equal (key, list->key)
          || (scenario_key_depth (overrides[i].key) > 0
              && strncmp (key, list->key, strlen (key) - strlen ("name")) == 0))
        return TRUE;
    }
  return FALSE;
}

/* ---- building -------------------------------------------------------------------------------- */

static void
value_list_clear (gpointer data)
{
  g_free (((ValueList *) data)->key);
}

static void
entry_clear (gpointer data)
{
  g_array_unref (((Entry *) data)->lists);
}

/* Combinations of an axis; one of one without entries. */
static guint
axis_length (const ScenarioGrid *self, guint axis)
{
  return MAX (self->axes[axis].points->len, 1);
}

/* "micro_batch": the last word of a list's key. */
static const char *
last_word (const char *key)
{
  const char *dot = strrchr (key, '.');

  return dot != NULL ? dot + 1 : key;
}

static void
diagnose_size (const ConfigNode *list, const char *name, guint64 n, DiagList *diags)
{
  diag_error (diags, config_node_mark (list), "split the file",
              "'%s' makes %" G_GUINT64_FORMAT " scenarios (at most %u)", name, n, SCENARIO_MAX);
}

/*
 * What is multiplied: the overrides, the OTHERS axes' combinations, and entries of this axis AFTER
 * the one that is added.
 */
typedef struct
{
  const ScenarioOverride *overrides;
  guint                   n_overrides;
  guint64                 others, after;
  DiagList               *diags;
} Building;

/* Adds the points of an entry NODE whose lists FIND finds. */
static void
axis_add (Axis *self, const ConfigNode *node, void (*find) (GArray *lists, const ConfigNode *node),
          const Building *building)
{
  Entry   entry = { .node = node, .lists = g_array_new (FALSE, FALSE, sizeof (ValueList)), .n = 1 };
  guint64 n = 1;

  g_array_set_clear_func (entry.lists, value_list_clear);
  find (entry.lists, node);
  for (guint i = 0; i < entry.lists->len; i++)
    {
      ValueList *list = &g_array_index (entry.lists, ValueList, i);
      guint64    all;

      if (is_replaced (list, building->overrides, building->n_overrides))
        list->n = 1;
      all = (self->points->len + n * list->n + building->after) * building->others;
      if (list->n > 1 && all > SCENARIO_MAX)
        {
          diagnose_size (list->list, last_word (list->key), all, building->diags);
          list->n = 1;
        }
      n *= list->n;
    }
  entry.n = (guint) n;
  g_array_append_val (self->entries, entry);
  for (guint i = 0; i < entry.n; i++)
    {
      Point point = { self->entries->len - 1, i };

      g_array_append_val (self->points, point);
    }
}

static void (*const finders[AXIS_N]) (GArray *lists, const ConfigNode *node) = {
  [AXIS_SCENARIOS] = find_in_scenario,
  [AXIS_MODELS] = find_in_model,
  [AXIS_STRATEGIES] = find_in_strategy,
};

/* The entries of LIST, the file's list for AXIS. */
static void
add_entries (ScenarioGrid *self, ScenarioAxis axis, const ConfigNode *list, Building *building)
{
  const char *name = scenario_axis_names[axis];
  guint       n = config_node_length (list);

  if (n == 0)
    diag_error (building->diags, config_node_mark (list), NULL, "'%s' is empty", name);
  else if (n * building->others > SCENARIO_MAX)
    diagnose_size (list, name, n * building->others, building->diags);
  else
    for (guint i = 0; i < n; i++)
      {
        building->after = n - i - 1;
        axis_add (&self->axes[axis], config_node_item (list, i), finders[axis], building);
      }
}

ScenarioGrid *
scenario_grid_new (const ConfigNode *root, const ScenarioOverride *overrides, guint n_overrides,
                   DiagList *diags)
{
  ScenarioGrid *self = g_new0 (ScenarioGrid, 1);
  Building      building = { overrides, n_overrides, 1, 0, diags };

  for (guint axis = 0; axis < N_AXES; axis++)
    {
      Axis *one = &self->axes[axis];

      one->entries = g_array_new (FALSE, FALSE, sizeof (Entry));
      g_array_set_clear_func (one->entries, entry_clear);
      one->points = g_array_new (FALSE, FALSE, sizeof (Point));
    }
  for (guint axis = 0; axis < AXIS_N; axis++)
    {
      const ConfigNode *list =
          root != NULL ? config_node_get (root, scenario_axis_names[axis]) : NULL;

      if (list != NULL && config_node_expect (list, CONFIG_LIST, diags))
        add_entries (self, (ScenarioAxis) axis, list, &building);
      building.others *= axis_length (self, axis);
    }
  building.after = 0;
  if (root != NULL)
    axis_add (&self->axes[AXIS_N], root, find_in_scenario, &building);
  return self;
}

void
scenario_grid_free (ScenarioGrid *self)
{
  if (self == NULL)
    return;
  for (guint axis = 0; axis < N_AXES; axis++)
    {
      g_array_unref (self->axes[axis].entries);
      g_array_unref (self->axes[axis].points);
    }
  g_free (self);
}

/* ---- reading it ------------------------------------------------------------------------------ */

guint
scenario_grid_length (const ScenarioGrid *self)
{
  guint n = 1;

  for (guint axis = 0; axis < N_AXES; axis++)
    n *= axis_length (self, axis);
  return n;
}

/*
 * The entry of AXIS in combination I, and which COMBINATION of its lists; NULL for an axis without
 * entries.
 */
static const Entry *
entry_at (const ScenarioGrid *self, guint i, guint axis, guint *combination)
{
  const Axis  *found = &self->axes[axis];
  const Point *point;

  if (found->points->len == 0)
    return NULL;
  for (guint faster = N_AXES - 1; faster > axis; faster--)
    i /= axis_length (self, faster);
  point = &g_array_index (found->points, Point, i % found->points->len);
  *combination = point->combination;
  return &g_array_index (found->entries, Entry, point->entry);
}

const ConfigNode *
scenario_grid_entry (const ScenarioGrid *self, guint i, ScenarioAxis axis)
{
  guint        combination;
  const Entry *entry = entry_at (self, i, axis, &combination);

  return entry != NULL ? entry->node : NULL;
}

/* The value of ENTRY's list L in COMBINATION: the last list runs fastest. */
static const ConfigNode *
value_at (const Entry *entry, guint combination, guint l)
{
  const ValueList *list = &g_array_index (entry->lists, ValueList, l);

  for (guint faster = entry->lists->len - 1; faster > l; faster--)
    combination /= g_array_index (entry->lists, ValueList, faster).n;
  return config_node_item (list->list, combination % list->n);
}

char *
scenario_grid_label (const ScenarioGrid *self, guint i, ScenarioAxis axis)
{
  guint               combination;
  const Entry        *entry = entry_at (self, i, axis, &combination);
  g_autoptr (GString) label = g_string_new (NULL);

  for (guint l = 0; entry != NULL && l < entry->lists->len; l++)
    {
      const ValueList *list = &g_array_index (entry->lists, ValueList, l);
      /* The names of models and strategies label their entries themselves. */
      gboolean told = list->bare && (axis == AXIS_MODELS || axis == AXIS_STRATEGIES);

      if (list->n == 1 || told)
        continue;
      g_string_append_printf (label, "%s%s%s%s", label->len > 0 ? ", " : "",
                              list->bare ? "" : last_word (list->key), list->bare ? "" : "=",
                              config_node_text (value_at (entry, combination, l)));
    }
  return label->len > 0 ? g_string_free (g_steal_pointer (&label), FALSE) : NULL;
}

GHashTable *
scenario_grid_picks (const ScenarioGrid *self, guint i)
{
  GHashTable *picks = g_hash_table_new (NULL, NULL);

  for (guint axis = 0; axis < N_AXES; axis++)
    {
      guint        combination;
      const Entry *entry = entry_at (self, i, axis, &combination);

      for (guint l = 0; entry != NULL && l < entry->lists->len; l++)
        g_hash_table_insert (picks, (gpointer) g_array_index (entry->lists, ValueList, l).list,
                             (gpointer) value_at (entry, combination, l));
    }
  return picks;
}
