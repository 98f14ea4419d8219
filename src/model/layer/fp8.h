/*
 * Linear layers whose three products (output, gradient of the input, gradient of the weight) run in
 * fp8, or (nvfp4) in fp4: what a recipe scales, casts and keeps. Sources: torchao/float8
 * (tensorwise, rowwise); Transformer Engine (delayed, blockwise, mxfp8, nvfp4; tensorwise as
 * "current scaling"); DeepSeek-V3, arXiv:2412.19437, 3.3 (blockwise); OCP Microscaling Formats 1.0;
 * Pretraining LLMs with NVFP4, arXiv:2509.25149 (nvfp4).
 *
 * For X of M x K tokens, W of N x K and the gradient DY of M x N (1 byte an element of each copy,
 * half of one in fp4):
 *
 *   Y  = X W'    reads rows of X and of W
 *   DX = DY W    reads rows of DY and columns of W
 *   DW = DY' X   reads columns of DY and of X
 *
 * Matrix units take fp8 operands along the inner dimension only (Hopper), so that each operand is
 * needed in both directions, as two copies. Data-centre Blackwell's take them in either layout: of
 * a tensor that has one scale Transformer Engine makes and keeps one copy there (its
 * nvte_is_non_tn_fp8_gemm_supported); where scales differ by direction there are two.
 *
 * nvfp4 has a scale of a byte (E4M3) for 16 elements and one of 4 bytes a tensor, so that each
 * tensor is searched before its cast. DW's operands go through a random Hadamard transform along
 * the tokens before they are cast to columns: by the kernel that casts them on data-centre
 * Blackwell, elsewhere by one of its own. Each product needs a kernel that multiplies the tensors'
 * scales (nvte_nvfp4_compute_per_tensor_scale).
 */
#pragma once

#include "model/step/training.h"

typedef struct
{
  const char *name;
  Dtype       dtype;    /* of the copies and of the products */
  guint       multiple; /* of a weight's dimensions and of the tokens */
  guint       granule;  /* elements of the inner dimension that share a scale; 0: a tensor's one;
                           FP8_ROW: a row's */
  guint       scale_bytes;
  guint       weight_rows; /* rows of a weight that share it too */
  gboolean
      searched;    /* the largest value of a tensor is found in a pass of its own before the cast */
  gboolean kept;   /* a cast makes both directions, and they are kept for the backward pass */
  gboolean single; /* ... as one copy, which products take in either direction */
  gboolean cached; /* weights are cast once a step, and their copies stay */
  gboolean primary;  /* ... as the parameters, in the place of 16 bits */
  gboolean late;     /* of weights that are in fp8 alone each backward pass makes the columns */
  gboolean narrow;   /* weights come in fp8 to whom has them whole: nothing is left to cast */
  gboolean alone;    /* weights are in fp8 and in nothing else, if they stay at all */
  gboolean gathered; /* sequence parallelism gathers the copies */
  gboolean hadamard; /* the columns of inputs and gradients are transformed before the cast */
  gboolean apart;    /* ... by a kernel of its own */
} Fp8Recipe;

#define FP8_ROW G_MAXUINT

/* That of TRAINING; `name` is NULL where products are not in fp8. */
Fp8Recipe fp8_recipe (const TrainingOptions *training);

/* Bytes of so many elements of a copy, without scales. */
double fp8_element_bytes (const Fp8Recipe *self, double elements);

/* Bytes of the scales of ROWS x WIDTH elements, WIDTH being the inner dimension. */
double fp8_scale_bytes (const Fp8Recipe *self, double rows, double width);

/*
 * Whether one kernel transforms the columns of ROWS x WIDTH elements and casts them in both
 * directions (Transformer Engine, NVFP4Quantizer::is_eligible_for_rht_cast_fusion).
 */
gboolean fp8_fuses_hadamard (const Fp8Recipe *self, double rows, double width);
