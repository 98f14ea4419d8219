/*
 * What a step of generation takes on the GPUs of one instance of a model, in closed form.
 *
 * Set: an instance of tp x dp ranks in each of pp stages; a batch of sequences, some with one new
 * token (they decode), some with many (prompts). Computed: its kernels one after another, as one
 * stream runs them: products and what lies between them on all new tokens together, attention group
 * by group over the cache; the collectives of tensor and expert ranks between them; then, of
 * stages, what the slowest of them makes of as many micro-batches. Nothing overlaps: engines that
 * generate run one stream. The host launches each kernel, or a step as a graph, and works between
 * steps.
 */
#pragma once

#include "cost/collective/library/collective.h"
#include "model/step/workload.h"
#include "serve/generation-options.h"

/* Sequences of a replica of attention that are alike. */
typedef struct
{
  double sequences;
  double tokens; /* new ones of each: 1, or a part of a prompt */
  double cached; /* tokens of each whose keys and values are there */
} SequenceGroup;

typedef enum
{
  GENERATION_PRODUCTS,
  GENERATION_EXPERTS, /* products of routed experts */
  GENERATION_ATTENTION,
  GENERATION_STATES, /* scans, and steps of states */
  GENERATION_OTHER,  /* norms, activations, look-ups, routing, the draw of tokens */
  GENERATION_COMMUNICATION,
  GENERATION_STAGES, /* waiting for other stages */
  GENERATION_HOST,   /* the GPU waits for the host */
  GENERATION_N_PARTS,
} GenerationPart;

extern const char *const generation_part_names[GENERATION_N_PARTS + 1]; /* "products" */

typedef struct
{
  double seconds;
  double parts[GENERATION_N_PARTS]; /* of it: they add up */
  double flops, bytes; /* of a rank of each stage together: of products and attention; of memory */
} GenerationTime;

typedef struct _Generator Generator;

/*
 * SHAPE is copied, CLUSTER and LIBRARY must outlive the result. NULL after diagnostics: the mesh
 * does not fit the model or the cluster.
 */
Generator *generator_new (const ModelShape *shape, const GenerationOptions *options,
                          const Cluster *cluster, const CollectiveOptions *library,
                          DiagList *diags);
void       generator_free (Generator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Generator, generator_free)

/* A step of N groups of each replica of attention, at least one of which has sequences. */
void generator_step (Generator *self, const SequenceGroup *groups, guint n, GenerationTime *time);

/*
 * Seconds of N_MICRO_BATCHES of the N groups, one behind another through the stages, of each token
 * of which the model says how likely it was: what log-probabilities take, and rewards.
 */
double generator_score_seconds (Generator *self, const SequenceGroup *groups, guint n,
                                double n_micro_batches);

/* Who runs a part of a block where attention and routed experts are on GPUs of their own. */
typedef enum
{
  GENERATION_ATTENTION_SIDE, /* all but: */
  GENERATION_EXPERT_SIDE,    /* what routed experts do with their rows */
  GENERATION_N_SIDES,
} GenerationSide;

guint generator_n_layers (const Generator *self); /* blocks, and the model's two ends */
/* Whether layer I is a block with routed experts. */
gboolean generator_has_experts (const Generator *self, guint i);

/*
 * Seconds of each layer of a step of BATCH, which decodes, on SIDE: the embedding first, the head
 * last. SELF has one stage and one replica. What tokens take to travel between the sides is in
 * neither; tensor ranks of each add up their own.
 */
void generator_layer_seconds (Generator *self, GenerationSide side, const SequenceGroup *batch,
                              double *seconds);

/* Of the rank that holds most of them, bytes: weights, and the cache of a sequence of LENGTH. */
double generator_weight_bytes (Generator *self);
double generator_cache_bytes (Generator *self, double length);

/*
 * Bytes of a GPU that are left for the cache: of its memory the share that is used, less the
 * weights, what the runtime takes, and the activations of a step of TOKENS.
 */
double generator_cache_room (Generator *self, double tokens);

/* The same where a GPU has the weights of SIDE alone, and those. */
double generator_side_room (Generator *self, GenerationSide side, double tokens);
double generator_side_weight_bytes (const Generator *self, GenerationSide side);

/*
 * Seconds of BYTES of a rank's cache from one instance to the next, all ranks at once: as if each
 * had the way to itself.
 */
double generator_hand_over_seconds (Generator *self, double bytes);
