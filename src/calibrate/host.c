/*
 * The rules of a node's profile: what its cores make of Adam over states in host memory, and what
 * its drives read and write. Both are measured by one process that has the machine for itself.
 *
 * Drives need several requests in flight; the better rate of one and of eight is the figure. Times
 * with the page cache in play say nothing about drives.
 */
#include <math.h>

#include "calibrate/profile.h"

#define ADAM_BYTES 30.0 /* an element: src/bench/host/host-work.c */

/*
 * Parameters a second, a whole number: the slope over sizes, so that waking the threads does not
 * count.
 */
static void
fit_adam_rate (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, rule->benchmark, rule->variant, NULL, 0);
  LineFit               line = calibration_line (rows, 1 / ADAM_BYTES, out);

  if (out->verdict != FIT_GOOD)
    return;
  out->after = round (line.rate);
  if (!calibration_rate_spread (rows, 1 / ADAM_BYTES, &line, &out->low, &out->high))
    out->low = out->high = NAN;
  out->low = floor (out->low);
  out->high = ceil (out->high);
}

/* The slope of VARIANT's times of a block over its size. */
static void
fit_blocks (const Calibration *self, const char *benchmark, const char *variant, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, benchmark, variant, NULL, 0);
  LineFit               line;

  for (guint i = rows->len; i-- > 0;)
    if (!g_str_has_prefix (((const BenchRow *) g_ptr_array_index (rows, i))->remark, "direct"))
      g_ptr_array_remove_index (rows, i);
  line = calibration_line (rows, 1, out);
  if (rows->len == 0)
    calibration_refuse (out, FIT_TOO_LITTLE, g_strdup ("not measured past the page cache"));
  if (out->verdict != FIT_GOOD)
    return;
  out->after = line.rate;
  if (!calibration_rate_spread (rows, 1, &line, &out->low, &out->high))
    out->low = out->high = NAN;
}

/* With one request in flight, or with more: what is faster. */
static void
fit_drive_rate (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  g_autofree char *deep = g_strconcat (rule->variant, ".8", NULL);
  FittedValue      other = *out;

  if (self->node->nvme_bytes.value == 0)
    {
      calibration_refuse (out, FIT_TOO_LITTLE,
                          g_strdup_printf ("'%s' has no drives: extend a profile with 'nvme_bytes'",
                                           self->node->id));
      return;
    }
  fit_blocks (self, rule->benchmark, rule->variant, out);
  fit_blocks (self, rule->benchmark, deep, &other);
  if (other.verdict == FIT_GOOD && (out->verdict != FIT_GOOD || other.after > out->after))
    {
      g_free (out->why);
      *out = other;
    }
  else
    g_free (other.why);
}

const FitRule calibrate_host_rules[] = {
  { "cpu_adam_rate", "AdamW over fp32 states on all cores, parameters a second", QUANTITY_COUNT,
    fit_adam_rate, .benchmark = "host_work", .variant = "adam" },
  { "nvme_read", "reading a file past the page cache", QUANTITY_BANDWIDTH, fit_drive_rate,
    .benchmark = "storage", .variant = "read" },
  { "nvme_write", "writing a file past the page cache", QUANTITY_BANDWIDTH, fit_drive_rate,
    .benchmark = "storage", .variant = "write" },
  { 0 },
};
