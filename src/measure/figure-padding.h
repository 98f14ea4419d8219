/*
 * Padding of sharding formats over numbers of ranks, beside what was published of it. Nothing is
 * simulated: the numbers are those of `shardsim shards`, so a statement holds or not, and a golden
 * vector is met exactly or not. NAME.padding.csv has a line a statement (one line each):
 *
 *   figure,row,model,format,block,unit,ranks,quantity,published,assumptions
 *   figure 11,"gpt-oss-120b, a row",gpt-oss-120b,ragged,1row,experts,8..1024,
 *     padding_percent,< 3,
 *
 * `unit` is a block's layer, or its routed experts by themselves, as they are gathered; `quantity`
 * its padding in percent, or the elements of a rank's shard of it. Without a published number a
 * line is a curve for the picture.
 */
#pragma once

#include "base/diag.h"

/* How a published number is meant. */
typedef enum
{
  PADDING_EACH,  /* "33": at each number of ranks */
  PADDING_BELOW, /* "< 3": no number of ranks has more */
  PADDING_UP_TO, /* "up to 18": the most that a number of ranks has */
} PaddingMeaning;

/* The strings belong to the figure. */
typedef struct
{
  const char    *figure, *row, *model, *format, *block, *unit, *quantity, *said, *assumptions;
  const char    *ranks_text; /* as shard_ranks_parse takes them */
  GArray        *ranks;      /* guint, ascending */
  GArray        *values;     /* double, of each */
  PaddingMeaning meaning;
  double         published; /* NAN: nobody says */
  double         low, high; /* of the values */
  double         error;     /* of the worst of them; 0 where no more was said; NAN */
  gboolean       holds;     /* what was said, as far as its digits go */
} PaddingRow;

typedef struct
{
  char         *name;
  GArray       *rows; /* PaddingRow */
  GStringChunk *strings;
} FigurePadding;

/* Whether ROW is of percents, which the picture shows. */
gboolean padding_is_percent (const PaddingRow *row);

/* Whether the figures NAME in FOLDER are of this kind. */
gboolean figure_padding_is (const char *folder, const char *name);

/* NULL after diagnostics. */
FigurePadding *figure_padding_compute (const char *folder, const char *name, DiagList *diags);
void           figure_padding_free (FigurePadding *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FigurePadding, figure_padding_free)
