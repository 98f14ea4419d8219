#include "evidence/tables/validate-collectives.h"

#include <math.h>
#include <string.h>

#define KIB 1024.0
#define MIB (1024 * KIB)

static const char *const part_keys[] = { "healthy", "as_fitted", "unclear", "unhealthy" };
static const char *const grouping_keys[] = { "overall",       "by_size",   "by_nodes",
                                             "by_collective", "by_family", "by_run" };

G_STATIC_ASSERT (G_N_ELEMENTS (part_keys) == VALIDATION_N_PARTS);
G_STATIC_ASSERT (G_N_ELEMENTS (grouping_keys) == VALIDATION_N_GROUPINGS);

#define N_SIZES 4 /* classes of sizes */

static const struct
{
  double      from;
  const char *name;
} size_classes[N_SIZES] = {
  { 256 * MIB, "256 MiB and more" },
  { MIB, "1 MiB to 256 MiB" },
  { KIB, "1 KiB to 1 MiB" },
  { 0, "below 1 KiB" },
};

/* By the nodes that a collective is on: two stand apart, because trees send half as much there. */
static const struct
{
  guint       from;
  const char *names[N_SIZES];
} node_classes[] = {
  { 1,
    { "1 node, 256 MiB and more", "1 node, 1 MiB to 256 MiB", "1 node, 1 KiB to 1 MiB",
      "1 node, below 1 KiB" } },
  { 2,
    { "2 nodes, 256 MiB and more", "2 nodes, 1 MiB to 256 MiB", "2 nodes, 1 KiB to 1 MiB",
      "2 nodes, below 1 KiB" } },
  { 3,
    { "3 nodes and more, 256 MiB and more", "3 nodes and more, 1 MiB to 256 MiB",
      "3 nodes and more, 1 KiB to 1 MiB", "3 nodes and more, below 1 KiB" } },
};

const char *
validation_part_key (ValidationPart part)
{
  g_assert ((guint) part < VALIDATION_N_PARTS);
  return part_keys[part];
}

const char *
validation_grouping_key (ValidationGrouping grouping)
{
  g_assert ((guint) grouping < VALIDATION_N_GROUPINGS);
  return grouping_keys[grouping];
}

/* ---- rows ------------------------------------------------------------------------------------ */

void
validated_row_clear (gpointer data)
{
  ValidatedRow *self = data;

  g_free (self->reason);
  g_free (self->profiles);
  g_free (self->hardware);
  g_free (self->family);
  g_free (self->binding);
}

static ValidationPart
part_of (const Measurement *row)
{
  switch (row->healthy)
    {
    case HEALTHY_UNCLEAR:
      return VALIDATION_UNCLEAR;
    case HEALTHY_NO:
      return VALIDATION_UNHEALTHY;
    default:
      return VALIDATION_MAIN;
    }
}

ValidatedRow
validated_row_predict (CollectivePredictor *predictor, const GPtrArray *measurements, guint i)
{
  const Measurement *measured = g_ptr_array_index (measurements, i);
  ValidatedRow       self = { .measured = measured, .part = part_of (measured) };
  CollectiveCost     cost;
  const char        *reason = collective_predictor_cost (predictor, i, &cost);
  const LinkProfile *link = NULL;
  const Cluster     *cluster;

  if (reason != NULL)
    {
      self.reason = g_strdup (reason);
      return self;
    }
  cluster = collective_predictor_cluster (predictor, i);
  link = collective_predictor_nic (predictor, i);
  if (link == NULL)
    link = collective_predictor_intra (predictor, i);
  self.predicted = cost.time;
  self.error = cost.time / (1e-6 * measured->time_us) - 1;
  self.n_ranks = collective_predictor_n_ranks (predictor, i);
  self.n_nodes = collective_predictor_n_nodes (predictor, i);
  self.profiles = g_strdup (collective_predictor_profiles (predictor, i));
  self.hardware = g_strdup (cluster_title (cluster));
  self.family = measurement_link_family (link);
  self.algorithm = cost.algorithm;
  self.protocol = cost.protocol;
  self.binding = collective_cost_binding (&cost, cluster, (double) measured->bytes);
  return self;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void
validation_group_clear (gpointer data)
{
  ValidationGroup *self = data;

  g_free (self->name);
}

static guint
size_class (const ValidatedRow *row)
{
  guint i = 0;

  while ((double) row->measured->bytes < size_classes[i].from)
    i++;
  return i;
}

static const char *
nodes_class (const ValidatedRow *row)
{
  guint i = G_N_ELEMENTS (node_classes) - 1;

  while (row->n_nodes < node_classes[i].from)
    i--;
  return node_classes[i].names[size_class (row)];
}

/* The name of the group of GROUPING that ROW belongs to. */
static const char *
group_name (const ValidatedRow *row, ValidationGrouping grouping)
{
  switch (grouping)
    {
    case VALIDATION_BY_SIZE:
      return size_classes[size_class (row)].name;
    case VALIDATION_BY_NODES:
      return nodes_class (row);
    case VALIDATION_BY_COLLECTIVE:
      return collective_kind_name (row->measured->kind);
    case VALIDATION_BY_FAMILY:
      return row->family;
    case VALIDATION_BY_RUN:
      return row->measured->id;
    default:
      return "all";
    }
}

static gboolean
belongs (const ValidatedRow *row, ValidationPart part, ValidationGrouping grouping,
         const char *name)
{
  return row->part == part && row->reason == NULL && strcmp (group_name (row, grouping), name) == 0;
}

/* Rows of the group that could not be simulated. Where it is by what only a prediction tells: 0. */
static guint
count_failed (const CollectiveValidation *self, ValidationPart part, ValidationGrouping grouping,
              const char *name)
{
  guint n = 0;

  if (grouping != VALIDATION_ALL && grouping != VALIDATION_BY_SIZE)
    return 0;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedRow *row = &g_array_index (self->rows, ValidatedRow, i);

      if (row->reason == NULL || row->part != part)
        continue;
      n += grouping == VALIDATION_ALL
           || (row->measured->bytes > 0 && strcmp (group_name (row, grouping), name) == 0);
    }
  return n;
}

/* Adds the group NAME unless it is empty. */
static void
add_group (CollectiveValidation *self, ValidationPart part, ValidationGrouping grouping,
           const char *name)
{
  g_autofree double *errors = g_new (double, self->rows->len);
  ValidationGroup    group = { .part = part, .grouping = grouping };
  guint              n = 0;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedRow *row = &g_array_index (self->rows, ValidatedRow, i);

      if (!belongs (row, part, grouping, name))
        continue;
      if (n == 0 && grouping == VALIDATION_BY_RUN)
        group.hardware = row->hardware;
      errors[n++] = row->error;
    }
  if (n == 0)
    return;
  group.name = g_strdup (name);
  group.errors = statistics_of_errors (errors, n);
  group.n_failed = count_failed (self, part, grouping, name);
  g_array_append_val (self->groups, group);
}

/* Names of GROUPING in the order of their groups. */
static GPtrArray *
names_of (const CollectiveValidation *self, ValidationGrouping grouping)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; grouping == VALIDATION_BY_SIZE && i < N_SIZES; i++)
    g_ptr_array_add (names, (gpointer) size_classes[i].name);
  for (guint i = 0; grouping == VALIDATION_BY_NODES && i < G_N_ELEMENTS (node_classes); i++)
    for (guint s = 0; s < N_SIZES; s++)
      g_ptr_array_add (names, (gpointer) node_classes[i].names[s]);
  if (names->len > 0)
    return names;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedRow *row = &g_array_index (self->rows, ValidatedRow, i);

      if (row->reason == NULL
          && !g_ptr_array_find_with_equal_func (names, group_name (row, grouping), g_str_equal,
                                                NULL))
        g_ptr_array_add (names, (gpointer) group_name (row, grouping));
    }
  return names;
}

void
collective_validation_summarise (CollectiveValidation *self)
{
  for (guint size = 0; size < N_SIZES; size++)
    {
      const guint        n_rows = self->rows->len;
      g_autofree double *doublings = g_new (double, n_rows), *errors = g_new (double, n_rows);
      ValidationTrend    trend = { .name = size_classes[size].name, .fewest = G_MAXUINT };

      /*
       * Over the logarithm of the ratio: twice too slow and twice too fast weigh the same. One node
       * stands apart, because it sends nothing between nodes.
       */
      for (guint i = 0; i < n_rows; i++)
        {
          const ValidatedRow *row = &g_array_index (self->rows, ValidatedRow, i);

          if (row->reason != NULL || row->part != VALIDATION_MAIN || row->n_nodes < 2
              || size_class (row) != size)
            continue;
          trend.fewest = MIN (trend.fewest, row->n_nodes);
          trend.most = MAX (trend.most, row->n_nodes);
          doublings[trend.n] = log2 (row->n_nodes);
          errors[trend.n++] = log1p (row->error);
        }
      trend.slope = statistics_slope (doublings, errors, trend.n);
      if (!isnan (trend.slope))
        g_array_append_val (self->trends, trend);
    }
  for (guint part = 0; part < VALIDATION_N_PARTS; part++)
    for (guint grouping = 0; grouping < VALIDATION_N_GROUPINGS; grouping++)
      {
        g_autoptr (GPtrArray) names = names_of (self, (ValidationGrouping) grouping);

        for (guint i = 0; i < names->len; i++)
          add_group (self, (ValidationPart) part, (ValidationGrouping) grouping,
                     g_ptr_array_index (names, i));
      }
}

/* ---- all ------------------------------------------------------------------------------------- */

CollectiveValidation *
collective_validation_new (GPtrArray *measurements, ProfileSet *profiles)
{
  g_autoptr (CollectivePredictor) predictor = collective_predictor_new (measurements, profiles);
  CollectiveValidation           *self = g_new0 (CollectiveValidation, 1);

  self->measurements = measurements;
  self->rows = g_array_sized_new (FALSE, FALSE, sizeof (ValidatedRow), measurements->len);
  self->groups = g_array_new (FALSE, FALSE, sizeof (ValidationGroup));
  self->trends = g_array_new (FALSE, FALSE, sizeof (ValidationTrend));
  g_array_set_clear_func (self->rows, validated_row_clear);
  g_array_set_clear_func (self->groups, validation_group_clear);
  for (guint i = 0; i < measurements->len; i++)
    {
      ValidatedRow row = validated_row_predict (predictor, measurements, i);

      self->n_failed += row.reason != NULL;
      g_array_append_val (self->rows, row);
    }
  return self;
}

CollectiveValidation *
validate_collectives (GPtrArray *measurements, const char *profile_dir)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (profile_dir);
  CollectiveValidation  *self = collective_validation_new (measurements, profiles);

  collective_validation_summarise (self);
  return self;
}

void
collective_validation_free (CollectiveValidation *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->trends);
  g_array_unref (self->groups);
  g_array_unref (self->rows);
  g_ptr_array_unref (self->measurements);
  g_free (self);
}

const ValidationGroup *
collective_validation_overall (const CollectiveValidation *self, ValidationPart part)
{
  for (guint i = 0; i < self->groups->len; i++)
    {
      const ValidationGroup *group = &g_array_index (self->groups, ValidationGroup, i);

      if (group->part == part && group->grouping == VALIDATION_ALL)
        return group;
    }
  return NULL;
}

double
validation_bus_bandwidth (const ValidatedRow *row, double time)
{
  return (double) row->measured->bytes / time
         * collective_bus_factor (row->measured->kind, row->n_ranks);
}
