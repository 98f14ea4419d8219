/*
 * Files of Chakra execution traces (MLCommons; Sridharan et al., arXiv:2305.14516): what one rank
 * does, a node an op. Reading and writing of one node after the other: memory does not grow with
 * the file.
 *
 * The format is a stream of protobuf messages behind their lengths (chakra.proto). All but ids,
 * names, dependencies and times are attributes, told by name; the names here are those that
 * ASTRA-sim's feeder reads, and a few of shardsim's own that others skip (`phase`, `unit`, `kind`,
 * `stream`, `owner`).
 */
#pragma once

#include <stdio.h>

#include "base/config/diag.h"
#include "vocabulary/collective-kind.h"

/* Field `type` of a node. */
typedef enum
{
  CHAKRA_INVALID,
  CHAKRA_METADATA,
  CHAKRA_MEM_LOAD,
  CHAKRA_MEM_STORE,
  CHAKRA_COMP,
  CHAKRA_COMM_SEND,
  CHAKRA_COMM_RECV,
  CHAKRA_COMM_COLL,
  CHAKRA_STORAGE,
  CHAKRA_BATCH,
  CHAKRA_CHECKPOINT,
  CHAKRA_N_TYPES,
} ChakraType;

#define CHAKRA_NONE -1 /* of a number that an attribute would say */

typedef struct
{
  guint64        id;
  const char    *name; /* "" when there is none */
  ChakraType     type;
  const guint64 *ctrl_deps, *data_deps;
  gsize          n_ctrl_deps, n_data_deps;
  guint64        start_us, duration_us;
  gboolean       on_host;     /* attribute is_cpu_op */
  double         num_ops;     /* of COMP: FLOPs, or CHAKRA_NONE */
  double         tensor_size; /* of COMP and MEM_*: bytes, or CHAKRA_NONE */
  gint           comm_type;   /* of COMM_COLL: chakra_collective's number, or CHAKRA_NONE */
  double         comm_size;   /* of COMM_*: bytes, or CHAKRA_NONE; see chakra_comm_size */
  gint           comm_src, comm_dst, comm_tag; /* of COMM_SEND and COMM_RECV, or CHAKRA_NONE */
  const char    *pg_name;                      /* of COMM_COLL: the group, or NULL */
  const char    *phase, *unit, *kind, *stream; /* shardsim's own, or NULL */
  const char    *owner; /* likewise: "strategy" of kernels that are not the model's */
} ChakraNode;

/* A node of TYPE with nothing else said. */
ChakraNode chakra_node (guint64 id, ChakraType type, const char *name);

/* Number of KIND among Chakra's collectives, or CHAKRA_NONE (COLLECTIVE_SEND_RECV). */
gint chakra_collective (CollectiveKind kind);
/* COLLECTIVE_N_KINDS: one that shardsim does not have (gather, scatter, barrier). */
CollectiveKind chakra_collective_kind (gint number);

/*
 * comm_size of a collective of S bytes (nccl-tests' size, collective-kind.h) of N ranks, by
 * ASTRA-sim's convention: what a rank puts in. So of an all-gather it is S / n, rounded up; of all
 * others S. And back.
 */
guint64 chakra_comm_size (CollectiveKind kind, guint64 bytes, guint n);
double  chakra_comm_bytes (CollectiveKind kind, double comm_size, guint n);

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct _ChakraWriter ChakraWriter;

/* Writes the header to FILE, which stays the caller's. Errors show on FILE (ferror). */
ChakraWriter *chakra_writer_new (FILE *file);
void          chakra_writer_add (ChakraWriter *self, const ChakraNode *node);
void          chakra_writer_free (ChakraWriter *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ChakraWriter, chakra_writer_free)

/* ---- reading --------------------------------------------------------------------------------- */

#define CHAKRA_MAX_MESSAGE (4u << 20) /* bytes of one message; a larger one is refused */

typedef struct _ChakraReader ChakraReader;

/* NULL after a diagnostic, which names the byte that is wrong. */
ChakraReader *chakra_reader_open (const char *file, DiagList *diags);
/*
 * The next node; what it points to lives until the next call. FALSE at the end of the file, or
 * after a diagnostic, which says how many nodes were whole.
 */
gboolean chakra_reader_next (ChakraReader *self, ChakraNode *node, DiagList *diags);
void     chakra_reader_free (ChakraReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ChakraReader, chakra_reader_free)
