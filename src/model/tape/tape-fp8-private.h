/* Linear layers in fp8: casts before the products (fp8.h). Internal to the layer. */
#pragma once

#include "model/tape/tape-private.h"

/*
 * Pushes onto LIST what makes the copy of VALUE (ROWS x WIDTH) along its rows for a gathering; NAME
 * is the collective's. Returns the copy. COLUMNS: NULL, or set to a second one along its columns.
 */
TapeValue tape_fp8_piece (Tape *tape, GArray *list, const char *name, TapeValue value,
                          TapeValue *columns);

/* VALUE is a copy in fp8. */
gboolean tape_is_fp8 (const Tape *tape, TapeValue value);

/* The products of OP, recorded last: the casts that they need, what they keep, and PRODUCT. */
void      tape_fp8_forward (Tape *tape, TapeOp *op, KernelDesc product);
TapeValue tape_fp8_backward_input (Tape *tape, const TapeOp *op, KernelDesc product);
void      tape_fp8_backward_weight (Tape *tape, const TapeOp *op, KernelDesc product);
