/* What the text and the page of `shards` share. Strings are newly allocated. */
#pragma once

#include "report/shards.h"

/* "116.829G parameters in 38 units: embedding, 36 x block 0 to 35, head" */
char *shards_summary (const Shards *self);
char *shards_padding (double ratio);             /* "0.71 %": three digits */
char *shards_gathered (const ShardSize *size);   /* "11.92 GiB (+99.2 %)" */
char *shards_misaligned (const ShardSize *size); /* "37 of 38" */
char *shards_copied (const ShardSize *size);

/* What ADVICE says to do, as a sentence. */
char *shards_advice (const ShardAdvice *advice);

/* Cells of PLACE, a strv: unit, tensor, shape, block, start, end, ranks, on one, padding. */
#define SHARDS_PLACE_CELLS 9
char                   **shards_place_cells (const ShardPlace *place);
extern const char *const shards_place_titles[SHARDS_PLACE_CELLS];
#define SHARDS_PLACE_TEXTS 3 /* so many of the first are no numbers */

/* What starts, ends and padding of the layout are: a sentence. */
const char *shards_layout_note (const Shards *self);
