/* Which part of what a rank holds each fragment of an exchange has. */
#pragma once

#include "driver/policy/strategy.h"

/* What travels as a whole. */
typedef struct
{
  guint   fragment;
  guint64 elements;
} FragmentPiece;

/*
 * An array of FragmentPiece, as the exchange of RUN cuts what the rank holds: fragments have the
 * part of it that their tensors have of the model.
 */
GArray *fragment_pieces (const StrategyRun *run);

/* The same of the slices that are trained, which are a part of what is trained. */
guint64 fragment_sliced (const StrategyRun *run, guint fragment, guint64 total);

/* Of TOTAL elements that belong to what is trained those of FRAGMENT. They add up to TOTAL. */
guint64 fragment_share (const StrategyRun *run, guint fragment, guint64 total);
