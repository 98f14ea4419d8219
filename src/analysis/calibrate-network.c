/*
 * The rules of a network link's profile: messages between plain hosts over MPI, two of them alone on the network. Everything with more hosts is
 * left for validation.
 */
#include <math.h>

#include "analysis/calibrate-profile.h"

#define HOSTS 2

/* A message one way, and its line. FALSE where OUT is refused. */
static gboolean
fit_one_way (const Calibration *self, const FitRule *rule, FittedValue *out, LineFit *line)
{
  g_autoptr (GPtrArray) rows = calibration_rows (self, rule->benchmark, rule->variant, HOSTS);

  *line = calibration_line (rows, 1, out);
  if (out->verdict != FIT_GOOD)
    return FALSE;
  calibration_rate_spread (rows, 1, line, &out->low, &out->high);
  return TRUE;
}

static void
fit_latency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  LineFit line;

  if (fit_one_way (self, rule, out, &line))
    out->after = line.latency;
  out->low = out->high = NAN;
}

static void
fit_efficiency (const Calibration *self, const FitRule *rule, FittedValue *out)
{
  LineFit line;
  double  bandwidth = self->link->bandwidth.value;

  if (!fit_one_way (self, rule, out, &line))
    return;
  out->after = line.rate / bandwidth;
  out->low /= bandwidth;
  out->high /= bandwidth;
}

const FitRule calibrate_network_rules[] = {
  { "efficiency", "messages one way between two hosts, against bandwidth", QUANTITY_RATIO,
    fit_efficiency, "collective", "broadcast" },
  { "latency", "start-up of a message one way between two hosts", QUANTITY_TIME, fit_latency,
    "collective", "broadcast" },
  { 0 },
};
