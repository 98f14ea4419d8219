#ifdef BENCH_CUDA

#include "bench/nccl/nccl-session.h"

#define ALIGNMENT 512

void
nccl_op_set_bytes (const NcclSession *self, NcclOp *op, uint64_t *bytes)
{
  const unsigned ranks = self->place->size;
  const size_t   size = op->type->size;
  uint64_t       send, recv, most;

  op->count = test_collective_count (op->kind, *bytes, size, ranks);
  *bytes = test_collective_bytes (op->kind, op->count, size, ranks);
  send = test_collective_send_elements (op->kind, op->count, ranks);
  recv = test_collective_recv_elements (op->kind, op->count, ranks);
  most = (send > recv ? send : recv) * size;
  op->stride = most + (ALIGNMENT - most % ALIGNMENT) % ALIGNMENT;
  op->offsets = (unsigned) (self->bytes / op->stride);
  op->offsets += op->offsets == 0;
}

const char *
nccl_op_call (const NcclOp *op)
{
  static const char *const calls[TEST_N_KINDS] = {
    [TEST_ALL_REDUCE] = "ncclAllReduce",         [TEST_ALL_GATHER] = "ncclAllGather",
    [TEST_REDUCE_SCATTER] = "ncclReduceScatter", [TEST_ALLTOALL] = "ncclSend+ncclRecv",
    [TEST_BROADCAST] = "ncclBroadcast",          [TEST_SENDRECV] = "ncclSend+ncclRecv",
  };

  return calls[op->kind];
}

/*
 * Message number TO of SEND to that rank and number FROM of RECV from it; of sendrecv there is one
 * message. A group is ended whatever happens in it.
 */
static ncclResult_t
send_and_receive (const NcclSession *self, const NcclOp *op, const char *send, char *recv)
{
  const unsigned       ranks = self->place->size, rank = self->place->rank;
  const bool           all = op->kind == TEST_ALLTOALL;
  const size_t         bytes = op->count * op->type->size;
  const ncclDataType_t type = op->type->type;
  ncclResult_t         result = ncclGroupStart (), ended;

  if (result != ncclSuccess)
    return result;
  for (unsigned i = 0; i < (all ? ranks : 1) && result == ncclSuccess; i++)
    {
      const unsigned to = all ? i : (rank + 1) % ranks, from = all ? i : (rank + ranks - 1) % ranks;

      result = ncclSend (send + i * bytes, op->count, type, (int) to, self->comm, self->stream);
      if (result == ncclSuccess)
        result = ncclRecv (recv + i * bytes, op->count, type, (int) from, self->comm, self->stream);
    }
  ended = ncclGroupEnd ();
  return result != ncclSuccess ? result : ended;
}

bool
nccl_op_launch (NcclSession *self, const NcclOp *op, unsigned i)
{
  const ncclDataType_t type = op->type->type;
  const size_t         shift = i % op->offsets * op->stride, n = op->count;
  const size_t         own = op->in_place ? self->place->rank * n * op->type->size : 0;
  const char          *send = (op->in_place ? self->recv : self->send) + shift;
  char                *recv = self->recv + shift;
  ncclComm_t           comm = self->comm;
  ncclResult_t         result;

  switch (op->kind)
    {
    case TEST_ALL_REDUCE:
      result = ncclAllReduce (send, recv, n, type, ncclSum, comm, self->stream);
      break;
    case TEST_ALL_GATHER:
      result = ncclAllGather (send + own, recv, n, type, comm, self->stream);
      break;
    case TEST_REDUCE_SCATTER:
      result = ncclReduceScatter (send, recv + own, n, type, ncclSum, comm, self->stream);
      break;
    case TEST_BROADCAST:
      result = ncclBroadcast (send, recv, n, type, 0, comm, self->stream);
      break;
    default:
      result = send_and_receive (self, op, send, recv);
    }
  return result == ncclSuccess || nccl_failed (self->bench, nccl_op_call (op), result);
}

#endif
