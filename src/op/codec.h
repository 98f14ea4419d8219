/*
 * Codecs: how elements travel in fewer bits than they are kept in. Block-wise quantisation: the
 * elements of a block share a scale.
 *
 * Bytes on the wire of n elements: ceil (n * bits / 8) + ceil (n / block) * scale_bits / 8
 * (Wang et al., ZeRO++, arXiv:2306.10209, 3.1; Douillard et al., arXiv:2501.18512, 3).
 */
#pragma once

#include "op/dtype.h"

typedef struct
{
  const char *name; /* "int8-block" */
  Dtype       dtype;
  guint       block;      /* elements that share a scale; 0: none */
  guint       scale_bits; /* of a scale */
  /*
   * Whether every hop of a reduction decodes, adds and encodes again. A codec that is summed as it
   * is does not (FALSE: encoded once, decoded once).
   */
  gboolean every_hop;
} Codec;

/* NULL when there is none of that name. */
const Codec *codec_find (const char *name);

/* Bytes that ELEMENTS take on the wire, scales included. */
guint64 codec_wire_bytes (const Codec *codec, guint64 elements);
