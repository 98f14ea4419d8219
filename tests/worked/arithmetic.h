/*
 * The arithmetic of docs/worked in plain C: no code of the project, no library. Times in ps, sizes
 * in bytes.
 */
#pragma once

#include <stdint.h>

typedef struct
{
  uint64_t forward, backward, all_reduce, optimizer, step;
  uint64_t hbm;
} WorkedDdp;

typedef struct
{
  uint64_t all_gathers, node_all_gathers, reduce_scatter, head_copy, head_forward, tail;
  uint64_t zero3_step, fcdp_step;
  uint64_t zero3_inter_node, fcdp_inter_node; /* a GPU and step */
  uint64_t zero3_allocated, zero3_device, fcdp_allocated, fcdp_device, fcdp_host;
  uint64_t zero3_waiting, fcdp_waiting; /* of the device peaks */
} WorkedFcdp;

typedef struct
{
  uint64_t forward, fetch, block_backward, gradients, step;
  uint64_t host_link; /* bytes, both ways */
  uint64_t host, allocated, waiting, device;
} WorkedOffload;

WorkedDdp     worked_ddp (void);
WorkedFcdp    worked_fcdp (void);
WorkedOffload worked_offload (void);
