#include "predict/few-runs.h"

#include <string.h>

#define MOST_FAMILIES 64

typedef struct
{
  guint       n;
  FewKind     kind;
  Prediction *prediction;
} FewRun;

struct _FewFamily
{
  char   *key;
  GArray *runs; /* FewRun */
};

struct _FewRuns
{
  GQueue families; /* FewFamily, that used last first */
};

static void
few_run_clear (gpointer data)
{
  prediction_free (((FewRun *) data)->prediction);
}

FewFamily *
few_family_new (void)
{
  FewFamily *self = g_new0 (FewFamily, 1);

  self->runs = g_array_new (FALSE, FALSE, sizeof (FewRun));
  g_array_set_clear_func (self->runs, few_run_clear);
  return self;
}

void
few_family_free (FewFamily *self)
{
  if (self == NULL)
    return;
  g_free (self->key);
  g_array_unref (self->runs);
  g_free (self);
}

gboolean
few_family_find (const FewFamily *self, guint n, FewKind kind, const Prediction **prediction)
{
  for (guint i = 0; i < self->runs->len; i++)
    {
      const FewRun *run = &g_array_index (self->runs, FewRun, i);

      if (run->n != n || run->kind != kind)
        continue;
      *prediction = run->prediction;
      return TRUE;
    }
  return FALSE;
}

void
few_family_add (FewFamily *self, guint n, FewKind kind, Prediction *prediction)
{
  FewRun run = { n, kind, prediction };

  g_array_append_val (self->runs, run);
}

/* ---- families -------------------------------------------------------------------------------- */

FewRuns *
few_runs_new (void)
{
  return g_new0 (FewRuns, 1);
}

void
few_runs_free (FewRuns *self)
{
  if (self == NULL)
    return;
  g_queue_clear_full (&self->families, (GDestroyNotify) few_family_free);
  g_free (self);
}

/*
 * All but the micro-batches, and at which end of their ranges figures are; NULL: figures are those
 * of this scenario alone. Newly allocated.
 */
static char *
family_key (const ResolvedScenario *resolved)
{
  const char          *profiles = profile_set_shared_key (resolved->profiles);
  g_autoptr (Scenario) scenario = scenario_copy (resolved->scenario);
  g_autofree char     *own = NULL;

  if (profiles == NULL)
    return NULL;
  scenario->training.grad_accum = 1;
  scenario->training.global_batch = 0;
  own = scenario_key (scenario, profile_set_files (resolved->profiles));
  return g_strconcat (own, " ", profiles, NULL);
}

FewFamily *
few_runs_family (FewRuns *self, const ResolvedScenario *resolved)
{
  g_autofree char *key = family_key (resolved);
  FewFamily       *family;

  if (key == NULL)
    return NULL;
  for (GList *link = self->families.head; link != NULL; link = link->next)
    {
      family = link->data;
      if (!g_str_equal (family->key, key))
        continue;
      g_queue_unlink (&self->families, link);
      g_queue_push_head_link (&self->families, link);
      return family;
    }
  family = few_family_new ();
  family->key = g_steal_pointer (&key);
  g_queue_push_head (&self->families, family);
  if (self->families.length > MOST_FAMILIES)
    few_family_free (g_queue_pop_tail (&self->families));
  return family;
}
