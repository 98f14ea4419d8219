/*
 * Traces of real steps: sums of a trace that was written by hand, whatever it is packed in; whose
 * kernels they are by the ranges around their launches; a schedule's own Chakra traces give the
 * kernel model's times back; what is cut off or no trace is an error that says where.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <gio/gio.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "cost/kernel/measured-times.h"
#include "evidence/tables/trace-measure.h"
#include "import/trace/chakra-file.h"
#include "import/trace/trace-load.h"
#include "report/export/chakra.h"

static char *scratch;

static void
set_up (void)
{
  scratch = g_dir_make_tmp ("shardsim-traces-XXXXXX", NULL);
  ck_assert_ptr_nonnull (scratch);
}

static void
tear_down (void)
{
  g_autoptr (GDir) dir = g_dir_open (scratch, 0, NULL);
  const char      *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (scratch, name, NULL);

      g_unlink (path);
    }
  g_rmdir (scratch);
  g_clear_pointer (&scratch, g_free);
}

static char *
write_text (const char *name, const char *text, gsize length)
{
  char *path = g_build_filename (scratch, name, NULL);

  g_unlink (path); /* it is not cut to size */
  ck_assert (g_file_set_contents_full (path, text, (gssize) length, 0, 0600, NULL));
  return path;
}

static char *
handwritten (void)
{
  return g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests", "data", "traces",
                           "handwritten-two-blocks.json", NULL);
}

/* What the trace that was written by hand says it is of. */
static Scenario *
scenario_of (const char *key, const char *value)
{
  return fixture_scenario ("cluster.name", "1 x dgx-h100", "model.arch", "llama", "model.n_layers",
                           "2", "model.d_model", "1024", "model.n_heads", "8", "model.d_ff", "2816",
                           "model.vocab", "32000", "training.seq_len", "1024",
                           "training.micro_batch", "1", "training.grad_accum", "2", "strategy.name",
                           "fsdp2", key != NULL ? key : "model.n_layers",
                           value != NULL ? value : "2", NULL);
}

static gboolean
measure_as (const char *file, const Scenario *scenario, gint64 step, gboolean differs,
            TraceMeasurement *out, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
  g_autoptr (StepTrace)  trace = step_trace_load (file, diags);

  ck_assert_ptr_nonnull (plan);
  if (trace == NULL || !step_trace_select_step (trace, file, &step, diags))
    return FALSE;
  step_trace_place_layers (trace);
  return trace_measure (trace, plan, (guint) MAX (trace->rank, 0), differs, file, out, diags);
}

static gboolean
measure (const char *file, const Scenario *scenario, gint64 step, TraceMeasurement *out,
         DiagList *diags)
{
  return measure_as (file, scenario, step, FALSE, out, diags);
}

static void
assert_row (const TraceMeasurement *got, guint layer, MeasuredPhase phase, double us)
{
  const MeasuredRow *row = &got->table.rows[layer][phase];

  ck_assert_msg (row->given == (us > 0) && fabs (row->seconds * 1e6 - us) < 1e-6,
                 "%s, %s: %.12g us, not %.12g", measured_layer_name (layer),
                 measured_phase_name (phase), row->seconds * 1e6, us);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void
assert_handwritten (const char *file)
{
  g_autoptr (Scenario) scenario = scenario_of (NULL, NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  TraceMeasurement     got;

  ck_assert_msg (measure (file, scenario, -1, &got, diags), "%s", diag_list_first_message (diags));
  assert_row (&got, LAYER_EMBEDDING, MEASURED_FORWARD, 10);
  assert_row (&got, LAYER_BLOCK, MEASURED_FORWARD, (100.5 + 50 + 110.5 + 50) / 2);
  assert_row (&got, LAYER_HEAD, MEASURED_FORWARD, 220);
  assert_row (&got, LAYER_HEAD, MEASURED_BACKWARD, 450);
  assert_row (&got, LAYER_BLOCK, MEASURED_BACKWARD, (210 + 205) / 2.0);
  assert_row (&got, LAYER_EMBEDDING, MEASURED_BACKWARD, 15);
  assert_row (&got, MEASURED_ALL_LAYERS, MEASURED_OPTIMIZER, 300);
  assert_row (&got, MEASURED_ALL_LAYERS, MEASURED_FORWARD, 0);
  assert_row (&got, LAYER_BLOCK, MEASURED_BACKWARD_ALL, 0);
  ck_assert_int_eq (got.part_ns[TRACE_STRATEGY], 4 * 7000);
  ck_assert_uint_eq (got.part_n[TRACE_UNKNOWN], 0);
  ck_assert_uint_eq (got.part_n[TRACE_COMMUNICATION], 6);
}

START_TEST (test_handwritten)
{
  g_autofree char *file = handwritten ();

  assert_handwritten (file);
}
END_TEST

START_TEST (test_gzipped)
{
  g_autofree char       *file = handwritten (), *text = NULL, *path = NULL;
  g_autoptr (GConverter) gzip =
      G_CONVERTER (g_zlib_compressor_new (G_ZLIB_COMPRESSOR_FORMAT_GZIP, 6));
  g_autofree char     *packed = g_malloc (1 << 20);
  gsize                length, used, size;
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (g_file_get_contents (file, &text, &length, NULL));
  ck_assert_int_eq (g_converter_convert (gzip, text, length, packed, 1 << 20,
                                         G_CONVERTER_INPUT_AT_END, &used, &size, NULL),
                    G_CONVERTER_FINISHED);
  path = write_text ("t.json.gz", packed, size);
  assert_handwritten (path);
  g_free (path);
  path = write_text ("t.json.gz", packed, size - 100); /* cut off */
  ck_assert_ptr_null (step_trace_load (path, diags));
  ck_assert (g_str_has_prefix (diag_list_first_message (diags), "event "));
  packed[size / 2] ^= 0x55; /* broken */
  g_free (path);
  path = write_text ("t.json.gz", packed, size);
  ck_assert_ptr_null (step_trace_load (path, diags));
}
END_TEST

/* 105 of the reduce-scatter's 110 us run beside a product; the copies wait for the gathers. */
START_TEST (test_collectives)
{
  g_autofree char      *file = handwritten ();
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (StepTrace) trace = step_trace_load (file, diags);
  g_autoptr (GArray)    all = NULL;
  gint64                step = 7;
  const TraceCollective want[] = {
    { "_reduce_scatter_base", 16000, 8, 2, 220000, 10000 },
    { "_allgather_base", 16000, 8, 4, 48000, 48000 },
  };

  ck_assert (step_trace_select_step (trace, file, &step, diags));
  all = step_trace_collectives (trace);
  ck_assert_uint_eq (all->len, G_N_ELEMENTS (want));
  for (guint i = 0; i < all->len; i++)
    {
      const TraceCollective *got = &g_array_index (all, TraceCollective, i);

      ck_assert_str_eq (got->collective, want[i].collective);
      ck_assert_double_eq (got->bytes, want[i].bytes);
      ck_assert_uint_eq (got->group, want[i].group);
      ck_assert_uint_eq (got->n, want[i].n);
      ck_assert_int_eq (got->total_ns, want[i].total_ns);
      ck_assert_int_eq (got->exposed_ns, want[i].exposed_ns);
    }
}
END_TEST

/* ---- names and ranges ------------------------------------------------------------------------ */

START_TEST (test_names)
{
  static const struct
  {
    const char *name;
    RangeKind   kind;
    gint64      number;
  } names[] = {
    { "ProfilerStep#12", RANGE_STEP, 12 },
    { "Optimizer.step#AdamW.step", RANGE_OPTIMIZER, -1 },
    { "Optimizer.zero_grad#AdamW.zero_grad", RANGE_NOTHING, -1 },
    { "autograd::engine::evaluate_function: MmBackward0", RANGE_BACKWARD, -1 },
    { "autograd::engine::evaluate_function: CheckpointFunctionBackward", RANGE_CHECKPOINT, -1 },
    { "model.layers.31.mlp", RANGE_BLOCK, 31 },
    { "transformer.h.5", RANGE_BLOCK, 5 },
    { "path.5", RANGE_NOTHING, -1 },
    { "players.5", RANGE_NOTHING, -1 },
    { "nn.Module: LlamaDecoderLayer_3", RANGE_BLOCK, 3 },
    { "nn.Module: TransformerBlock_0", RANGE_BLOCK, 0 },
    { "nn.Module: Linear_12", RANGE_NOTHING, -1 },
    { "FSDP::pre_forward (layers.3)", RANGE_STRATEGY, -1 },
    { "c10d::allreduce_", RANGE_STRATEGY, -1 },
    { "torch.distributed.ddp.reducer::copy_bucket_to_grad", RANGE_STRATEGY, -1 },
    { "nn.Module: LayerNorm_3", RANGE_NOTHING, -1 },
    { "aten::mm", RANGE_NOTHING, -1 },
    { "", RANGE_NOTHING, -1 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      RangeMeaning got = range_meaning (names[i].name);

      ck_assert_msg (got.kind == names[i].kind && got.number == names[i].number,
                     "'%s': %d, %" G_GINT64_FORMAT, names[i].name, got.kind, got.number);
    }
}
END_TEST

#define OP(cat, name, ts, dur, args)                                                        \
  "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":1,\"tid\":2,\"ts\":" #ts \
  ",\"dur\":" #dur ",\"args\":{" args "}},\n"
#define GPU(name, id, ts, dur)                                                             \
  "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" #ts \
  ",\"dur\":" #dur ",\"args\":{\"correlation\":" #id "}},\n"
#define LAUNCH(id, ts)      OP ("cuda_runtime", "cudaLaunchKernel", ts, 1, "\"correlation\":" #id)
#define KERNEL(id, ts, dur) LAUNCH (id, ts) GPU ("k", id, ts, dur)
#define END                 "{\"ph\":\"M\",\"name\":\"last\"}]"
#define BACKWARD            "autograd::engine::evaluate_function: "

/* A block's range inside of a backward function, and the reentrant checkpoint: both recompute. */
static const char recomputing[] = "{\"traceEvents\": [\n" KERNEL (1, 100, 10) KERNEL (2, 200, 20)
    KERNEL (3, 310, 40) KERNEL (4, 330, 80) KERNEL (5, 410, 160) KERNEL (6, 450, 320)
        OP ("user_annotation", "layers.0", 190, 50, "")
            OP ("cpu_op", BACKWARD "MmBackward0", 300, 50, "")
                OP ("python_function", "nn.Module: Block_0", 305, 15, "")
                    OP ("cpu_op", BACKWARD "CheckpointFunctionBackward", 400, 100, "")
                        OP ("cpu_op", BACKWARD "AddBackward0", 440, 20,
                            "") "{\"ph\":\"M\",\"name\":\"last\"}]}";

START_TEST (test_recomputation)
{
  g_autofree char       *file = write_text ("r.json", recomputing, strlen (recomputing));
  g_autoptr (Scenario)   with = scenario_of ("training.activation_checkpointing", "full");
  g_autoptr (Scenario)   without = scenario_of (NULL, NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (StepTrace)  trace = step_trace_load (file, diags);
  static const TracePart want[] = { TRACE_FORWARD,  TRACE_FORWARD,   TRACE_RECOMPUTE,
                                    TRACE_BACKWARD, TRACE_RECOMPUTE, TRACE_BACKWARD };
  TraceMeasurement       got;

  ck_assert_msg (trace != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (trace->kernels->len, G_N_ELEMENTS (want));
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    ck_assert_int_eq (g_array_index (trace->kernels, TraceKernel, i).owner.part, want[i]);
  ck_assert (!measure (file, without, -1, &got, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "the trace recomputes activations, the scenario does not");
  { /* one block of two: said as well, and the only thing wrong with the right scenario */
    g_autoptr (DiagList) other = diag_list_new ();

    ck_assert (!measure (file, with, -1, &got, other));
    ck_assert_str_eq (diag_list_first_message (other),
                      "the trace has kernels of 1 blocks, the scenario's rank has 2");
  }
}
END_TEST

/* Whole microseconds since the epoch, as older profilers wrote them: a range ends where the next
   one begins. */
START_TEST (test_epoch)
{
  static const char text[] = "[" OP ("user_annotation", "layers.0", 1666149715033200, 1, "")
      OP ("user_annotation", "layers.1", 1666149715033201, 1, "") KERNEL (1, 1666149715033200, 1)
          KERNEL (2, 1666149715033201, 1) END;
  g_autofree char      *file = write_text ("epoch.json", text, strlen (text));
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (StepTrace) trace = step_trace_load (file, diags);

  ck_assert_msg (trace != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (trace->kernels->len, 2);
  for (guint i = 0; i < 2; i++)
    ck_assert_int_eq (g_array_index (trace->kernels, TraceKernel, i).owner.block, (gint32) i);
}
END_TEST

/* Gradients are clipped without a range; a block's parts may have numbers; so may AMD's events. */
static const char clipping[] = "[" OP ("user_annotation", "layers.1", 95, 20, "")
    OP ("user_annotation", "nn.Module: LoraLayer_7", 98, 10, "") KERNEL (1, 100, 10)
        OP ("cpu_op", BACKWARD "MmBackward0", 195, 20, "") KERNEL (2, 200, 20)
            OP ("hip_runtime", "hipLaunchKernel", 300, 1, "\"correlation\":3")
                GPU ("norm", 3, 310, 40) GPU ("void rcclGenericKernel<1>", 4, 310, 80) END;

START_TEST (test_tail)
{
  g_autofree char       *file = write_text ("tail.json", clipping, strlen (clipping));
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (StepTrace)  trace = step_trace_load (file, diags);
  static const TracePart want[] = { TRACE_FORWARD, TRACE_BACKWARD, TRACE_OPTIMIZER,
                                    TRACE_COMMUNICATION };
  gint64                 step = -1;

  ck_assert_msg (trace != NULL, "%s", diag_list_first_message (diags));
  ck_assert (step_trace_select_step (trace, file, &step, diags));
  ck_assert_uint_eq (trace->kernels->len, G_N_ELEMENTS (want));
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    ck_assert_int_eq (g_array_index (trace->kernels, TraceKernel, i).owner.part, want[i]);
  ck_assert_int_eq (g_array_index (trace->kernels, TraceKernel, 0).owner.block, 1);
}
END_TEST

/* ---- what is wrong --------------------------------------------------------------------------- */

START_TEST (test_steps)
{
  g_autofree char     *file = handwritten ();
  g_autoptr (Scenario) scenario = scenario_of (NULL, NULL);
  g_autoptr (DiagList) diags = diag_list_new (), other = diag_list_new ();
  TraceMeasurement     got;

  ck_assert (!measure (file, scenario, 5, &got, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "no kernels of a GPU in step 5 of the trace");
  ck_assert (!measure (file, scenario, 6, &got, other));
  ck_assert_str_eq (diag_list_first_message (other), "no kernels of a backward pass");
}
END_TEST

/* The hand-written trace, with OTHER where it says WHAT. */
static char *
changed (const char *what, const char *other)
{
  g_autofree char *file = handwritten (), *text = NULL, *rest = NULL;
  char            *at;

  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  at = strstr (text, what);
  ck_assert_ptr_nonnull (at);
  *at = '\0';
  rest = g_strconcat (text, other, at + strlen (what), NULL);
  return write_text ("changed.json", rest, strlen (rest));
}

#define DEVICE "{\"id\": 0, \"name\": \"none: written by hand\"}"
#define FIGURES(id, name, sms, bytes)                                         \
  "{\"id\": " #id ", \"name\": \"" name "\", \"totalGlobalMem\": " #bytes "," \
  " \"numSms\": " #sms "}"
#define H100 FIGURES (0, "NVIDIA H100 80GB HBM3", 132, 84929347584)
#define H200 FIGURES (0, "NVIDIA H200", 132, 150109028352)
#define H800 FIGURES (0, "NVIDIA H800", 132, 84929347584)
#define V100 FIGURES (1, "Tesla V100-SXM2-16GB", 80, 16945512448)

/* A trace of another GPU, run or model is refused; one that does not say gets a warning. */
static const struct
{
  const char *what, *other;
  const char *key, *value; /* of the scenario; NULL: as it was traced */
  const char *why;         /* NULL: nothing is said */
  gboolean    warning;
} others[] = {
  { DEVICE, DEVICE, NULL, NULL,
    "the trace does not say what GPU it was measured on: it is taken for 'h100-sxm-80'", TRUE },
  { DEVICE, H100, NULL, NULL, NULL, FALSE },
  { DEVICE, V100 ", " H100, NULL, NULL, NULL, FALSE }, /* its kernels ran on device 0 */
  { DEVICE, H100, "cluster.gpu", "h200-sxm-141",
    "the trace is of a GPU 'NVIDIA H100 80GB HBM3' (132 SMs, 79.1 GiB), the scenario's "
    "'h200-sxm-141' has 132 SMs, 140 GiB",
    FALSE },
  { DEVICE, H200, NULL, NULL,
    "the trace is of a GPU 'NVIDIA H200' (132 SMs, 140 GiB), the scenario's 'h100-sxm-80' has 132 "
    "SMs, 79.1 GiB",
    FALSE },
  { DEVICE, V100, NULL, NULL,
    "the trace is of a GPU 'Tesla V100-SXM2-16GB' (80 SMs, 15.8 GiB), the scenario's "
    "'h100-sxm-80' has 132 SMs, 79.1 GiB",
    FALSE },
  /* a name of another model, with the same figures or with none; one of no model tells nothing */
  { DEVICE, H800, NULL, NULL, "the trace is of a GPU 'NVIDIA H800' (132 SMs, 79.1 GiB)", FALSE },
  { DEVICE, "{\"id\": 0, \"name\": \"NVIDIA A100-SXM4-80GB\"}", NULL, NULL,
    "the trace is of a GPU 'NVIDIA A100-SXM4-80GB' (no more is said)", FALSE },
  { DEVICE, FIGURES (0, "NVIDIA Graphics Device", 132, 84929347584), NULL, NULL, NULL, FALSE },
  { DEVICE "],", H100 "],", "cluster.gpus_per_node", "4",
    "the trace is of a run of 8 ranks, the scenario has 4", FALSE },
  { DEVICE, H100, "model.d_ff", "262144",
    "a forward pass of 0.541 ms in the trace: the products of the scenario's take 'h100-sxm-80' "
    "1.71 ms at least",
    FALSE },
  { "\"dur\":200,", "\"dur\":7000,", NULL, NULL, "a forward pass of 3.94 ms in the trace, where",
    TRUE },
  { "\"dur\":200,", "\"dur\":9500,", NULL, NULL,
    "kernels of a forward and a backward pass take 6.07 ms in the trace, and 2.56 ms by the model",
    FALSE },
  { "\"dur\":200,", "\"dur\":200000,", "model.d_ff", "11264",
    "a forward pass of 100 ms in the trace: the scenario's takes 'h100-sxm-80' some", FALSE },
};

START_TEST (test_other_run)
{
  g_autofree char     *file = changed (others[_i].what, others[_i].other);
  g_autoptr (Scenario) scenario = scenario_of (others[_i].key, others[_i].value);
  g_autoptr (DiagList) diags = diag_list_new ();
  gboolean             fine = others[_i].why == NULL || others[_i].warning;
  g_autofree char     *said = NULL;
  TraceMeasurement     got;

  ck_assert_int_eq (measure (file, scenario, -1, &got, diags), fine);
  said = diag_list_format (diags, FALSE);
  ck_assert_uint_eq (diag_list_n_errors (diags) > 0, !fine);
  if (others[_i].why == NULL)
    ck_assert_str_eq (said, "");
  else
    ck_assert_msg (strstr (said, others[_i].why) != NULL, "%s", said);
}
END_TEST

#define HEAD "{\"traceEvents\": ["

/* What is refused otherwise is taken with a word, under the name of the GPU that it is of. */
START_TEST (test_device_differs)
{
  static const struct
  {
    const char *other, *profile, *said;
    gboolean    other_device;
  } cases[] = {
    { H800, "h800-sxm-80", "the trace is of a GPU 'NVIDIA H800'", TRUE },
    { V100, "v100-sxm-16", "the trace is of a GPU 'Tesla V100-SXM2-16GB'", TRUE },
    { FIGURES (0, "Odd", 7, 1000000000), NULL, "the trace is of a GPU 'Odd'", TRUE },
    { H100, "h100-sxm-80", NULL, FALSE },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char       *file = changed (DEVICE, cases[i].other);
      g_autoptr (Scenario)   scenario = scenario_of (NULL, NULL);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      g_autoptr (StepTrace)  trace = step_trace_load (file, diags);
      g_autofree char       *profile = trace_device_profile (trace, profiles), *said = NULL;
      TraceMeasurement       got;

      ck_assert (measure_as (file, scenario, -1, TRUE, &got, diags));
      said = diag_list_format (diags, FALSE);
      ck_assert_uint_eq (diag_list_n_errors (diags), 0);
      ck_assert_int_eq (got.other_device, cases[i].other_device);
      ck_assert_pstr_eq (profile, cases[i].profile);
      if (cases[i].said != NULL)
        ck_assert_msg (strstr (said, cases[i].said) != NULL, "%s", said);
      else
        ck_assert_str_eq (said, "");
    }
}
END_TEST

/* A ratio beyond two is taken with a word, too. */
START_TEST (test_ratio_differs)
{
  g_autofree char     *file = changed ("\"dur\":200,", "\"dur\":9500,"), *said = NULL;
  g_autoptr (Scenario) scenario = scenario_of (NULL, NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  TraceMeasurement     got;

  ck_assert (measure_as (file, scenario, -1, TRUE, &got, diags));
  said = diag_list_format (diags, FALSE);
  ck_assert_ptr_nonnull (strstr (said, "a ratio of 2.37"));
  ck_assert (!got.other_device);
}
END_TEST

/* What is no trace of kernels is called what it is. */
START_TEST (test_other_files)
{
  static const struct
  {
    const char *name, *text, *why;
  } cases[] = {
    { "et.json", "{\"schema\": \"1.0.1\", \"pid\": 7, \"nodes\": [{\"name\": \"aten::t\"}]}",
      "an execution trace of PyTorch" },
    { "mem.json", "{\"segments\": [], \"device_traces\": []}", "snapshot of the allocator" },
    { "fr.json", "{\"version\": \"2.1\", \"entries\": []}", "flight recorder" },
    { "odd.json", "{\"a\": 1, \"b\": {}}", "the document has 'a', 'b'" },
    { "host.json",
      HEAD "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::t\",\"pid\":1,\"tid\":1,"
           "\"ts\":1,\"dur\":2}]}",
      "it is of the host alone" },
    { "mtia.json", HEAD "{\"ph\":\"X\",\"cat\":\"mtia_ccp_events\",\"ts\":1,\"dur\":2}]}",
      "its events: mtia_ccp_events 1; is it of another profiler?" },
    { "jax.json", HEAD "{\"ph\":\"X\",\"name\":\"fusion\",\"ts\":1,\"dur\":2}]}",
      "its events: none with a category" },
    { "report.sqlite", "SQLite format 3", "a database, as nsys and rocprof export" },
    { "x.nsys-rep", "anything", "a report of Nsight Systems" },
    { "x.xplane.pb", "\012\003abc", "a profile of TensorBoard or XLA" },
    { "events.out.tfevents.17.host.0.v2", "\030", "TensorBoard's list of events" },
    { "snapshot.bin", "\200\004\225abc", "a pickle" },
    { "page.html", "<!DOCTYPE html>", "a page" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char     *file = write_text (cases[i].name, cases[i].text, strlen (cases[i].text));
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (StepTrace) trace = step_trace_load (file, diags);
      gint64                step = -1;
      g_autofree char      *said = NULL;

      ck_assert (trace == NULL || !step_trace_select_step (trace, file, &step, diags));
      said = diag_list_format (diags, FALSE);
      ck_assert_msg (strstr (said, cases[i].why) != NULL, "%s: %s", cases[i].name, said);
    }
}
END_TEST

/* The profiler's first releases had other categories, texts for threads, other keys of devices. */
START_TEST (test_first_releases)
{
  static const char text[] =
      "{\"schemaVersion\": 1, \"computeProperties\": [{\"id\": 0, \"name\": \"Tesla V100\","
      " \"totalGlobalMem\": 34084028416, \"multiProcessorCount\": 80}], \"traceEvents\": ["
      "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"ProfilerStep#3\",\"pid\":9,\"tid\":\"9\","
      "\"ts\":0,"
      "\"dur\":100},"
      "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":\"9\","
      "\"ts\":10,"
      "\"dur\":1,\"args\":{\"correlation\":1}},"
      "{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"autograd::engine::evaluate_function: "
      "MmBackward\",\"pid\":9,\"tid\":\"10\",\"ts\":30,\"dur\":20},"
      "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":9,\"tid\":\"10\","
      "\"ts\":32,\"dur\":1,\"args\":{\"correlation\":2}},"
      "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":12,"
      "\"dur\":5,\"args\":{\"device\":0,\"correlation\":1}},"
      "{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":\"stream 7\",\"ts\":34,"
      "\"dur\":7,\"args\":{\"device\":0,\"correlation\":2}}]}";
  g_autofree char      *file = write_text ("first.json", text, strlen (text));
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (StepTrace) trace = step_trace_load (file, diags);
  gint64                step = -1;

  ck_assert_ptr_nonnull (trace);
  ck_assert (step_trace_select_step (trace, file, &step, diags));
  ck_assert_int_eq (step, 3);
  ck_assert_int_eq (trace->device.sms, 80);
  ck_assert_uint_eq (trace->kernels->len, 2);
  ck_assert_int_eq (g_array_index (trace->kernels, TraceKernel, 0).owner.part, TRACE_FORWARD);
  ck_assert_int_eq (g_array_index (trace->kernels, TraceKernel, 1).owner.part, TRACE_BACKWARD);
}
END_TEST

static const struct
{
  const char *text, *why;
} bad[] = {
  { "", "the file is empty" },
  { " \n", "the file is empty" },
  { "{}", "event 0, byte 2: no 'traceEvents'" },
  { "[", "event 0, byte 1: the file ends here" },
  { "[{}", "event 1, byte 3: the file ends here" },
  { "[{} {}]", "event 1, byte 4: expected ',', got '{'" },
  { "[{},", "event 1, byte 4: the file ends here" },
  { "[7]", "event 0, byte 2: an event that is no object" },
  { "[{\"a\":}]", "event 0, byte 6: unexpected character" },
  { "[] x", "event 0, byte 3: something behind the end of the document" },
  { "{\"a\": 1 \"b\": 2}", "event 0, byte 8: expected ',', got '\"'" },
  { "{\"a\" 1}", "event 0, byte 5: expected ':', got '1'" },
  { HEAD "]", "event 0, byte 18: the file ends here" },
  { HEAD "{\"ph\":\"X\",\"cat\":\"kernel\"}]}",
    "event 0, byte 42: a kernel without a sound 'ts' or 'dur'" },
  { HEAD "{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":-3}]}",
    "event 0, byte 58: a kernel without a sound 'ts' or 'dur'" },
  { HEAD "{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":3,\"args\":{\"device\":0}},"
         "{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":1,\"dur\":3,\"args\":{\"device\":1}}]}",
    "event 1, byte 138: kernels of a second GPU" },
};

START_TEST (test_bad)
{
  g_autofree char      *file = write_text ("bad.json", bad[_i].text, strlen (bad[_i].text));
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (StepTrace) trace = step_trace_load (file, diags);

  ck_assert_ptr_null (trace);
  ck_assert_str_eq (diag_list_first_message (diags), bad[_i].why);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}
END_TEST

/* A zero byte is no end. */
START_TEST (test_zero_bytes)
{
  static const char text[] = "[{}\0]\0";

  for (gsize size = 4; size < sizeof text; size++)
    {
      g_autofree char      *file = write_text ("zero.json", text, size);
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (StepTrace) trace = step_trace_load (file, diags);

      ck_assert_ptr_null (trace);
      ck_assert_str_eq (diag_list_first_message (diags), "event 1, byte 3: expected ',', got '?'");
    }
}
END_TEST

/* A document that is cut off is never taken for a whole one, wherever that is. */
START_TEST (test_truncated)
{
  for (gsize size = 0; size < strlen (recomputing); size += size < 300 ? 1 : 7)
    {
      g_autofree char      *file = write_text ("cut.json", recomputing, size);
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (StepTrace) trace = step_trace_load (file, diags);

      ck_assert_ptr_null (trace);
      ck_assert_uint_eq (diag_list_n_errors (diags), 1);
    }
}
END_TEST

/* ---- Chakra ---------------------------------------------------------------------------------- */

/* What a schedule says its kernels take is what its traces say they took, to a microsecond. */
START_TEST (test_own_chakra)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = scenario_of ("training.activation_checkpointing", "full");
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ReplayPlan) plan = replay_plan_scenario (scenario, profiles, diags);
  g_autofree char       *prefix = g_build_filename (scratch, "own", NULL);
  g_autofree char       *file = g_strconcat (prefix, ".5.et", NULL);
  const ChakraParts      parts = { .section = SECTION_STEADY };
  ChakraWritten          written;
  TraceMeasurement       got;
  guint                  n = 0;

  ck_assert (report_chakra_write (plan, &parts, prefix, &written, NULL));
  ck_assert_msg (measure (file, scenario, -1, &got, diags), "%s", diag_list_first_message (diags));
  for (guint layer = 0; layer < MEASURED_N_LAYERS; layer++)
    for (guint phase = 0; phase < MEASURED_N_PHASES; phase++)
      {
        const MeasuredRow *row = &got.table.rows[layer][phase];
        double             modelled = got.modelled[layer][phase];

        n += row->given;
        if (row->given)
          ck_assert_msg (fabs (row->seconds - modelled) <= 1e-6, "%s, %s: %.9g us, model %.9g",
                         measured_layer_name (layer), measured_phase_name (phase),
                         row->seconds * 1e6, modelled * 1e6);
      }
  ck_assert_uint_eq (n, 3 + 1 + 3 + 1); /* forward, recompute (blocks alone), backward, optimizer */
  ck_assert_uint_gt (got.part_n[TRACE_STRATEGY], 0);
  ck_assert_uint_eq (got.part_n[TRACE_UNKNOWN], 0);
}
END_TEST

static void
add_node (ChakraWriter *writer, guint64 id, const char *name, guint64 parent, guint64 us)
{
  ChakraNode node = chakra_node (id, us > 0 ? CHAKRA_COMP : CHAKRA_METADATA, name);

  node.on_host = us == 0;
  node.duration_us = us;
  node.start_us = 100 + id;
  node.ctrl_deps = &parent;
  node.n_ctrl_deps = parent != id;
  chakra_writer_add (writer, &node);
}

/* As Chakra's converter writes PyTorch's traces: kernels hang on the ops that launched them. */
START_TEST (test_linked_chakra)
{
  g_autofree char         *path = g_build_filename (scratch, "linked.et", NULL);
  FILE                    *file = fopen (path, "wb");
  g_autoptr (ChakraWriter) writer = chakra_writer_new (file);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (StepTrace)    trace = NULL;
  static const TraceOwner  want[] = { { TRACE_FORWARD, TRACE_NO_BLOCK },
                                      { TRACE_FORWARD, 1 },
                                      { TRACE_BACKWARD, TRACE_NO_BLOCK },
                                      { TRACE_OPTIMIZER, TRACE_NO_BLOCK } };

  add_node (writer, 1, "ProfilerStep#4", 1, 0);
  add_node (writer, 2, "aten::embedding", 1, 0);
  add_node (writer, 3, "kernel a", 2, 10);
  add_node (writer, 4, "layers.1", 1, 0);
  add_node (writer, 5, "aten::mm", 4, 0);
  add_node (writer, 6, "kernel b", 5, 20);
  add_node (writer, 7, BACKWARD "MmBackward0", 1, 0);
  add_node (writer, 8, "kernel c", 7, 40);
  add_node (writer, 9, "Optimizer.step#SGD.step", 1, 0);
  add_node (writer, 10, "kernel d", 9, 80);
  fclose (file);
  trace = step_trace_load (path, diags);
  ck_assert_msg (trace != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (trace->kernels->len, G_N_ELEMENTS (want));
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    {
      const TraceKernel *kernel = &g_array_index (trace->kernels, TraceKernel, i);

      ck_assert_int_eq (kernel->owner.part, want[i].part);
      ck_assert_int_eq (kernel->owner.block, want[i].block);
      ck_assert_int_eq (kernel->duration_ns, 10000 << i);
      ck_assert_int_eq (kernel->step, 4);
    }
}
END_TEST

/* What depends on itself in a circle ends. */
START_TEST (test_circle)
{
  g_autofree char         *path = g_build_filename (scratch, "circle.et", NULL);
  FILE                    *file = fopen (path, "wb");
  g_autoptr (ChakraWriter) writer = chakra_writer_new (file);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (StepTrace)    trace = NULL;

  add_node (writer, 1, "one", 2, 0);
  add_node (writer, 2, "other", 1, 0);
  add_node (writer, 3, "kernel", 1, 10);
  fclose (file);
  trace = step_trace_load (path, diags);
  ck_assert_uint_eq (trace->kernels->len, 1);
}
END_TEST

SUITE_MAIN (step_trace)
{
  Suite *suite = suite_create ("step-trace");
  TCase *tcase = tcase_create ("all");

  tcase_add_checked_fixture (tcase, set_up, tear_down);
  tcase_add_test (tcase, test_handwritten);
  tcase_add_test (tcase, test_gzipped);
  tcase_add_test (tcase, test_collectives);
  tcase_add_test (tcase, test_names);
  tcase_add_test (tcase, test_recomputation);
  tcase_add_test (tcase, test_epoch);
  tcase_add_test (tcase, test_tail);
  tcase_add_test (tcase, test_steps);
  tcase_add_loop_test (tcase, test_other_run, 0, G_N_ELEMENTS (others));
  tcase_add_test (tcase, test_device_differs);
  tcase_add_test (tcase, test_ratio_differs);
  tcase_add_test (tcase, test_other_files);
  tcase_add_test (tcase, test_first_releases);
  tcase_add_loop_test (tcase, test_bad, 0, G_N_ELEMENTS (bad));
  tcase_add_test (tcase, test_truncated);
  tcase_add_test (tcase, test_zero_bytes);
  tcase_add_test (tcase, test_own_chakra);
  tcase_add_test (tcase, test_linked_chakra);
  tcase_add_test (tcase, test_circle);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
