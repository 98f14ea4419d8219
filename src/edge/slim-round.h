/*
 * Federated learning of a slimmable network over fading channels: SlimFL (arXiv:2203.14094) and
 * what it is compared with. The formulas are standard ones of superposition coding, derived; the
 * paper's constants were not at hand.
 *
 * A client sends the weights of the network of half the width (message 1, u_1 bit/s) and the others
 * (message 2, u_2 bit/s) at once, with lambda and 1 - lambda of its power P. The server decodes
 * message 1 with message 2 as noise, subtracts it, and decodes message 2:
 *
 *   SINR_1 = lambda P g / ((1 - lambda) P g + N B),  SINR_2 = (1 - lambda) P g / (N B)
 *
 * A message arrives if B log2 (1 + SINR) >= u. With tau = 2^(u / B) - 1, a mean signal to noise
 * ratio s = P E[g] / (N B) and Rayleigh fading (g is exponential):
 *
 *   p_1 = exp (-tau_1 / (lambda - (1 - lambda) tau_1) / s)
 *   p_2 = exp (-max (tau_1 / (lambda - (1 - lambda) tau_1), tau_2 / (1 - lambda)) / s)
 *
 * and message 1 never arrives where lambda <= (1 - lambda) tau_1. A network that is sent by itself
 * has all of P: p = exp (-tau / s).
 *
 * A dense layer of half the width has a quarter of the weights where both its sides narrow, and of
 * the FLOPs. A round takes the slowest client's steps and the airtime of the upload.
 */
#pragma once

#include "edge/star.h"

typedef enum
{
  SLIM_SLIM,    /* both widths, superposed */
  SLIM_VANILLA, /* both widths as two models, each in a bandwidth of its own and with all of P */
  SLIM_HALF,    /* half the width only */
  SLIM_FULL,    /* the whole width only */
  SLIM_N_SYSTEMS,
} SlimSystem;

typedef enum
{
  SLIM_HALF_ARRIVES,  /* probability that half the width arrives, or more; mean over clients */
  SLIM_FULL_ARRIVES,  /* that all of it does */
  SLIM_BYTES,         /* that arrive in a round, expected, of all clients */
  SLIM_SPECTRAL,      /* bits that arrive for each second and Hz, expected */
  SLIM_BYTES_A_JOULE, /* of what clients compute and send */
  SLIM_ROUND_S,
  SLIM_FULL_S, /* until the last client's whole network has arrived once: round over p, expected */
  SLIM_JOULES, /* of a round, all clients */
  SLIM_N_QUANTITIES,
} SlimQuantity;

typedef struct
{
  Radio    radio;
  double   power_share; /* lambda */
  double   upload;      /* s of airtime */
  double   element;     /* B of a weight on the way */
  double   snr;         /* mean, of every client; 0: each has its own */
  gint64   steps;       /* of a round */
  gboolean shared_forward;
  gint     system, quantity;
} SlimSettings;

extern const OptionSpec  slim_options[], slim_client_options[], slim_layer_options[];
extern const char *const slim_system_names[], *const slim_quantity_names[];

/* What a client is to get through with one system. */
typedef struct
{
  double snr;        /* mean, of a channel with all the power */
  double half, full; /* probability of arrival; of a width that is not sent 0 */
  double bytes;      /* that arrive, expected */
  double compute_s, joules;
} SlimClient;

/*
 * Client I of STAR in a round of SYSTEM. FALSE with *WHY newly allocated: message 1 never arrives,
 * whatever the channel.
 */
gboolean slim_client (const EdgeStar *star, const SlimSettings *settings, SlimSystem system,
                      guint i, SlimClient *client, char **why);

/*
 * The quantity of SETTINGS over all clients. NAN with *WHY newly allocated: as above, or nothing of
 * what it is about ever arrives.
 */
double slim_quantity (const EdgeStar *star, const SlimSettings *settings, char **why);

/* The part of the weights that the network of half the width has. */
double slim_half_share (const EdgeStar *star);
