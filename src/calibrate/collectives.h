/*
 * Fits the figures of link profiles to measured collectives: one value a family of links, or one a
 * generation (a link profile) where the figure is relative to its bandwidth. No row, source,
 * cluster or size has a parameter of its own.
 *
 * A family's figures minimise the mean of |log (predicted / measured)| over the healthy rows in
 * which one of its links takes part. Families that meet in rows are fitted in turn until nothing is
 * gained. The figures that are fitted, and their bounds, are the table in collectives.c.
 */
#pragma once

#include <gio/gio.h>

#include "import/log/measurement.h"

#define CALIBRATION_MIN_ROWS 5 /* healthy rows that a family needs */
#define CALIBRATION_MAX_RATIO \
  2.0 /* of two healthy measurements of the same thing, and of the typical misfit after the fit */

/* One figure of one link, or of all links of a family. */
typedef struct
{
  const char  *key;  /* "hop_ll" */
  const char  *link; /* id; NULL: all of the family's */
  QuantityKind kind;
  double       before,
      after; /* where LINK is NULL, before: of the family's first; 0 = the library's own table */
  gboolean moved;
} FittedFigure;

typedef struct
{
  char      *name;          /* measurement_link_family */
  GPtrArray *links;         /* ids of its links in the table, sorted */
  GPtrArray *sources;       /* prefixes of the ids of its healthy rows, in the table's order */
  guint      n_rows;        /* healthy rows */
  char      *refusal;       /* NULL, or why it was not fitted */
  GArray    *figures;       /* FittedFigure: what may move */
  double     before, after; /* mean of |log (predicted / measured)| */
} FittedFamily;

typedef struct
{
  GPtrArray *families; /* FittedFamily *, sorted by name */
} CollectiveCalibration;

/*
 * Fits to ROWS (Measurement *) and leaves the fitted values in PROFILES. With LEFT_OUT, rows whose
 * source prefix it is are not looked at, and the fit starts from the library's tables where a
 * figure has such a start. ONLY (NULL: all) names the families to fit. Never fails: families say
 * why they were not fitted.
 */
CollectiveCalibration *calibrate_collectives (const GPtrArray *rows, ProfileSet *profiles,
                                              const char *left_out, const GPtrArray *only);
void                   collective_calibration_free (CollectiveCalibration *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectiveCalibration, collective_calibration_free)

const FittedFamily *collective_calibration_find (const CollectiveCalibration *self,
                                                 const char                  *family);

/* Leaves the fitted values of SELF in PROFILES, but those of the families named in EXCEPT. */
void collective_calibration_apply (const CollectiveCalibration *self, ProfileSet *profiles,
                                   const GPtrArray *except);

/*
 * Writes DIR/link/ID.yaml for every link of every fitted family that has a figure that moved: a
 * profile that extends the stock one of its name. Folders are made; none is touched before all are
 * complete beside their places. *N_FILES: how many. FALSE with ERROR set.
 */
gboolean collective_calibration_write (const CollectiveCalibration *self, const char *dir,
                                       guint *n_files, GError **error);
