#include "op/codec.h"

/* Blocks of 2048: DeepSpeed's default for ZeRO++ (deepspeed/ops/csrc/quantization). */
static const Codec int8_block = { "int8-block", DTYPE_INT8, 2048, 32, TRUE };
static const Codec int4_block = { "int4-block", DTYPE_INT4, 2048, 32, TRUE };
/* torch.float8_e4m3fn with one scale a tensor, which is sent by itself. */
static const Codec fp8_tensor = { "fp8", DTYPE_FP8, 0, 0, TRUE };
/* 4 bits of sign and exponent, no scale (arXiv:2501.18512, 3). */
static const Codec fp4_e3m0 = { "fp4-e3m0", DTYPE_FP4, 0, 0, TRUE };

/* 8 bits of a codebook of 256 values that each chunk brings: 1 KiB, not counted (arXiv:2412.01152).
 */
static const Codec uint8_ring = { "uint8-ring", DTYPE_INT8, 0, 0, TRUE };

static const Codec *const codecs[] = { &fp4_e3m0,   &fp8_tensor, &int4_block,
                                       &int8_block, &uint8_ring, NULL };

const Codec *
codec_find (const char *name)
{
  for (guint i = 0; codecs[i] != NULL; i++)
    if (g_ascii_strcasecmp (codecs[i]->name, name) == 0)
      return codecs[i];
  return NULL;
}

guint64
codec_wire_bytes (const Codec *codec, guint64 elements)
{
  guint64 bytes = (elements * dtype_bits (codec->dtype) + 7) / 8;

  if (codec->block > 0)
    bytes += (elements + codec->block - 1) / codec->block * codec->scale_bits / 8;
  return bytes;
}
