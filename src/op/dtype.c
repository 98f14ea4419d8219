#include "op/dtype.h"

static const char *const names[DTYPE_N] = {
  [DTYPE_FP32] = "fp32",
  [DTYPE_BF16] = "bf16",
  [DTYPE_FP16] = "fp16",
};

guint
dtype_bytes (Dtype dtype)
{
  g_assert (dtype < DTYPE_N);
  return dtype == DTYPE_FP32 ? 4 : 2;
}

const char *
dtype_name (Dtype dtype)
{
  g_assert (dtype < DTYPE_N);
  return names[dtype];
}
