/*
 * Measured collectives against predictions: the error of every row, and statistics of the errors.
 *
 * error = predicted / measured - 1, signed. A row counts in one part of the summary; in each part
 * there are groups over all its rows, by size, by nodes and size, by collective, by the family of
 * the link that binds them, and by run. Rows that could not be simulated are counted over all and
 * by size: a group whose hard rows are refused must not look like one that meets them.
 */
#pragma once

#include "evidence/tables/collective-predictor.h"
#include "evidence/tables/statistics.h"

/* What a row counts as. */
typedef enum
{
  VALIDATION_MAIN,      /* healthy; with leave-one-out: predicted by a fit without its source */
  VALIDATION_AS_FITTED, /* healthy; leave-one-out only: no other source has its link's family */
  VALIDATION_UNCLEAR,   /* not marked healthy */
  VALIDATION_UNHEALTHY,
  VALIDATION_N_PARTS,
} ValidationPart;

const char *validation_part_key (ValidationPart part); /* "as_fitted" */

typedef enum
{
  VALIDATION_ALL,
  VALIDATION_BY_SIZE,
  VALIDATION_BY_NODES, /* and by size: one node, two, more */
  VALIDATION_BY_COLLECTIVE,
  VALIDATION_BY_FAMILY,
  VALIDATION_BY_RUN,
  VALIDATION_N_GROUPINGS,
} ValidationGrouping;

const char *validation_grouping_key (ValidationGrouping grouping); /* "by_size" */

typedef struct
{
  const Measurement  *measured;
  char               *reason; /* NULL, or why it could not be simulated; then the rest is unset */
  double              predicted; /* s */
  double              error;
  guint               n_ranks, n_nodes; /* n_nodes: that they are on */
  char               *profiles;         /* what profiles_used says of it */
  char               *hardware; /* "2 nodes x 8 a100-sxm-40, nvlink3-switch, 8 ib-hdr-200" */
  char               *family;   /* see measurement_link_family */
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  char               *binding; /* collective_cost_binding */
  ValidationPart      part;
} ValidatedRow;

typedef struct
{
  ValidationPart     part;
  ValidationGrouping grouping;
  char              *name;     /* "all", "1 MiB to 256 MiB", "deepops-01" */
  const char        *hardware; /* of a run: its first row's; else NULL */
  ErrorStatistics    errors;
  guint              n_failed; /* of all rows and of a size: rows that could not be simulated */
} ValidationGroup;

/* How the errors of the healthy rows of one size grow with the nodes, on two nodes and more. */
typedef struct
{
  const char *name;         /* "1 MiB to 256 MiB" */
  guint       n;            /* rows */
  guint       fewest, most; /* nodes */
  double      slope;        /* of ln (predicted / measured), per doubling (statistics_slope) */
} ValidationTrend;

typedef struct
{
  GPtrArray *measurements; /* owned: what the rows point to */
  GArray    *rows;         /* ValidatedRow, in the table's order */
  GArray    *groups;       /* ValidationGroup that are not empty: by part, grouping, then first row
                              (nodes: few first; sizes: large first) */
  GArray    *trends;   /* ValidationTrend of sizes that have two numbers of nodes; large first */
  guint      n_failed; /* rows that could not be simulated */
  gboolean   left_out; /* leave-one-out */
} CollectiveValidation;

/* ---- parts of the below, for who predicts some rows in another way --------------------------- */

void validated_row_clear (gpointer row);
/* Row I of MEASUREMENTS, which PREDICTOR is about. */
ValidatedRow validated_row_predict (CollectivePredictor *predictor, const GPtrArray *measurements,
                                    guint i);
/* The rows as PROFILES predict them, without groups. Takes MEASUREMENTS. */
CollectiveValidation *collective_validation_new (GPtrArray *measurements, ProfileSet *profiles);
/* Makes the groups and the trends of the rows. */
void collective_validation_summarise (CollectiveValidation *self);

/* ---- the whole ------------------------------------------------------------------------------- */

/*
 * Predicts MEASUREMENTS (which it takes) with the profiles of PROFILE_DIR (of profile_set_new).
 * Never fails.
 */
CollectiveValidation *validate_collectives (GPtrArray *measurements, const char *profile_dir);

void collective_validation_free (CollectiveValidation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectiveValidation, collective_validation_free)

/* The group of all rows of PART; NULL when it has none. */
const ValidationGroup *collective_validation_overall (const CollectiveValidation *self,
                                                      ValidationPart              part);

/* nccl-tests' bus bandwidth of ROW in TIME, B/s. */
double validation_bus_bandwidth (const ValidatedRow *row, double time);
