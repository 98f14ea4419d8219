#include "predict/trace/memory-use.h"
#include "predict/trace/op-times.h"
#include "predict/trace/stages.h"

#include <string.h>

static const struct
{
  const char *name, *key;
} part_names[TIME_N] = {
  [TIME_COMPUTE] = { "model kernels", "compute" },
  [TIME_OPTIMIZER] = { "optimizer", "optimizer" },
  [TIME_COPY_KERNELS] = { "copies on the GPU", "copy_kernels" },
  [TIME_INTER_NODE] = { "inter-node communication", "inter_node" },
  [TIME_INTRA_NODE] = { "intra-node communication", "intra_node" },
  [TIME_HOST_COPIES] = { "host copies", "host_copies" },
  [TIME_LATENCY] = { "kernel latency", "latency" },
  [TIME_HOST] = { "host", "host" },
  [TIME_MEMORY] = { "memory", "memory" },
  [TIME_SKEW] = { "slowest GPU", "skew" },
  [TIME_OUTER] = { "outer step", "outer" },
};

const char *
time_part_name (TimePart part)
{
  return part_names[part].name;
}

const char *
time_part_key (TimePart part)
{
  return part_names[part].key;
}

gboolean
prediction_is_tight (const Prediction *self)
{
  const MemoryUse *hbm = &self->hbm;

  return self->fits
         && (hbm->n_retries > 0
             || 100 * (double) hbm->device
                    > (100 - PREDICTION_TIGHT_PERCENT) * (double) hbm->capacity);
}

static void
traffic_use_clear (gpointer data)
{
  TrafficUse *self = data;

  g_free (self->group);
  g_free (self->collective);
}

static void
binding_use_clear (gpointer data)
{
  g_free (((BindingUse *) data)->resource);
}

gboolean
prediction_trains_alike (const Prediction *self, const Prediction *other)
{
  return other->caveats == NULL || g_strcmp0 (self->caveats, other->caveats) == 0;
}

void
prediction_free (Prediction *self)
{
  if (self == NULL)
    return;
  g_free (self->scenario);
  g_free (self->strategy);
  g_free (self->model);
  g_free (self->cluster);
  g_free (self->network);
  g_free (self->software);
  g_clear_pointer (&self->measured, g_array_unref);
  g_clear_pointer (&self->settings, g_array_unref);
  memory_use_clear (&self->hbm);
  memory_use_clear (&self->host);
  memory_use_clear (&self->drives);
  memory_use_clear (&self->of_rank);
  g_free (self->binding_resource);
  g_array_unref (self->bindings);
  g_array_unref (self->traffic);
  g_free (self->profiles);
  g_free (self->caveats);
  g_free (self->unmeasured);
  g_clear_pointer (&self->stages, g_array_unref);
  g_clear_pointer (&self->op_times, g_array_unref);
  remedies_free (self->remedies);
  advice_free (self->advice);
  g_free (self);
}

/* ---- copies ---------------------------------------------------------------------------------- */

GArray *
prediction_new_bindings (void)
{
  GArray *bindings = g_array_new (FALSE, FALSE, sizeof (BindingUse));

  g_array_set_clear_func (bindings, binding_use_clear);
  return bindings;
}

GArray *
prediction_new_traffic (void)
{
  GArray *traffic = g_array_new (FALSE, FALSE, sizeof (TrafficUse));

  g_array_set_clear_func (traffic, traffic_use_clear);
  return traffic;
}

Prediction *
prediction_copy (const Prediction *self)
{
  Prediction *copy = g_memdup2 (self, sizeof *self);

  copy->scenario = g_strdup (self->scenario);
  copy->strategy = g_strdup (self->strategy);
  copy->model = g_strdup (self->model);
  copy->cluster = g_strdup (self->cluster);
  copy->network = g_strdup (self->network);
  copy->software = g_strdup (self->software);
  if (self->measured != NULL)
    g_array_ref (copy->measured);                /* never changed */
  copy->settings = g_array_ref (self->settings); /* never changed, only replaced */
  memory_use_keep (&copy->hbm);
  memory_use_keep (&copy->host);
  memory_use_keep (&copy->drives);
  memory_use_keep (&copy->of_rank);
  copy->binding_resource = g_strdup (self->binding_resource);
  copy->profiles = g_strdup (self->profiles);
  copy->caveats = g_strdup (self->caveats);
  copy->unmeasured = g_strdup (self->unmeasured);
  copy->stages = self->stages != NULL ? stages_copy (self->stages) : NULL;
  copy->op_times = self->op_times != NULL ? op_times_copy (self->op_times) : NULL;
  copy->remedies = NULL;
  copy->advice = NULL;
  copy->bindings = prediction_new_bindings ();
  for (guint i = 0; i < self->bindings->len; i++)
    {
      BindingUse use = g_array_index (self->bindings, BindingUse, i);

      use.resource = g_strdup (use.resource);
      g_array_append_val (copy->bindings, use);
    }
  copy->traffic = prediction_new_traffic ();
  for (guint i = 0; i < self->traffic->len; i++)
    {
      TrafficUse use = g_array_index (self->traffic, TrafficUse, i);

      use.group = g_strdup (use.group);
      use.collective = g_strdup (use.collective);
      g_array_append_val (copy->traffic, use);
    }
  return copy;
}

/* ---- names ----------------------------------------------------------------------------------- */

void
prediction_set_scenario (Prediction *self, const ResolvedScenario *resolved)
{
  const char *name = resolved->scenario->name;

  g_free (self->scenario);
  self->scenario = g_strdup (name != NULL ? name : self->strategy);
  g_clear_pointer (&self->settings, g_array_unref);
  self->settings = resolved_settings (resolved);
}

const ScenarioSetting *
prediction_setting (const Prediction *self, const char *section, const char *key)
{
  for (guint i = 0; i < self->settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (self->settings, ScenarioSetting, i);

      if (g_str_equal (setting->section, section) && g_str_equal (setting->spec->key, key))
        return setting;
    }
  return NULL;
}

/* ---- what follows from it ------------------------------------------------------------------- */

double
prediction_tokens_at (const Prediction *self, double seconds)
{
  return seconds > 0 ? self->tokens_per_step / seconds / self->n_gpus : 0;
}

void
prediction_derive (Prediction *self)
{
  self->tokens_per_s = self->tokens_per_step / self->step_time_s;
  self->tokens_per_s_per_gpu = self->tokens_per_s / self->n_gpus;
  self->samples_per_s = self->tokens_per_s / self->seq_len;
  self->model_tflops_per_gpu = self->model_flops / self->step_time_s / 1e12;
  self->hardware_tflops_per_gpu = self->hardware_flops / self->step_time_s / 1e12;
  self->mfu_percent = 100 * self->model_tflops_per_gpu * 1e12 / self->mfu_base;
  self->hfu_percent = 100 * self->hardware_tflops_per_gpu * 1e12 / self->mfu_base;
}

static gint
compare_bindings (gconstpointer a, gconstpointer b)
{
  const BindingUse *x = a, *y = b;

  if (x->seconds != y->seconds)
    return x->seconds > y->seconds ? -1 : 1;
  return strcmp (x->resource, y->resource);
}

void
prediction_sort_bindings (Prediction *self)
{
  g_array_sort (self->bindings, compare_bindings);
  g_free (self->binding_resource);
  self->binding_resource = g_strdup (
      self->bindings->len > 0 ? g_array_index (self->bindings, BindingUse, 0).resource : "");
}
