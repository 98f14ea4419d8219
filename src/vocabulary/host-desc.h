/*
 * Work of a host's cores: an optimizer over states in host memory, sums and casts there. What it
 * costs on a socket is the kernel layer's matter.
 */
#pragma once

#include <glib.h>

typedef enum
{
  HOST_ADAM,   /* Adam or AdamW: a rate in parameters a second */
  HOST_STREAM, /* reads and writes memory: sums, casts, norms */
  HOST_ANSWER, /* no work: an answer from elsewhere is awaited (a quorum, a peer that is found) */
  HOST_N_KINDS,
} HostKind;

const char *host_kind_name (HostKind kind); /* "adam" */

typedef struct
{
  HostKind    kind;
  const char *name; /* static or interned: "cpu_adam" */
  guint64     elements;
  double      read_bytes, write_bytes; /* of host memory */
  double      seconds;                 /* of an answer, whatever the cores do */
} HostDesc;

/*
 * Adam over ELEMENTS, each of STATE_BYTES of parameter and both moments and GRADIENT_BYTES of
 * gradient (fp32: 12 and 4), and COPY_BYTES of a low-precision copy that is written too (0: none).
 */
HostDesc host_desc_adam (const char *name, guint64 elements, guint state_bytes,
                         guint gradient_bytes, guint copy_bytes);
HostDesc host_desc_answer (const char *name, double seconds);
HostDesc host_desc_stream (const char *name, guint64 elements, double read_bytes,
                           double write_bytes);
