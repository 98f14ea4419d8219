#ifdef BENCH_CUDA

#include "bench/nccl-session.h"

#define ALIGNMENT 512

/* ---- sizes ----------------------------------------------------------------------------------- */

void
nccl_op_set_bytes (const NcclSession *self, NcclOp *op, uint64_t *bytes)
{
  const unsigned ranks = self->place->size;
  const size_t   size = op->type->size;
  uint64_t       send, recv, most;

  op->count = op->self ? *bytes / size : test_collective_count (op->kind, *bytes, size, ranks);
  op->count += op->count == 0;
  *bytes = op->self ? op->count * size : test_collective_bytes (op->kind, op->count, size, ranks);
  send = op->self ? op->count : test_collective_send_elements (op->kind, op->count, ranks);
  recv = op->self ? op->count : test_collective_recv_elements (op->kind, op->count, ranks);
  most = (send > recv ? send : recv) * size;
  op->stride = most + (ALIGNMENT - most % ALIGNMENT) % ALIGNMENT;
  op->offsets = (unsigned) (self->bytes / op->stride);
  op->offsets += op->offsets == 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

const char *
nccl_op_call (const NcclOp *op)
{
  static const char *const calls[TEST_N_KINDS] = {
    [TEST_ALL_REDUCE] = "ncclAllReduce",         [TEST_ALL_GATHER] = "ncclAllGather",
    [TEST_REDUCE_SCATTER] = "ncclReduceScatter", [TEST_ALLTOALL] = "ncclSend+ncclRecv",
    [TEST_BROADCAST] = "ncclBroadcast",          [TEST_SENDRECV] = "ncclSend+ncclRecv",
  };

  return op->self ? "ncclSend+ncclRecv" : calls[op->kind];
}

const char *
nccl_op_name (const NcclOp *op)
{
  return op->self ? "self_sendrecv" : test_collectives[op->kind].name;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* One call's buffers. */
typedef struct
{
  const char  *send;
  char        *recv;
  ncclComm_t   comm;
  cudaStream_t stream;
} Call;

static Call
place_call (const NcclSession *self, const NcclOp *op, unsigned i)
{
  const size_t shift = i % op->offsets * op->stride;
  const size_t own = self->place->rank * op->count * op->type->size;
  Call         call = { .send = (op->in_place ? self->recv : self->send)[op->slot] + shift,
                        .recv = self->recv[op->slot] + shift,
                        .comm = self->comms[op->slot],
                        .stream = self->streams[op->slot] };

  if (op->in_place && op->kind == TEST_ALL_GATHER && !op->self)
    call.send += own;
  if (op->in_place && op->kind == TEST_REDUCE_SCATTER && !op->self)
    call.recv += own;
  return call;
}

/* Message number SEND_PART to TO and number RECV_PART from FROM. */
static ncclResult_t
exchange (const Call *call, const NcclOp *op, unsigned to, uint64_t send_part, unsigned from,
          uint64_t recv_part)
{
  const size_t bytes = op->count * op->type->size;
  ncclResult_t result = ncclSend (call->send + send_part * bytes, op->count, op->type->type,
                                  (int) to, call->comm, call->stream);

  if (result != ncclSuccess)
    return result;
  return ncclRecv (call->recv + recv_part * bytes, op->count, op->type->type, (int) from,
                   call->comm, call->stream);
}

/* A group is ended whatever happens in it. */
static ncclResult_t
grouped (const NcclSession *self, const Call *call, const NcclOp *op)
{
  const unsigned ranks = self->place->size, rank = self->place->rank;
  ncclResult_t   result = ncclGroupStart (), ended;

  if (result != ncclSuccess)
    return result;
  if (op->self)
    result = exchange (call, op, rank, 0, rank, 0);
  else if (op->kind == TEST_SENDRECV)
    result = exchange (call, op, (rank + 1) % ranks, 0, (rank + ranks - 1) % ranks, 0);
  else
    for (unsigned i = 0; i < ranks && result == ncclSuccess; i++)
      result = exchange (call, op, i, i, i, i);
  ended = ncclGroupEnd ();
  return result != ncclSuccess ? result : ended;
}

bool
nccl_op_launch (NcclSession *self, const NcclOp *op, unsigned i)
{
  const Call           call = place_call (self, op, i);
  const ncclDataType_t type = op->type->type;
  ncclResult_t         result;

  if (op->self || op->kind == TEST_SENDRECV || op->kind == TEST_ALLTOALL)
    result = grouped (self, &call, op);
  else if (op->kind == TEST_ALL_REDUCE)
    result = ncclAllReduce (call.send, call.recv, op->count, type, ncclSum, call.comm, call.stream);
  else if (op->kind == TEST_ALL_GATHER)
    result = ncclAllGather (call.send, call.recv, op->count, type, call.comm, call.stream);
  else if (op->kind == TEST_REDUCE_SCATTER)
    result =
        ncclReduceScatter (call.send, call.recv, op->count, type, ncclSum, call.comm, call.stream);
  else
    result = ncclBroadcast (call.send, call.recv, op->count, type, 0, call.comm, call.stream);
  return result == ncclSuccess || nccl_failed (self->bench, nccl_op_call (op), result);
}

static bool
launch_load (NcclSession *session, void *user, unsigned i)
{
  return nccl_op_launch (session, user, i);
}

NcclLoad
nccl_load_of_op (NcclSession *self, NcclOp *op)
{
  return (NcclLoad){
    .launch = launch_load, .user = op, .stream = self->streams[op->slot], .call = nccl_op_call (op)
  };
}

#endif
