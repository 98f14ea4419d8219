/*
 * Codecs: how elements travel in fewer bits than they are kept in. Block-wise quantisation: the
 * elements of a block share a scale.
 *
 * Bytes on the wire of n elements: ceil (n * bits / 8) + ceil (n / block) * scale_bits / 8
 * (Wang et al., ZeRO++, arXiv:2306.10209, 3.1; Douillard et al., arXiv:2501.18512, 3).
 */
#pragma once

#include "vocabulary/dtype.h"

typedef struct
{
  const char *name;       /* "int8-block" */
  guint       bits;       /* of an element */
  guint       block;      /* elements that share a scale; 0: none */
  guint       scale_bits; /* of a scale, and of what else a block has */
  /*
   * Whether every hop of a reduction decodes, adds and encodes again. A codec that is summed as it
   * is does not (FALSE: encoded once, decoded once).
   */
  gboolean every_hop;
} Codec;

/* NULL when there is none of that name. */
const Codec *codec_find (const char *name);

#define CODEC_MAX_MIN_BITS 8

/*
 * Max-min quantisation of elements of DTYPE to BITS: buckets of 512 (torch_cgx's default) that each
 * bring an offset and a scale in that type (Alistarh et al., QSGD, arXiv:1610.02132, as
 * IST-DASLab/torch_cgx has it).
 */
const Codec *codec_max_min (guint bits, Dtype dtype);

/* Bytes that ELEMENTS take on the wire, scales included. */
guint64 codec_wire_bytes (const Codec *codec, guint64 elements);
