/*
 * Traces of a step out of arbitrary bytes, as JSON of PyTorch's profiler and as Chakra: an error,
 * or kernels whose sums, layers and collectives hold together. What can be read of a Chakra file is
 * written and read back.
 */
#include <math.h>

#include "fuzz.h"
#include "import/trace/chakra-file.h"
#include "import/trace/chakra-trace.h"
#include "import/trace/kineto-trace.h"
#include "import/trace/trace-load.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

typedef StepTrace *(*Load) (const char *file, DiagList *diags);

static void
check_kernels (const StepTrace *trace)
{
  for (guint i = 0; i < trace->kernels->len; i++)
    {
      const TraceKernel *kernel = &g_array_index (trace->kernels, TraceKernel, i);

      g_assert (kernel->owner.part < TRACE_N_PARTS && kernel->name != NULL);
      g_assert (kernel->duration_ns >= 0 && kernel->start_ns >= 0);
      g_assert ((kernel->owner.part == TRACE_COMMUNICATION) == (kernel->collective != NULL));
    }
}

static void
check_collectives (const StepTrace *trace)
{
  g_autoptr (GArray) all = step_trace_collectives (trace);

  for (guint i = 0; i < all->len; i++)
    {
      const TraceCollective *one = &g_array_index (all, TraceCollective, i);

      g_assert (one->n > 0 && isfinite (one->bytes) && one->bytes >= 0);
      g_assert (one->exposed_ns <= one->total_ns || trace->kernels->len > 1000);
    }
}

static void
check_load (Load load, const char *file)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (StepTrace) trace = load (file, diags);
  gint64                step = -1;

  fuzz_check_diags (diags, trace == NULL);
  if (trace == NULL)
    return;
  check_kernels (trace);
  if (!step_trace_select_step (trace, file, &step, diags))
    return;
  step_trace_place_layers (trace);
  check_kernels (trace);
  check_collectives (trace);
}

static void
check_round_trip (const char *file)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (ChakraReader) reader = chakra_reader_open (file, diags);
  g_autofree char         *copy = g_build_filename (fuzz_folder (), "copy.et", NULL);
  FILE                    *out = reader != NULL ? fopen (copy, "wb") : NULL;
  g_autoptr (ChakraReader) back = NULL;
  ChakraWriter            *writer = out != NULL ? chakra_writer_new (out) : NULL;
  ChakraNode               node;
  guint                    n = 0;

  for (; writer != NULL && chakra_reader_next (reader, &node, diags); n++)
    chakra_writer_add (writer, &node);
  if (writer == NULL)
    return;
  chakra_writer_free (writer);
  fclose (out);
  {
    g_autoptr (DiagList) none = diag_list_new ();

    for (back = chakra_reader_open (copy, none); chakra_reader_next (back, &node, none);)
      n--;
    g_assert (n == 0 && diag_list_is_empty (none));
  }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *file = fuzz_file ("trace", data, size);

  fuzz_begin ();
  check_load (kineto_trace_load, file);
  check_load (chakra_trace_load, file);
  check_load (step_trace_load, file);
  check_round_trip (file);
  return 0;
}
