/*
 * The requests of one replica of attention, step by step (serving-run.h). Internal to the layer.
 */
#pragma once

#include "serve/serving-run.h"

/* What a replica does for its requests. */
typedef enum
{
  ROLE_ALL,
  ROLE_PREFILL, /* computes prompts, and the first token of each */
  ROLE_DECODE,  /* gets their keys and values, and writes the rest */
} QueueRole;

/* A request on its way: of its prompt and of what it has written so much is in the cache. */
typedef struct
{
  const ServeRequest *request;
  double              arrival_s; /* here: of a decoding replica when keys and values are there */
  double              cached, written;
  double              bytes;                      /* of its blocks */
  gboolean            is_handed_over;             /* its prompt was computed elsewhere */
  double              started_s, first_s, done_s; /* started_s < 0: not yet */
} Sequence;

/* One replica. */
typedef struct
{
  QueueRole                role;
  Generator               *generator;
  const GenerationOptions *generation;
  const ServingOptions    *options;
  double                   room;
  GArray                  *block_bytes; /* double: of a sequence of so many blocks */
  GPtrArray               *all;         /* Sequence, by arrival; not owned */
  GQueue                   waiting;     /* those that lost their blocks first */
  GPtrArray               *running;     /* by the time that they began to run */
  guint                    next;        /* of `all`, to arrive */
  double                   now, used;
  GArray                  *groups; /* SequenceGroup, of a step */
  /* sums */
  guint   n_preempted;
  guint64 n_steps;
  double  busy_s, batch_s, cache_s, peak;
} Queue;

/* GENERATOR and both options must outlive it. */
void serving_queue_init (Queue *self, QueueRole role, Generator *generator,
                         const GenerationOptions *generation, const ServingOptions *options);
void serving_queue_clear (Queue *self);

/* SEQUENCE, which outlives it, arrives behind those that were added before. */
void serving_queue_add (Queue *self, Sequence *sequence);

/* Serves all that was added. */
void serving_queue_run (Queue *self);

/* Bytes of a sequence of TOKENS, in whole blocks. */
double serving_queue_bytes (Queue *self, double tokens);
