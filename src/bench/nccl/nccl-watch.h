/*
 * Ends a rank that waits in vain: NCCL's calls, kernel launches into a full queue and waits for a
 * stream all block without a limit where another rank has ended or hangs. A thread looks every 0.1
 * s, while armed, for an asynchronous error of the communicator, for a rank that said that it
 * failed, and for the end of the time; then it says which call waited and why, tells the other
 * ranks, and ends the process. What is never reached is no way out of it: NCCL can neither be
 * interrupted in the middle of making a communicator nor be relied on to abort one whose peer is
 * gone.
 *
 * (Communicators stay blocking: a non-blocking one starts a thread for each launch, which would be
 * measured.)
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"

#define NCCL_WATCH_SECONDS 300.0 /* that a call may take, where --timeout is no shorter */

typedef struct NcclWatch NcclWatch;

NcclWatch *nccl_watch_open (const Bench *bench); /* NULL after a message */
void       nccl_watch_close (NcclWatch *self);

/* The communicator; NULL: it is no more. Before it is destroyed. */
void nccl_watch_set (NcclWatch *self, ncclComm_t comm);

/*
 * Armed from begin to end. CALL, a static text, is what the message names. Between them no exchange
 * of bench/world/world.h, which has a limit of its own. END returns false after a message where the
 * communicator has met an asynchronous error.
 */
void nccl_watch_begin (NcclWatch *self, const char *call);
bool nccl_watch_end (NcclWatch *self);

#endif
