/* Element types, down to 4 bits. */
#pragma once

#include <glib.h>

typedef enum
{
  DTYPE_FP32,
  DTYPE_BF16,
  DTYPE_FP16,
  DTYPE_FP8, /* E4M3 or E5M2: alike for sizes and rates */
  DTYPE_INT8,
  DTYPE_FP4, /* E2M1 or E3M0 */
  DTYPE_INT4,
  DTYPE_N,
} Dtype;

guint       dtype_bits (Dtype dtype);  /* of an element */
guint       dtype_bytes (Dtype dtype); /* the same; not of types below 8 bits */
const char *dtype_name (Dtype dtype);  /* "bf16" */
