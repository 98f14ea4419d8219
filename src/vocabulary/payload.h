/*
 * What a collective carries: elements of a type, as they are or encoded. The bytes on the wire
 * follow.
 */
#pragma once

#include "vocabulary/codec.h"

typedef struct
{
  guint64      elements; /* of S: see collective-kind.h */
  Dtype        dtype;    /* as they are kept */
  const Codec *codec;    /* NULL: sent as they are kept */
} Payload;

static inline Payload
payload_plain (guint64 elements, Dtype dtype)
{
  return (Payload){ elements, dtype, NULL };
}

/* Of BYTES whose elements are nobody's matter. */
static inline Payload
payload_of_bytes (guint64 bytes)
{
  return (Payload){ bytes, DTYPE_INT8, NULL };
}

/* What a pass over data reads and writes, in bytes of the memory that the data is in. */
typedef struct
{
  double read, write;
} PayloadWork;

/* Whether a sum of encoded payloads is one of the same codec: they are added as they are. */
gboolean payload_adds_encoded (Payload payload);

/* Encoding reads the elements plain and writes them encoded, decoding the reverse. */
PayloadWork payload_encode_work (Payload payload);
PayloadWork payload_decode_work (Payload payload);
/*
 * PAYLOAD, of which each of PARTS ranks sent an equal part, becomes one part: reads all, writes the
 * sum, as CODEC's unless that is NULL.
 */
PayloadWork payload_add_work (Payload payload, guint parts, const Codec *codec);

/* S in bytes. */
static inline guint64
payload_bytes (Payload payload)
{
  if (payload.codec != NULL)
    return codec_wire_bytes (payload.codec, payload.elements);
  return (payload.elements * dtype_bits (payload.dtype) + 7) / 8;
}
