/*
 * How strategies that all-reduce gradients compress them: options, and what these make of a
 * policy's reduction.
 *
 * Casts (fp16, bf16) are all-reduced as they are. Quantised gradients are not summed by a
 * collective: each all-reduce becomes a scatter-reduce-allgather (an all-to-all of parts, which are
 * decoded, added up and encoded again, and an all-gather), each reduce-scatter its first half.
 */
#pragma once

#include "driver/strategy.h"

typedef enum
{
  COMPRESSION_NONE,
  COMPRESSION_FP16,
  COMPRESSION_BF16,
  COMPRESSION_FP8,
  COMPRESSION_INT8_BLOCK,
  COMPRESSION_INT4_BLOCK,
  COMPRESSION_QSGD,
} CompressionScheme;

typedef struct
{
  gint   scheme; /* CompressionScheme */
  gint64 bits;   /* of an element, under COMPRESSION_QSGD */
} CompressionOptions;

extern const char *const compression_choices[];

#define COMPRESSION_OPTIONS(struct_, member_)                                                 \
  { .key = "compression",                                                                     \
    .type = OPTION_ENUM,                                                                      \
    .choices = compression_choices,                                                           \
    .offset = G_STRUCT_OFFSET (struct_, member_.scheme),                                      \
    .fallback = "none",                                                                       \
    .help = "how gradients are made smaller before they are reduced: casts, or codecs whose " \
            "parts ranks exchange, add up and gather",                                        \
    .source = "torch/distributed/algorithms/ddp_comm_hooks; IST-DASLab/torch_cgx" },          \
  {                                                                                           \
    .key = "quantization_bits", .type = OPTION_INT,                                           \
    .offset = G_STRUCT_OFFSET (struct_, member_.bits), .fallback = "4", .min = 1,             \
    .max = CODEC_MAX_MIN_BITS, .help = "bits of an element under 'compression: qsgd'",        \
    .source = "torch_cgx, CGX_COMPRESSION_QUANTIZATION_BITS"                                  \
  }

/* Whether OPTIONS fit: diagnoses at the option. Warns of one that plays no role. */
gboolean compression_check (const CompressionOptions *options, DiagList *diags);

/* POLICY's reductions of each kind of unit, which are of collectives only, become OPTIONS'. */
void compression_apply (const CompressionOptions *options, Policy *policy);
