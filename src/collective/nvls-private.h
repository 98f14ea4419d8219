/*
 * NVLS: the switch reads S from every GPU of a node, reduces, and writes to all at once (multicast).
 * Of an all-reduce each GPU handles S / p: its port carries S + S/p out and S/p + S in.
 */
#pragma once

#include "collective/ring-private.h"

/* The part inside nodes, with the ports' own efficiency under NVLS. */
void nvls_lay (const LayContext *context, const Members *members, CollectiveKind kind);
