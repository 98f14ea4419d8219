#include "report/prediction/describe.h"

#include <math.h>

#include "base/config/printable.h"
#include "predict/columns.h"
#include "predict/trace/stages.h"
#include "report/plot/picture-names-private.h"

#define MAX_RANKS  8
#define MAX_SLICES 40000 /* ops of a timeline: about 30 bytes each */

/* ---- the answer ------------------------------------------------------------------------------ */

/* What lacks less than predictions of memory are off. */
static gboolean
is_near_limit (const MemoryUse *use)
{
  return 100 * (double) use->excess < PREDICTION_TIGHT_PERCENT * (double) use->capacity;
}

void
describe_misfits (Document *document, const Prediction *p)
{
  const struct
  {
    const char      *name;
    const MemoryUse *use;
  } tiers[] = { { "GPU memory", &p->hbm }, { "host memory", &p->host }, { "NVMe", &p->drives } };

  for (guint t = 0; t < G_N_ELEMENTS (tiers); t++)
    if (!tiers[t].use->fits)
      {
        const MemoryUse *use = tiers[t].use;
        g_autofree char *excess = document_bytes ((double) use->excess);
        g_autofree char *peak = document_bytes ((double) use->device);
        g_autofree char *capacity = document_bytes ((double) use->capacity);

        document_verdict (document, HTML_BAD, "DOES NOT FIT: %s lacks %s at %s (%s of %s)%s%s%s",
                          tiers[t].name, excess, use->place, peak, capacity,
                          use->overflow_op != NULL ? "; overflows first at: " : "",
                          use->overflow_op != NULL ? use->overflow_op : "",
                          is_near_limit (use) ? "; so near the limit it may go either way" : "");
      }
  if (p->hbm.sequence > 0)
    document_line (document, "Too long: a sequence of %" G_GINT64_FORMAT " tokens on %u rank%s.",
                   p->hbm.sequence, p->hbm.sequence_ranks, p->hbm.sequence_ranks > 1 ? "s" : "");
}

/* Over placements and hashes. */
static void
describe_band (Document *document, const Prediction *p)
{
  const QuantileBand *band = &p->step_band;
  g_autofree char    *p10 = document_seconds (band->p10), *p50 = document_seconds (band->p50);
  g_autofree char    *p90 = document_seconds (band->p90);
  g_autofree char    *draws = g_strdup_printf ("over %u draw%s of placement and hashes",
                                               p->n_placements, p->n_placements > 1 ? "s" : "");

  if (p->n_placements == 0)
    return;
  document_fact (document, "step time, p10 p50 p90", g_strdup_printf ("%s, %s, %s", p10, p50, p90),
                 p->band_is_drawn ? draws : "one value, as nothing is drawn");
  document_fact (document, "tokens/s/GPU, p10 p50 p90",
                 g_strdup_printf ("%.1f, %.1f, %.1f", prediction_tokens_at (p, band->p90),
                                  prediction_tokens_at (p, band->p50),
                                  prediction_tokens_at (p, band->p10)),
                 NULL);
}

static void
describe_tiles (Document *document, const Prediction *p)
{
  g_autofree char *low = document_seconds (p->step_time_low_s);
  g_autofree char *high = document_seconds (p->step_time_high_s);
  g_autofree char *interval =
      g_strdup_printf ("%s to %s over the ranges of the hardware figures", low, high);
  g_autofree char *in_all =
      g_strdup_printf ("%.0f in all, %.2f samples/s", p->tokens_per_s, p->samples_per_s);
  g_autofree char *base = quantity_format (QUANTITY_COMPUTE, p->mfu_base, 4);
  g_autofree char *flops =
      g_strdup_printf ("%.1f TFLOP/s of %s a GPU, model FLOPs: %s (%s)", p->model_tflops_per_gpu,
                       base, p->flops_convention, p->flops_counted);
  g_autofree char *capacity = document_bytes ((double) p->hbm.capacity);
  g_autofree char *peak = document_bytes ((double) p->hbm.device);
  char            *of = g_strdup_printf ("%s of %s", peak, capacity);
  g_autofree char *exposed = document_share (p->exposed_comm_s, p->step_time_s);
  g_autofree char *of_step =
      g_strdup_printf ("%s of the step (rank %u: collectives run, its compute stream is idle)",
                       exposed, p->exposed_rank);
  g_autofree char *idle = document_share (p->bubble_s, p->step_time_s);
  g_autofree char *of_gpus =
      g_strdup_printf ("%s of the step (nothing runs on a GPU; mean over all)", idle);

  document_tile (document, "step time", document_seconds (p->step_time_s),
                 p->step_time_high_s > 0 ? interval : NULL);
  document_tile (document, "tokens/s/GPU", g_strdup_printf ("%.1f", p->tokens_per_s_per_gpu),
                 in_all);
  document_tile (document, "MFU", g_strdup_printf ("%.1f %%", p->mfu_percent), flops);
  document_tile (document, "peak GPU memory", of, NULL);
  document_tile (document, "exposed communication", document_seconds (p->exposed_comm_s), of_step);
  if (p->bubble_s > 0)
    document_tile (document, "pipeline bubble", document_seconds (p->bubble_s), of_gpus);
  document_tile (document, "bound by", g_strdup (p->binding_resource), "most of the step");
}

void
describe_headline (Document *document, const Prediction *p)
{
  const ScenarioSetting *all = prediction_setting (p, "training", "grad_accum");
  const ScenarioSetting *kernels = prediction_setting (p, "training", "measured_kernels");
  const ScenarioSetting *mtp = prediction_setting (p, "model", "mtp");
  g_autofree char       *room =
      document_bytes (p->fits ? (double) p->hbm.capacity - (double) p->hbm.device : 0);

  if (p->fits && document_page (document) != NULL)
    document_verdict (document, HTML_GOOD, "Fits: %s of GPU memory are left.", room);
  describe_tiles (document, p);
  document_fact (document, "HFU",
                 g_strdup_printf ("%.1f %% (%.1f TFLOP/s a GPU: model FLOPs and what recomputation "
                                  "repeats)",
                                  p->hfu_percent, p->hardware_tflops_per_gpu),
                 NULL);
  if (!p->steady)
    document_fact (document, "not steady", g_strdup ("periods still differ"), NULL);
  if (p->n_replayed > 0)
    document_fact (document, "extrapolated",
                   g_strdup_printf ("from %u of %s micro-batches", p->n_replayed, all->value),
                   NULL);
  if (p->n_steps_replayed > 0)
    document_fact (
        document, "extrapolated",
        g_strdup_printf ("from %u of the %u steps of a round", p->n_steps_replayed, p->n_steps),
        NULL);
  if (p->caveats != NULL)
    document_fact (document, "not the same training", g_strdup (p->caveats), NULL);
  if (p->mtp_left > 0 && (mtp == NULL || g_str_equal (mtp->value, "auto")))
    document_fact (document, "left out",
                   g_strdup_printf ("multi-token-prediction layers of the model's file: %u ('mtp: "
                                    "true' trains them)",
                                    p->mtp_left),
                   NULL);
  if (kernels != NULL && kernels->value[0] != '\0')
    document_fact (document, "kernels", g_strdup_printf ("measured: '%s'", kernels->value), NULL);
  if (p->imbalance > 0)
    document_fact (document, "sequences",
                   g_strdup_printf ("%.1f tokens on average; the fullest data rank has %.2f times "
                                    "the mean",
                                    p->seq_len, p->imbalance),
                   NULL);
  describe_band (document, p);
}

/* ---- time ------------------------------------------------------------------------------------ */

/* A part of something, as time or memory. */
typedef struct
{
  const char *name;
  double      amount, share;
} Part;

#define PART_SHARE(title)                                     \
  {                                                           \
    NULL, title, COLUMN_RATIO, 0, COLUMN_MEMBER (Part, share) \
  }

void
describe_time (Document *document, const Prediction *p)
{
  static const Column columns[] = {
    { NULL, "part", COLUMN_WORD, 0, COLUMN_MEMBER (Part, name) },
    { NULL, "time", COLUMN_TIME, 0, COLUMN_MEMBER (Part, amount) },
    PART_SHARE ("of step"),
    { 0 },
  };
  Part  parts[TIME_N];
  guint n = 0;

  for (guint i = 0; i < TIME_N; i++)
    if (p->parts[i] > 0)
      parts[n++] =
          (Part){ time_part_name ((TimePart) i), p->parts[i], p->parts[i] / p->step_time_s };
  document_table (document, columns, (Rows){ parts, n, sizeof (Part) });
}

static void
describe_bindings (Document *document, const Prediction *p)
{
  static const Column columns[] = {
    PART_SHARE ("of step"),
    { NULL, "busiest one in use", COLUMN_RATIO, COLUMN_OPTIONAL, COLUMN_MEMBER (Part, amount) },
    { 0 },
  };
  g_autofree Part *shares = g_new (Part, p->bindings->len);
  const TableBlock blocks[] = { { binding_columns, rows_of_array (p->bindings), NULL },
                                { columns, { shares, p->bindings->len, sizeof (Part) }, NULL } };

  for (guint i = 0; i < p->bindings->len; i++)
    {
      const BindingUse *use = &g_array_index (p->bindings, BindingUse, i);

      shares[i] = (Part){ NULL, use->utilisation, use->seconds / p->step_time_s };
    }
  document_blocks (document, blocks, G_N_ELEMENTS (blocks), NULL);
}

void
describe_streams (Document *document, const Replay *replay, guint max_slices)
{
  g_autoptr (Timeline) timeline = NULL;

  if (document_page (document) == NULL)
    return;
  timeline = timeline_new (replay, MAX_RANKS, max_slices);
  html_page_add_timeline (document_page (document), timeline);
  document_line (document, "Kernels that run back to back with nothing beside them are few ops; "
                           "--granularity kernel makes each one of its own.");
  if (timeline->n_steps > 1)
    document_line (document, "A period of %u steps.", timeline->n_steps);
  if (timeline->length < timeline->period)
    document_line (document, "The first %.1f %% of the period are shown; --trace writes all.",
                   100 * (double) timeline->length / (double) timeline->period);
  if (timeline->n_left_out > 0)
    document_line (document, "%u simulated ranks are not shown; --trace writes them.",
                   timeline->n_left_out);
}

static void
describe_stages (Document *document, const Prediction *p)
{
  document_section (document, "Stages");
  document_line (document, "Weights of a rank; memory of the fullest rank; of a step, means over "
                           "the ranks: kernels run,\nnothing runs, collectives and messages run "
                           "without a kernel.");
  document_table (document, stage_columns, rows_of_array (p->stages));
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void
describe_allocator (Document *document, const MemoryUse *use)
{
  document_fact (document, "peak allocated", document_bytes ((double) use->allocated),
                 "by the framework's allocator");
  document_fact (document, "peak reserved", document_bytes ((double) use->reserved),
                 "held by the framework's allocator");
  if (use->cached > 0)
    document_fact (document, "cached, in no use", document_bytes ((double) use->cached),
                   "part of the peak");
  if (use->n_retries > 0)
    document_fact (document, "allocations tried again", g_strdup_printf ("%u", use->n_retries),
                   "after cached segments were given back");
  if (use->waiting > 0)
    document_fact (document, "freed, waiting for the device",
                   document_bytes ((double) use->waiting), "part of the peak");
}

static void
describe_tier (Document *document, const char *tier, const MemoryUse *use, gboolean device)
{
  static const Column columns[] = {
    { NULL, "category", COLUMN_WORD, 0, COLUMN_MEMBER (Part, name) },
    { NULL, "at the peak", COLUMN_BYTES, 0, COLUMN_MEMBER (Part, amount) },
    PART_SHARE ("of the peak"),
    { 0 },
  };
  g_autofree char *title = g_strdup_printf ("%s %s", tier, use->place);
  g_autofree char *capacity = document_bytes ((double) use->capacity);
  g_autofree char *room =
      document_bytes (use->fits ? (double) (use->capacity - use->device) : (double) use->excess);
  g_autofree char *peak = document_bytes ((double) use->device);
  g_autofree char *left =
      g_strdup_printf ("%s %s", room, use->fits ? "left" : "TOO MUCH: does not fit");
  Part  parts[POOL_N_CATEGORIES];
  guint n = 0;

  if (use->device == 0)
    return;
  document_subheading (document, title);
  document_fact (document, "peak", g_strdup_printf ("%s of %s", peak, capacity), left);
  if (device)
    describe_allocator (document, use);
  document_fact (document, "op at the peak", g_strdup (use->peak_op), NULL);
  if (use->overflow_op != NULL)
    document_fact (document, "overflows first at", g_strdup (use->overflow_op), NULL);
  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    if (use->by_category[c] > 0)
      parts[n++] = (Part){ pool_category_name ((PoolCategory) c), (double) use->by_category[c],
                           (double) use->by_category[c] / (double) use->device };
  document_table (document, columns, (Rows){ parts, n, sizeof (Part) });
}

/*
 * What retries of the allocator cost is told as published runs have shown it, since what the
 * driver's calls take beside a running step is not: nothing, up to a step that takes five times as
 * long (arXiv:2304.11277, 5.3: without the rate limiter of FSDP that avoids them).
 */
static void
describe_tightness (Document *document, const Prediction *p)
{
  const ScenarioSetting *allocator = prediction_setting (p, "memory", "allocator");
  const gboolean expands = allocator != NULL && g_str_equal (allocator->value, "expandable");

  document_line (document,
                 "Tight: less than %d %% is left, or allocations were tried again: it may go "
                 "either way, and a longer\ninput or another release may not fit.",
                 PREDICTION_TIGHT_PERCENT);
  if (p->hbm.n_retries > 0)
    document_line (
        document,
        "Allocations that are tried again wait for the GPU, then for cudaFree and cudaMalloc. The "
        "step time leaves\nthat out: published runs took 1 to 5 times as long. Remedy: %sa "
        "smaller micro_batch.",
        expands ? "" : "memory.allocator: expandable, or ");
}

void
describe_memory (Document *document, const Prediction *p)
{
  g_autofree char *most = document_bytes (p->host_loading_bytes);

  describe_tier (document, "GPU memory, fullest at", &p->hbm, TRUE);
  if (prediction_is_tight (p))
    describe_tightness (document, p);
  if (p->of_rank.place != NULL)
    describe_tier (document, "GPU memory of", &p->of_rank, TRUE);
  describe_tier (document, "Host memory, fullest at", &p->host, FALSE);
  /* What a host holds before the first step is not known, and not part of the peak. */
  if (p->host_loading_bytes > 0)
    document_fact (
        document, "while it loads",
        g_strdup_printf (
            "none (cut as it is made) to %s (whole in fp32 in each process)"
            "%s",
            most, p->host_loading_bytes > (double) p->host.capacity ? ": more than there is" : ""),
        NULL);
  describe_tier (document, "NVMe drives, fullest at", &p->drives, FALSE);
}

/* ---- traffic --------------------------------------------------------------------------------- */

static char *
bytes_a_gpu (double bytes)
{
  g_autofree char *text = document_bytes (bytes);

  return g_strconcat (text, " a GPU", NULL);
}

void
describe_traffic (Document *document, const Prediction *p)
{
  static const Column columns[] = { PART_SHARE ("of step"), { 0 } };
  g_autofree char    *card = document_bytes (p->inter_node_bytes_per_nic);
  g_autofree char    *a_card = g_strdup_printf ("%s a network card (mean)", card);
  g_autofree Part    *shares = g_new0 (Part, p->traffic->len);
  const TableBlock    blocks[] = { { traffic_columns, rows_of_array (p->traffic), NULL },
                                   { columns, { shares, p->traffic->len, sizeof (Part) }, NULL } };

  document_fact (document, "between nodes", bytes_a_gpu (p->inter_node_bytes_per_gpu), a_card);
  document_fact (document, "inside nodes", bytes_a_gpu (p->intra_node_bytes_per_gpu), NULL);
  document_fact (document, "host link copies", bytes_a_gpu (p->host_link_bytes_per_gpu), NULL);
  for (guint i = 0; i < p->traffic->len; i++)
    shares[i].share = g_array_index (p->traffic, TrafficUse, i).exposed_s / p->step_time_s;
  document_blocks (document, blocks, G_N_ELEMENTS (blocks), NULL);
}

/* ---- the whole ------------------------------------------------------------------------------- */

void
describe_details (Document *document, const Prediction *p, const Replay *replay)
{
  document_section (document, "Where the time of a step goes (critical path)");
  document_picture (document, PICTURE_TIME_SPLIT);
  describe_time (document, p);
  document_section (document, "What binds it");
  describe_bindings (document, p);
  if (p->advice != NULL)
    describe_advice (document, p);
  if (replay != NULL)
    {
      document_section (document, "Streams");
      describe_streams (document, replay, MAX_SLICES);
      document_picture (document, PICTURE_LAYER_FORWARD);
      document_picture (document, PICTURE_LAYER_BACKWARD);
      document_section (document, "Kernels");
      document_picture (document, PICTURE_ROOFLINE);
    }
  if (document_page (document) != NULL)
    document_section (document, "Memory");
  document_picture (document, PICTURE_MEMORY_TIMELINE);
  describe_memory (document, p);
  if (p->stages != NULL)
    describe_stages (document, p);
  document_section (document,
                    "Traffic of a step (sent, payload; sizes S as nccl-tests counts them)");
  describe_traffic (document, p);
}

/* "mi355x-288, maxtext-2024": what of LIKE no published run had, else ""; newly allocated. */
static char *
unseen_of (const TrackQuery *like, const TrackRecord *record)
{
  return g_strjoin (!record->gpu && !record->framework ? ", " : "", record->gpu ? "" : like->gpu,
                    record->framework ? "" : like->framework, NULL);
}

/* How near predictions of published runs came that are like P; first, what no such run had. */
static void
describe_record (Document *document, const Prediction *p)
{
  TrackRecord      record;
  g_autofree char *unseen = NULL, *note = NULL;

  if (!track_record_find (&record, &p->like, NULL))
    return;
  unseen = unseen_of (&p->like, &record);
  if (record.n == 0)
    document_fact (
        document, "no published run",
        g_strdup_printf ("on GPUs of generation %s: nothing bounds the error", p->like.generation),
        NULL);
  else if (*unseen != '\0')
    document_fact (document, "no published run", g_strdup_printf ("of %s", unseen), NULL);
  note = g_strdup_printf ("%u published: %s", record.n, record.alike);
  if (record.n > 0)
    document_fact (document, "runs like this one",
                   g_strdup_printf ("predicted within %.1f %% (median) and %.0f %% (nine of ten)",
                                    100 * record.median, 100 * record.p90),
                   note);
  track_record_clear (&record);
}

static void
describe_profiles (Document *document, const Prediction *p)
{
  if (p->unmeasured != NULL)
    document_fact (document, "not measured", g_strdup (p->unmeasured), NULL);
  document_fact (document, "hardware figures",
                 g_strdup_printf ("%u measured, %u datasheet, %u estimated", p->n_measured,
                                  p->n_datasheet, p->n_estimate),
                 NULL);
  document_fact (document, "profiles", g_strdup (p->profiles != NULL ? p->profiles : ""), NULL);
  for (guint i = 0; p->settings != NULL && i < p->settings->len; i++)
    {
      const ScenarioSetting *setting = &g_array_index (p->settings, ScenarioSetting, i);

      if (g_str_equal (setting->section, "cluster") && g_str_equal (setting->spec->key, "figure"))
        document_fact (document, "instead of profiles", g_strdup (setting->value), NULL);
    }
  if (p->software != NULL)
    document_fact (
        document, "software", g_strdup (p->software),
        p->software_by_default ? "as nothing else is asked for: --framework NAME, or none" : NULL);
  if (p->network != NULL)
    document_fact (document, "network", g_strdup (p->network), NULL);
}

/* Whether the same published runs are like A and B. */
static gboolean
same_like (const TrackQuery *a, const TrackQuery *b)
{
  return a->gpu == b->gpu && a->framework == b->framework && a->strategy == b->strategy
         && a->precision == b->precision && a->n_nodes == b->n_nodes;
}

void
describe_provenance (Document *document, const GPtrArray *predictions)
{
  document_section (document, "Confidence");
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      const Prediction *before = i > 0 ? g_ptr_array_index (predictions, i - 1) : NULL;
      const gboolean    same = before != NULL && g_strcmp0 (p->profiles, before->profiles) == 0;

      if (same && same_like (&p->like, &before->like))
        continue;
      if (before != NULL)
        document_subheading (document, p->scenario);
      describe_record (document, p);
      if (before == NULL)
        document_fact (document, "shardsim", g_strdup (layout_program_version ()),
                       "schema of the results: " RESULTS_SCHEMA_TEXT);
      if (!same)
        describe_profiles (document, p);
    }
}

void
describe_scenario (Document *document, const Prediction *p)
{
  g_autofree char *yaml = NULL;

  if (document_page (document) == NULL)
    return;
  yaml = scenario_print_settings (p->scenario, p->settings);
  document_copyable (document, yaml);
}

void
describe_prediction (Document *document, const Prediction *p, const Replay *replay)
{
  g_autoptr (GPtrArray) one = g_ptr_array_new ();

  /* What does not fit is there before the search for what would, and comes first. */
  describe_misfits (document, p);
  if (!p->fits && p->remedies != NULL)
    describe_remedies (document, p->remedies);
  document_title (document, "%s: %s on %s", p->strategy, p->model, p->cluster);
  document_section (document, "Throughput");
  describe_headline (document, p);
  describe_details (document, p, replay);
  g_ptr_array_add (one, (gpointer) p);
  describe_provenance (document, one);
}
