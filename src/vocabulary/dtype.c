#include "vocabulary/dtype.h"

static const struct
{
  const char *name;
  guint       bits;
} dtypes[DTYPE_N] = {
  [DTYPE_FP32] = { "fp32", 32 }, [DTYPE_BF16] = { "bf16", 16 }, [DTYPE_FP16] = { "fp16", 16 },
  [DTYPE_FP8] = { "fp8", 8 },    [DTYPE_INT8] = { "int8", 8 },  [DTYPE_FP4] = { "fp4", 4 },
  [DTYPE_INT4] = { "int4", 4 },
};

guint
dtype_bits (Dtype dtype)
{
  g_assert (dtype < DTYPE_N);
  return dtypes[dtype].bits;
}

guint
dtype_bytes (Dtype dtype)
{
  g_assert (dtype_bits (dtype) >= 8);
  return dtype_bits (dtype) / 8;
}

const char *
dtype_name (Dtype dtype)
{
  g_assert (dtype < DTYPE_N);
  return dtypes[dtype].name;
}
