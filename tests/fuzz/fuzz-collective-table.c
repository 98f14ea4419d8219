/*
 * Tables of measured collectives: diagnostics, or rows; a table of a few small clusters is
 * predicted.
 */
#include <math.h>

#include "evidence/tables/validate-collectives.h"
#include "fuzz.h"

#define MAX_ROWS 4

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static gboolean
is_small_table (const GPtrArray *rows)
{
  gboolean small = rows->len <= MAX_ROWS;

  for (guint i = 0; small && i < rows->len; i++)
    small = fuzz_is_small_cluster (&((const Measurement *) g_ptr_array_index (rows, i))->cluster);
  return small;
}

static void
check_validation (GPtrArray *rows)
{
  g_autoptr (CollectiveValidation) self = validate_collectives (rows, NULL);

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedRow *row = &g_array_index (self->rows, ValidatedRow, i);

      g_assert (row->reason != NULL ? g_utf8_validate (row->reason, -1, NULL)
                                    : isfinite (row->predicted) && row->predicted > 0);
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *file = fuzz_file ("collectives.csv", data, size);
  g_autoptr (GPtrArray) rows = NULL;

  fuzz_begin ();
  rows = measurement_table_load (file, BAD_ROWS_FAIL, diags);
  fuzz_check_diags (diags, rows == NULL);
  for (guint i = 0; rows != NULL && i < rows->len; i++)
    {
      const Measurement *row = g_ptr_array_index (rows, i);

      g_assert (row->bytes > 0 && row->time_us > 0 && isfinite (row->time_us));
    }
  if (rows != NULL && is_small_table (rows))
    check_validation (g_steal_pointer (&rows));
  return 0;
}
