/*
 * A schedule as Chakra execution traces, the input of ASTRA-sim: a file a rank, PREFIX.RANK.et, and
 * the communicators' members as PREFIX.json.
 *
 * One section of the schedule, ops of the device and of the host's cores, in the order of issue.
 * Kernels are COMP nodes (num_ops FLOPs, tensor_size bytes, duration: what the kernel takes alone
 * on the scenario's GPU; sums over a stream are right to a microsecond), moves between memories
 * MEM_LOAD (towards the GPU) and MEM_STORE nodes, collectives COMM_COLL, messages COMM_SEND and
 * COMM_RECV. A node's data_deps are the op before it on its stream, the ops that its stream waits
 * for, and the op before it on its communicator; its ctrl_deps are those that the host had waited
 * for. What a section carries over from the one before has happened.
 *
 * Left out: the host's own time (issue, hooks), allocations and what they wait for.
 */
#pragma once

#include "replay/bind/plan.h"

typedef struct
{
  ScheduleSection section;
  const GArray   *ranks; /* guint32, ascending; NULL: all */
} ChakraParts;

typedef struct
{
  guint   n_files; /* traces */
  guint64 n_nodes;
  guint   kinds; /* bit CollectiveKind: collectives that were written */
} ChakraWritten;

/*
 * Each file is complete or not there; PREFIX.json is the last one. FALSE with ERROR set.
 */
gboolean report_chakra_write (const ReplayPlan *plan, const ChakraParts *parts, const char *prefix,
                              ChakraWritten *written, GError **error);
