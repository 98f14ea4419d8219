/*
 * Tables of measured training runs: diagnostics, or rows; a table of a few small runs is
 * predicted.
 */
#include <math.h>

#include "evidence/tables/validate-training.h"
#include "fuzz.h"

#define MAX_ROWS 3

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* Whether ROW's run may be simulated thousands of times. */
static gboolean
is_small_row (const TrainingRow *row)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all =
      scenario_load (NULL, NULL, (const ScenarioOverride *) (void *) row->settings->data,
                     row->settings->len, diags);

  return all == NULL || fuzz_is_small (g_ptr_array_index (all, 0));
}

static gboolean
is_small_table (const TrainingTable *table)
{
  gboolean small = table->rows->len <= MAX_ROWS;

  for (guint i = 0; small && i < table->rows->len; i++)
    small = is_small_row (&g_array_index (table->rows, TrainingRow, i));
  return small;
}

static void
check_validation (TrainingTable *table)
{
  const PredictOptions           options = { 0 };
  g_autoptr (TrainingValidation) self = validate_training (table, &options, 1);

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = &g_array_index (self->rows, ValidatedTraining, i);

      g_assert (row->reason != NULL ? g_utf8_validate (row->reason, -1, NULL)
                                    : isfinite (row->predicted) && isfinite (row->error));
    }
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autofree char       *file = fuzz_file ("training.csv", data, size);
  TrainingTable         *table;

  fuzz_begin ();
  table = training_table_load (file, profiles, diags);
  fuzz_check_diags (diags, table == NULL);
  if (table != NULL && is_small_table (table))
    check_validation (table);
  else
    training_table_free (table);
  return 0;
}
