#include "op/host-desc.h"

const char *
host_kind_name (HostKind kind)
{
  static const char *const names[HOST_N_KINDS] = { [HOST_ADAM] = "adam", [HOST_STREAM] = "stream" };

  g_assert (kind < HOST_N_KINDS);
  return names[kind];
}

HostDesc
host_desc_adam (const char *name, guint64 elements, guint copy_bytes)
{
  return (HostDesc){
    .kind = HOST_ADAM,
    .name = name,
    .elements = elements,
    .read_bytes = 16.0 * (double) elements,                 /* parameter, gradient, moments */
    .write_bytes = (12.0 + copy_bytes) * (double) elements, /* without the gradient */
  };
}

HostDesc
host_desc_stream (const char *name, guint64 elements, double read_bytes, double write_bytes)
{
  return (HostDesc){
    .kind = HOST_STREAM,
    .name = name,
    .elements = elements,
    .read_bytes = read_bytes,
    .write_bytes = write_bytes,
  };
}
