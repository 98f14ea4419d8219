/*
 * The closed form of fully sharded data parallelism of Wang, Ebert, Filatov and Kesselheim, "Memory
 * and Bandwidth are All You Need for FSDP" (arXiv:2504.03655), as far as it is known here: the full
 * text was not read. It is written down from memory and derived again, so that each line follows
 * from the assumptions; docs/memband.md lists them. It knows no engine.
 *
 * phi = 12 L H^2 parameters of Q bytes; N ranks; gamma of the intermediate activations are kept
 * (0: all are recomputed); E tokens a rank and step; S bytes/s that a rank receives.
 *
 *   states        8 Q phi / N a rank (stage 3), or Q phi + 7 Q phi / N (stage 2)
 *   activations   (1 - gamma) L H Q + gamma L (16 H Q + 2 H) bytes a token
 *   F_fwd         2 phi + 4 L H l FLOPs a token; backward (3 - gamma) F_fwd
 *   T_tr          phi Q / S + L N epsilon: one pass over the parameters
 *   step          max (T_fwd, T_tr) + max (T_bwd, (passes - 1) T_tr); at stage 2 nothing is
 *                 gathered in the forward pass: T_fwd + max (T_bwd, (passes - 1) T_tr)
 */
#pragma once

#include <glib.h>

typedef struct
{
  double n_layers, d_model;
  double seq_len;       /* tokens of a sequence */
  double element_bytes; /* of the compute type */
  double n_parameters;  /* 0: 12 L H^2 */
} MembandModel;

typedef struct
{
  double n_ranks;
  double memory_bytes; /* of a GPU, all of which states and activations may have */
  double bytes_per_s;  /* S */
  double latency_s;    /* epsilon: a rank's hop of a layer's collective */
  double peak_flops;   /* of a GPU, per second */
  double efficiency;   /* of the kernels against the peak */
  double passes;       /* over the parameters a step: 2 in the paper's form, 3 as measured:
                            all-gather, all-gather, reduce-scatter */
} MembandCluster;

typedef enum
{
  MEMBAND_STAGE_2 = 2, /* parameters on every rank; gradients and optimizer cut */
  MEMBAND_STAGE_3 = 3,
} MembandStage;

/* What is chosen, and what comes of it. */
typedef struct
{
  MembandStage stage;
  double       gamma, tokens;
  double       forward_s, backward_s, transfer_s; /* of compute, of compute, T_tr */
  double       step_s, tokens_per_s;              /* the latter a GPU */
  double       mfu, hfu;                          /* ratios to the peak */
} MembandPoint;

double memband_parameters (const MembandModel *model);

/* FLOPs of a token's forward pass. */
double memband_forward_flops (const MembandModel *model);

/* What states leave of a GPU's memory; below 0 they do not fit. */
double memband_free_bytes (const MembandModel *model, const MembandCluster *cluster,
                           MembandStage stage);

double memband_activation_bytes (const MembandModel *model, double gamma); /* a token */

/* Whether TOKENS a rank fit is not asked. */
MembandPoint memband_evaluate (const MembandModel *model, const MembandCluster *cluster,
                               MembandStage stage, double gamma, double tokens);

#define MEMBAND_STEPS 100 /* of gamma from 0 to 1 */

/*
 * The point of the most MFU over both stages and gamma in MEMBAND_STEPS steps, with as many whole
 * sequences as fit (TOKENS 0) or so many tokens, which are to fit. Of equals within 1e-9 the first
 * counts: stage 3 before stage 2, less gamma before more. FALSE: not one sequence fits.
 */
gboolean memband_search (const MembandModel *model, const MembandCluster *cluster, double tokens,
                         MembandPoint *best);

/* What no choice passes at stage 3, where the network binds and all is recomputed. */
typedef struct
{
  double free_bytes, longest; /* the latter: tokens of the longest sequence, l_max = E_max */
  double tokens_per_s, mfu, hfu;
  double compute_mfu; /* what compute leaves of the MFU with full recomputation: 3/4 efficiency */
} MembandBounds;

MembandBounds memband_bounds (const MembandModel *model, const MembandCluster *cluster);

/*
 * A step whose compute takes COMPUTE_S and overlaps with all transfers of `passes`:
 * max (COMPUTE_S, passes (phi Q / S + L N epsilon)).
 */
double memband_overlapped_step (const MembandModel *model, const MembandCluster *cluster,
                                double compute_s);
