#include "workload/fp8.h"

#include <math.h>

/*
 * Multiples: torch._scaled_mm and Transformer Engine want dimensions that 16 divides, those whose
 * scales go by blocks whole blocks.
 */
static const Fp8Recipe recipes[] = {
  [FP8_TENSORWISE] = { "tensorwise", 16, 0, 4, 1, .searched = TRUE, .gathered = TRUE },
  [FP8_ROWWISE] = { "rowwise", 16, FP8_ROW, 4, 1 },
  [FP8_DELAYED] = { "delayed", 16, 0, 4, 1, .kept = TRUE, .gathered = TRUE },
  [FP8_BLOCKWISE] = { "blockwise", 128, 128, 4, 128, .kept = TRUE, .gathered = TRUE },
  [FP8_MXFP8] = { "mxfp8", 32, 32, 1, 1, .kept = TRUE, .gathered = TRUE },
};

Fp8Recipe
fp8_recipe (const TrainingOptions *training)
{
  Fp8Recipe recipe = { 0 };

  if (training->fp8_recipe == FP8_NONE)
    return recipe;
  recipe = recipes[training->fp8_recipe];
  recipe.kept |= training->traits.keeps_fp8;
  return recipe;
}

double
fp8_scale_bytes (const Fp8Recipe *self, double rows, double width)
{
  if (self->granule == 0)
    return 0;
  return rows * (self->granule == FP8_ROW ? 1 : ceil (width / self->granule)) * self->scale_bytes;
}
