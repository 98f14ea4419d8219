/*
 * All-to-alls among a layer's operations: rows that travel to their experts' ranks and back.
 */
#include "model/tape/tape-comm-private.h"

/* ---- all-to-all ---- */

/*
 * The kernel that was listed last, an exchange of OP, before those of the operations that cover
 * it. What they would have joined is joined before it, as in tape-comm.c.
 */
static void
issue_before_cover (Tape *tape, const TapeOp *op)
{
  GArray     *list = tape->backward;
  const guint place = op[op->n_covering].first_backward, last = list->len - 1;
  TapeKernel  exchange = g_array_index (list, TapeKernel, last);

  if (place == last)
    return;
  exchange.desc.async = TRUE;
  for (guint i = place; i < last; i++)
    {
      KernelDesc *desc = &g_array_index (list, TapeKernel, i).desc;

      exchange.desc.joins |= desc->joins;
      desc->joins = FALSE;
    }
  g_array_set_size (list, last);
  g_array_insert_val (list, place, exchange);
  tape->join_next = TRUE;
}

static void
backward_exchange (Tape *tape, const TapeOp *op)
{
  const CommGroup group = { .axis = op->axis, .members = op->members, .every = op->every };
  const double bytes = MAX (tape_comm_bytes (tape, op->in[0]), tape_comm_bytes (tape, op->out[0]));
  KernelDesc   desc = tape_comm_within (
        tape_comm_desc (tape, tape_backward_name (op), COLLECTIVE_ALL_TO_ALL, op->axis, bytes),
        group);
  TapeValue grad;

  tape_push_backward (tape, op, desc, FALSE, 1, &grad);
  if (op->n_covering > 0)
    issue_before_cover (tape, op);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_comm_exchange (Tape *tape, const char *name, TapeValue in, double out_elements,
                    CommGroup group)
{
  TapeOp   *op;
  TapeValue out;

  if (group.members == 1)
    return in;
  op = tape_comm_op (tape, name, in, group, backward_exchange);
  out = tape_add_output (tape, op, out_elements);
  tape_push_forward (
      tape, op,
      tape_comm_within (
          tape_comm_desc (tape, name, COLLECTIVE_ALL_TO_ALL, group.axis,
                          MAX (tape_comm_bytes (tape, in), tape_comm_bytes (tape, out))),
          group),
      FALSE);
  return out;
}

static void
backward_remap (Tape *tape, const TapeOp *op)
{
  TapeValue grad;

  tape_push_backward (
      tape, op,
      tape_comm_desc (tape, tape_backward_name (op), COLLECTIVE_ALL_TO_ALL, op->axis, op->fixed[0]),
      FALSE, 1, &grad);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_comm_remap (Tape *tape, const char *name, TapeValue in, double out_elements, double bytes,
                 CommGroup group)
{
  TapeOp   *op = tape_comm_op (tape, name, in, group, backward_remap);
  TapeValue out = tape_add_output (tape, op, out_elements);

  op->fixed[0] = bytes;
  tape_push_forward (tape, op,
                     tape_comm_desc (tape, name, COLLECTIVE_ALL_TO_ALL, group.axis, bytes), FALSE);
  return out;
}

void
tape_comm_cover (Tape *tape, guint exchange)
{
  guint place = tape->forward->len;

  tape_op (tape, exchange)->n_covering = tape->ops->len - 1 - exchange;
  while (g_array_index (tape->forward, TapeKernel, place - 1).op != (gint) exchange)
    place--;
  g_array_index (tape->forward, TapeKernel, place - 1).desc.async = TRUE;
  tape->join_forward = TRUE;
}

/* ---- tokens, once to each rank ---- */

/* What is sent of VALUE: itself, or a copy that a kernel of LIST encodes. */
static TapeValue
push_encoded (Tape *tape, GArray *list, const char *name, TapeValue value, double wire)
{
  const double elements = tape_tensor (tape, value)->elements;
  TapeKernel  *kernel;
  TapeValue    encoded;

  if (wire == 0)
    return value;
  encoded = tape_add_value (tape, tape_join (name, ".encoded"), elements, elements * wire, FALSE);
  kernel = tape_push (tape, list,
                      tape_stream (tape, KERNEL_ELEMENTWISE, tape_join (name, ".encode"), 0, 0, 1),
                      FALSE);
  tape_kernel_reads (kernel, value);
  tape_kernel_writes (kernel, encoded);
  return encoded;
}

/* The copies, OUT, of what each rank has one row of. */
static void
push_copies (Tape *tape, GArray *list, const TapeOp *op, const char *name, TapeValue sent,
             TapeValue out)
{
  TapeKernel *kernel = tape_push (
      tape, list,
      tape_comm_desc (tape, name, COLLECTIVE_ALL_TO_ALL, op->axis, tape_comm_bytes (tape, out)),
      FALSE);

  tape_kernel_reads (kernel, sent);
  tape_kernel_writes (kernel, out);
}

static void
backward_dispatch (Tape *tape, const TapeOp *op)
{
  TapeValue copies = tape_grad (tape, op->out[0]), grad;

  tape_push_backward (tape, op,
                      tape_comm_desc (tape, tape_backward_name (op), COLLECTIVE_ALL_TO_ALL,
                                      op->axis, tape_comm_bytes (tape, copies)),
                      FALSE, 1, &grad);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_comm_dispatch (Tape *tape, const char *name, TapeValue in, double copies, double wire,
                    CommGroup group)
{
  TapeOp   *op = tape_comm_op (tape, name, in, group, backward_dispatch);
  TapeValue out = tape_add_output (tape, op, copies);

  if (wire > 0)
    tape_comm_mark_fp8 (tape, out, copies * wire);
  push_copies (tape, tape->forward, op, name, push_encoded (tape, tape->forward, name, in, wire),
               out);
  return out;
}

static void
backward_return (Tape *tape, const TapeOp *op)
{
  const char *name = tape_backward_name (op);
  TapeValue   sent =
      push_encoded (tape, tape->backward, name, tape_grad (tape, op->out[0]), op->wire);
  const double elements = tape_tensor (tape, op->in[0])->elements;
  const double bytes = elements * (op->wire > 0 ? op->wire : tape->e);
  TapeValue    grad = tape_add_value (tape, op->name, elements, bytes, FALSE);

  if (op->wire > 0)
    tape_comm_mark_fp8 (tape, grad, bytes);
  tape_log_tensor (tape, grad, TRUE);
  tape->alive += bytes;
  push_copies (tape, tape->backward, op, name, sent, grad);
  tape_give_grads (tape, op, 1, &grad);
}

TapeValue
tape_comm_return (Tape *tape, const char *name, TapeValue in, double out_elements, double wire,
                  CommGroup group)
{
  TapeOp   *op = tape_comm_op (tape, name, in, group, backward_return);
  TapeValue out = tape_add_output (tape, op, out_elements);

  op->wire = wire;
  tape_push_forward (
      tape, op,
      tape_comm_desc (tape, name, COLLECTIVE_ALL_TO_ALL, group.axis, tape_comm_bytes (tape, in)),
      FALSE);
  return out;
}
