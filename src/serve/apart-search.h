/*
 * The search of MegaScale-Infer (arXiv:2504.02263, algorithm 1): tensor ranks of attention and of
 * experts out of 1, 2, 4 and 8, micro-batches up to 4, and as many replicas of attention as keep
 * both pools busy. Where T_a grows by k1 a sequence and T_e by k3 a row, these are
 * n_a = k1 E / (k3 K); as neither grows evenly here, its neighbours and the powers of two are tried
 * as well. Each is filled with the largest batch that memory and the limit of time leave room for.
 * The best has the most tokens/s a price.
 */
#pragma once

#include "serve/apart.h"

typedef struct
{
  ApartAnswer best;  /* `fits` and `in_limit`, or nothing does */
  guint       tried; /* instances of the pools' GPUs */
} ApartSearch;

/* What OPTIONS say of them is of no matter; the rest as apart_new. FALSE after diagnostics. */
gboolean apart_search (const ModelShape *shape, const GenerationOptions *generation,
                       const ApartOptions *options, const ApartPools *pools,
                       const CollectiveOptions *library, ApartLoad load, ApartSearch *search,
                       DiagList *diags);

/*
 * n_a above, of what SELF has for tensor ranks and nodes, from 128 sequences of a replica and rows
 * of an expert to twice as many. SELF has one replica of one micro-batch then.
 */
double apart_balanced_replicas (Apart *self, const ApartLoad *load);
