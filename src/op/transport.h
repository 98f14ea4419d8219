/* Who carries a communicator's bytes. */
#pragma once

#include <glib.h>

typedef enum
{
  TRANSPORT_GPU,  /* the GPUs' library: kernels on the GPUs drive the links (NCCL) */
  TRANSPORT_HOST, /* the hosts: sockets or RDMA between CPUs, from host memory (Gloo, MPI) */
  TRANSPORT_N,
} Transport;

const char *transport_name (Transport transport); /* "host" */
