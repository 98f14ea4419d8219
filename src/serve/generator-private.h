/* What the files of the generator share. Internal to the layer. */
#pragma once

#include "cost/kernel/kernel.h"
#include "serve/generator.h"

struct _Generator
{
  ModelShape               shape;
  GenerationOptions        options;
  MeshOptions              mesh;
  const Cluster           *cluster;
  const CollectiveOptions *library;
  GpuProfile               gpu, graphed; /* as the cluster's, and inside of a graph */
  KernelModel             *launched_model, *graphed_model;
  CollectivePlan          *plans[MESH_N_AXES][COLLECTIVE_N_KINDS], *message, *hand_over;
  Workload               **stages; /* of one token, for sizes */
  GHashTable              *costs;  /* TokenCost, of what was asked for before */
};

/* What a stage, or a layer, takes for all new tokens together. */
typedef struct
{
  double parts[GENERATION_N_PARTS];
  double launches, flops, bytes;
} StageCost;

/* Adds KERNEL of PASS, TIMES over; not attention, which is counted by what is cached: */
void generator_add_kernel (Generator *self, const KernelDesc *kernel, ModelPass pass, double times,
                           StageCost *cost);
/* That of BLOCK for GROUP, TIMES over. */
void generator_add_attention (const Generator *self, const ModelLayer *block,
                              const SequenceGroup *group, double times, StageCost *cost);

/*
 * Batches are padded: graphs are captured for 1, 2, 4 and multiples of 8 sequences (as vLLM does),
 * and products of more tokens than a tile take whole tiles.
 */
guint64 generator_padded (double n);

/*
 * The stages of an instance for SEQUENCES of TOKENS each. The array and its members are the
 * caller's: generator_free_stages.
 */
Workload **generator_new_stages (const Generator *self, ModelPass pass, guint64 sequences,
                                 guint64 tokens);
void       generator_free_stages (const Generator *self, Workload **stages);

Dtype generator_cache_dtype (const Generator *self);

/* Bytes of the scales of a token's key and value of one head. */
double generator_cache_scales (const Generator *self);
