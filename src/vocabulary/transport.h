/* Who carries a communicator's bytes. */
#pragma once

#include <glib.h>

typedef enum
{
  TRANSPORT_GPU,  /* the GPUs' library: kernels on the GPUs drive the links (NCCL) */
  TRANSPORT_HOST, /* the hosts: sockets or RDMA between CPUs, from host memory (Gloo, MPI) */
  TRANSPORT_N,
} Transport;

/* In which order a ring of the hosts visits its members. */
typedef enum
{
  RING_ORDER_RANKS, /* as the group has them */
  RING_ORDER_BEST,  /* so that its slowest edge between sites is as fast as can be */
} RingOrder;

const char *transport_name (Transport transport); /* "host" */
