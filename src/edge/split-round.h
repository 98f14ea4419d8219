/*
 * Split learning around a server: a round of EPSL (arXiv:2303.15991), of parallel split learning
 * (PSL, no aggregation) and of split federated learning (SFL, which also averages the clients'
 * parts of the model). The phases are the paper's; the formulas are derived, as its text was not at
 * hand in full.
 *
 * Client i holds layers 1 to `cut`, the server the rest; b_i samples a client and round.
 *
 *   1  client forward    b_i (FLOPs of 1 .. cut) / f_i
 *   2  upload            b_i (output of the cut) at R_i, its own channels' capacity
 *   3  server forward    sum b_i samples of cut + 1 .. L
 *   4  server backward   of layer L sum b_i samples; of the others max m_i + sum (b_i - m_i):
 *                        m_i = ceil (phi b_i) of each client's samples are averaged with those of
 *                        the others to one gradient each
 *   5  broadcast         the gradients of max m_i samples, in all channels, at the worst client's
 *                        rate
 *   6  unicast           those of b_i - m_i samples, in the client's own channels
 *   7  client backward   b_i samples of 1 .. cut
 *   8  SFL: each client's layers are sent up, and their average is broadcast
 *
 *   T = max (1 + 2) + 3 + 4 + 5 + max (6 + 7 [+ 8 up]) [+ 8 down]
 *
 * A client spreads its power evenly over its channels, the server its own over all of them. Gains
 * are the same both ways.
 */
#pragma once

#include "edge/star.h"

typedef enum
{
  SPLIT_EPSL,
  SPLIT_PSL,
  SPLIT_SFL,
} SplitMethod;

typedef enum
{
  SPLIT_CLOSED,  /* T above */
  SPLIT_BARRIER, /* the engine, each client waits for the round's last one: T again */
  SPLIT_FREE,    /* the engine, a client goes on with its next round at once */
  SPLIT_EAGER,   /* the same, and the server begins with each client's samples as they arrive */
  SPLIT_N_CLOCKS,
} SplitClock;

typedef enum
{
  PART_ROUND,
  PART_CLIENTS_UP, /* max (1 + 2) */
  PART_SERVER_FORWARD,
  PART_SERVER_BACKWARD,
  PART_BROADCAST,
  PART_CLIENTS_DOWN, /* max (6 + 7 + 8 up) */
  PART_AVERAGE,      /* 8 down */
  SPLIT_N_PARTS,
} SplitPart;

/* The file's own keys, which panels vary. */
typedef struct
{
  Radio  radio;
  gint64 n_channels, cut;
  double server_compute, server_power, element; /* B of an element */
  double aggregation;
  gint   method, clock, part;
} SplitSettings;

extern const OptionSpec  split_options[], split_client_options[], split_layer_options[];
extern const char *const split_part_names[], *const split_clock_names[];

/* What one client does in a round, and how fast. */
typedef struct
{
  double forward_flops, backward_flops, compute;
  double up_bytes, unicast_bytes, model_bytes; /* model: 0 without averaging */
  double up, down;                             /* B/s in its own channels */
  double server_flops;                         /* forward and... */
  double server_backward_flops;                /* ...backward of its samples by themselves */
} SplitClient;

/* What a round is: the closed form and the engine (split-replay.h) both read it. */
typedef struct
{
  GArray *clients; /* SplitClient */
  double  server_compute;
  double  forward_flops, backward_flops; /* of the server */
  double  broadcast_bytes, average_bytes, broadcast;
  guint   aggregated; /* gradients that are averages: of as many samples of each client */
} SplitWork;

/*
 * The round of SETTINGS around STAR. NULL with *WHY newly allocated: the cut leaves a side nothing
 * to do, a channel is none of the star's or another client's, or nothing gets through.
 */
SplitWork *split_work_new (const EdgeStar *star, const SplitSettings *settings, char **why);
void       split_work_free (SplitWork *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SplitWork, split_work_free)

#define SPLIT_CLIENT(work, i) (&g_array_index ((work)->clients, SplitClient, i))

/* Seconds of PART by the closed form; of the round T. */
double split_closed_form (const SplitWork *work, SplitPart part);
