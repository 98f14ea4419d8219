/*
 * Collectives among a layer's operations: each is recorded once, and forward, recomputation and
 * backward lists get theirs by the tape's own rules. A group of one records nothing and returns the
 * value itself. Internal to the layer.
 */
#pragma once

#include "model/tape/tape-private.h"

typedef struct
{
  MeshAxis axis;
  guint    members;
  guint    every;       /* they lie so many apart in their axis; 0: 1 */
  gboolean concurrent;  /* backwards with products of weight gradients (asynchronous) */
  gboolean userbuffers; /* what is concurrent or sliced goes by Transformer Engine's userbuffers */
  gboolean sliced;      /* products that wait for it or that it waits for run in slices with it */
  gboolean kept;        /* what is gathered is kept whole for the backward pass: no second gather */
  gboolean fp8;         /* inputs and gradients of linear layers are gathered as fp8 copies */
} CommGroup;

/*
 * Before products whose weights are divided by columns: nothing forwards, VALUE's gradient is
 * all-reduced backwards.
 */
void tape_comm_copy (Tape *tape, const char *name, TapeValue value, CommGroup group);

/* VALUE is a partial sum: all-reduced in place forwards, nothing backwards. */
void tape_comm_reduce (Tape *tape, const char *name, TapeValue value, CommGroup group);

/* An all-reduce of BYTES of row statistics, forwards only. */
void tape_comm_row (Tape *tape, const char *name, CommGroup group, double bytes);

/*
 * tape_norm of rows that GROUP divides: WIDTH elements of each are here. Both passes all-reduce the
 * sums over them.
 */
TapeValue tape_divided_norm (Tape *tape, const char *name, TapeValue in, gint module, double rows,
                             double width, ModelNorm norm, CommGroup group);

/* One asynchronous message of BYTES to the next rank of GROUP. */
TapeKernel *tape_comm_message (Tape *tape, GArray *list, const char *name, CommGroup group,
                               double bytes, gboolean joins);

/*
 * Pieces of IN are gathered; its gradient is reduce-scattered. Linears and attention keep the piece
 * and gather again in the backward pass for the gradient of their weights, while the product runs
 * that makes the gradient of their input.
 */
TapeValue tape_comm_gather (Tape *tape, const char *name, TapeValue in, CommGroup group);

/*
 * Pieces of IN's rows are gathered for good; a rank's piece of the gradient is copied out, every
 * rank has all of it.
 */
TapeValue tape_comm_concat (Tape *tape, const char *name, TapeValue in, CommGroup group);

/*
 * Pieces of IN's columns are gathered for good, and put in order; a rank's columns of the gradient
 * are copied out. (Megatron-LM's gather_from_tensor_model_parallel_region.)
 */
TapeValue tape_comm_gather_columns (Tape *tape, const char *name, TapeValue in, CommGroup group);

/* The partial sum IN is reduce-scattered; its gradient is gathered. */
TapeValue tape_comm_scatter (Tape *tape, const char *name, TapeValue in, CommGroup group);

/*
 * Whether VALUE is there in 16 bits at once: not where it was gathered for products alone, in fp8
 * or in slices.
 */
gboolean tape_comm_is_whole (Tape *tape, TapeValue value);

/* VALUE, if it was gathered, is kept whole and not as the rank's piece. */
void tape_comm_keep_whole (Tape *tape, TapeValue value);

/* A rank's piece of VALUE, which was gathered; VALUE itself where it was not. */
TapeValue tape_comm_piece (const Tape *tape, TapeValue value);

/* A rank's piece of IN, which all ranks have; its gradient is gathered. */
TapeValue tape_comm_split (Tape *tape, const char *name, TapeValue in, CommGroup group);

/*
 * Rows of IN go to other ranks, OUT_ELEMENTS come from them: the bytes are the larger of both, the
 * fullest rank's.
 */
TapeValue tape_comm_exchange (Tape *tape, const char *name, TapeValue in, double out_elements,
                              CommGroup group);

/*
 * The same where a layout of tokens becomes another: BYTES of the all-to-all are given, as ranks
 * keep what they have in both.
 */
TapeValue tape_comm_remap (Tape *tape, const char *name, TapeValue in, double out_elements,
                           double bytes, CommGroup group);

/*
 * The same of tokens of which each goes once to each rank that needs it: as many elements move as
 * there are copies, and come back added up. WIRE: bytes of an element on its way to experts, to
 * which it is encoded before (in the backward pass of the return as well); 0: as it is kept.
 */
TapeValue tape_comm_dispatch (Tape *tape, const char *name, TapeValue in, double copies,
                              double wire, CommGroup group);
TapeValue tape_comm_return (Tape *tape, const char *name, TapeValue in, double out_elements,
                            double wire, CommGroup group);

/*
 * The exchange that operation EXCHANGE is runs concurrently with all that was recorded behind it,
 * which does not read what it brings; the next operation waits for it. Backwards the gradient is
 * sent off before theirs are made.
 */
void tape_comm_cover (Tape *tape, guint exchange);

/*
 * For linears: backwards gathers VALUE unless it is no gathered one or is there; cuts the product
 * that was listed last.
 */
void tape_gather_again (Tape *tape, TapeValue value);
void tape_slice_gathered (Tape *tape, GArray *list, TapeValue value);

/* Collectives that nothing joined are waited for where they stand. */
void tape_comm_settle (Tape *tape);

/* ---- for these operations (tape-comm.c, tape-comm-tokens.c, tape-slices.c) ---- */

KernelDesc tape_comm_desc (const Tape *tape, const char *name, CollectiveKind comm, MeshAxis axis,
                           double bytes);
/* DESC among the members of GROUP, which may be a set of the context ranks. */
KernelDesc tape_comm_within (KernelDesc desc, CommGroup group);
TapeOp    *tape_comm_op (Tape *tape, const char *name, TapeValue in, CommGroup group,
                         void (*backward) (Tape *tape, const TapeOp *op));
double     tape_comm_bytes (const Tape *tape, TapeValue value);
/* VALUE, of BYTES, is a copy in fp8 of what pieces make up. */
void tape_comm_mark_fp8 (Tape *tape, TapeValue value, double bytes);

/* DESC of OP as it runs beside other products: userbuffers' is a kernel on SMs of its own. */
KernelDesc tape_by_userbuffers (const TapeOp *op, KernelDesc desc);

/*
 * DESC of OP as a gather that products wait for in slices; what a rank does with PIECE, its own,
 * before that is listed.
 */
KernelDesc tape_sliced_gather (Tape *tape, GArray *list, const TapeOp *op, KernelDesc desc,
                               TapeValue piece);

/*
 * The product of IN, which is last, in slices, and the reduce-scatter to OUT with all but the
 * first: whole behind that one, with a sum of what arrived, or a part behind each.
 */
void tape_push_sliced_scatter (Tape *tape, const TapeOp *op, KernelDesc desc, TapeValue in,
                               TapeValue out);

/*
 * VALUE, gathered in slices for NAME, has the rows of all sequences token by token; products of
 * weight gradients, which are last in the backward list, or behind it, want them sequence by
 * sequence: a copy. (unflatten of _fused_all_gather_matmul_impl.) In fp8 they have it transposed,
 * by the same copy.
 */
void tape_push_flat (Tape *tape, const char *name, TapeValue value);
