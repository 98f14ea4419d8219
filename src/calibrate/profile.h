/*
 * A profile from what the microbenchmark runner measured: results.csv with a device makes a GPU's,
 * without one (MPI on plain hosts) a network link's; either makes a node's, of its cores and
 * drives. Every figure is a robust fit (robust-fit.h) of named rows by a rule; the tables of rules
 * are in device.c, network.c and host.c. What no figure takes is fitted for the report alone.
 */
#pragma once

#include "calibrate/robust-fit.h"
#include "import/log/bench-results.h"

/* One figure, or one quantity for the report. */
typedef struct
{
  const char  *figure; /* key of the profile; NULL: no figure takes it */
  char        *what;   /* "empty kernels, back to back" */
  QuantityKind kind;
  FitVerdict   verdict;
  char        *why;    /* of a verdict that is not good, else NULL */
  const char  *text;   /* of a plain key of the profile instead of a value; NULL: it is a figure */
  double       before; /* base unit; NAN: there is none */
  double       after;  /* unless the verdict is not good */
  double low, high;    /* spread of the measurements, low <= after <= high; both NAN: one value */
  guint  n;            /* measurements */
  double residual_median, residual_p90; /* NAN: nothing to be off from */
} FittedValue;

typedef struct
{
  const BenchResults *results;
  const char         *kind;  /* "gpu", "link", "node" */
  char               *base;  /* id of the profile that is extended */
  char               *title; /* of that profile */
  GPtrArray *fits;     /* FittedValue *: figures in the rules' order, then what is only reported */
  GArray    *products; /* BenchRow, a shape each: what stands beside a GPU's profile */
} ProfileCalibration;

/*
 * Fits the figures of the profile KIND/BASE to RESULTS, which outlive the result, and leaves the
 * values in PROFILES. KIND is calibrate_profile_kind's, or "node". NULL after diagnostics where
 * there is no such profile; a device of another size than BASE is a warning.
 */
ProfileCalibration *calibrate_profile (const BenchResults *results, ProfileSet *profiles,
                                       const char *kind, const char *base, DiagList *diags);
void                profile_calibration_free (ProfileCalibration *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ProfileCalibration, profile_calibration_free)

/*
 * The kind of profile that RESULTS make first of all: "gpu" where they have a device, else "link".
 */
const char *calibrate_profile_kind (const BenchResults *results);

/*
 * The id of the one profile of KIND whose title and id hold every word of the device's
 * name ("NVIDIA H200": vendor and form left aside). NULL after a diagnostic that lists the
 * candidates; always for a link or a node, whose names the results do not say. Newly allocated.
 */
char *calibrate_profile_guess (const BenchResults *results, ProfileSet *profiles, const char *kind,
                               DiagList *diags);

/* TRUE when there is a figure to write and none contradicts its data. */
gboolean profile_calibration_is_good (const ProfileCalibration *self);

/*
 * Writes the figures to FILE (".../ID.yaml"), and a GPU's products to ID.matmul.csv beside it: each
 * complete or untouched, and neither without the other. Folders are made. FALSE with ERROR set.
 */
gboolean profile_calibration_write (const ProfileCalibration *self, const char *file,
                                    GError **error);

/* ---- for the rules (profile-fits.c, units.c, device.c, host.c, network.c, others.c) ---- */

typedef struct _Calibration Calibration;
typedef struct _FitRule     FitRule;

/* Fills OUT, whose texts, kind and `before` are set; may leave it good with `after` alone. */
typedef void (*FitFunc) (const Calibration *calibration, const FitRule *rule, FittedValue *out);

struct _FitRule
{
  const char  *figure, *what;
  QuantityKind kind;
  FitFunc      fit;
  const char  *benchmark, *variant, *dtypes; /* what `fit` is about, where it serves several */
  gsize        offset;                       /* of the figure in GpuProfile, where `fit` needs it */
};

struct _Calibration
{
  const BenchResults *results;
  const GpuProfile   *gpu;  /* of a GPU: the extended profile with what was fitted so far */
  const LinkProfile  *link; /* of a link: the same */
  const NodeProfile  *node; /* of a node: the same */
  GHashTable         *used; /* BenchRow * that a rule has looked at */
  ProfileCalibration *result;
};

/* end: `what` is NULL */
extern const FitRule calibrate_device_rules[], calibrate_network_rules[], calibrate_host_rules[];

/*
 * Rows of a benchmark, variant and type of data (of each "nn|nt": either); DTYPE NULL, RANKS 0:
 * of any. Newly allocated array of const BenchRow *; the rows count as used.
 */
GPtrArray *calibration_rows (const Calibration *self, const char *benchmark, const char *variant,
                             const char *dtype, guint ranks);

/*
 * A line through ROWS, bytes times FACTOR. OUT gets verdict, rows and residuals; the caller the
 * line.
 */
LineFit calibration_line (const GPtrArray *rows, double factor, FittedValue *out);

/* The median of ROWS' values and their spread, without outliers. */
void calibration_median (const GPtrArray *rows, FittedValue *out);

/*
 * The spread of the rate of ROWS (units of bytes times FACTOR per s) that LINE's latency leaves,
 * over sizes well beyond its half-bandwidth size and without outliers. FALSE where there are none.
 */
gboolean calibration_rate_spread (const GPtrArray *rows, double factor, const LineFit *line,
                                  double *low, double *high);

/* OUT is refused. Takes WHY. */
void calibration_refuse (FittedValue *out, FitVerdict verdict, char *why);

/* The layouts of matrix products (docs/bench.md). */
#define CALIBRATE_LAYOUTS "nn|nt|tn"

/*
 * An efficiency of the matrix units: what makes the model's time of large kernels, whose main loops
 * they bind, the measured one. Of products that is the best; of attention, where the model has all
 * that shapes cost, the median.
 */
void calibration_fit_units (const Calibration *self, const FitRule *rule, FittedValue *out);

/* Speed under a load of seconds against that of a short measurement of the same product. */
void calibration_fit_sustained_clock (const Calibration *self, const FitRule *rule,
                                      FittedValue *out);

/* The products that a profile's table takes, sorted: each the median of its layouts and repeats. */
GArray *calibration_products (const Calibration *self);

/* Fits what no rule has used, a benchmark, variant and type of data at a time, for the report. */
void calibration_report_others (Calibration *self);
