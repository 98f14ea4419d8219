#include "edge/split-round.h"
#include "edge/star-options.h"

#include <math.h>

#define LONGEST_S 1e6 /* of a phase: who waits longer has no link */

const char *const        split_part_names[] = { "round",           "clients-up", "server-forward",
                                                "server-backward", "broadcast",  "clients-down",
                                                "average",         NULL };
const char *const        split_clock_names[] = { "closed", "barrier", "free", "eager", NULL };
static const char *const method_names[] = { "epsl", "psl", "sfl", NULL };

const OptionSpec split_options[] = {
  { EDGE_QUANTITY ("bandwidth", FREQUENCY, SplitSettings, radio.bandwidth), .min = 1, .max = 1e12,
    .help = "of a channel" },
  { .key = "channels",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (SplitSettings, n_channels),
    .min = 1,
    .max = 10000,
    .help = "that clients and server share" },
  { EDGE_QUANTITY ("noise", DENSITY, SplitSettings, radio.noise), .min = 1e-30, .max = 1,
    .help = "power density at a receiver" },
  { EDGE_QUANTITY ("frequency", FREQUENCY, SplitSettings, radio.frequency), .optional = TRUE,
    .min = 1, .max = 1e15, .help = "of the first channel, where distances are given" },
  { EDGE_QUANTITY ("path_loss_exponent", RATIO, SplitSettings, radio.exponent), .optional = TRUE,
    .min = 1, .max = 10, .help = "how fast power falls with distance: 2 in free space" },
  { EDGE_QUANTITY ("server_compute", COMPUTE, SplitSettings, server_compute), .min = 1, .max = 1e21,
    .help = "of the server" },
  { EDGE_QUANTITY ("server_power", POWER, SplitSettings, server_power), .min = 1e-12, .max = 1e6,
    .help = "that the server sends, over all channels" },
  { EDGE_QUANTITY ("element", BYTES, SplitSettings, element), .min = 0.125, .max = 64,
    .help = "of an activation, a gradient, a parameter on the way" },
  { .key = "cut",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (SplitSettings, cut),
    .min = 1,
    .max = 100000,
    .help = "layers of a client" },
  { EDGE_QUANTITY ("aggregation", RATIO, SplitSettings, aggregation), .or_zero = TRUE, .min = 1e-9,
    .max = 1, .fallback = "0",
    .help = "part of the samples whose gradients are averaged over clients" },
  { EDGE_CHOICE ("method", method_names, SplitSettings, method), .fallback = "epsl",
    .help = "psl: no aggregation; sfl: none, and clients' layers are averaged" },
  { EDGE_CHOICE ("clock", split_clock_names, SplitSettings, clock), .fallback = "closed",
    .help = "who says how long a round takes" },
  { EDGE_CHOICE ("part", split_part_names, SplitSettings, part), .fallback = "round",
    .help = "which part of the round, by the closed form" },
  { 0 },
};

const OptionSpec split_client_options[] = { EDGE_CLIENT_ROWS, { 0 } };

const OptionSpec split_layer_options[] = {
  EDGE_LAYER_ROWS,
  { EDGE_QUANTITY ("output", COUNT, EdgeLayer, output), .min = 1, .max = 1e18 },
  { EDGE_QUANTITY ("parameters", COUNT, EdgeLayer, parameters), .or_zero = TRUE, .optional = TRUE,
    .min = 1, .max = 1e18 },
  { 0 },
};

/* ---- what a round is ------------------------------------------------------------------------- */

/* FLOPs of a sample, or parameters, of layers FIRST to LAST, from 0 and without LAST. */
static double
sum_of (const EdgeStar *star, gsize offset, guint first, guint last)
{
  double sum = 0;

  for (guint l = first; l < last; l++)
    sum += G_STRUCT_MEMBER (double, EDGE_LAYER (star, l), offset);
  return sum;
}

#define SUM(star, member, first, last) \
  sum_of (star, G_STRUCT_OFFSET (EdgeLayer, member), first, last)

/* B/s over all N channels of the star, or, OWN, over those of CLIENT, each with POWER. */
static double
rate_of (const SplitSettings *settings, const EdgeClient *client, gboolean own, double power)
{
  const Radio *radio = &settings->radio;
  const guint  n = own ? client->channels->len : (guint) settings->n_channels;
  double       bits = 0;

  for (guint i = 0; i < n; i++)
    {
      const guint channel = own ? g_array_index (client->channels, guint, i) : i;

      bits += radio_capacity (radio->bandwidth, power, radio_gain (radio, client, channel),
                              radio->noise);
    }
  return bits / 8;
}

/* Whether each channel is the star's, and one client's. */
static gboolean
check_channels (const EdgeStar *star, const SplitSettings *settings, char **why)
{
  g_autoptr (GHashTable) owners = g_hash_table_new (g_direct_hash, g_direct_equal);

  for (guint i = 0; i < star->clients->len; i++)
    {
      const EdgeClient *client = EDGE_CLIENT (star, i);

      for (guint k = 0; k < client->channels->len; k++)
        {
          const guint channel = g_array_index (client->channels, guint, k);

          if (channel >= settings->n_channels)
            *why = g_strdup_printf ("client '%s' has channel %u of %" G_GINT64_FORMAT, client->name,
                                    channel + 1, settings->n_channels);
          else if (!g_hash_table_add (owners, GUINT_TO_POINTER (channel)))
            *why = g_strdup_printf ("client '%s' has channel %u, which is another's or twice there",
                                    client->name, channel + 1);
          else
            continue;
          return FALSE;
        }
    }
  return TRUE;
}

/* The samples of CLIENT whose gradients are averaged; a rounding residue is no sample. */
static guint
aggregated_of (const SplitSettings *settings, const EdgeClient *client)
{
  if (settings->method != SPLIT_EPSL)
    return 0;
  return (guint) ceil (settings->aggregation * (double) client->batch * (1 - 1e-12));
}

static SplitClient
client_of (const EdgeStar *star, const SplitSettings *settings, const EdgeClient *client)
{
  const guint  cut = (guint) settings->cut, n = star->layers->len;
  const double batch = (double) client->batch;
  const double bytes = EDGE_LAYER (star, cut - 1)->output * settings->element;
  const double power = client->power / client->channels->len;
  const double server_power = settings->server_power / (double) settings->n_channels;
  const double parameters = settings->method == SPLIT_SFL ? SUM (star, parameters, 0, cut) : 0;

  return (SplitClient){
    .forward_flops = batch * SUM (star, forward, 0, cut),
    .backward_flops = batch * SUM (star, backward, 0, cut),
    .compute = client->compute,
    .up_bytes = batch * bytes,
    .unicast_bytes = (batch - aggregated_of (settings, client)) * bytes,
    .model_bytes = parameters * settings->element,
    .up = rate_of (settings, client, TRUE, power),
    .down = rate_of (settings, client, TRUE, server_power),
    .server_flops = batch * SUM (star, forward, cut, n),
    .server_backward_flops = batch * SUM (star, backward, cut, n),
  };
}

/* Whether what is sent arrives in a time that a round can take. */
static gboolean
check_rate (const char *what, const EdgeClient *client, double bytes, double rate, char **why)
{
  if (rate > 0 && bytes / rate <= LONGEST_S)
    return TRUE;
  *why = g_strdup_printf ("nothing gets through to or from client '%s': its %s carries %.3g bit/s, "
                          "and %.3g bytes are sent",
                          client->name, what, 8 * rate, bytes);
  return FALSE;
}

static gboolean
check_rates (const EdgeStar *star, const SplitWork *work, char **why)
{
  for (guint i = 0; i < work->clients->len; i++)
    {
      const SplitClient *client = SPLIT_CLIENT (work, i);
      const EdgeClient  *given = EDGE_CLIENT (star, i);

      if (!check_rate ("uplink", given, client->up_bytes + client->model_bytes, client->up, why)
          || !check_rate ("downlink", given, client->up_bytes + client->model_bytes, client->down,
                          why))
        return FALSE;
    }
  return TRUE;
}

/* What the server does with all samples of the round, and what it broadcasts. */
static void
add_server (SplitWork *self, const EdgeStar *star, const SplitSettings *settings)
{
  const guint  n = star->layers->len;
  const double power = settings->server_power / (double) settings->n_channels;
  double       all = 0, reduced = 0;

  self->server_compute = settings->server_compute;
  self->broadcast = INFINITY;
  for (guint i = 0; i < star->clients->len; i++)
    {
      const EdgeClient *client = EDGE_CLIENT (star, i);
      const guint       averaged = aggregated_of (settings, client);

      self->aggregated = MAX (self->aggregated, averaged);
      self->broadcast = fmin (self->broadcast, rate_of (settings, client, FALSE, power));
      all += (double) client->batch;
      reduced += (double) client->batch - averaged;
    }
  reduced += self->aggregated;
  self->forward_flops = all * SUM (star, forward, (guint) settings->cut, n);
  self->backward_flops = all * SUM (star, backward, n - 1, n)
                         + reduced * SUM (star, backward, (guint) settings->cut, n - 1);
  self->broadcast_bytes =
      self->aggregated * EDGE_LAYER (star, (guint) settings->cut - 1)->output * settings->element;
  self->average_bytes = SPLIT_CLIENT (self, 0)->model_bytes;
}

SplitWork *
split_work_new (const EdgeStar *star, const SplitSettings *settings, char **why)
{
  g_autoptr (SplitWork) self = g_new0 (SplitWork, 1);

  self->clients = g_array_new (FALSE, FALSE, sizeof (SplitClient));
  if (settings->cut >= star->layers->len)
    {
      *why = g_strdup_printf ("a cut after layer %" G_GINT64_FORMAT " of %u leaves the server none",
                              settings->cut, star->layers->len);
      return NULL;
    }
  if (!check_channels (star, settings, why))
    return NULL;
  for (guint i = 0; i < star->clients->len; i++)
    {
      const SplitClient client = client_of (star, settings, EDGE_CLIENT (star, i));

      g_array_append_val (self->clients, client);
    }
  if (!check_rates (star, self, why))
    return NULL;
  add_server (self, star, settings);
  return g_steal_pointer (&self);
}

void
split_work_free (SplitWork *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->clients);
  g_free (self);
}

/* ---- the closed form ------------------------------------------------------------------------- */

static double
slowest_up (const SplitWork *work)
{
  double most = 0;

  for (guint i = 0; i < work->clients->len; i++)
    {
      const SplitClient *c = SPLIT_CLIENT (work, i);

      most = fmax (most, c->forward_flops / c->compute + c->up_bytes / c->up);
    }
  return most;
}

static double
slowest_down (const SplitWork *work)
{
  double most = 0;

  for (guint i = 0; i < work->clients->len; i++)
    {
      const SplitClient *c = SPLIT_CLIENT (work, i);

      most = fmax (most, c->unicast_bytes / c->down + c->backward_flops / c->compute
                             + c->model_bytes / c->up);
    }
  return most;
}

double
split_closed_form (const SplitWork *work, SplitPart part)
{
  double sum = 0;

  switch (part)
    {
    case PART_CLIENTS_UP:
      return slowest_up (work);
    case PART_SERVER_FORWARD:
      return work->forward_flops / work->server_compute;
    case PART_SERVER_BACKWARD:
      return work->backward_flops / work->server_compute;
    case PART_BROADCAST:
      return work->broadcast_bytes / work->broadcast;
    case PART_CLIENTS_DOWN:
      return slowest_down (work);
    case PART_AVERAGE:
      return work->average_bytes / work->broadcast;
    default:
      for (guint p = PART_ROUND + 1; p < SPLIT_N_PARTS; p++)
        sum += split_closed_form (work, p);
      return sum;
    }
}
