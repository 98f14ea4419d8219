/*
 * The axes of a sweep: "training.micro_batch=1..16". Points are counted, never listed.
 *
 *   1,2,8                 values
 *   fsdp2,zero3           texts
 *   1..16                 every whole number
 *   1,2,4..64             on by the ratio, else the step, of the two numbers before and the start
 *   8,16..64              on by the step from the one number before: 8, 16, 24, ...
 *   1..64*2, 0..1+0.25    by that ratio, by that step
 *   "3:0.8,17:0.5"        one text, with its commas
 *
 * A range ends with the last number that is not above its end.
 */
#pragma once

#include "scenario/scenario.h"

typedef struct _Vary Vary;

Vary *vary_new (void);
void  vary_free (Vary *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Vary, vary_free)

/*
 * Adds an axis, KEY=VALUES as above; FALSE after diagnostics at MARK: also about a key that is no
 * option and no figure of the hardware ("nic.bandwidth"), and values that it does not take. Keys of
 * strategies are checked with their scenario.
 */
gboolean vary_add (Vary *self, const char *text, const SourceMark *mark, DiagList *diags);

guint       vary_n_axes (const Vary *self);
const char *vary_key (const Vary *self, guint axis);

guint64 vary_n_values (const Vary *self, guint axis);

/* Value I of AXIS. Newly allocated. */
char *vary_axis_value (const Vary *self, guint axis, guint64 i);

/* Points of the grid: 1 without axes; G_MAXUINT64 stands for that many and more. */
guint64 vary_length (const Vary *self);

/* Value of AXIS at POINT, the last axis running fastest. Newly allocated. */
char *vary_value (const Vary *self, guint64 point, guint axis);
