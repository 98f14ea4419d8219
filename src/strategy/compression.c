#include "strategy/compression.h"

#include "strategy/group.h"

const char *const compression_choices[] = { "none",       "fp16",       "bf16", "fp8",
                                            "int8-block", "int4-block", "qsgd", NULL };

gboolean
compression_check (const CompressionOptions *options, DiagList *diags)
{
  warn_no_effect (diags, "quantization_bits",
                  options->bits != 4 && options->scheme != COMPRESSION_QSGD, "compression: qsgd");
  return TRUE;
}

static void
cast_to (PolicyRoute *route, Dtype dtype)
{
  for (guint h = 0; h < route->n; h++)
    route->hops[h].dtype = dtype;
}

static const Codec *
codec_of (const CompressionOptions *options, Dtype dtype)
{
  return options->scheme == COMPRESSION_QSGD ? codec_max_min ((guint) options->bits, dtype)
                                             : codec_find (compression_choices[options->scheme]);
}

/* What sums in place becomes parts that are exchanged and added up, and gathered if it left all. */
static void
exchange_parts (const CompressionOptions *options, PolicyRoute *route)
{
  const PolicyRoute plain = *route;

  route->n = 0;
  for (guint h = 0; h < plain.n; h++)
    {
      const PolicyHop *hop = &plain.hops[h];
      const Codec     *codec = codec_of (options, hop->dtype);

      policy_add_collective (route, COLLECTIVE_ALL_TO_ALL, hop->name, hop->group, hop->dtype,
                             hop->cadence)
          ->codec = codec;
      if (hop->kind == COLLECTIVE_ALL_REDUCE)
        policy_add_collective (route, COLLECTIVE_ALL_GATHER, hop->name, hop->group, hop->dtype,
                               hop->cadence)
            ->codec = codec;
    }
}

void
compression_apply (const CompressionOptions *options, Policy *policy)
{
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      PolicyRoute *reduce = &policy->kinds[k].routes[ROUTE_REDUCE];

      switch ((CompressionScheme) options->scheme)
        {
        case COMPRESSION_NONE:
          break;
        case COMPRESSION_FP16:
        case COMPRESSION_BF16:
          cast_to (reduce, options->scheme == COMPRESSION_FP16 ? DTYPE_FP16 : DTYPE_BF16);
          break;
        case COMPRESSION_FP8:
        case COMPRESSION_INT8_BLOCK:
        case COMPRESSION_INT4_BLOCK:
        case COMPRESSION_QSGD:
          exchange_parts (options, reduce);
          break;
        }
    }
}
