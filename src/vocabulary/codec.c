#include "vocabulary/codec.h"

/* Blocks of 2048: DeepSpeed's default for ZeRO++ (deepspeed/ops/csrc/quantization). */
static const Codec int8_block = { "int8-block", 8, 2048, 32, TRUE };
static const Codec int4_block = { "int4-block", 4, 2048, 32, TRUE };
/* torch.float8_e4m3fn with one scale a tensor, which is sent by itself. */
static const Codec fp8_tensor = { "fp8", 8, 0, 0, TRUE };
/* 4 bits of sign and exponent, no scale (arXiv:2501.18512, 3). */
static const Codec fp4_e3m0 = { "fp4-e3m0", 4, 0, 0, TRUE };

/* 8 bits of a codebook of 256 values that each chunk brings: 1 KiB, not counted (arXiv:2412.01152).
 */
static const Codec uint8_ring = { "uint8-ring", 8, 0, 0, TRUE };

static const Codec *const codecs[] = { &fp4_e3m0,   &fp8_tensor, &int4_block,
                                       &int8_block, &uint8_ring, NULL };

/* Each bucket of 512 elements brings its least value and its step, of the elements' own type. */
#define MAX_MIN(bits_, name_)        \
  {                                  \
    { name_, bits_, 512, 32, TRUE }, \
    {                                \
      name_, bits_, 512, 64, TRUE    \
    }                                \
  }

static const Codec max_min[CODEC_MAX_MIN_BITS][2] = {
  MAX_MIN (1, "qsgd-1"), MAX_MIN (2, "qsgd-2"), MAX_MIN (3, "qsgd-3"), MAX_MIN (4, "qsgd-4"),
  MAX_MIN (5, "qsgd-5"), MAX_MIN (6, "qsgd-6"), MAX_MIN (7, "qsgd-7"), MAX_MIN (8, "qsgd-8"),
};

const Codec *
codec_find (const char *name)
{
  for (guint i = 0; codecs[i] != NULL; i++)
    if (g_ascii_strcasecmp (codecs[i]->name, name) == 0)
      return codecs[i];
  return NULL;
}

const Codec *
codec_max_min (guint bits, Dtype dtype)
{
  g_assert (bits >= 1 && bits <= CODEC_MAX_MIN_BITS);
  return &max_min[bits - 1][dtype_bits (dtype) > 16];
}

guint64
codec_wire_bytes (const Codec *codec, guint64 elements)
{
  guint64 bytes = (elements * codec->bits + 7) / 8;

  if (codec->block > 0)
    bytes += (elements + codec->block - 1) / codec->block * codec->scale_bits / 8;
  return bytes;
}
