/*
 * Exchanges: what workers, groups of ranks that train on their own, tell each other now and then,
 * said once. Syncs (sync.h) read it to emit, their closed forms to say what must come out.
 *
 * A round has H = `every` steps. What a rank holds is exchanged whole, or in FRAGMENTS parts: the
 * f-th is used at the end of step round ((f + 1) H / fragments), and was sent `delay` steps before
 * (Douillard et al., Streaming DiLoCo, arXiv:2501.18512, 2.2). Blocks of the model lie in fragments
 * strided (f, f + P, f + 2 P) or in runs; the embedding goes with the first block, the head with
 * the last.
 */
#pragma once

#include "driver/policy/policy.h"

typedef enum
{
  EXCHANGE_PARAMETERS,
  EXCHANGE_DIFFERENCES, /* how far parameters are from the outer ones: a pseudo-gradient */
} ExchangeWhat;

typedef enum
{
  OUTER_NONE,     /* the average takes the place of the parameters */
  OUTER_MOMENTUM, /* a step with momentum on outer parameters, which the next round begins from */
} OuterStep;

typedef enum
{
  EXCHANGE_AT_ONCE, /* a collective a fragment, */
  EXCHANGE_BY_UNIT, /* a unit, */
  EXCHANGE_BY_TENSOR,
} ExchangePieces;

#define EXCHANGE_ROUND_LATE G_MAXUINT /* as delay: the next exchange uses what this one sent */

typedef struct
{
  MeshGroup      worker;    /* ranks that train together: what the inner strategy spans */
  MeshGroup      across;    /* the ranks of all workers that hold the same part */
  guint          every;     /* steps of a round */
  guint          delay;     /* steps from sending to use; 0: nothing goes on until it is there */
  guint          fragments; /* at least 1 */
  guint64        only;      /* bits of those that a cut round exchanges; 0: all of them */
  gboolean       strided;
  ExchangeWhat   what;
  ExchangePieces pieces;
  Dtype          dtype;     /* of what is exchanged */
  const Codec   *codec;     /* as which it travels; NULL: as it is */
  RingOrder      order;     /* of the hosts' ring */
  Transport      transport; /* of the hosts: it goes to pinned memory and comes back */
  OuterStep      outer;
  Place          outer_home; /* of outer parameters */
  gboolean       on_host; /* the hosts' cores subtract and take the outer step, where outer_home is;
                             the momentum is where the step is taken */
  gboolean       merges;  /* what a worker has learned meanwhile is mixed with what arrived */
  gboolean       clones;  /* from a copy (torchft) */
  /*
   * The issuing thread waits for the control plane, for what arrives and, before the outer step,
   * for all that the GPU was given (torchft).
   */
  gboolean host_waits;
  gboolean eager;      /* a worker takes its own difference at once, those of others when they
                             come */
  guint    owners;     /* ranks that each sum, step and send out a part of the whole; 0: all do */
  gboolean leader;     /* the first rank of a worker exchanges for all of it, then broadcasts */
  guint    base_every; /* leaders average plainly every so many steps in between, and broadcast; 0:
                          they do not */
  double   latency;    /* s: of the control plane, before data move */
  gboolean elastic;    /* goes on without a worker that is lost, until it is back */
  /*
   * The I-th worker trains slice I mod so many of tensors that are sliced: those of one slice
   * average it, then all get all slices; at most 1: all train all.
   */
  guint slices;
} Exchange;

#define EXCHANGE_MOST_BITS 64 /* fragments that `only` can choose from */

/* All workers; where owners sum parts of the whole, ACROSS is all of their ranks. */
guint exchange_workers (const Exchange *self);

/* The workers that train one slice; those next to each other that train all of them. */
MeshGroup exchange_owners (const Exchange *self);
MeshGroup exchange_peers (const Exchange *self);

/* Steps between two fragments, at least. */
guint exchange_gap (const Exchange *self);

/* Fragments that are exchanged in a round, and whether FRAGMENT is one of them. */
guint    exchange_n_sent (const Exchange *self);
gboolean exchange_sends (const Exchange *self, guint fragment);

/*
 * The fragment of LAYER of what a rank's WORKLOAD has: of its block, or of that next to the
 * embedding or the head.
 */
guint exchange_fragment_of (const Exchange *self, const Workload *workload, guint layer);

/* Steps of the round after which FRAGMENT is sent, and used. Of what is a round late both at once.
 */
guint exchange_sent_after (const Exchange *self, guint fragment);
guint exchange_used_after (const Exchange *self, guint fragment);

/* Steps of the same exchange in a round of at most STEPS a fragment and what is under way. */
guint exchange_cut (const Exchange *self, guint steps);

/*
 * Makes SELF such a round, of the fragments ONLY (0: all). Where leaders average in between it has
 * at most STEPS averages, as far apart as ever, and what is left over after the last one.
 */
void exchange_cut_round (Exchange *self, guint steps, guint64 only);
