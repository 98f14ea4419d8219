/*
 * What work of the host's cores costs on a node: demands on its cores and on the memory of its
 * sockets, evenly: cores of all of them take part. (Adam's 4.5e9 parameters a second of a DGX-2 in
 * the table below, 28 B of states and gradients and 2 B of a copy each, are 135 GB/s; the memory of
 * one of its sockets has 128 GB/s at its peak.)
 *
 * Adam: elements / `cpu_adam_rate` is the time of all cores of the node; it is their demand, so
 * ranks that update at once share them. Where the profile does not say, and for streams, memory
 * alone binds. Source of the rates: Ren et al., ZeRO-Offload, arXiv:2101.06840, table 4.
 */
#pragma once

#include "hardware/profile/profile.h"
#include "vocabulary/host-desc.h"

typedef struct
{
  double core_seconds;
  double dram_bytes;
  double latency; /* s: before them, an answer that is awaited */
  double alone;   /* s: stand-alone duration, the latency and the roofline of both */
} HostCost;

/* Never fails. */
void host_cost (const NodeProfile *node, const HostDesc *work, HostCost *cost);
