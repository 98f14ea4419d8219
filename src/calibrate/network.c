/*
 * The rules of a network link's profile: messages between two plain hosts over MPI, alone on the
 * network. Everything with more hosts is left for validation.
 *
 * `sendrecv` of two hosts sends a message each way at once: S bytes a direction take S / rate and a
 * latency, or twice that where the library sends messages between two hosts one after the other.
 * `broadcast` is one way, so it tells the two apart; its small messages return before they have
 * arrived, so its start-up is no latency. Between small and large a network is neither: buckets and
 * windows let bursts through. So the rate is that of large messages and the latency that of small
 * ones, and no line is drawn through all of them.
 */
#include <math.h>

#include "calibrate/profile.h"

#define HOSTS 2

#define SMALL_MOST  1024.0
#define LARGE_LEAST 1048576.0

/*
 * Exchanges are serial, or not, where a byte takes this many times as long; in between the data
 * tell neither.
 */
#define SERIAL_LEAST 1.5
#define FREELY_MOST  1.25

/* A message that was measured: the start of those that are larger. */
typedef struct
{
  double bytes, seconds;
} Start;

/* Rows of VARIANT with BYTES from LEAST to MOST, copies of them. */
static GPtrArray *
rows_between (const Calibration *self, const char *variant, double least, double most)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, "collective", variant, NULL, HOSTS);
  GPtrArray            *part = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);

      if (row->unit == BENCH_UNIT_TIME && (double) row->bytes >= least
          && (double) row->bytes <= most)
        g_ptr_array_add (part, g_memdup2 (row, sizeof *row));
    }
  return part;
}

/* The median small message of VARIANT; nothing where there is none. */
static Start
find_start (const Calibration *self, const char *variant)
{
  g_autoptr (GPtrArray) rows = rows_between (self, variant, 1, SMALL_MOST);
  FittedValue           small = { 0 };
  Start                 start = { 0 };

  calibration_median (rows, &small);
  g_free (small.why);
  if (small.verdict != FIT_GOOD)
    return start;
  start.seconds = small.after;
  for (guint i = 0; i < rows->len; i++)
    start.bytes += (double) ((const BenchRow *) g_ptr_array_index (rows, i))->bytes / rows->len;
  return start;
}

/*
 * Bytes/s a direction of large messages of VARIANT, from what they take longer than small ones. OUT
 * has it, or is refused.
 */
static double
fit_rate (const Calibration *self, const char *variant, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = rows_between (self, variant, LARGE_LEAST, INFINITY);
  Start                 start = find_start (self, variant);

  for (guint i = 0; i < rows->len; i++)
    {
      BenchRow *row = g_ptr_array_index (rows, i);
      double    bytes = (double) row->bytes - start.bytes, slowest = row->high;

      if (row->low <= start.seconds)
        {
          calibration_refuse (out, FIT_CONTRADICTORY,
                              g_strdup ("large messages are as fast as small ones"));
          return 0;
        }
      row->value = bytes / (row->value - start.seconds);
      row->high = bytes / (row->low - start.seconds);
      row->low = bytes / (slowest - start.seconds);
    }
  calibration_median (rows, out);
  return out->verdict == FIT_GOOD ? out->after : 0;
}

/* How many times as long a byte takes while one comes back. 0 where OUT is refused. */
static double
exchange_ratio (const Calibration *self, FittedValue *out)
{
  FittedValue back = { .residual_median = NAN, .residual_p90 = NAN };
  double      there = fit_rate (self, "broadcast", out), both = 0;

  out->low = out->high = NAN;
  if (out->verdict != FIT_GOOD)
    return 0;
  both = fit_rate (self, "sendrecv", &back);
  out->n += back.n;
  if (back.verdict != FIT_GOOD)
    calibration_refuse (out, back.verdict, g_steal_pointer (&back.why));
  return both > 0 ? there / both : 0;
}

static gboolean
is_serial (const Calibration *self)
{
  FittedValue none = { 0 };
  double      ratio = exchange_ratio (self, &none);

  g_free (none.why);
  return ratio >= SERIAL_LEAST;
}

static gboolean
has_exchanges (const Calibration *self)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, "collective", "sendrecv", NULL, HOSTS);

  return rows->len > 0;
}

static void
fit_serial (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  double ratio = exchange_ratio (self, out);

  (void) rule;
  if (out->verdict != FIT_GOOD)
    return;
  if (ratio > FREELY_MOST && ratio < SERIAL_LEAST)
    calibration_refuse (
        out, FIT_TOO_LITTLE,
        g_strdup_printf ("a byte takes %.2f times as long while one comes back: neither "
                         "at once nor one after the other",
                         ratio));
  else
    out->text = ratio >= SERIAL_LEAST ? "true" : "false";
}

/* Where nothing waits for the answer of the other side, no answer waits in a queue. */
static void
fit_queue (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  double ratio = exchange_ratio (self, out);

  (void) rule;
  if (out->verdict == FIT_GOOD && ratio > FREELY_MOST)
    calibration_refuse (out, FIT_TOO_LITTLE,
                        g_strdup ("not told apart while answers are waited for"));
  else
    out->after = 0;
}

static void
fit_efficiency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  double      bandwidth = self->link->bandwidth.value;
  const char *variant = is_serial (self) || !has_exchanges (self) ? "broadcast" : "sendrecv";

  (void) rule;
  fit_rate (self, variant, out);
  out->after /= bandwidth;
  out->low /= bandwidth;
  out->high /= bandwidth;
}

/* Its bytes are taken off at the rate that `efficiency` has by now. */
static void
fit_latency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  double                rate = self->link->bandwidth.value * self->link->efficiency.value;
  g_autoptr (GPtrArray) rows = rows_between (self, "sendrecv", 1, SMALL_MOST);

  (void) rule;
  if (is_serial (self))
    rate /= 2;
  for (guint i = 0; i < rows->len; i++)
    {
      BenchRow *row = g_ptr_array_index (rows, i);
      double    wire = (double) row->bytes / rate;

      if (row->low <= wire)
        {
          calibration_refuse (
              out, FIT_TOO_LITTLE,
              g_strdup ("small messages are faster than the rate of large ones: a burst"));
          return;
        }
      row->low -= wire;
      row->value -= wire;
      row->high -= wire;
    }
  calibration_median (rows, out);
}

const FitRule calibrate_network_rules[] = {
  { "efficiency", "messages of 1 MiB and more between two hosts, against bandwidth", QUANTITY_RATIO,
    .fit = fit_efficiency },
  { "latency", "messages of up to 1 KiB between two hosts, their bytes taken off", QUANTITY_TIME,
    .fit = fit_latency },
  { "serial_exchange", "messages both ways at once against one way: one after the other",
    QUANTITY_COUNT, .fit = fit_serial },
  { "queue", "what an answer waits for: nothing where messages go both ways at once",
    QUANTITY_BYTES, .fit = fit_queue },
  { 0 },
};
