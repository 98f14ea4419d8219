/* The parts of a page that tell of one prediction. */
#include <math.h>

#include "report/advice-private.h"
#include "report/html-private.h"
#include "report/remedies-private.h"
#include "report/report.h"

#define MAX_RANKS 8

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

static char *
percent (double part, double whole)
{
  return whole > 0 ? g_strdup_printf ("%.1f %%", 100 * part / whole) : g_strdup ("");
}

static void
add_seconds (HtmlTable *table, double value, double step)
{
  g_autofree char *text = seconds (value), *share = percent (value, step);

  html_table_add_number (table, text, value);
  html_table_add_number (table, share, value);
}

static void
add_bytes (HtmlTable *table, double value)
{
  g_autofree char *text = bytes (value);

  html_table_add_number (table, text, value);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
add_found (HtmlPage *page, const GPtrArray *found)
{
  static const HtmlColumn columns[] = {
    { "options that make it fit", FALSE },
    { "step time", TRUE },
    { "tokens/s/GPU", TRUE },
    { "peak GPU memory", TRUE },
  };
  HtmlTable *table = html_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < found->len; i++)
    {
      const Remedy     *remedy = g_ptr_array_index (found, i);
      const Prediction *p = remedy->prediction;
      g_autofree char  *step = seconds (p->step_time_s);
      g_autofree char  *tokens = g_strdup_printf ("%.1f", p->tokens_per_s_per_gpu);

      html_table_add_text (table, remedy->options);
      html_table_add_number (table, step, p->step_time_s);
      html_table_add_number (table, tokens, p->tokens_per_s_per_gpu);
      add_bytes (table, (double) p->hbm.device);
    }
  html_page_take_table (page, table);
}

static void
add_remedies (HtmlPage *page, const Remedies *self)
{
  g_autofree char *lacking = bytes ((double) self->lacking);

  if (self->found->len > 0)
    add_found (page, self->found);
  else
    html_page_add_text (page, "Nothing that was tried fits. The nearest%s%s still lacks %s.",
                        *self->nearest != '\0' ? ", " : "", self->nearest, lacking);
  html_page_add_text (page,
                      "%u changes with the same global batch planned, %u of them simulated%s.",
                      self->n_planned, self->n_simulated,
                      self->cut ? "; there are more, but the search ends there" : "");
}

static void
add_verdict (HtmlPage *page, const Prediction *p)
{
  g_autoptr (GString) misfit = g_string_new (NULL);
  g_autofree char    *room = bytes ((double) p->hbm.capacity - (double) p->hbm.device);
  g_autofree char    *text = g_strdup_printf ("Fits: %s of GPU memory are left.", room);

  if (p->fits)
    {
      html_page_add_verdict (page, HTML_GOOD, text);
      return;
    }
  misfits_append_text (p, misfit);
  html_page_add_verdict (page, HTML_BAD, misfit->str);
  if (p->remedies != NULL)
    add_remedies (page, p->remedies);
}

/* ---- what would be faster -------------------------------------------------------------------- */

static void
add_gain (HtmlTable *table, double gain)
{
  g_autofree char *text = g_strdup_printf ("%.3f times", 1 + gain);

  html_table_add_number (table, text, 1 + gain);
}

static void
add_duration (HtmlTable *table, double value)
{
  g_autofree char *text = seconds (value);

  html_table_add_number (table, text, value);
}

static void
add_options (HtmlPage *page, const GArray *effects)
{
  static const HtmlColumn columns[] = {
    { "options", FALSE },        { "throughput", TRUE },   { "step time", TRUE },
    { "peak GPU memory", TRUE }, { "global batch", TRUE },
  };
  HtmlTable *table = html_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < effects->len; i++)
    {
      const OptionEffect *effect = &g_array_index (effects, OptionEffect, i);
      const gboolean      is_same = fabs (effect->batch - 1) < 1e-9;
      g_autofree char    *batch =
          is_same ? g_strdup ("the same") : g_strdup_printf ("%.4g times", effect->batch);

      html_table_add_text (table, effect->options);
      add_gain (table, effect->gain);
      add_duration (table, effect->step_time_s);
      add_bytes (table, (double) effect->peak_bytes);
      html_table_add_number (table, batch, effect->batch);
    }
  html_page_take_table (page, table);
}

static void
add_figures (HtmlPage *page, const GArray *figures)
{
  static const HtmlColumn columns[] = {
    { "hardware", FALSE },
    { "throughput", TRUE },
    { "step time", TRUE },
  };
  HtmlTable *table = html_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < figures->len; i++)
    {
      const FigureAdvice *advice = &g_array_index (figures, FigureAdvice, i);
      g_autofree char    *text = advice_figure_text (advice);

      html_table_add_text (table, text);
      add_gain (table, advice->gain);
      add_duration (table, advice->step_time_s);
    }
  html_page_take_table (page, table);
}

void
page_add_advice (HtmlPage *page, const Advice *self)
{
  html_page_add_text (page, "%u changes, one at a time, each simulated again%s.", self->n_simulated,
                      self->cut ? "; there are more, but the search ends there" : "");
  if (self->options->len > 0)
    add_options (page, self->options);
  else
    html_page_add_text (page, "No option that was tried gains anything.");
  if (self->figures->len > 0)
    add_figures (page, self->figures);
}

/* ---- the head -------------------------------------------------------------------------------- */

void
page_add_headline (HtmlPage *page, const Prediction *p)
{
  g_autofree char *step = seconds (p->step_time_s);
  g_autofree char *tokens = g_strdup_printf ("%.1f", p->tokens_per_s_per_gpu);
  g_autofree char *in_all = g_strdup_printf ("%.0f in all, %u GPUs", p->tokens_per_s, p->n_gpus);
  g_autofree char *mfu = g_strdup_printf ("%.1f %%", p->mfu_percent);
  g_autofree char *flops =
      g_strdup_printf ("%.1f TFLOP/s a GPU, model FLOPs: %s (%s)", p->model_tflops_per_gpu,
                       p->flops_convention, p->flops_counted);
  g_autofree char *peak = bytes ((double) p->hbm.device);
  g_autofree char *capacity = bytes ((double) p->hbm.capacity);
  g_autofree char *of = g_strdup_printf ("of %s", capacity);
  g_autofree char *exposed = seconds (p->exposed_comm_s);
  g_autofree char *share = percent (p->exposed_comm_s, p->step_time_s);
  g_autofree char *of_step = g_strdup_printf ("%s of the step", share);
  g_autofree char *low = seconds (p->step_time_low_s), *high = seconds (p->step_time_high_s);
  g_autofree char *interval = p->step_time_high_s > 0
                                  ? g_strdup_printf ("%s to %s over the figures' ranges", low, high)
                                  : NULL;
  g_autofree char *bubble = seconds (p->bubble_s);
  g_autofree char *idle = percent (p->bubble_s, p->step_time_s);
  g_autofree char *of_gpus = g_strdup_printf ("%s of the step, mean over the GPUs", idle);
  const HtmlFact   facts[] = {
      { "step time", step, interval },
      { "tokens/s/GPU", tokens, in_all },
      { "MFU", mfu, flops },
      { "peak GPU memory", peak, of },
      { "exposed communication", exposed, of_step },
      { "binds most of the step", p->binding_resource, NULL },
      { "pipeline bubble", bubble, of_gpus },
  };

  add_verdict (page, p);
  html_page_add_tiles (page, facts, G_N_ELEMENTS (facts) - (p->bubble_s > 0 ? 0 : 1));
  if (!p->steady)
    html_page_add_text (page, "The run is not steady: its periods still differ.");
}

/* ---- time ------------------------------------------------------------------------------------ */

void
page_add_time (HtmlPage *page, const Prediction *p)
{
  static const HtmlColumn columns[] = { { "part", FALSE }, { "time", TRUE }, { "of step", TRUE } };
  HtmlTable              *table = html_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < TIME_N; i++)
    if (p->parts[i] > 0)
      {
        html_table_add_text (table, time_part_name ((TimePart) i));
        add_seconds (table, p->parts[i], p->step_time_s);
      }
  html_page_take_table (page, table);
}

void
page_add_bindings (HtmlPage *page, const Prediction *p)
{
  static const HtmlColumn columns[] = { { "resource", FALSE },
                                        { "binds for", TRUE },
                                        { "of step", TRUE },
                                        { "busiest one in use", TRUE } };
  HtmlTable              *table = html_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < p->bindings->len; i++)
    {
      const BindingUse *use = &g_array_index (p->bindings, BindingUse, i);
      g_autofree char *share = use->utilisation > 0 ? percent (use->utilisation, 1) : g_strdup ("");

      html_table_add_text (table, use->resource);
      add_seconds (table, use->seconds, p->step_time_s);
      html_table_add_number (table, share, use->utilisation);
    }
  html_page_take_table (page, table);
}

void
page_add_streams (HtmlPage *page, const Replay *replay, guint max_slices)
{
  g_autoptr (Timeline) timeline = timeline_new (replay, MAX_RANKS, max_slices);

  html_page_add_timeline (page, timeline);
  html_page_add_text (page, "Kernels that run back to back with nothing beside them are few ops; "
                            "--granularity kernel makes each one of its own.");
  if (timeline->n_steps > 1)
    html_page_add_text (page, "A period of %u steps.", timeline->n_steps);
  if (timeline->length < timeline->period)
    html_page_add_text (page, "The first %.1f %% of the period are shown; --trace writes all.",
                        100 * (double) timeline->length / (double) timeline->period);
  if (timeline->n_left_out > 0)
    html_page_add_text (page, "%u simulated ranks are not shown; --trace writes them.",
                        timeline->n_left_out);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void
add_tier_facts (HtmlPage *page, const MemoryUse *use, gboolean device)
{
  g_autofree char *peak = bytes ((double) use->device), *capacity = bytes ((double) use->capacity);
  g_autofree char *of =
      g_strdup_printf ("%s of %s%s", peak, capacity, use->fits ? "" : ": does not fit");
  g_autofree char *allocated = bytes ((double) use->allocated);
  g_autofree char *reserved = bytes ((double) use->reserved);
  g_autofree char *cached = bytes ((double) use->cached);
  const HtmlFact   facts[] = {
      { "peak", of, NULL },
      { "op at the peak", use->peak_op, NULL },
      { "peak allocated", allocated, "by the framework's allocator" },
      { "peak reserved", reserved, "held by the framework's allocator" },
      { "cached, in no use", cached, "of the peak" },
  };

  html_page_add_facts (page, facts, device ? G_N_ELEMENTS (facts) : 2);
  if (use->overflow_op != NULL)
    html_page_add_text (page, "Overflows first at: %s.", use->overflow_op);
}

static void
add_tier (HtmlPage *page, const char *tier, const MemoryUse *use, gboolean device)
{
  static const HtmlColumn columns[] = { { "category", FALSE },
                                        { "at the peak", TRUE },
                                        { "of the peak", TRUE } };
  HtmlTable              *table;
  g_autofree char        *title = g_strdup_printf ("%s, fullest at %s", tier, use->place);

  if (use->device == 0)
    return;
  html_page_add_subheading (page, title);
  add_tier_facts (page, use, device);
  table = html_table_new (columns, G_N_ELEMENTS (columns));
  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    if (use->by_category[c] > 0)
      {
        g_autofree char *share = percent ((double) use->by_category[c], (double) use->device);

        html_table_add_text (table, pool_category_name ((PoolCategory) c));
        add_bytes (table, (double) use->by_category[c]);
        html_table_add_number (table, share, (double) use->by_category[c]);
      }
  html_page_take_table (page, table);
}

void
page_add_memory (HtmlPage *page, const Prediction *p)
{
  add_tier (page, "GPU memory", &p->hbm, TRUE);
  add_tier (page, "Host memory", &p->host, FALSE);
  add_tier (page, "NVMe drives", &p->drives, FALSE);
}

/* ---- traffic --------------------------------------------------------------------------------- */

void
page_add_traffic (HtmlPage *page, const Prediction *p)
{
  static const HtmlColumn columns[] = {
    { "collective", FALSE },
    { "group", FALSE },
    { "calls", TRUE },
    { "S in all", TRUE },
    { "between nodes/GPU", TRUE },
    { "inside nodes/GPU", TRUE },
    { "exposed", TRUE },
    { "of step", TRUE },
  };
  HtmlTable       *table = html_table_new (columns, G_N_ELEMENTS (columns));
  g_autofree char *inter = bytes (p->inter_node_bytes_per_gpu);
  g_autofree char *intra = bytes (p->intra_node_bytes_per_gpu);
  g_autofree char *host = bytes (p->host_link_bytes_per_gpu);

  html_page_add_text (page,
                      "A GPU sends %s between nodes and %s inside its node, and copies %s over its "
                      "host link, in a step (payload; sizes S as nccl-tests counts them).",
                      inter, intra, host);
  for (guint i = 0; i < p->traffic->len; i++)
    {
      const TrafficUse *use = &g_array_index (p->traffic, TrafficUse, i);
      g_autofree char  *calls = g_strdup_printf ("%.6g", use->calls);

      html_table_add_text (table, use->collective);
      html_table_add_text (table, use->group);
      html_table_add_number (table, calls, use->calls);
      add_bytes (table, use->bytes);
      add_bytes (table, use->inter_node_per_gpu);
      add_bytes (table, use->intra_node_per_gpu);
      add_seconds (table, use->exposed_s, p->step_time_s);
    }
  html_page_take_table (page, table);
}

/* ---- what it is of --------------------------------------------------------------------------- */

static void
add_profiles (HtmlPage *page, const Prediction *p)
{
  g_autofree char *kinds = g_strdup_printf ("%u measured, %u datasheet, %u estimated",
                                            p->n_measured, p->n_datasheet, p->n_estimate);
  const HtmlFact   facts[] = {
      { "hardware figures", kinds, "what they are known from" },
      { "profiles", p->profiles != NULL ? p->profiles : "", "with a hash of their figures" },
  };

  const HtmlFact network = { "network", p->network, NULL };
  const HtmlFact caveats = {
    "not the same training", p->caveats,
    "its tokens are worth another amount than those of synchronous training"
  };
  const HtmlFact unmeasured = { "not measured", p->unmeasured,
                                "GPUs whose speed nobody published" };

  if (p->caveats != NULL)
    html_page_add_facts (page, &caveats, 1);
  if (p->unmeasured != NULL)
    html_page_add_facts (page, &unmeasured, 1);
  html_page_add_facts (page, facts, G_N_ELEMENTS (facts));
  if (p->network != NULL)
    html_page_add_facts (page, &network, 1);
}

void
page_add_provenance (HtmlPage *page, const GPtrArray *predictions)
{
  const HtmlFact program = { "shardsim", layout_program_version (),
                             "schema of the results: " RESULTS_SCHEMA_TEXT };

  html_page_add_facts (page, &program, 1);
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      const Prediction *before = i > 0 ? g_ptr_array_index (predictions, i - 1) : NULL;

      if (before != NULL && g_strcmp0 (p->profiles, before->profiles) == 0)
        continue;
      if (before != NULL)
        html_page_add_subheading (page, p->scenario);
      add_profiles (page, p);
    }
}

void
page_add_scenario (HtmlPage *page, const Prediction *p)
{
  g_autofree char *yaml = scenario_print_settings (p->scenario, p->settings);

  html_page_add_copyable (page, yaml);
}
