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

#include "evidence/figures/figure.h"

/* How a published number is meant. */
typedef enum
{
  PADDING_EACH,  /* "33": at each number of ranks */
  PADDING_BELOW, /* "< 3": no number of ranks has more */
  PADDING_UP_TO, /* "up to 18": the most that a number of ranks has */
} PaddingMeaning;

/* A line of the table: a statement, or a curve. */
typedef struct
{
  const char    *figure, *row, *model, *format, *block, *unit, *quantity, *said, *assumptions;
  const char    *ranks_text; /* as shard_ranks_parse takes them */
  GArray        *ranks;      /* guint, ascending */
  gboolean       percent;    /* a quantity of percents, which the picture shows */
  PaddingMeaning meaning;
  double         published; /* NAN: nobody says */
  /* what comes of it */
  guint    first;     /* its first row; it has one for each number of ranks */
  double   low, high; /* of the rows */
  double   error;     /* of the worst of them; 0 where no more was said; NAN */
  gboolean holds;     /* what was said, as far as its digits go */
} PaddingLine;

/* A row: a number of ranks of a line. */
typedef struct
{
  const PaddingLine *line;
  guint              ranks;
  double             value;
} PaddingPoint;
