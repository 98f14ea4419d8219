/*
 * What was measured and no figure takes: fitted a benchmark, variant and type of data at a time,
 * for the report.
 */
#include <math.h>
#include <string.h>

#include "calibrate/profile.h"

/* Rows of one thing at several sizes. */
typedef struct
{
  const BenchRow *first;
  GPtrArray      *rows;
} Group;

static gboolean
belongs (const BenchRow *a, const BenchRow *b)
{
  return strcmp (a->benchmark, b->benchmark) == 0 && strcmp (a->variant, b->variant) == 0
         && strcmp (a->dtype, b->dtype) == 0 && strcmp (a->remark, b->remark) == 0
         && a->unit == b->unit && a->ranks == b->ranks && a->channels == b->channels && a->m == b->m
         && a->n == b->n && a->k == b->k && a->batch == b->batch;
}

static void
group_free (gpointer data)
{
  Group *self = data;

  g_ptr_array_unref (self->rows);
  g_free (self);
}

/* Rows of one thing stand close together: a new one is held against so many groups. */
#define LOOK_BACK 64

static Group *
find_group (const GPtrArray *groups, const BenchRow *row)
{
  for (guint back = 1; back <= MIN (groups->len, LOOK_BACK); back++)
    {
      Group *group = g_ptr_array_index (groups, groups->len - back);

      if (belongs (group->first, row))
        return group;
    }
  return NULL;
}

/* Rows that nothing has used. */
static GPtrArray *
group_rows (const Calibration *self)
{
  GPtrArray *groups = g_ptr_array_new_with_free_func (group_free);

  for (guint i = 0; i < self->results->rows->len; i++)
    {
      BenchRow *row = &g_array_index (self->results->rows, BenchRow, i);
      Group    *group;

      if (g_hash_table_contains (self->used, row))
        continue;
      group = find_group (groups, row);
      if (group == NULL)
        {
          group = g_new (Group, 1);
          *group = (Group){ row, g_ptr_array_new () };
          g_ptr_array_add (groups, group);
        }
      g_ptr_array_add (group->rows, row);
    }
  return groups;
}

/* "collective all_reduce fp32, 2 ranks, 4 channels: several ranks on one GPU" */
static char *
describe (const BenchRow *row, const char *quantity)
{
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s %s", row->benchmark, row->variant);
  if (*row->dtype != '\0')
    g_string_append_printf (text, " %s", row->dtype);
  if (row->m > 0)
    g_string_append_printf (text,
                            ", %" G_GUINT64_FORMAT " x %" G_GUINT64_FORMAT " x %" G_GUINT64_FORMAT,
                            row->m, row->n, row->k);
  if (row->ranks > 0)
    g_string_append_printf (text, ", %u ranks", row->ranks);
  if (row->channels > 0)
    g_string_append_printf (text, ", %u channels", row->channels);
  if (*row->remark != '\0')
    g_string_append_printf (text, " (%s)", row->remark);
  if (*quantity != '\0')
    g_string_append_printf (text, ": %s", quantity);
  return g_string_free (text, FALSE);
}

static FittedValue *
add_value (Calibration *self, const BenchRow *row, const char *quantity, QuantityKind kind)
{
  FittedValue *value = g_new0 (FittedValue, 1);

  *value = (FittedValue){
    .what = describe (row, quantity),
    .kind = kind,
    .before = NAN,
    .after = NAN,
    .low = NAN,
    .high = NAN,
    .residual_median = NAN,
    .residual_p90 = NAN,
  };
  g_ptr_array_add (self->result->fits, value);
  return value;
}

/* Three quantities of one line, or one reason why there is none. */
static void
report_line (Calibration *self, const Group *group)
{
  FittedValue *rate = add_value (self, group->first, "bandwidth", QUANTITY_BANDWIDTH), *start,
              *half;
  LineFit line = calibration_line (group->rows, 1, rate);

  if (rate->verdict != FIT_GOOD)
    return;
  start = add_value (self, group->first, "start-up", QUANTITY_TIME);
  half = add_value (self, group->first, "half-bandwidth size", QUANTITY_BYTES);
  calibration_line (group->rows, 1, start);
  calibration_line (group->rows, 1, half);
  rate->after = line.rate;
  start->after = line.latency;
  half->after = line.half;
}

static void
report_group (Calibration *self, const Group *group)
{
  static const QuantityKind kinds[BENCH_UNIT_N] = { QUANTITY_TIME, QUANTITY_BYTES, QUANTITY_COUNT };
  gboolean                  sizes = FALSE;

  for (guint i = 0; i < group->rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (group->rows, i);

      if (row->value <= 0)
        return; /* a difference within its noise */
      sizes |= row->bytes != group->first->bytes;
    }
  if (sizes)
    report_line (self, group);
  else
    calibration_median (group->rows, add_value (self, group->first, "", kinds[group->first->unit]));
}

/* ---- what one thing costs another ------------------------------------------------------------ */

#define BESIDE ".beside."

/* The row of ROW's subject alone, at its size; NULL: there is none. */
static const BenchRow *
find_alone (const Calibration *self, const BenchRow *row)
{
  const char      *beside = strstr (row->variant, BESIDE);
  g_autofree char *subject = g_strndup (row->variant, (gsize) (beside - row->variant));
  g_autofree char *alone = g_strconcat (subject, ".alone", NULL);
  const BenchRow  *found = NULL;

  for (guint i = 0; i < self->results->rows->len; i++)
    {
      const BenchRow *other = &g_array_index (self->results->rows, BenchRow, i);

      if (strcmp (other->benchmark, row->benchmark) != 0 || strcmp (other->variant, alone) != 0
          || strcmp (other->dtype, row->dtype) != 0 || other->bytes != row->bytes
          || other->m != row->m || other->n != row->n || other->k != row->k)
        continue;
      if (found == NULL || other->channels == row->channels)
        found = other;
    }
  return found;
}

/* Times as long beside something else, for each row that has it. */
static void
report_beside (Calibration *self)
{
  for (guint i = 0; i < self->results->rows->len; i++)
    {
      BenchRow       *row = &g_array_index (self->results->rows, BenchRow, i);
      const BenchRow *alone = strstr (row->variant, BESIDE) != NULL ? find_alone (self, row) : NULL;
      FittedValue    *value;

      if (alone == NULL || alone->value <= 0)
        continue;
      value = add_value (self, row, "times as long", QUANTITY_RATIO);
      value->after = row->value / alone->value;
      value->low = row->low / alone->high;
      value->high = row->high / alone->low;
      value->n = 2;
      g_hash_table_add (self->used, row);
    }
}

void
calibration_report_others (Calibration *self)
{
  g_autoptr (GPtrArray) groups = NULL;

  report_beside (self);
  groups = group_rows (self);
  for (guint i = 0; i < groups->len; i++)
    report_group (self, g_ptr_array_index (groups, i));
}
