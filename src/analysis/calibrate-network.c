/*
 * The rules of a network link's profile: messages between two plain hosts over MPI, alone on the network. Everything with more hosts is left
 * for validation.
 *
 * `sendrecv` of two hosts sends a message each way at once: S bytes a direction take S / rate and a latency, or twice that where the library
 * sends messages between two hosts one after the other. `broadcast` is one way, so it tells the two apart; its small messages return
 * before they have arrived, so its start-up is no latency.
 */
#include <math.h>

#include "analysis/calibrate-profile.h"

#define HOSTS 2

/* Exchanges are serial, or not, where the slopes differ by this much; in between the data contradict both. */
#define SERIAL_LEAST   1.5
#define FREELY_AT_MOST 1.25

/* A line through the rows of VARIANT. */
static LineFit
fit_variant (const Calibration *self, const char *variant, FittedValue *out)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, "collective", variant, HOSTS);
  LineFit               line = calibration_line (rows, 1, out);

  if (out->verdict == FIT_GOOD)
    calibration_rate_spread (rows, 1, &line, &out->low, &out->high);
  return line;
}

/* How many times as long a byte takes while one comes back. 0 where OUT is refused. */
static double
exchange_ratio (const Calibration *self, FittedValue *out)
{
  LineFit there = fit_variant (self, "broadcast", out);
  LineFit both = fit_variant (self, "sendrecv", out);

  out->low = out->high = NAN;
  return out->verdict == FIT_GOOD ? there.rate / both.rate : 0;
}

static void
fit_serial (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  double ratio = exchange_ratio (self, out);

  (void) rule;
  if (out->verdict != FIT_GOOD)
    return;
  if (ratio > FREELY_AT_MOST && ratio < SERIAL_LEAST)
    calibration_refuse (out, FIT_TOO_LITTLE,
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
  if (out->verdict == FIT_GOOD && ratio > FREELY_AT_MOST)
    calibration_refuse (out, FIT_TOO_LITTLE, g_strdup ("not told apart while answers are waited for"));
  else
    out->after = 0;
}

static void
fit_efficiency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  FittedValue other = { .residual_median = NAN, .residual_p90 = NAN };
  double      ratio = exchange_ratio (self, &other), bandwidth = self->link->bandwidth.value;
  gboolean    serial = other.verdict == FIT_GOOD && ratio >= SERIAL_LEAST;
  LineFit     line = fit_variant (self, serial ? "broadcast" : "sendrecv", out);

  (void) rule;
  g_free (other.why);
  if (out->verdict != FIT_GOOD)
    return;
  out->after = line.rate / bandwidth;
  out->low /= bandwidth;
  out->high /= bandwidth;
}

static void
fit_latency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  LineFit line = fit_variant (self, "sendrecv", out);

  (void) rule;
  out->low = out->high = NAN;
  if (out->verdict == FIT_GOOD)
    out->after = line.latency;
}

const FitRule calibrate_network_rules[] = {
  { "efficiency", "messages between two hosts, against bandwidth", QUANTITY_RATIO, fit_efficiency,
    NULL, NULL },
  { "latency", "start-up of messages between two hosts", QUANTITY_TIME, fit_latency, NULL, NULL },
  { "serial_exchange", "messages both ways at once against one way: one after the other",
    QUANTITY_COUNT, fit_serial, NULL, NULL },
  { "queue", "what an answer waits for: nothing where messages go both ways at once",
    QUANTITY_BYTES, fit_queue, NULL, NULL },
  { 0 },
};
