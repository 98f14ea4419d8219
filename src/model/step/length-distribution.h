/*
 * Lengths of sequences that a scenario names instead of a file: distributions of public corpora,
 * and a log-normal one. Sequences are drawn with a seed: the i-th depends on nothing else, so that
 * more ranks or micro-batches see the same sequences.
 */
#pragma once

#include <glib.h>

typedef enum
{
  LENGTHS_MAGI,       /* documents of a pre-training corpus, by bins (SandAI-org/MagiAttention,
                         statistics of 13.46 M documents) */
  LENGTHS_PROLONG,    /* ProLong's 64K mix (arXiv:2410.02660): code repositories and books, 0.3 of
                         the tokens each, in sequences of 65 536; the rest by the bins above, cut
                         there: an estimate, as their lengths are not published */
  LENGTHS_LOG_NORMAL, /* of MEDIAN and TAIL */
  LENGTHS_N,
} LengthDistribution;

typedef struct
{
  LengthDistribution distribution;
  double             median, tail; /* of LENGTHS_LOG_NORMAL, tokens: tail is the 99th percentile */
  guint32            seed;
} LengthDraw;

/* The log-normal one of MEAN, whose standard deviation is SPREAD (0: none) times that. */
LengthDraw length_distribution_of_mean (double mean, double spread);

/* "magi", "prolong-64k", "log-normal". LENGTHS_N: NAME is none of them. */
LengthDistribution length_distribution_find (const char *name);

/* The length, in tokens, that a share U (0 to 1) of the sequences does not exceed. */
double length_distribution_quantile (const LengthDraw *self, double u);

/*
 * N lengths, gint64: each rounded up to a multiple of UNIT and cut at LONGEST, a multiple of it.
 * Free with g_array_unref.
 */
GArray *length_distribution_draw (const LengthDraw *self, guint64 n, gint64 unit, gint64 longest);
