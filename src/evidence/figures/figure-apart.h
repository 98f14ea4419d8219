/*
 * Attention and experts on pools of their own (serve/apart.h), beside what was published of it.
 * NAME.apart.csv has a line a number, which is of an instance or of one end of an exchange:
 *
 *   figure,row,quantity,system,model,attention,experts,attention_tp,stages,replicas,expert_tp,
 *     micro_batches,micro_batch,attention_price,expert_price,peers,bytes,over,x,published,
 *     assumptions
 *   figure 15,8 replicas,tokens_per_s_per_gpu,m2n,dbrx.json,8 x ampere-8,,2,,8,2,3,128,1,1,,,,
 *     replicas,,
 *
 * `system` is how tokens travel, or `together`: an instance that is not cut, of `attention_tp`
 * ranks in each of `stages`. `experts` is the cluster of the second pool; empty: both are on one. A
 * instance without `replicas` is searched. Without `micro_batch` (sequences of a replica; of an
 * instance in one piece the most) the batch is the largest that memory and the limit between tokens
 * leave room for. `over` names a row whose number divides; or several, apart by " | ", which make a
 * band. `x`: what the line is drawn over, in a panel of its figure.
 */
#pragma once

#include "evidence/figures/figure.h"
#include "serve/apart.h"

#define APART_PROMPT 571 /* median lengths of the trace, tokens */
#define APART_OUTPUT 159
#define APART_LIMIT  150e-3 /* s between tokens */

typedef enum
{
  APART_ATTENTION_TP,
  APART_STAGES,
  APART_REPLICAS,
  APART_EXPERT_TP,
  APART_MICRO_BATCHES,
  APART_N_DEGREES,
} ApartDegree;

typedef struct
{
  const char *figure, *row, *quantity, *system, *model, *attention, *experts, *over, *x,
      *assumptions;
  double degrees[APART_N_DEGREES]; /* NAN: not said, like what follows */
  double micro_batch, attention_price, expert_price, peers, bytes, published;
  /* what comes of it */
  double      raw;       /* the number */
  double      low, high; /* over those of `over`; NAN: there is none */
  const char *reason;    /* why not; else NULL */
  const char *layout;    /* "8 x tp 2, experts 16 x tp 2, 3 x 128"; "" of an exchange */
  PingPong    times;     /* of an instance that is cut; else zeroed */
} ApartLine;

/* What a line is drawn at, of `x`: bytes in KiB. */
double figure_apart_x (const ApartLine *line);
