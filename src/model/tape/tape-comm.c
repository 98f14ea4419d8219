/*
 * Collectives among a layer's operations. The conjugates are those of Megatron-LM
 * (arXiv:1909.08053, section 3: f and g; arXiv:2205.05198, section 4.2.2: g and g-bar): what is an
 * all-gather forwards is a reduce-scatter backwards.
 */
#include "model/tape/tape-comm-private.h"

#include "model/tape/tape-fp8-private.h"

KernelDesc
tape_comm_desc (const Tape *tape, const char *name, CollectiveKind comm, MeshAxis axis,
                double bytes)
{
  return (KernelDesc){ .kind = KERNEL_COMMUNICATION,
                       .name = name,
                       .dtype = tape->dtype,
                       .batch = 1,
                       .read_bytes = bytes,
                       .launches = 1,
                       .module = -1,
                       .axis = axis,
                       .ranks = axis == MESH_CONTEXT ? tape->context : 0,
                       .comm = comm };
}

KernelDesc
tape_comm_within (KernelDesc desc, CommGroup group)
{
  if (group.axis == MESH_CONTEXT)
    {
      desc.ranks = group.members;
      desc.every = group.every;
    }
  return desc;
}

TapeOp *
tape_comm_op (Tape *tape, const char *name, TapeValue in, CommGroup group,
              void (*backward) (Tape *tape, const TapeOp *op))
{
  TapeOp *op = tape_add_op (tape, name, &in, 1);

  op->backward = backward;
  op->axis = group.axis;
  op->members = group.members;
  op->every = group.every;
  op->slices = group.sliced ? group.members : 0;
  op->concurrent = group.concurrent;
  op->userbuffers = group.userbuffers;
  op->fp8 = group.fp8;
  return op;
}

double
tape_comm_bytes (const Tape *tape, TapeValue value)
{
  return tape_tensor (tape, value)->bytes;
}

static gboolean
kernel_writes (const TapeKernel *kernel, TapeValue value)
{
  for (guint i = 0; i < kernel->n_writes; i++)
    if (kernel->writes[i] == value)
      return TRUE;
  return FALSE;
}

/*
 * A collective of the backward pass that needs GRAD: before the products of weight gradients that
 * stand last, which then run concurrently. What they would have joined is joined before the
 * collective: they have nothing to do with it.
 */
static TapeKernel *
push_concurrent (Tape *tape, const TapeOp *op, KernelDesc desc, TapeValue grad)
{
  GArray *list = tape->backward;
  guint   place = list->len;

  while (op->concurrent && place > 0)
    {
      const TapeKernel *last = &g_array_index (list, TapeKernel, place - 1);

      if (!last->desc.weight_gradient || kernel_writes (last, grad))
        break;
      place--;
    }
  if (place == list->len)
    return tape_push (tape, list, desc, FALSE);
  desc.async = TRUE;
  desc = tape_by_userbuffers (op, desc);
  for (guint i = place; i < list->len; i++)
    {
      KernelDesc *product = &g_array_index (list, TapeKernel, i).desc;

      desc.joins |= product->joins;
      product->joins = FALSE;
    }
  tape->join_next = TRUE;
  return tape_insert (tape, list, place, desc);
}

/* ---- copy and reduce: the value stays the same ---- */

static void
backward_copy (Tape *tape, const TapeOp *op)
{
  TapeValue   grad = tape_grad (tape, op->in[0]);
  KernelDesc  desc = tape_comm_desc (tape, tape_backward_name (op), COLLECTIVE_ALL_REDUCE, op->axis,
                                     tape_comm_bytes (tape, op->in[0]));
  TapeKernel *kernel = push_concurrent (tape, op, desc, grad);

  tape_kernel_reads (kernel, grad);
  tape_kernel_writes (kernel, grad);
}

void
tape_comm_copy (Tape *tape, const char *name, TapeValue value, CommGroup group)
{
  if (group.members == 1)
    return;
  tape_comm_op (tape, name, value, group, backward_copy);
  tape_tensor (tape, value)->shared = TRUE;
}

void
tape_comm_reduce (Tape *tape, const char *name, TapeValue value, CommGroup group)
{
  TapeKernel *kernel;

  if (group.members == 1)
    return;
  tape_comm_op (tape, name, value, group, NULL);
  kernel = tape_push (
      tape, tape->forward,
      tape_comm_desc (tape, name, COLLECTIVE_ALL_REDUCE, group.axis, tape_comm_bytes (tape, value)),
      FALSE);
  tape_kernel_reads (kernel, value);
  tape_kernel_writes (kernel, value);
}

void
tape_comm_row (Tape *tape, const char *name, CommGroup group, double bytes)
{
  if (group.members > 1)
    tape_push (tape, tape->forward,
               tape_comm_desc (tape, name, COLLECTIVE_ALL_REDUCE, group.axis, bytes), FALSE);
}

TapeKernel *
tape_comm_message (Tape *tape, GArray *list, const char *name, CommGroup group, double bytes,
                   gboolean joins)
{
  KernelDesc desc = tape_comm_within (
      tape_comm_desc (tape, name, COLLECTIVE_SEND_RECV, group.axis, bytes), group);

  desc.async = TRUE;
  desc.joins = joins;
  return tape_push (tape, list, desc, FALSE);
}

/* ---- gather and scatter ---- */

/*
 * The copy of VALUE, a rank's piece, that is gathered in fp8: where the scale is searched, all
 * ranks' pieces have the same. Transformed columns have one of their own.
 */
static TapeValue
push_piece (Tape *tape, GArray *list, const TapeOp *op, const char *name, TapeValue value,
            TapeValue *columns)
{
  if (tape->fp8.searched)
    tape_push (tape, list,
               tape_comm_desc (tape, tape_join (name, ".amax"), COLLECTIVE_ALL_REDUCE, op->axis,
                               tape->fp8.hadamard ? 8 : 4),
               FALSE);
  return tape_fp8_piece (tape, list, name, value, columns);
}

/* VALUE, of BYTES, is a copy in fp8 of what pieces make up. */
void
tape_comm_mark_fp8 (Tape *tape, TapeValue value, double bytes)
{
  TapeTensor *tensor = tape_tensor (tape, value);

  tensor->bytes = bytes;
  tensor->fp8_rows = (gint) value;
}

/*
 * FULL, which a tensor group has gathered or is about to scatter along the sequence, is chunked and
 * concatenated: by the kernel that made it where a compiler can add that to one. What goes in
 * slices is written where it belongs.
 */
static void
push_cat (Tape *tape, GArray *list, const TapeOp *op, TapeValue full, gboolean in_slices)
{
  double            bytes = tape_comm_bytes (tape, full);
  const TapeKernel *last = list->len > 0 ? &g_array_index (list, TapeKernel, list->len - 1) : NULL;

  if (tape->training->compile && last != NULL && last->fusible && kernel_writes (last, full))
    return;
  if (tape->training->traits.cats_sequence && op->axis == MESH_TENSOR && !in_slices)
    tape_push (tape, list,
               tape_stream (tape, KERNEL_COPY, tape_join (op->name, ".cat"), bytes, bytes, 1),
               FALSE);
}

/* Whether one product made what is to be scattered: its weight's gradient stands last in LIST. */
static gboolean
ends_in_weight (const GArray *list)
{
  return list->len > 0 && g_array_index (list, TapeKernel, list->len - 1).desc.weight_gradient;
}

static void
backward_gather (Tape *tape, const TapeOp *op)
{
  TapeValue   full = tape_grad (tape, op->out[0]), grad = tape_new_grad (tape, op->in[0]);
  KernelDesc  desc = tape_comm_desc (tape, tape_backward_name (op), COLLECTIVE_REDUCE_SCATTER,
                                     op->axis, tape_comm_bytes (tape, full));
  TapeKernel *kernel;

  push_cat (tape, tape->backward, op, full, op->slices > 0 && ends_in_weight (tape->backward));
  if (op->slices > 0)
    tape_push_flat (tape, op->name, op->out[0]);
  kernel = push_concurrent (tape, op, desc, full);
  tape_kernel_reads (kernel, full);
  tape_kernel_writes (kernel, grad);
  if (tape_tensor (tape, op->out[0])->gathered_again)
    {
      tape_log_tensor (tape, op->out[0], FALSE);
      tape->alive -= tape_comm_bytes (tape, op->out[0]);
    }
  tape_tensor (tape, op->out[0])->gathered_again = FALSE;
  tape_give_grad (tape, op->in[0], grad);
}

TapeValue
tape_comm_gather (Tape *tape, const char *name, TapeValue in, CommGroup group)
{
  TapeOp     *op;
  TapeValue   out, piece = in;
  TapeKernel *kernel;
  KernelDesc  desc;

  if (group.members == 1)
    return in;
  op = tape_comm_op (tape, name, in, group, backward_gather);
  out = tape_add_output (tape, op, group.members * tape_tensor (tape, in)->elements);
  if (op->fp8)
    {
      piece = push_piece (tape, tape->forward, op, name, in, NULL);
      tape_comm_mark_fp8 (tape, out, group.members * tape_comm_bytes (tape, piece));
    }
  /* torchao keeps the piece as it came */
  tape_tensor (tape, out)->piece = group.kept ? -1 : (gint) (tape->fp8.kept ? piece : in);
  tape_tensor (tape, out)->slices = op->slices;
  desc =
      tape_comm_desc (tape, name, COLLECTIVE_ALL_GATHER, group.axis, tape_comm_bytes (tape, out));
  if (op->slices > 0)
    desc = tape_sliced_gather (tape, tape->forward, op, desc, piece);
  kernel = tape_push (tape, tape->forward, desc, FALSE);
  tape_kernel_reads (kernel, piece);
  tape_kernel_writes (kernel, out);
  push_cat (tape, tape->forward, op, out, op->slices > 0);
  return out;
}

static void
backward_concat (Tape *tape, const TapeOp *op)
{
  TapeValue grad;

  tape_push_backward (tape, op, tape_stream (tape, KERNEL_COPY, tape_backward_name (op), 0, 0, 1),
                      FALSE, 1, &grad);
  tape_give_grad (tape, op->in[0], grad);
}

/*
 * PyTorch's all_gather into a list goes through a flat buffer of its own
 * (ProcessGroupNCCL::allgather, newLikeFlat), and the list's tensors, of which the own piece is
 * one, are concatenated.
 */
TapeValue
tape_comm_concat (Tape *tape, const char *name, TapeValue in, CommGroup group)
{
  TapeOp   *op;
  TapeValue out;
  double    piece, elements;

  if (group.members == 1)
    return in;
  op = tape_comm_op (tape, name, in, group, backward_concat);
  out = tape_add_output (tape, op, group.members * tape_tensor (tape, in)->elements);
  piece = tape_tensor (tape, in)->bytes;
  elements = tape_tensor (tape, in)->elements;
  tape_add_value (tape, "concat.flat", group.members * elements, group.members * piece, FALSE);
  tape_add_value (tape, "concat.list", (group.members - 1) * elements, (group.members - 1) * piece,
                  FALSE);
  tape_push_forward (
      tape, op,
      tape_comm_desc (tape, name, COLLECTIVE_ALL_GATHER, group.axis, tape_comm_bytes (tape, out)),
      FALSE);
  return out;
}

/* All pieces' columns lie one piece behind the other before they are put side by side. */
static void
backward_gather_columns (Tape *tape, const TapeOp *op)
{
  TapeValue   grad;
  TapeKernel *kernel = tape_push_backward (
      tape, op, tape_stream (tape, KERNEL_COPY, tape_backward_name (op), 0, 0, 1), FALSE, 1, &grad);

  kernel->share = 2. / (op->members + 1); /* its columns of all, and these */
  tape_give_grad (tape, op->in[0], grad);
}

TapeValue
tape_comm_gather_columns (Tape *tape, const char *name, TapeValue in, CommGroup group)
{
  TapeOp     *op;
  TapeValue   flat, out;
  double      elements, bytes;
  TapeKernel *kernel;

  if (group.members == 1)
    return in;
  op = tape_comm_op (tape, name, in, group, backward_gather_columns);
  elements = group.members * tape_tensor (tape, in)->elements;
  bytes = group.members * tape_comm_bytes (tape, in);
  out = tape_add_output (tape, op, elements);
  flat = tape_add_value (tape, "gather.flat", elements, bytes, FALSE);
  kernel = tape_push (tape, tape->forward,
                      tape_comm_desc (tape, name, COLLECTIVE_ALL_GATHER, group.axis, bytes), FALSE);
  tape_kernel_reads (kernel, in);
  tape_kernel_writes (kernel, flat);
  kernel = tape_push (tape, tape->forward,
                      tape_stream (tape, KERNEL_COPY, tape_join (name, ".cat"), 0, 0, 1), FALSE);
  tape_kernel_reads (kernel, flat);
  tape_kernel_writes (kernel, out);
  return out;
}

gboolean
tape_comm_is_whole (Tape *tape, TapeValue value)
{
  return tape_tensor (tape, value)->slices == 0 && !tape_is_fp8 (tape, value);
}

void
tape_comm_keep_whole (Tape *tape, TapeValue value)
{
  tape_tensor (tape, value)->piece = -1;
}

TapeValue
tape_comm_piece (const Tape *tape, TapeValue value)
{
  const gint    producer = tape_tensor (tape, value)->producer;
  const TapeOp *op = producer < 0 ? NULL : tape_op (tape, (guint) producer);

  return op != NULL && op->backward == backward_gather ? op->in[0] : value;
}

void
tape_gather_again (Tape *tape, TapeValue value)
{
  TapeTensor   *tensor = tape_tensor (tape, value);
  const TapeOp *op;
  KernelDesc    desc;
  TapeKernel   *kernel;
  TapeValue     piece = (TapeValue) tensor->piece;

  if (tensor->piece < 0 || tensor->gathered_again)
    return;
  op = &g_array_index (tape->ops, TapeOp, (guint) tensor->producer);
  if (tape_is_fp8 (tape, value) && !tape_is_fp8 (tape, piece))
    piece = push_piece (tape, tape->backward, op, tape_join (op->name, ".again"), piece, NULL);
  tensor = tape_tensor (tape, value);
  desc = tape_comm_desc (tape, tape_join (op->name, ".again"), COLLECTIVE_ALL_GATHER, op->axis,
                         tensor->bytes);
  desc.async = op->concurrent;
  kernel = tape_push (tape, tape->backward, tape_by_userbuffers (op, desc), FALSE);
  tape_kernel_reads (kernel, piece);
  tape_kernel_writes (kernel, value);
  push_cat (tape, tape->backward, op, value, FALSE);
  tensor->gathered_again = TRUE;
  tape_log_tensor (tape, value, TRUE);
  tape->alive += tensor->bytes;
  tape->join_product = op->concurrent;
}

static gboolean
is_product (const Tape *tape, TapeValue value)
{
  gint producer = tape_tensor (tape, value)->producer;

  return producer >= 0 && g_array_index (tape->ops, TapeOp, (guint) producer).shape.m > 0;
}

/*
 * The gradient of OP's input in fp8, gathered by GATHER from PIECE. Where scales go by blocks, no
 * copy can be transposed: that along the columns is gathered, too.
 */
static TapeValue
gather_fp8_gradient (Tape *tape, const TapeOp *op, KernelDesc gather, TapeValue piece)
{
  gboolean    both = tape->fp8.granule > 0;
  double      elements = tape_tensor (tape, op->in[0])->elements, bytes;
  TapeValue   grad, columns, piece_columns;
  TapeKernel *kernel;

  piece = push_piece (tape, tape->backward, op, tape_backward_name (op), piece,
                      both ? &piece_columns : NULL);
  bytes = op->members * tape_comm_bytes (tape, piece);
  grad = tape_add_value (tape, op->name, elements, bytes, FALSE);
  tape_comm_mark_fp8 (tape, grad, bytes);
  if (both)
    {
      columns = tape_add_value (tape, op->name, elements, bytes, FALSE);
      tape_tensor (tape, grad)->fp8_columns = (gint) columns;
    }
  tape_log_tensor (tape, grad, TRUE);
  tape->alive += bytes;
  gather.read_bytes = (both ? 2 : 1) * bytes;
  kernel = tape_push (tape, tape->backward, gather, FALSE);
  tape_kernel_reads (kernel, piece);
  tape_kernel_writes (kernel, grad);
  return grad;
}

static void
backward_scatter (Tape *tape, const TapeOp *op)
{
  KernelDesc  desc = tape_comm_desc (tape, tape_backward_name (op), COLLECTIVE_ALL_GATHER, op->axis,
                                     tape_comm_bytes (tape, op->in[0]));
  TapeValue   grad, piece = tape_grad (tape, op->out[0]);
  TapeKernel *kernel;

  if (op->slices > 0 && is_product (tape, op->in[0]))
    {
      desc = tape_sliced_gather (tape, tape->backward, op, desc, piece);
      tape_tensor (tape, op->in[0])->slices = op->slices;
    }
  if (op->fp8 && is_product (tape, op->in[0]))
    grad = gather_fp8_gradient (tape, op, desc, piece);
  else
    {
      grad = tape_new_grad (tape, op->in[0]);
      kernel = tape_push (tape, tape->backward, desc, FALSE);
      tape_kernel_reads (kernel, piece);
      tape_kernel_writes (kernel, grad);
      push_cat (tape, tape->backward, op, grad, desc.async);
    }
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_comm_scatter (Tape *tape, const char *name, TapeValue in, CommGroup group)
{
  TapeOp     *op;
  TapeValue   out;
  TapeKernel *kernel;
  KernelDesc  desc = tape_comm_desc (tape, name, COLLECTIVE_REDUCE_SCATTER, group.axis,
                                     tape_comm_bytes (tape, in));

  if (group.members == 1)
    return in;
  op = tape_comm_op (tape, name, in, group, backward_scatter);
  out = tape_add_output (tape, op, tape_tensor (tape, in)->elements / group.members);
  if (op->slices > 0 && is_product (tape, in))
    tape_push_sliced_scatter (tape, op, desc, in, out);
  else
    {
      push_cat (tape, tape->forward, op, in, FALSE);
      kernel = tape_push (tape, tape->forward, desc, FALSE);
      tape_kernel_reads (kernel, in);
      tape_kernel_writes (kernel, out);
    }
  tape_list (tape, out);
  if (tape->training->traits.holds_scattered)
    tape_save (tape, in);
  return out;
}

static void
backward_split (Tape *tape, const TapeOp *op)
{
  KernelDesc desc = tape_comm_desc (tape, tape_backward_name (op), COLLECTIVE_ALL_GATHER, op->axis,
                                    tape_comm_bytes (tape, op->in[0]));
  TapeValue  grad;

  tape_push_backward (tape, op, desc, FALSE, 1, &grad);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_comm_split (Tape *tape, const char *name, TapeValue in, CommGroup group)
{
  TapeOp *op;

  if (group.members == 1)
    return in;
  op = tape_comm_op (tape, name, in, group, backward_split);
  return tape_add_output (tape, op, tape_tensor (tape, in)->elements / group.members);
}

/* ---- what is left open ---- */

static void
settle (GArray *list, gboolean *join)
{
  for (guint i = list->len; *join && i > 0; i--)
    {
      KernelDesc *desc = &g_array_index (list, TapeKernel, i - 1).desc;

      if (desc->kind == KERNEL_COMMUNICATION && desc->async)
        {
          desc->async = FALSE;
          *join = FALSE;
        }
    }
}

void
tape_comm_settle (Tape *tape)
{
  settle (tape->forward, &tape->join_forward);
  settle (tape->backward, &tape->join_next);
}
