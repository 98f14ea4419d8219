/*
 * Medians of errors by source, held by a table beside the measurements (tests/data/validation).
 *
 *   source,class,rows,signed,absolute,bound
 *   deepops,infiniband: 256 MiB and more,17,+0.0123,0.0150,0.04
 *
 * `signed` and `absolute` are today's medians of predicted / measured - 1: a prediction that moves
 * either by more than MEDIANS_BAND, up or down, fails until somebody has looked at it.
 * UPDATE_GOLDEN=1 writes today's figures, and leaves `bound` alone: the largest |signed| that is
 * allowed, written by hand; `-` where the measurements are not of healthy hardware, so that they
 * bound nothing.
 */
#pragma once

#include <glib.h>

#define MEDIANS_BAND 0.005

typedef struct _Medians Medians;

Medians *medians_new (void);
void     medians_free (Medians *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Medians, medians_free)

/* Counts ERROR among those of SOURCE and CLASS_; lines are in the order of their first errors. */
void medians_note (Medians *self, const char *source, const char *class_, double error);

/* Fails the running test, after all differences went to stderr. FILE: in tests/data/validation. */
void medians_check (const Medians *self, const char *file);

/* ID without its trailing numbers, the source: of "vultr-01", "mpt-0046-r2". Newly allocated. */
char *medians_source_of (const char *id);

/* The file of that name in tests/data/validation; newly allocated. */
char *medians_path (const char *file);
