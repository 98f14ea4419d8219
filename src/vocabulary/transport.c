#include "vocabulary/transport.h"

const char *
transport_name (Transport transport)
{
  static const char *const names[TRANSPORT_N] = {
    [TRANSPORT_GPU] = "gpu", [TRANSPORT_HOST] = "host"
  };

  g_assert (transport < TRANSPORT_N);
  return names[transport];
}
