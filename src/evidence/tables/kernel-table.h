/*
 * Tables of single kernels that were measured alone on an idle GPU, one a row: the columns of the
 * kernel databases of ai-dynamo/aiconfigurator. What a table is of shows by its columns:
 *
 *   products           gemm_dtype, m, n, k
 *   attention forward  attn_dtype, batch_size, isl, num_heads, num_key_value_heads, head_dim,
 *                      window_size, kv_cache_dtype
 *   attention decode   the same with step in the place of isl
 *   experts            moe_dtype, num_tokens, hidden_size, inter_size, topk, num_experts,
 *                      moe_tp_size, moe_ep_size, distribution
 *
 * and in all of them gpu (a profile's id) and time_us; of experts optionally kernel_source. Other
 * columns are not read.
 */
#pragma once

#include "base/config/diag.h"
#include "evidence/tables/expert-loads.h"

typedef enum
{
  KERNEL_TABLE_PRODUCTS,
  KERNEL_TABLE_PREFILL,
  KERNEL_TABLE_DECODE,
  KERNEL_TABLE_EXPERTS,
  KERNEL_TABLE_N_KINDS,
} KernelTableKind;

const char *kernel_table_kind_name (KernelTableKind kind); /* "products" */

/* Places of KernelRow.size, by kind. */
enum
{
  PRODUCT_M,
  PRODUCT_N,
  PRODUCT_K,

  ATTENTION_BATCH = 0,
  ATTENTION_LENGTH, /* of a sequence; decode: of the cache before the step */
  ATTENTION_HEADS,
  ATTENTION_KV_HEADS,
  ATTENTION_HEAD_DIM,
  ATTENTION_WINDOW, /* 0: none */

  EXPERTS_TOKENS = 0,
  EXPERTS_HIDDEN,
  EXPERTS_INTER,
  EXPERTS_TOPK,
  EXPERTS_EXPERTS,
  EXPERTS_TENSOR_RANKS,
  EXPERTS_RANKS,

  KERNEL_TABLE_MOST_SIZES,
};

typedef struct
{
  KernelTableKind kind;
  const char     *gpu, *dtype; /* interned */
  const char     *variant;     /* interned: experts' distribution, a cache's type; else "" */
  guint64         size[KERNEL_TABLE_MOST_SIZES];
  gboolean        ungated; /* experts without a gate: `kernel_source` says nongated */
  ExpertLoads     loads;   /* of experts; no rows: how they are distributed is not known */
  double          seconds;
} KernelRow;

/* "m 16, n 4096, k 4096": newly allocated. */
char *kernel_row_shape (const KernelRow *self);

/*
 * KernelRow of all FILES (NULL-terminated), in order; the caller's. NULL after diagnostics, which
 * name every fault by line: of a table that has a time in another unit, too.
 */
GArray *kernel_tables_load (char *const *files, DiagList *diags);
