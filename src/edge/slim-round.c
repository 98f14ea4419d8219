#include "edge/slim-round.h"
#include "edge/star-options.h"

#include <math.h>

#define NEVER 1e-12 /* a probability below which nothing is said to arrive */

const char *const slim_system_names[] = { "slim", "vanilla", "half", "full", NULL };
const char *const slim_quantity_names[] = { "half-arrives",   "full-arrives",    "bytes",
                                            "bits-per-hertz", "bytes-per-joule", "round-s",
                                            "full-s",         "joules",          NULL };

static const char *const narrows_names[] = { "both", "one", "none", NULL };

const OptionSpec slim_options[] = {
  { EDGE_QUANTITY ("bandwidth", FREQUENCY, SlimSettings, radio.bandwidth), .min = 1, .max = 1e12,
    .help = "of a client's channel" },
  { EDGE_QUANTITY ("noise", DENSITY, SlimSettings, radio.noise), .min = 1e-30, .max = 1,
    .help = "power density at the server" },
  { EDGE_QUANTITY ("frequency", FREQUENCY, SlimSettings, radio.frequency), .optional = TRUE,
    .min = 1, .max = 1e15, .help = "where distances are given" },
  { EDGE_QUANTITY ("path_loss_exponent", RATIO, SlimSettings, radio.exponent), .optional = TRUE,
    .min = 1, .max = 10, .help = "how fast power falls with distance: 2 in free space" },
  { EDGE_QUANTITY ("power_share", RATIO, SlimSettings, power_share), .min = 1e-6, .max = 0.999999,
    .help = "of the power, for the weights of half the width" },
  { EDGE_QUANTITY ("upload", TIME, SlimSettings, upload), .min = 1e-9, .max = 1e6,
    .help = "airtime of a round" },
  { EDGE_QUANTITY ("element", BYTES, SlimSettings, element), .min = 0.125, .max = 64,
    .help = "of a weight on the way" },
  { EDGE_QUANTITY ("snr", RATIO, SlimSettings, snr), .optional = TRUE, .min = 1e-9, .max = 1e12,
    .help = "mean signal over noise of every client; unset: of its gain or distance" },
  { .key = "steps",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (SlimSettings, steps),
    .min = 1,
    .max = 1e9,
    .help = "of a client in a round" },
  { .key = "shared_forward",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (SlimSettings, shared_forward),
    .fallback = "false",
    .help = "the half's forward pass of the slimmable network costs nothing of its own" },
  { EDGE_CHOICE ("system", slim_system_names, SlimSettings, system), .fallback = "slim",
    .help = "slimmable, or two models, or one" },
  { EDGE_CHOICE ("quantity", slim_quantity_names, SlimSettings, quantity),
    .fallback = "full-arrives", .help = "what is drawn" },
  { 0 },
};

const OptionSpec slim_client_options[] = {
  EDGE_CLIENT_ROWS,
  { EDGE_QUANTITY ("compute_power", POWER, EdgeClient, draw), .min = 1e-12, .max = 1e6 },
  { 0 },
};

const OptionSpec slim_layer_options[] = {
  EDGE_LAYER_ROWS,
  { EDGE_QUANTITY ("parameters", COUNT, EdgeLayer, parameters), .min = 1, .max = 1e18 },
  { EDGE_CHOICE ("narrows", narrows_names, EdgeLayer, narrows), .fallback = "both" },
  { 0 },
};

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct
{
  double parameters, forward, backward;
} Size;

/* Of the network of half the width, or of the whole one. */
static Size
size_of (const EdgeStar *star, gboolean half)
{
  static const double shares[] = { [NARROWS_BOTH] = 0.25, [NARROWS_ONE] = 0.5, [NARROWS_NONE] = 1 };
  Size                size = { 0 };

  for (guint l = 0; l < star->layers->len; l++)
    {
      const EdgeLayer *layer = EDGE_LAYER (star, l);
      const double     share = half ? shares[layer->narrows] : 1;

      size.parameters += share * layer->parameters;
      size.forward += share * layer->forward;
      size.backward += share * layer->backward;
    }
  return size;
}

double
slim_half_share (const EdgeStar *star)
{
  return size_of (star, TRUE).parameters / size_of (star, FALSE).parameters;
}

/* FLOPs of a sample. */
static double
flops_of (const EdgeStar *star, const SlimSettings *settings, SlimSystem system)
{
  const Size half = size_of (star, TRUE), full = size_of (star, FALSE);

  if (system == SLIM_HALF)
    return half.forward + half.backward;
  if (system == SLIM_FULL)
    return full.forward + full.backward;
  return full.forward + full.backward + half.backward
         + (system == SLIM_SLIM && settings->shared_forward ? 0 : half.forward);
}

/* ---- what arrives ---------------------------------------------------------------------------- */

/* The signal to noise ratio from which on PARAMETERS get through in the airtime. */
static double
threshold_of (const SlimSettings *settings, double parameters)
{
  const double rate = 8 * parameters * settings->element / settings->upload;

  return expm1 (rate / settings->radio.bandwidth * G_LN2);
}

/* Sets the probabilities of messages that are superposed. FALSE with *WHY set. */
static gboolean
superposed (const EdgeStar *star, const SlimSettings *settings, SlimClient *client, char **why)
{
  const double half = size_of (star, TRUE).parameters, full = size_of (star, FALSE).parameters;
  const double share = settings->power_share;
  const double tau_1 = threshold_of (settings, half), tau_2 = threshold_of (settings, full - half);
  const double left = share - (1 - share) * tau_1; /* of the power, above what message 2 takes */

  if (left <= 0)
    {
      *why = g_strdup_printf ("message 1 never arrives: with a power share of %g its signal is at "
                              "most %.3g times message 2, and its %.3g bit/s in %.3g Hz need %.3g",
                              share, share / (1 - share),
                              8 * half * settings->element / settings->upload,
                              settings->radio.bandwidth, tau_1);
      return FALSE;
    }
  client->half = exp (-tau_1 / left / client->snr);
  client->full = exp (-fmax (tau_1 / left, tau_2 / (1 - share)) / client->snr);
  return TRUE;
}

static void
by_itself (const EdgeStar *star, const SlimSettings *settings, SlimSystem system,
           SlimClient *client)
{
  const double half = size_of (star, TRUE).parameters, full = size_of (star, FALSE).parameters;
  const double of_half = exp (-threshold_of (settings, half) / client->snr);
  const double of_full = exp (-threshold_of (settings, full) / client->snr);

  client->full = system == SLIM_HALF ? 0 : of_full;
  client->half = system == SLIM_FULL ? of_full : of_half;
}

/* How many times it takes the bandwidth, and sends with all of the power. */
static guint
bands_of (gint system)
{
  return system == SLIM_VANILLA ? 2 : 1;
}

gboolean
slim_client (const EdgeStar *star, const SlimSettings *settings, SlimSystem system, guint i,
             SlimClient *client, char **why)
{
  const EdgeClient *given = EDGE_CLIENT (star, i);
  const Radio      *radio = &settings->radio;
  const double      half = size_of (star, TRUE).parameters * settings->element;
  const double      full = size_of (star, FALSE).parameters * settings->element;

  client->snr = settings->snr > 0 ? settings->snr
                                  : given->power * radio_gain (radio, given, 0)
                                        / (radio->noise * radio->bandwidth);
  if (system != SLIM_SLIM)
    by_itself (star, settings, system, client);
  else if (!superposed (star, settings, client, why))
    return FALSE;
  client->bytes = system == SLIM_SLIM      ? client->half * half + client->full * (full - half)
                  : system == SLIM_VANILLA ? client->half * half + client->full * full
                  : system == SLIM_HALF    ? client->half * half
                                           : client->full * full;
  client->compute_s = flops_of (star, settings, system) * (double) given->batch
                      * (double) settings->steps / given->compute;
  client->joules =
      given->draw * client->compute_s + bands_of ((gint) system) * given->power * settings->upload;
  return TRUE;
}

/* ---- over all clients ------------------------------------------------------------------------ */

typedef struct
{
  double half, full, bytes, joules; /* sums */
  double compute_s, least_full;     /* of the slowest client, and of the worst channel */
} Totals;

static gboolean
totals_of (const EdgeStar *star, const SlimSettings *settings, Totals *totals, char **why)
{
  *totals = (Totals){ .least_full = 1 };
  for (guint i = 0; i < star->clients->len; i++)
    {
      SlimClient client;

      if (!slim_client (star, settings, settings->system, i, &client, why))
        return FALSE;
      totals->half += client.half;
      totals->full += client.full;
      totals->bytes += client.bytes;
      totals->joules += client.joules;
      totals->compute_s = fmax (totals->compute_s, client.compute_s);
      totals->least_full = fmin (totals->least_full, client.full);
    }
  return TRUE;
}

double
slim_quantity (const EdgeStar *star, const SlimSettings *settings, char **why)
{
  const guint  n = star->clients->len;
  const double never = NEVER * n;
  Totals       totals;
  double       round_s;

  if (!totals_of (star, settings, &totals, why))
    return NAN;
  round_s = totals.compute_s + settings->upload;
  if (totals.half < never)
    {
      *why = g_strdup_printf ("nothing arrives: half the width gets through in less than one of "
                              "%.0e rounds",
                              1 / NEVER);
      return NAN;
    }
  switch ((SlimQuantity) settings->quantity)
    {
    case SLIM_HALF_ARRIVES:
      return totals.half / n;
    case SLIM_FULL_ARRIVES:
      return totals.full / n;
    case SLIM_BYTES:
      return totals.bytes;
    case SLIM_SPECTRAL:
      return 8 * totals.bytes
             / (n * bands_of (settings->system) * settings->radio.bandwidth * settings->upload);
    case SLIM_BYTES_A_JOULE:
      return totals.bytes / totals.joules;
    case SLIM_ROUND_S:
      return round_s;
    case SLIM_FULL_S:
      if (totals.least_full >= NEVER)
        return round_s / totals.least_full;
      *why = g_strdup ("the whole width never arrives from one client or more");
      return NAN;
    default:
      return totals.joules;
    }
}
