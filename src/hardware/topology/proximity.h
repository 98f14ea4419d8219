/*
 * How near the GPUs of a node are to its cards, read off routes: the resources that a transfer
 * crosses between GPU and card. A card serves the GPUs whose nearest card it is; one that is
 * nobody's nearest serves the GPU nearest to it, if that shares its socket and the links between
 * them have room, and nobody otherwise: rings carry equal parts, so one over a narrow link would
 * hold back all others. Every GPU has at least one card. There is room for as many cards as carry
 * most together, all at one speed, by the rates that the collective library's search takes links
 * for: not by what they do.
 */
#pragma once

#include "hardware/cluster/cluster.h"

/* Of the rate that a link reports, what the search takes it for. */
#define SEARCHED_OF_PCIE (24 / 31.5) /* PCIe 4 x16: 24 GB/s */
#define SEARCHED_OF_CARD 0.96        /* 200 Gbit/s: 24 GB/s */

typedef struct
{
  guint     n_gpus, n_cards;
  guint8   *distance; /* [gpu * n_cards + card] */
  gboolean *serves;   /* [gpu * n_cards + card] */
} Proximity;

/*
 * Of NODE; nodes of a uniform cluster share one. NULL without cards or without another node to send
 * to. Made when it is first asked for, in any thread; stands until the network is scaled.
 */
const Proximity *cluster_proximity (const Cluster *self, guint node);

/* Cards that serve local GPU, written to CARDS [n_cards]; their number. */
guint proximity_cards (const Proximity *self, guint local, guint *cards);
