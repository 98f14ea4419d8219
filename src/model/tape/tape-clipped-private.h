/*
 * Gradients of weights under private training (model/step/privacy.h). With B samples of S tokens, a
 * weight of P = d p elements of e bytes, X (d wide) and dY (p wide) its input and the gradient of
 * its output, a linear runs in place of one product of 2 B S P FLOPs that writes e P:
 *
 *   flashdp       of each sample a product (writes e P) and a pass that clips it (2 e P), from the
 *                 second one on a pass that adds it (3 e P); then one that divides the sum (2 e P):
 *                 (6 B - 1) e P, 3 B kernels
 *   explicit      a batched product (writes B e P) | norms (read B e P) | a weighted sum (reads
 *                 B e P, writes e P)
 *   ghost,        norms by X X' and dY dY' of each sample, 2 B S^2 (d + p) FLOPs, where these are
 *   book-keeping  smaller than the gradients (2 S^2 < P), else by such gradients; then the product
 *                 of training without privacy: of a weighted loss (ghost: all of a backward pass
 *                 again), or of dY that a pass has weighed (book-keeping)
 *
 * Noise of each rank is two kernels more: drawn (writes e P), and added (3 e P).
 *
 * Sources: FlashDP's review code (liangyuwang/FlashDP4Review, flashdp/core/bmtm_clip_loop.py,
 * layers/linear.py); Opacus, grad_sample/linear.py and optimizers/optimizer.py; Bu et al.,
 * arXiv:2210.00038 (book-keeping), of whose rule for norms the threshold is from memory.
 */
#pragma once

#include "model/tape/tape-private.h"

gboolean tape_is_clipped (const Tape *tape);

/* Bytes that finding a gradient of ELEMENTS of OP takes beside the gradient, while it runs. */
double tape_clip_extra (const Tape *tape, const TapeOp *op, double elements);

/* All gradients of the linear OP, its bias among them. */
void tape_clip_linear (Tape *tape, const TapeOp *op);

/*
 * Those of the factors (and a bias) of a norm OP; SUMMED: the norm's own backward kernels have made
 * the sums over each sample's rows. Nothing without privacy. Returns whether the gradient is (also)
 * made as without privacy: by a backward pass that is repeated, too.
 */
gboolean tape_clip_rows (Tape *tape, const TapeOp *op, gboolean summed);

/* Those of the table of an embedding OP. CLEAR and SCATTER: its kernels without privacy. */
void tape_clip_table (Tape *tape, const TapeOp *op, KernelDesc clear, KernelDesc scatter);

/*
 * Of flat clipping: bytes that stay of the layer from the pass that finds norms to the one that
 * makes gradients, in place of what forward saved: gradients of samples (explicit), or inputs of
 * linears and gradients of their outputs (book-keeping). Ghost clipping keeps what is saved: 0.
 */
double tape_clip_held (const Tape *tape);
