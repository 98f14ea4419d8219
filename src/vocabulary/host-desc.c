#include "vocabulary/host-desc.h"

const char *
host_kind_name (HostKind kind)
{
  static const char *const names[HOST_N_KINDS] = {
    [HOST_ADAM] = "adam", [HOST_STREAM] = "stream", [HOST_ANSWER] = "answer"
  };

  g_assert (kind < HOST_N_KINDS);
  return names[kind];
}

HostDesc
host_desc_adam (const char *name, guint64 elements, guint state_bytes, guint gradient_bytes,
                guint copy_bytes)
{
  return (HostDesc){
    .kind = HOST_ADAM,
    .name = name,
    .elements = elements,
    .read_bytes = (double) (state_bytes + gradient_bytes) * (double) elements,
    .write_bytes = (double) (state_bytes + copy_bytes) * (double) elements,
  };
}

HostDesc
host_desc_answer (const char *name, double seconds)
{
  return (HostDesc){ .kind = HOST_ANSWER, .name = name, .seconds = seconds };
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
