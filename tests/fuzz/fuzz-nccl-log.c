/*
 * Logs of nccl-tests out of arbitrary bytes, as text and as JSON, whatever they look like: rows
 * that are whole, or diagnostics, never both and never neither.
 */
#include <math.h>

#include "evidence/tables/measurement-file.h"
#include "fuzz.h"
#include "import/log/nccl-log.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

typedef GPtrArray *(*Load) (const char *file, const MeasurementContext *context, DiagList *diags);

static void
check_rows (const GPtrArray *rows)
{
  for (guint i = 0; i < rows->len; i++)
    {
      const Measurement *row = g_ptr_array_index (rows, i);

      g_assert (row->bytes > 0 && row->time_us > 0 && isfinite (row->time_us));
      g_assert (row->kind < COLLECTIVE_N_KINDS && row->id != NULL && row->collective != NULL);
      g_assert (row->cluster.name != NULL || row->cluster.nodes > 0);
    }
}

static void
check_load (Load load, const char *file, ProfileSet *profiles, const char *name)
{
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GPtrArray)    rows = NULL;
  ClusterOptions           cluster = { 0 };
  const MeasurementContext context = { .cluster = &cluster,
                                       .profiles = profiles,
                                       .env = "algo=ring nvls=0",
                                       .kind = COLLECTIVE_ALL_REDUCE };

  option_table_defaults (cluster_options, &cluster);
  cluster.name = g_strdup (name);
  if (name == NULL)
    cluster.node = g_strdup ("dgx-h100");
  rows = load (file, &context, diags);
  option_table_clear (cluster_options, &cluster);
  fuzz_check_diags (diags, rows == NULL);
  if (rows != NULL)
    check_rows (rows);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *file = fuzz_file ("run.log", data, size);

  fuzz_begin ();
  measurement_file_kind (file);
  check_load (nccl_log_load, file, fuzz_profiles (), "2 x dgx-h100");
  check_load (nccl_log_load, file, fuzz_profiles (), NULL);
  check_load (nccl_json_load, file, fuzz_profiles (), NULL);
  return 0;
}
