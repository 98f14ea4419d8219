#include "model/layer/fp8.h"

#include <math.h>

/* Tiles of the kernel that transforms and casts. */
#define HADAMARD_ROWS  64
#define HADAMARD_WIDTH 128

/*
 * Multiples: torch._scaled_mm and Transformer Engine want dimensions that 16 divides; mxfp8's units
 * take whole blocks; operands of fp4 begin at 16 bytes, which are 32 elements (Megatron-Core,
 * get_fp4_align_size). The last block of 128 may be a part: DeepSeek-V3's weights of 576 rows have
 * scales for five (`weight_scale_inv` in the published files). The scales of nvfp4's 16 x 16 blocks
 * of a weight are written out for each row, as products read them (get_scale_shape).
 */
static const Fp8Recipe recipes[] = {
  [FP8_TENSORWISE] = { .name = "tensorwise",
                       .dtype = DTYPE_FP8,
                       .multiple = 16,
                       .scale_bytes = 4,
                       .weight_rows = 1,
                       .searched = TRUE,
                       .gathered = TRUE },
  [FP8_ROWWISE] = { .name = "rowwise",
                    .dtype = DTYPE_FP8,
                    .multiple = 16,
                    .granule = FP8_ROW,
                    .scale_bytes = 4,
                    .weight_rows = 1 },
  [FP8_DELAYED] = { .name = "delayed",
                    .dtype = DTYPE_FP8,
                    .multiple = 16,
                    .scale_bytes = 4,
                    .weight_rows = 1,
                    .kept = TRUE,
                    .gathered = TRUE },
  [FP8_BLOCKWISE] = { .name = "blockwise",
                      .dtype = DTYPE_FP8,
                      .multiple = 16,
                      .granule = 128,
                      .scale_bytes = 4,
                      .weight_rows = 128,
                      .kept = TRUE,
                      .gathered = TRUE },
  [FP8_MXFP8] = { .name = "mxfp8",
                  .dtype = DTYPE_FP8,
                  .multiple = 32,
                  .granule = 32,
                  .scale_bytes = 1,
                  .weight_rows = 1,
                  .kept = TRUE,
                  .gathered = TRUE },
  [FP8_NVFP4] = { .name = "nvfp4",
                  .dtype = DTYPE_FP4,
                  .multiple = 32,
                  .granule = 16,
                  .scale_bytes = 1,
                  .weight_rows = 1,
                  .searched = TRUE,
                  .kept = TRUE,
                  .gathered = TRUE,
                  .hadamard = TRUE },
};

/*
 * What generates has weights in the recipe's type and in no other, and makes the rows of its inputs
 * alone. Where blocks have scales below a tensor's, published weights bring the tensor's of inputs.
 */
static Fp8Recipe
generation_recipe (Fp8Recipe recipe)
{
  recipe.narrow = TRUE;
  recipe.kept = FALSE;
  recipe.searched = recipe.searched && recipe.granule == 0;
  return recipe;
}

Fp8Recipe
fp8_recipe (const TrainingOptions *training)
{
  Fp8Recipe recipe = { 0 };
  gboolean  caches;

  if (training->fp8_recipe == FP8_NONE)
    return recipe;
  recipe = recipes[training->fp8_recipe];
  if (training->pass != PASS_TRAINING)
    return generation_recipe (recipe);
  recipe.kept |= training->traits.keeps_fp8;
  recipe.single = recipe.kept && recipe.granule == 0 && training->fp8_any_layout;
  caches = recipe.kept && training->traits.caches_fp8_weights;
  recipe.primary = caches && training->traits.fp8_params && recipe.granule == 0;
  recipe.narrow = recipe.primary || training->fp8_gather != FP8_GATHER_NONE;
  recipe.alone =
      recipe.primary || (caches && training->peft != PEFT_NONE && recipe.dtype == DTYPE_FP8);
  recipe.cached = caches && (recipe.alone || !training->disable_parameter_transpose_cache);
  recipe.late = recipe.alone && training->disable_parameter_transpose_cache && recipe.granule == 0
                && !recipe.single;
  recipe.apart = recipe.hadamard && !training->fp8_any_layout; /* capabilities 10 and 11: both */
  return recipe;
}

double
fp8_element_bytes (const Fp8Recipe *self, double elements)
{
  return elements * dtype_bits (self->dtype) / 8;
}

gboolean
fp8_fuses_hadamard (const Fp8Recipe *self, double rows, double width)
{
  return !self->apart && fmod (rows, HADAMARD_ROWS) == 0 && fmod (width, HADAMARD_WIDTH) == 0;
}

double
fp8_scale_bytes (const Fp8Recipe *self, double rows, double width)
{
  if (self->granule == 0)
    return 0;
  return rows * (self->granule == FP8_ROW ? 1 : ceil (width / self->granule)) * self->scale_bytes;
}
