/* Which ranks are alike: of one stage, one role of their strategy and the same micro-batches. */
#include "driver/walk/driver-private.h"

static const DriverLevel *
level_of_roles (const Driver *self)
{
  for (guint i = 0; i < self->n_levels; i++)
    if (self->stages[0].levels[i].strategy->role != NULL)
      return &self->stages[0].levels[i];
  return NULL;
}

static gboolean
roles_are_dense (const guint32 *roles, guint n_ranks, guint n_roles)
{
  g_autofree guint8 *seen = g_new0 (guint8, n_roles);
  guint              n_seen = 0;

  for (guint rank = 0; rank < n_ranks; rank++)
    {
      n_seen += !seen[roles[rank]];
      seen[roles[rank]] = 1;
    }
  return n_seen == n_roles;
}

/*
 * The role that LEVEL's strategy gives to world rank RANK. It knows only the ranks that it spans.
 */
static guint
strategy_role (const Driver *self, const DriverLevel *level, guint rank)
{
  MeshGroup all = mesh_all (&self->in->mesh);
  guint     index = mesh_group_index (all, rank) % level->in.mesh.n_ranks;

  return level->strategy->role (&level->in, level->run.options, index);
}

/* Returns the number of the strategy's roles; 0 after a diagnostic. */
static guint
assign_strategy_roles (const Driver *self, guint32 *roles, guint n_ranks, DiagList *diags)
{
  const DriverLevel *level = level_of_roles (self);
  guint              n_roles = 1;

  for (guint rank = 0; rank < n_ranks && level != NULL; rank++)
    {
      roles[rank] = strategy_role (self, level, rank);
      n_roles = MAX (n_roles, MIN (roles[rank], n_ranks) + 1);
    }
  if (level == NULL || (n_roles <= n_ranks && roles_are_dense (roles, n_ranks, n_roles)))
    return n_roles;
  diag_error (diags, NULL, NULL, "strategy '%s' does not number its roles from 0 without gaps",
              level->strategy->name);
  return 0;
}

/* What tells ROW of BATCHES from others: its micro-batches, and where its barriers are. */
static GBytes *
row_key (const PlanBatches *batches, guint row)
{
  const gsize micros = batches->counts != NULL ? batches->counts[row] : batches->width;
  const gsize first = (gsize) row * batches->width;
  GByteArray *key = g_byte_array_new ();

  g_byte_array_append (key, (const guint8 *) &batches->table[first],
                       (guint) (micros * sizeof *batches->table));
  if (batches->barriers != NULL)
    g_byte_array_append (key, &batches->barriers[first], (guint) micros);
  return g_byte_array_free_to_bytes (key);
}

/* The first row that is RANK's, with the same micro-batches in the same order. */
static guint
row_class (const Driver *self, GHashTable *known, guint rank)
{
  const PlanBatches *batches = self->in->batches;
  MeshGroup          all = mesh_all (&self->in->mesh);
  g_autoptr (GBytes) key = NULL;
  guint              row;
  gpointer           first;

  if (batches == NULL)
    return 0;
  row = mesh_group_index (all, rank) / batches->sharing;
  key = row_key (batches, row);
  if (g_hash_table_lookup_extended (known, key, NULL, &first))
    return GPOINTER_TO_UINT (first);
  g_hash_table_insert (known, g_steal_pointer (&key), GUINT_TO_POINTER (row));
  return row;
}

static guint
variant_index (GArray *variants, DriverVariant wanted)
{
  for (guint i = 0; i < variants->len; i++)
    {
      const DriverVariant *one = &g_array_index (variants, DriverVariant, i);

      if (one->strategy_role == wanted.strategy_role && one->row == wanted.row)
        return i;
    }
  g_array_append_val (variants, wanted);
  return variants->len - 1;
}

/*
 * Ranks of a stage are alike when the strategy gives them one role and their micro-batches hold the
 * same. Where the strategy alone tells them apart, its own numbers stay.
 */
static void
spread_roles (Driver *self, guint32 *roles, guint n_ranks, guint n_strategy_roles)
{
  g_autoptr (GHashTable) known =
      g_hash_table_new_full (g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, NULL);
  MeshGroup stages = mesh_stages (&self->in->mesh);

  self->variants = g_array_new (FALSE, FALSE, sizeof (DriverVariant));
  for (guint r = 0; r < n_strategy_roles && self->in->batches == NULL; r++)
    variant_index (self->variants, (DriverVariant){ r, 0 });
  for (guint rank = 0; rank < n_ranks; rank++)
    roles[rank] = variant_index (self->variants,
                                 (DriverVariant){ roles[rank], row_class (self, known, rank) });
  for (guint rank = 0; rank < n_ranks; rank++)
    roles[rank] += mesh_group_index (stages, rank) * self->variants->len;
}

guint
driver_assign_roles (Driver *self, guint n_ranks, guint32 **roles, DiagList *diags)
{
  g_autofree guint32 *role_of_rank = g_new0 (guint32, n_ranks);
  guint               n_roles = assign_strategy_roles (self, role_of_rank, n_ranks, diags);

  *roles = NULL;
  if (n_roles == 0)
    return 0;
  spread_roles (self, role_of_rank, n_ranks, n_roles);
  n_roles = self->variants->len * self->pipeline.stages;
  if (n_roles > 1)
    *roles = g_steal_pointer (&role_of_rank);
  return n_roles;
}
