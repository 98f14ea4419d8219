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

/*
 * The stages of an instance for SEQUENCES of TOKENS each. The array and its members are the
 * caller's: generator_free_stages.
 */
Workload **generator_new_stages (const Generator *self, ModelPass pass, guint64 sequences,
                                 guint64 tokens);
void       generator_free_stages (const Generator *self, Workload **stages);

Dtype generator_cache_dtype (const Generator *self);
