/*
 * How much memory and file space a benchmark may take, so that nothing else on the machine is
 * pushed out.
 */
#pragma once

#include "bench/bench.h"

/*
 * Bytes of host memory: half of what is available, also within the limit of a control group (a
 * job's).
 */
uint64_t room_host (void);

/*
 * BENCH's sizes of FROM..TO (bench_sizes), each a multiple of UNIT and at most ROOM; what is left
 * out is noted. *N may be 0.
 */
void room_sizes (const Bench *bench, uint64_t from, uint64_t to, double factor, uint64_t unit,
                 uint64_t room, uint64_t sizes[BENCH_MAX_LIST], unsigned *n);

#ifdef BENCH_CUDA
/* Bytes of device memory: what is free but for a twentieth and 256 MiB. False after a message. */
bool room_device (const Bench *bench, uint64_t *bytes);
#endif
