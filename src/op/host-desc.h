/*
 * Work of a host's cores: an optimizer over states in host memory, sums and casts there. What it
 * costs on a socket is the kernel layer's matter.
 */
#pragma once

#include <glib.h>

typedef enum
{
  HOST_ADAM,   /* Adam or AdamW over fp32 states: a rate in parameters a second */
  HOST_STREAM, /* reads and writes memory: sums, casts, norms */
  HOST_N_KINDS,
} HostKind;

const char *host_kind_name (HostKind kind); /* "adam" */

typedef struct
{
  HostKind    kind;
  const char *name; /* static or interned: "cpu_adam" */
  guint64     elements;
  double      read_bytes, write_bytes; /* of host memory */
} HostDesc;

/*
 * Adam over ELEMENTS with fp32 parameters, gradients and both moments; COPY_BYTES an element of a
 * low-precision copy that is written too (0: none).
 */
HostDesc host_desc_adam (const char *name, guint64 elements, guint copy_bytes);
HostDesc host_desc_stream (const char *name, guint64 elements, double read_bytes,
                           double write_bytes);
