#include "evidence/tables/validate-kernels.h"

#include <math.h>

#include "evidence/tables/kernel-work.h"

/* Of the median |error| of a kind; 0: none. */
static const double goals[KERNEL_TABLE_N_KINDS] = {
  [KERNEL_TABLE_PRODUCTS] = 0.07,
  [KERNEL_TABLE_PREFILL] = 0.1,
  [KERNEL_TABLE_EXPERTS] = 0.1,
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* The GPU's bench, made once; NULL where there is no such profile. */
static const KernelBench *
bench_of (GHashTable *benches, ProfileSet *profiles, const char *gpu)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const GpuProfile    *profile;
  gpointer             bench;

  if (g_hash_table_lookup_extended (benches, gpu, NULL, &bench))
    return bench;
  profile = profile_set_gpu (profiles, gpu, NULL, diags);
  bench = profile != NULL ? kernel_bench_new (profile) : NULL;
  g_hash_table_insert (benches, (gpointer) gpu, bench);
  return bench;
}

static void
validated_kernel_clear (gpointer row)
{
  g_free (((ValidatedKernel *) row)->shape);
}

static ValidatedKernel
predict (GHashTable *benches, ProfileSet *profiles, const KernelRow *measured)
{
  const KernelBench *bench = bench_of (benches, profiles, measured->gpu);
  ValidatedKernel    self = { .measured = measured, .shape = kernel_row_shape (measured) };

  if (bench == NULL)
    self.reason = "there is no profile of its GPU";
  else
    self.predicted = kernel_bench_seconds (bench, measured, NULL, &self.reason);
  if (self.reason == NULL)
    self.error = self.predicted / measured->seconds - 1;
  return self;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static gboolean
belongs (const KernelGroup *group, const KernelRow *row)
{
  return row->kind == group->kind && (group->gpu == NULL || row->gpu == group->gpu)
         && (group->dtype == NULL || row->dtype == group->dtype);
}

/* Adds the group of KIND, GPU and DTYPE (interned; NULL: any). */
static void
add_group (KernelValidation *self, KernelTableKind kind, const char *gpu, const char *dtype)
{
  g_autofree double *errors = g_new (double, self->rows->len);
  KernelGroup        group = { .kind = kind, .gpu = gpu, .dtype = dtype };
  guint              n = 0;

  group.goal = goals[kind] > 0 ? goals[kind] : NAN;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedKernel *row = &g_array_index (self->rows, ValidatedKernel, i);

      if (!belongs (&group, row->measured))
        continue;
      group.n_failed += row->reason != NULL;
      if (row->reason == NULL)
        errors[n++] = row->error;
    }
  group.errors = statistics_of_errors (errors, n);
  g_array_append_val (self->groups, group);
}

static gboolean
has_group (const KernelValidation *self, const KernelRow *row)
{
  for (guint i = 0; i < self->groups->len; i++)
    {
      const KernelGroup *group = &g_array_index (self->groups, KernelGroup, i);

      if (group->gpu != NULL && belongs (group, row))
        return TRUE;
    }
  return FALSE;
}

static void
summarise (KernelValidation *self)
{
  for (guint kind = 0; kind < KERNEL_TABLE_N_KINDS; kind++)
    for (guint i = 0, any = 0; i < self->measured->len; i++)
      {
        const KernelRow *row = &g_array_index (self->measured, KernelRow, i);

        if (row->kind != kind)
          continue;
        if (any++ == 0)
          add_group (self, row->kind, NULL, NULL);
        if (!has_group (self, row))
          add_group (self, row->kind, row->gpu, row->dtype);
      }
}

KernelValidation *
validate_kernels (GArray *measured, ProfileSet *profiles)
{
  g_autoptr (GHashTable) benches =
      g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) kernel_bench_free);
  g_autofree double *errors = g_new (double, measured->len);
  KernelValidation  *self = g_new0 (KernelValidation, 1);
  guint              n = 0;

  self->measured = measured;
  self->rows = g_array_sized_new (FALSE, FALSE, sizeof (ValidatedKernel), measured->len);
  g_array_set_clear_func (self->rows, validated_kernel_clear);
  self->groups = g_array_new (FALSE, FALSE, sizeof (KernelGroup));
  for (guint i = 0; i < measured->len; i++)
    {
      ValidatedKernel row = predict (benches, profiles, &g_array_index (measured, KernelRow, i));

      self->n_failed += row.reason != NULL;
      if (row.reason == NULL)
        errors[n++] = row.error;
      g_array_append_val (self->rows, row);
    }
  self->errors = statistics_of_errors (errors, n);
  summarise (self);
  return self;
}

void
kernel_validation_free (KernelValidation *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->groups);
  g_array_unref (self->rows);
  g_array_unref (self->measured);
  g_free (self);
}
