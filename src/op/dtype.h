/* Element types. */
#pragma once

#include <glib.h>

typedef enum
{
  DTYPE_FP32,
  DTYPE_BF16,
  DTYPE_FP16,
  DTYPE_N,
} Dtype;

guint       dtype_bytes (Dtype dtype); /* of an element */
const char *dtype_name (Dtype dtype);  /* "bf16" */
