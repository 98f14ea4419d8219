#include "calibrate/link-families-private.h"

#include "base/compare.h"

#include <string.h>

void
fitted_family_free (gpointer data)
{
  FittedFamily *self = data;

  g_free (self->name);
  g_free (self->refusal);
  g_ptr_array_unref (self->links);
  g_ptr_array_unref (self->sources);
  g_array_unref (self->figures);
  g_free (self);
}

void
link_family_free (gpointer data)
{
  LinkFamily *self = data;

  g_array_unref (self->rows);
  g_array_unref (self->ranges);
  g_array_unref (self->values);
  g_array_unref (self->own);
  g_array_unref (self->known);
  g_array_unref (self->beside);
  g_free (self);
}

static LinkFamily *
find_family (const GPtrArray *families, const char *name)
{
  for (guint i = 0; i < families->len; i++)
    {
      LinkFamily *family = g_ptr_array_index (families, i);

      if (strcmp (family->result->name, name) == 0)
        return family;
    }
  return NULL;
}

static LinkFamily *
add_family (GPtrArray *families, const char *name)
{
  LinkFamily *self = g_new0 (LinkFamily, 1);

  self->rows = g_array_new (FALSE, FALSE, sizeof (guint));
  self->ranges = g_array_new (FALSE, FALSE, sizeof (MinimiseRange));
  self->values = g_array_new (FALSE, FALSE, sizeof (double));
  self->own = g_array_new (FALSE, FALSE, sizeof (double));
  self->known = g_array_new (FALSE, FALSE, sizeof (double));
  self->beside = g_array_new (FALSE, FALSE, sizeof (double));
  self->result = g_new0 (FittedFamily, 1);
  self->result->name = g_strdup (name);
  self->result->links = g_ptr_array_new_with_free_func (g_free);
  self->result->sources = g_ptr_array_new_with_free_func (g_free);
  self->result->figures = g_array_new (FALSE, TRUE, sizeof (FittedFigure));
  g_ptr_array_add (families, self);
  return self;
}

static void
add_name (GPtrArray *names, const char *name)
{
  if (!g_ptr_array_find_with_equal_func (names, name, g_str_equal, NULL))
    g_ptr_array_add (names, g_strdup (name));
}

/* Row ROW crosses LINK. */
static void
note_row (GPtrArray *families, guint row, const LinkProfile *link, const char *source,
          const GPtrArray *only)
{
  g_autofree char *name = link != NULL ? measurement_link_family (link) : NULL;
  LinkFamily      *family;

  if (link == NULL
      || (only != NULL
          && !g_ptr_array_find_with_equal_func ((GPtrArray *) only, name, g_str_equal, NULL)))
    return;
  family = find_family (families, name);
  if (family == NULL)
    family = add_family (families, name);
  g_array_append_val (family->rows, row);
  family->result->n_rows++;
  add_name (family->result->links, link->id);
  add_name (family->result->sources, source);
}

static gint
compare_families (gconstpointer a, gconstpointer b)
{
  const LinkFamily *x = *(const LinkFamily *const *) a, *y = *(const LinkFamily *const *) b;

  return strcmp (x->result->name, y->result->name);
}

GPtrArray *
link_families_collect (const GPtrArray *measurements, CollectivePredictor *predictor,
                       const char *left_out, const GPtrArray *only)
{
  GPtrArray *families = g_ptr_array_new_with_free_func (link_family_free);

  for (guint i = 0; i < measurements->len; i++)
    {
      const Measurement *row = g_ptr_array_index (measurements, i);
      g_autofree char   *source = measurement_source_prefix (row);
      CollectiveCost     cost;

      if (row->healthy != HEALTHY_YES || g_strcmp0 (source, left_out) == 0
          || collective_predictor_cost (predictor, i, &cost) != NULL)
        continue;
      note_row (families, i, collective_predictor_intra (predictor, i), source, only);
      note_row (families, i, collective_predictor_nic (predictor, i), source, only);
    }
  g_ptr_array_sort (families, compare_families);
  for (guint i = 0; i < families->len; i++)
    g_ptr_array_sort (((LinkFamily *) g_ptr_array_index (families, i))->result->links,
                      compare_texts);
  return families;
}
