/* What threads of a search keep from one structure to the next: profiles, clusters, checks. */
#include "decide/search/search-private.h"

static void
drop_resolved (gpointer data)
{
  resolved_unref (data);
}

static SearchKit *
kit_new (const Search *self)
{
  SearchKit *kit = g_new0 (SearchKit, 1);

  kit->profiles = predict_profiles (self->predict);
  kit->sums = expect_sums_new ();
  kit->alike = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, drop_resolved);
  kit->groups = g_hash_table_new_full (NULL, NULL, NULL, drop_resolved);
  return kit;
}

void
search_kit_free (SearchKit *kit)
{
  g_hash_table_unref (kit->alike);
  g_hash_table_unref (kit->groups);
  expect_sums_free (kit->sums);
  profile_set_free (kit->profiles);
  g_free (kit);
}

SearchKit *
search_borrow_kit (const Search *self)
{
  SearchKit *kit = g_async_queue_try_pop (self->idle);

  return kit != NULL ? kit : kit_new (self);
}

void
search_return_kit (const Search *self, SearchKit *kit)
{
  g_async_queue_push (self->idle, kit);
}

ResolvedScenario *
search_kit_resolve (SearchKit *kit, const Search *self, const Scenario *scenario, guint64 structure,
                    guint group, gboolean whole, const GPtrArray *known, DiagList *diags)
{
  const guint64 trained = search_space_without_mesh (self->space, structure);
  char         *key = g_strdup_printf ("%" G_GUINT64_FORMAT " %u %d", trained, group, whole);
  const ResolvedScenario *alike = g_hash_table_lookup (kit->alike, key);
  ResolvedScenario       *resolved;

  if (alike == NULL && search_space_has_one_cluster (self->space))
    alike = g_hash_table_lookup (kit->groups, GUINT_TO_POINTER (group));
  resolved = alike != NULL ? resolved_on_mesh (alike, scenario, known, diags)
                           : resolved_new (scenario, kit->profiles, diags);
  if (resolved != NULL && !g_hash_table_contains (kit->groups, GUINT_TO_POINTER (group)))
    g_hash_table_insert (kit->groups, GUINT_TO_POINTER (group), (gpointer) resolved_ref (resolved));
  if (resolved != NULL && !g_hash_table_contains (kit->alike, key))
    g_hash_table_insert (kit->alike, g_steal_pointer (&key), (gpointer) resolved_ref (resolved));
  g_free (key);
  return resolved;
}
