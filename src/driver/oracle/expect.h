/*
 * What closed forms are made of, for issues (their `form`) and for strategies that state their own.
 * All of it is arithmetic on the model's totals and distinct layers; nothing here is called by who
 * emits.
 */
#pragma once

#include "driver/policy/strategy.h"

/*
 * What the optimizer keeps beside the moments of the policy's state, computes, and ranks send each
 * other for it, in a step without perturbed passes.
 */
void expect_optimizer (const PlanInput *in, const Policy *policy, const Issue *issue,
                       PlanTotals *totals);

/* The gradient norm's all-reduces: over the ranks that share the optimizer, and the mesh's axes. */
void expect_norm (const PlanInput *in, MeshGroup optimizer, PlanTotals *totals);

double expect_flops (const PlanInput *in); /* a step's products and attention, recomputed too */

/* The same of the forward passes of a step alone, once. */
double expect_forward_flops (const PlanInput *in);

/*
 * Activations: `kept` is the most that lives between forward and backward passes (of all
 * micro-batches in flight on a pipeline stage); `low` and `high` bound the transient on top of it
 * (low: at the head's backward, where there is one stage).
 */
typedef struct
{
  double kept, low, high;
} ActivationBounds;

ActivationBounds activation_bounds (const PlanInput *in);

/* The same of steps of POLICY's perturbed passes of each layer, of which nothing is kept. */
ActivationBounds perturbed_bounds (const PlanInput *in, const Policy *policy);

/* Tensors that a closed form sums over. */
typedef gboolean (*ExpectFilter) (const Workload *workload, const LayerDesc *layer);

/*
 * Padded elements of the units of KIND in the layers [FIRST, END) that FILTER (NULL: all) takes,
 * each layer's as FORMAT pads them for M ranks: classes of equal layers are multiplied.
 */
double expect_padded (const PlanInput *in, guint first, guint end, const ShardFormat *format,
                      guint kind, guint m, ExpectFilter filter);

/* The same of what those layers train, padded on its own. */
double expect_padded_trainable (const PlanInput *in, guint first, guint end,
                                const ShardFormat *format, guint kind, guint m);

/* expect_padded of all layers; with the policy's `joined` the sum is padded as one. */
double expect_all_padded (const PlanInput *in, const UnitPolicy *policy, guint kind, guint m);

/* Of them those that are trained, padded on their own: what gradients and optimizer have. */
double expect_trainable_padded (const PlanInput *in, const UnitPolicy *policy, guint kind, guint m);

/*
 * Elements of weights of KIND in the layers [FIRST, END) that narrow hops carry as a byte each, of
 * a unit as many on each of M ranks. Adds the number of these weights to *TENSORS.
 */
double expect_narrow (const PlanInput *in, guint first, guint end, guint kind, double m,
                      double *tensors);

/* Most padded elements of a unit's parameters, of any kind: of a layer's or of a module. */
double expect_largest (const PlanInput *in, const Policy *policy, UnitGranularity granularity);

/* The same of what a layer trains, padded for the ranks that share gradients. */
double expect_largest_trainable (const PlanInput *in, const Policy *policy);

/* Of a tensor of the stage's layer LAYER. */
typedef double (*ExpectTensor) (const TensorDesc *tensor, guint layer, gconstpointer data);

/* The sum of OF over all tensors of KIND that are trained. */
double expect_tensors (const PlanInput *in, guint kind, ExpectTensor of, gconstpointer data);

/* The smallest power of two that holds BYTES; none of none. */
double expect_block (double bytes);

/* Of SHARE elements of the optimizer: those that are not kept on the GPU. */
double expect_off_gpu (const Policy *policy, double share);

/*
 * Adds to BYTES what buffers between the hops of WHICH take when ELEMENTS pass it at once, in so
 * many walks: what is encoded and, with PLAIN, what is not. As if all were there at a time.
 */
void expect_passing (const UnitPolicy *policy, PolicyRouteKind which, double elements, double walks,
                     gboolean plain, double bytes[PLACE_N]);

/* Adds what the hops of an exchange's ROUTE carry when ELEMENTS pass it in so many walks. */
void expect_exchanged (const PlanInput *in, const PolicyRoute *route, double elements, double walks,
                       PlanTotals *totals);

/*
 * Bytes that a rank holds of STATE at HOME; of what the optimizer works on a part may stay on the
 * GPU.
 */
double expect_state_bytes (const PlanInput *in, const Policy *policy, PolicyStateKind state,
                           Place home);

/* Modules that own parameters. */
double expect_modules (const PlanInput *in);

/* Micro-steps of a step that a chunk sees. */
double expect_micro_steps (const PlanInput *in);
