/*
 * Tables of sequence lengths: diagnostics, or lengths inside their bounds and a place for every
 * rank and micro-batch.
 */
#include "fuzz.h"
#include "model/step/sequence-lengths.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_load (const char *file, guint n_ranks, guint n_micros, guint per_micro, gint64 unit)
{
  g_autoptr (DiagList)        diags = diag_list_new ();
  g_autoptr (SequenceLengths) self =
      sequence_lengths_load (file, n_ranks, n_micros, per_micro, unit, 4096, diags);
  guint64 last = G_MAXUINT64;

  fuzz_check_diags (diags, self == NULL);
  if (self == NULL)
    return;
  for (guint b = 0; b < sequence_lengths_n_batches (self); b++)
    {
      const GArray *batch = sequence_lengths_batch (self, b);
      const guint64 tokens = (guint64) sequence_lengths_tokens (batch);

      g_assert (tokens > 0 && tokens <= last);
      last = tokens;
      for (guint i = 0; i < batch->len; i++)
        {
          const gint64 length = g_array_index (batch, gint64, i);

          g_assert (length > 0 && length <= 4096 && length % unit == 0);
          g_assert (i == 0 || length <= g_array_index (batch, gint64, i - 1));
        }
    }
  for (guint i = 0; i < n_ranks * n_micros; i++)
    g_assert (sequence_lengths_table (self).table[i] < sequence_lengths_n_batches (self));
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *file = fuzz_file ("lengths.csv", data, size);

  fuzz_begin ();
  check_load (file, 1, 1, 1, 1);
  check_load (file, 2, 2, 1, 1);
  check_load (file, 3, 1, 2, 8);
  return 0;
}
