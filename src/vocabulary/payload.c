#include "vocabulary/payload.h"

static double
plain_bytes (Payload payload)
{
  return (double) payload_bytes (payload_plain (payload.elements, payload.dtype));
}

gboolean
payload_adds_encoded (Payload payload)
{
  return payload.codec != NULL && !payload.codec->every_hop;
}

PayloadWork
payload_encode_work (Payload payload)
{
  return (PayloadWork){ plain_bytes (payload), (double) payload_bytes (payload) };
}

PayloadWork
payload_decode_work (Payload payload)
{
  return (PayloadWork){ (double) payload_bytes (payload), plain_bytes (payload) };
}

PayloadWork
payload_add_work (Payload payload, guint parts, const Codec *codec)
{
  Payload sum = { (payload.elements + parts - 1) / parts, payload.dtype, codec };

  return (PayloadWork){ (double) payload_bytes (payload), (double) payload_bytes (sum) };
}
