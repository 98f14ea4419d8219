#include "model/layer/fp8.h"

#include <math.h>

/*
 * Multiples: torch._scaled_mm and Transformer Engine want dimensions that 16 divides; mxfp8's units
 * take whole blocks. The last block of 128 may be a part: DeepSeek-V3's weights of 576 rows have
 * scales for five (`weight_scale_inv` in the published files).
 */
static const Fp8Recipe recipes[] = {
  [FP8_TENSORWISE] = { .name = "tensorwise",
                       .multiple = 16,
                       .scale_bytes = 4,
                       .weight_rows = 1,
                       .searched = TRUE,
                       .gathered = TRUE },
  [FP8_ROWWISE] = { .name = "rowwise",
                    .multiple = 16,
                    .granule = FP8_ROW,
                    .scale_bytes = 4,
                    .weight_rows = 1 },
  [FP8_DELAYED] = { .name = "delayed",
                    .multiple = 16,
                    .scale_bytes = 4,
                    .weight_rows = 1,
                    .kept = TRUE,
                    .gathered = TRUE },
  [FP8_BLOCKWISE] = { .name = "blockwise",
                      .multiple = 16,
                      .granule = 128,
                      .scale_bytes = 4,
                      .weight_rows = 128,
                      .kept = TRUE,
                      .gathered = TRUE },
  [FP8_MXFP8] = { .name = "mxfp8",
                  .multiple = 32,
                  .granule = 32,
                  .scale_bytes = 1,
                  .weight_rows = 1,
                  .kept = TRUE,
                  .gathered = TRUE },
};

Fp8Recipe
fp8_recipe (const TrainingOptions *training)
{
  Fp8Recipe recipe = { 0 };
  gboolean  caches, alone; /* weights, which are in fp8 and in nothing else */

  if (training->fp8_recipe == FP8_NONE)
    return recipe;
  recipe = recipes[training->fp8_recipe];
  recipe.kept |= training->traits.keeps_fp8;
  recipe.single = recipe.kept && recipe.granule == 0 && training->fp8_any_layout;
  caches = recipe.kept && training->traits.caches_fp8_weights;
  recipe.primary = caches && training->traits.fp8_params && recipe.granule == 0;
  recipe.narrow = recipe.primary || training->fp8_gather != FP8_GATHER_NONE;
  alone = recipe.primary || (caches && training->peft != PEFT_NONE);
  recipe.cached = caches && (alone || !training->disable_parameter_transpose_cache);
  recipe.late =
      alone && training->disable_parameter_transpose_cache && recipe.granule == 0 && !recipe.single;
  return recipe;
}

double
fp8_scale_bytes (const Fp8Recipe *self, double rows, double width)
{
  if (self->granule == 0)
    return 0;
  return rows * (self->granule == FP8_ROW ? 1 : ceil (width / self->granule)) * self->scale_bytes;
}
