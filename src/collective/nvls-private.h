/*
 * NVLS: the switch reads S from every GPU of a node, reduces, and writes to all at once
 * (multicast). Of an all-reduce each GPU handles S / p: its port carries S + S/p out and S/p + S
 * in. Its memory moves 6 S without registered buffers: in and out of those of the switch, and by
 * the switch (NCCL src/device/all_reduce.h: threads that scatter, reduce and gather).
 */
#pragma once

#include "collective/ring-private.h"

/* The part inside nodes, with the ports' own efficiency under NVLS, and all traffic of memory. */
void nvls_lay (const LayContext *context, const Members *members, CollectiveKind kind);
