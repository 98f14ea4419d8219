/*
 * How strategies compress gradients before they reduce them: options, and what these make of a
 * policy's reduction.
 *
 * Casts (fp16, bf16) are reduced as they are. Quantised gradients are not summed by a collective:
 * each all-reduce becomes a scatter-reduce-allgather (an all-to-all of parts, which are decoded,
 * added up and encoded again, and an all-gather), each reduce-scatter its first half; both in two
 * levels, nodes first. PowerSGD and top-k are compressors, which take the place of the reduction.
 */
#pragma once

#include "driver/policy/strategy.h"

typedef enum
{
  COMPRESSION_NONE,
  COMPRESSION_FP16,
  COMPRESSION_BF16,
  COMPRESSION_FP8,
  COMPRESSION_INT8_BLOCK,
  COMPRESSION_INT4_BLOCK,
  COMPRESSION_QSGD,
  COMPRESSION_POWERSGD,
  COMPRESSION_TOP_K,
} CompressionScheme;

typedef enum
{
  LAYER_RANKS_UNIFORM,
  LAYER_RANKS_GRECO,
} LayerRanksChoice;

typedef struct
{
  gint     scheme;         /* CompressionScheme */
  gint64   bits;           /* of an element, under COMPRESSION_QSGD */
  gint64   rank;           /* of the factors of a matrix, under COMPRESSION_POWERSGD; */
  double   min_rate;       /* a matrix is compressed if its factors are so many times smaller; */
  gboolean warm_start;     /* from the last step's factors */
  double   ratio;          /* part of a tensor that is sent, under COMPRESSION_TOP_K, */
  gint64   top_k;          /* or, unless 0, elements of it */
  gboolean error_feedback; /* of both: what a step loses is added to the next one's gradients */
  gint     layer_ranks;    /* LayerRanksChoice: whose ranks, of COMPRESSION_POWERSGD, */
  char    *layer_errors;   /* by a table of errors, or NULL: by spectra */
  double   spectrum_exponent, spectrum_spread;
  double   min_rank_ratio, max_rank_ratio; /* what is tried, in uniform ranks */
  double   error_budget;                   /* in errors of the uniform rank */
  gint64   adjust_freq;                    /* steps; 0: chosen once, before training */
} CompressionOptions;

extern const char *const compression_choices[], *const layer_ranks_choices[];

#define COMPRESSION_ROW(struct_, member_, key_, needs_, type_, default_, help_, source_)     \
  .key = key_, .needs = needs_, .type = type_, .offset = G_STRUCT_OFFSET (struct_, member_), \
  .fallback = default_, .help = help_, .source = source_, .what_if = TRUE
#define COMPRESSION_GRECO_SOURCE    "Markov et al., arXiv:2210.17357; LGrCo/L-GreCo"
#define COMPRESSION_POWERSGD_SOURCE "torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py"

#define COMPRESSION_SCHEME(struct_, member_)                                            \
  {                                                                                     \
    COMPRESSION_ROW (                                                                   \
        struct_, member_.scheme, "compression", NULL, OPTION_ENUM, "none",              \
        "how gradients are made smaller before they are reduced: casts; codes that "    \
        "ranks exchange, add up and gather; factors of low rank; the largest elements", \
        "torch/distributed/algorithms/ddp_comm_hooks; IST-DASLab/torch_cgx"),           \
        .choices = compression_choices                                                  \
  }
#define COMPRESSION_BITS(struct_, member_)                                                        \
  {                                                                                               \
    COMPRESSION_ROW (struct_, member_.bits, "quantization_bits", "compression: qsgd", OPTION_INT, \
                     "4", "bits of an element under 'compression: qsgd'",                         \
                     "torch_cgx, CGX_COMPRESSION_QUANTIZATION_BITS"),                             \
        .min = 1, .max = CODEC_MAX_MIN_BITS                                                       \
  }
#define COMPRESSION_RANK(struct_, member_)                                                        \
  {                                                                                               \
    COMPRESSION_ROW (struct_, member_.rank, "matrix_approximation_rank", "compression: powersgd", \
                     OPTION_INT, "1",                                                             \
                     "rank of the factors that 'compression: powersgd' sends of a matrix",        \
                     COMPRESSION_POWERSGD_SOURCE),                                                \
        .min = 1, .max = 4096                                                                     \
  }
#define COMPRESSION_MIN_RATE(struct_, member_)                                                   \
  {                                                                                              \
    COMPRESSION_ROW (struct_, member_.min_rate, "min_compression_rate", "compression: powersgd", \
                     OPTION_QUANTITY, "2",                                                       \
                     "a matrix whose factors are not so many times smaller is sent as it is",    \
                     COMPRESSION_POWERSGD_SOURCE),                                               \
        .kind = QUANTITY_RATIO, .min = 0, .max = 1e6                                             \
  }
#define COMPRESSION_WARM_START(struct_, member_)                                         \
  {                                                                                      \
    COMPRESSION_ROW (struct_, member_.warm_start, "warm_start", "compression: powersgd", \
                     OPTION_BOOL, "true",                                                \
                     "factors begin from those of the last step, which stay in memory",  \
                     COMPRESSION_POWERSGD_SOURCE)                                        \
  }
#define COMPRESSION_RATIO(struct_, member_)                                                        \
  {                                                                                                \
    COMPRESSION_ROW (                                                                              \
        struct_, member_.ratio, "compress_ratio", "compression: top-k, no top_k", OPTION_QUANTITY, \
        "1 %", "part of each tensor's elements that 'compression: top-k' sends, at least one",     \
        "sands-lab/grace, compressor/topk.py"),                                                    \
        .kind = QUANTITY_RATIO, .min = 0, .max = 1                                                 \
  }
#define COMPRESSION_LARGEST(struct_, member_)                                                 \
  {                                                                                           \
    COMPRESSION_ROW (struct_, member_.top_k, "top_k", "compression: top-k", OPTION_INT, "0",  \
                     "so many of them instead, of smaller tensors all; 0: by compress_ratio", \
                     "Aji and Heafield, arXiv:1704.05021"),                                   \
        .min = 0, .max = 1e9                                                                  \
  }
#define COMPRESSION_ERRORS(struct_, member_)                                                    \
  {                                                                                             \
    COMPRESSION_ROW (struct_, member_.error_feedback, "use_error_feedback",                     \
                     "compression: powersgd|top-k", OPTION_BOOL, "true",                        \
                     "powersgd and top-k add what a step has lost to the next one's gradients", \
                     COMPRESSION_POWERSGD_SOURCE)                                               \
  }

/* A number from MIN to MAX that L-GreCo takes. */
#define COMPRESSION_GRECO(struct_, member_, key_, needs_, default_, min_, max_, help_) \
  {                                                                                    \
    COMPRESSION_ROW (struct_, member_, key_, needs_, OPTION_QUANTITY, default_, help_, \
                     COMPRESSION_GRECO_SOURCE),                                        \
        .kind = QUANTITY_RATIO, .min = min_, .max = max_                               \
  }
#define COMPRESSION_LAYER_RANKS(struct_, member_)                                                  \
  { COMPRESSION_ROW (struct_, member_.layer_ranks, "layer_ranks", "compression: powersgd",         \
                     OPTION_ENUM, "uniform",                                                       \
                     "rank of each matrix under 'compression: powersgd': one for all, or "         \
                     "L-GreCo's, of least bytes for the error of that one",                        \
                     COMPRESSION_GRECO_SOURCE),                                                    \
    .choices = layer_ranks_choices },                                                              \
      { COMPRESSION_ROW (struct_, member_.layer_errors, "layer_errors", "layer_ranks: l-greco",    \
                         OPTION_STRING, NULL,                                                      \
                         "CSV of what ranks lose of matrices, for 'layer_ranks: l-greco'; unset: " \
                         "of spectra that fall by a power law, an assumption",                     \
                         NULL),                                                                    \
        .optional = TRUE, .file = TRUE },                                                          \
      COMPRESSION_GRECO (struct_, member_.spectrum_exponent, "spectrum_exponent",                  \
                         "layer_ranks: l-greco, no layer_errors", "1", 0, 10,                      \
                         "the i-th singular value of a gradient is as i to minus this"),           \
      COMPRESSION_GRECO (                                                                          \
          struct_, member_.spectrum_spread, "spectrum_spread",                                     \
          "layer_ranks: l-greco, no layer_errors", "0", 0, 10,                                     \
          "by so much the exponent is smaller in the first layer, larger in the last"),            \
      COMPRESSION_GRECO (struct_, member_.min_rank_ratio, "min_rank_ratio",                        \
                         "layer_ranks: l-greco", "0.5", 0, 1,                                      \
                         "least rank that L-GreCo tries, in matrix_approximation_rank"),           \
      COMPRESSION_GRECO (struct_, member_.max_rank_ratio, "max_rank_ratio",                        \
                         "layer_ranks: l-greco", "2", 1, 100,                                      \
                         "largest rank that it tries, likewise"),                                  \
      COMPRESSION_GRECO (struct_, member_.error_budget, "error_budget", "layer_ranks: l-greco",    \
                         "1", 0.1, 100, "error that it may make, in that of the uniform rank"),    \
  {                                                                                                \
    COMPRESSION_ROW (struct_, member_.adjust_freq, "adjust_freq", "layer_ranks: l-greco",          \
                     OPTION_INT, "100",                                                            \
                     "steps from one choice of ranks to the next; 0: chosen before training",      \
                     COMPRESSION_GRECO_SOURCE),                                                    \
        .min = 0, .max = 1e9                                                                       \
  }

#define COMPRESSION_OPTIONS(struct_, member_)                                          \
  COMPRESSION_SCHEME (struct_, member_), COMPRESSION_BITS (struct_, member_),          \
      COMPRESSION_RANK (struct_, member_), COMPRESSION_MIN_RATE (struct_, member_),    \
      COMPRESSION_WARM_START (struct_, member_), COMPRESSION_RATIO (struct_, member_), \
      COMPRESSION_LARGEST (struct_, member_), COMPRESSION_ERRORS (struct_, member_),   \
      COMPRESSION_LAYER_RANKS (struct_, member_)

/* Whether OPTIONS fit: diagnoses at the option. */
gboolean compression_check (const PlanInput *in, const CompressionOptions *options,
                            DiagList *diags);

/*
 * The collectives of POLICY's reductions, of each kind of unit, become OPTIONS'. A compressor is
 * one over all ranks, behind which each keeps its part.
 */
void compression_apply (const PlanInput *in, const CompressionOptions *options, Policy *policy);
