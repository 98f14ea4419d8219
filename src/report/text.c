/* Text for a terminal: `simulate`. */
#include "report/report.h"

#include "report/advice-private.h"
#include "report/remedies-private.h"
#include "report/stages.h"

#include <math.h>

#define GIB 1073741824.0

static void line (GString *out, const char *name, const char *format, ...) G_GNUC_PRINTF (3, 4);

static void
line (GString *out, const char *name, const char *format, ...)
{
  va_list          arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  g_string_append_printf (out, "  %-26s %s\n", name, text);
}

static char *
seconds (double value)
{
  return quantity_format (QUANTITY_TIME, value, 4);
}

static char *
bytes (double value)
{
  return quantity_format (QUANTITY_BYTES, value, 4);
}

/* What was not replayed but follows. */
static void
append_extrapolated (const Prediction *self, GString *out)
{
  const ScenarioSetting *all = prediction_setting (self, "training", "grad_accum");

  if (self->n_replayed > 0)
    line (out, "extrapolated", "from %u of %s micro-batches", self->n_replayed, all->value);
  if (self->n_steps_replayed > 0)
    line (out, "extrapolated", "from %u of the %u steps of a round", self->n_steps_replayed,
          self->n_steps);
}

/* Where the model's kernels have their times from, if not from the kernel model. */
static void
append_measured (const Prediction *self, GString *out)
{
  const ScenarioSetting *file = prediction_setting (self, "training", "measured_kernels");

  if (file != NULL && file->value[0] != '\0')
    line (out, "kernels", "measured: '%s'", file->value);
}

/* Over placements and hashes. */
static void
append_band (const Prediction *self, GString *out)
{
  const QuantileBand *band = &self->step_band;
  g_autofree char    *p10 = seconds (band->p10), *p50 = seconds (band->p50),
                  *p90 = seconds (band->p90);

  if (self->n_placements == 0)
    return;
  if (self->band_is_drawn)
    line (out, "step time, p10 p50 p90", "%s, %s, %s over %u draw%s of placement and hashes", p10,
          p50, p90, self->n_placements, self->n_placements > 1 ? "s" : "");
  else
    line (out, "step time, p10 p50 p90", "%s, %s, %s: one value, as nothing is drawn", p10, p50,
          p90);
  line (out, "tokens/s/GPU, p10 p50 p90", "%.1f, %.1f, %.1f",
        prediction_tokens_at (self, band->p90), prediction_tokens_at (self, band->p50),
        prediction_tokens_at (self, band->p10));
}

static void
append_throughput (const Prediction *self, GString *out)
{
  g_autofree char *step = seconds (self->step_time_s);
  g_autofree char *base = quantity_format (QUANTITY_COMPUTE, self->mfu_base, 4);

  g_string_append (out, "\nThroughput\n");
  line (out, "step time", "%s%s", step, self->steady ? "" : " (not steady: periods still differ)");
  append_extrapolated (self, out);
  if (self->caveats != NULL)
    line (out, "not the same training", "%s", self->caveats);
  append_measured (self, out);
  line (out, "tokens/s/GPU", "%.1f (%.0f in all, %.2f samples/s)", self->tokens_per_s_per_gpu,
        self->tokens_per_s, self->samples_per_s);
  if (self->imbalance > 0)
    line (out, "sequences", "%.1f tokens on average; the fullest data rank has %.2f times the mean",
          self->seq_len, self->imbalance);
  line (out, "MFU", "%.1f %% of %s a GPU (%.1f TFLOP/s), model FLOPs: %s (%s)", self->mfu_percent,
        base, self->model_tflops_per_gpu, self->flops_convention, self->flops_counted);
  line (out, "HFU", "%.1f %% (%.1f TFLOP/s a GPU: model FLOPs and what recomputation repeats)",
        self->hfu_percent, self->hardware_tflops_per_gpu);
  {
    g_autofree char *exposed = seconds (self->exposed_comm_s);

    line (out, "exposed communication",
          "%s, %.1f %% of the step (rank %u: collectives run, its compute stream is idle)", exposed,
          100 * self->exposed_comm_s / self->step_time_s, self->exposed_rank);
  }
  if (self->bubble_s > 0)
    {
      g_autofree char *bubble = seconds (self->bubble_s);

      line (out, "pipeline bubble",
            "%s, %.1f %% of the step (nothing runs on a GPU; mean over all)", bubble,
            100 * self->bubble_s / self->step_time_s);
    }
  if (self->step_time_high_s > 0)
    {
      g_autofree char *low = seconds (self->step_time_low_s),
                      *high = seconds (self->step_time_high_s);

      line (out, "step time interval", "%s to %s over the ranges of the hardware figures", low,
            high);
    }
  append_band (self, out);
}

static void
append_time (const Prediction *self, GString *out)
{
  g_string_append (out, "\nWhere the time of a step goes (critical path)\n");
  for (guint i = 0; i < TIME_N; i++)
    if (self->parts[i] > 0)
      {
        g_autofree char *text = seconds (self->parts[i]);

        line (out, time_part_name ((TimePart) i), "%10s  %5.1f %%", text,
              100 * self->parts[i] / self->step_time_s);
      }
  g_string_append (out, "\nWhat binds it\n");
  for (guint i = 0; i < self->bindings->len && i < 6; i++)
    {
      const BindingUse *use = &g_array_index (self->bindings, BindingUse, i);
      g_autofree char  *text = seconds (use->seconds);

      if (use->utilisation > 0)
        line (out, use->resource, "%10s  %5.1f %%  (busiest one in use %.0f %% of its capacity)",
              text, 100 * use->seconds / self->step_time_s, 100 * use->utilisation);
      else
        line (out, use->resource, "%10s  %5.1f %%", text, 100 * use->seconds / self->step_time_s);
    }
}

/* The framework's own two peaks, and what keeps them from the device's. */
static void
append_allocator (const MemoryUse *use, GString *out)
{
  g_autofree char *allocated = bytes ((double) use->allocated);
  g_autofree char *reserved = bytes ((double) use->reserved);

  line (out, "allocated, reserved", "%s, %s (peaks of the framework's allocator)", allocated,
        reserved);
  if (use->cached > 0)
    {
      g_autofree char *cached = bytes ((double) use->cached);

      line (out, "cached, in no use", "%s of the peak", cached);
    }
  if (use->n_retries > 0)
    line (out, "allocations tried again", "%u, after cached segments were given back",
          use->n_retries);
  if (use->waiting > 0)
    {
      g_autofree char *waiting = bytes ((double) use->waiting);

      line (out, "freed, waiting for the device", "%s of the peak", waiting);
    }
}

static void
append_tier (const char *title, const MemoryUse *use, gboolean device, GString *out)
{
  g_autofree char *peak = bytes ((double) use->device), *capacity = bytes ((double) use->capacity);
  g_autofree char *room =
      bytes (use->fits ? (double) (use->capacity - use->device) : (double) use->excess);

  if (use->device == 0)
    return;
  g_string_append_printf (out, "\n%s %s\n", title, use->place);
  line (out, "peak", "%s of %s, %s %s", peak, capacity, room,
        use->fits ? "left" : PRINTABLE_ALERT "TOO MUCH: does not fit" PRINTABLE_PLAIN);
  if (device)
    append_allocator (use, out);
  line (out, "op at the peak", "%s", use->peak_op);
  if (use->overflow_op != NULL)
    line (out, "overflows first at", "%s", use->overflow_op);
  for (guint i = 0; i < POOL_N_CATEGORIES; i++)
    if (use->by_category[i] > 0)
      {
        g_autofree char *text = bytes ((double) use->by_category[i]);

        line (out, pool_category_name ((PoolCategory) i), "%10s", text);
      }
}

/* What a host holds before the first step is not known, and not part of the peak. */
static void
append_loading (const Prediction *self, GString *out)
{
  g_autofree char *most = bytes (self->host_loading_bytes);

  if (self->host_loading_bytes == 0)
    return;
  line (out, "while it loads", "none (cut as it is made) to %s (whole in fp32 in each process)%s",
        most,
        self->host_loading_bytes > (double) self->host.capacity ? ": more than there is" : "");
}

/* "    12 calls", or "1 call in 4 steps" of what happens less than once a step. */
static char *
call_count (double calls)
{
  double period = 1 / calls;

  if (calls < 1 && fabs (period - round (period)) < 1e-6 * period)
    return g_strdup_printf ("1 call in %.0f steps", period);
  return g_strdup_printf ("%6.10g call%s", calls, calls == 1 ? "" : "s");
}

static void
append_traffic (const Prediction *self, GString *out)
{
  g_autofree char *inter = quantity_format (QUANTITY_BYTES, self->inter_node_bytes_per_gpu, 4);
  g_autofree char *card = quantity_format (QUANTITY_BYTES, self->inter_node_bytes_per_nic, 4);
  g_autofree char *intra = quantity_format (QUANTITY_BYTES, self->intra_node_bytes_per_gpu, 4);
  g_autofree char *host = quantity_format (QUANTITY_BYTES, self->host_link_bytes_per_gpu, 4);

  g_string_append (out, "\nTraffic of a step (sent, payload; sizes S as nccl-tests counts them)\n");
  line (out, "between nodes", "%s a GPU, %s a network card (mean)", inter, card);
  line (out, "inside nodes", "%s a GPU", intra);
  line (out, "host link copies", "%s a GPU", host);
  for (guint i = 0; i < self->traffic->len; i++)
    {
      const TrafficUse *use = &g_array_index (self->traffic, TrafficUse, i);
      g_autofree char  *size = bytes (use->bytes), *exposed = seconds (use->exposed_s);
      g_autofree char  *name = g_strdup_printf ("%s, %s", use->collective, use->group);
      g_autofree char  *calls = call_count (use->calls);

      line (out, name, "%s, S = %s in all, %s exposed", calls, size, exposed);
    }
}

/* Figures of the hardware that the scenario sets. */
static void
append_figures (const Prediction *self, GString *out)
{
  for (guint i = 0; self->settings != NULL && i < self->settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (self->settings, ScenarioSetting, i);

      if (g_str_equal (setting->section, "cluster") && g_str_equal (setting->spec->key, "figure"))
        line (out, "instead of profiles", "%s", setting->value);
    }
}

void
report_verdict_text (const Prediction *self, GString *out)
{
  misfits_append_text (self, out);
}

void
report_prediction_text (const Prediction *self, GString *out)
{
  if (!self->fits)
    remedies_append_text (self, out);
  g_string_append_printf (out, "%s: %s on %s\n", self->strategy, self->model, self->cluster);
  if (self->software != NULL)
    g_string_append_printf (out, "software %s%s\n", self->software,
                            self->software_by_default
                                ? ", as nothing else is asked for: --framework NAME, or none"
                                : "");
  if (self->network != NULL)
    g_string_append_printf (out, "network %s\n", self->network);
  append_throughput (self, out);
  append_time (self, out);
  append_tier ("GPU memory, fullest at", &self->hbm, TRUE, out);
  if (prediction_is_tight (self))
    line (out, "tight",
          "less than %d %% is left, or allocations were tried again: a longer input or another "
          "release may not fit",
          PREDICTION_TIGHT_PERCENT);
  if (self->of_rank.place != NULL)
    append_tier ("GPU memory of", &self->of_rank, TRUE, out);
  append_tier ("Host memory, fullest at", &self->host, FALSE, out);
  append_loading (self, out);
  if (self->drives.device > 0)
    append_tier ("NVMe drives, fullest at", &self->drives, FALSE, out);
  if (self->stages != NULL)
    report_stages_text (self, out);
  append_traffic (self, out);
  g_string_append (out, "\nConfidence\n");
  if (self->unmeasured != NULL)
    line (out, "not measured", "%s", self->unmeasured);
  line (out, "hardware figures", "%u measured, %u datasheet, %u estimated", self->n_measured,
        self->n_datasheet, self->n_estimate);
  line (out, "profiles", "%s", self->profiles != NULL ? self->profiles : "");
  append_figures (self, out);
  if (self->advice != NULL)
    advice_append_text (self, out);
}
