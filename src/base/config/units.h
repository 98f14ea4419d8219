/*
 * Quantities with units.
 *
 * Every physical quantity in an input carries a unit: "900 GB/s", "80 GiB", "400 Gbit/s", "1.3 us",
 * "989 TFLOP/s". SI (k = 1000) and IEC (Ki = 1024) prefixes are kept apart, bits and bytes too.
 * Inside the program a quantity is a double in the base unit of its kind; simulated time is an
 * integer count of picoseconds (SimTime).
 */
#pragma once

#include <glib.h>

/*
 * Simulated time, in picoseconds. 2^64 ps are 213 days: what would be later is SIM_TIME_MAX, in
 * every function here, and a run that comes to it fails (engine_set_too_long in engine/engine.h).
 * Times are never added with `+` where both may be long, nor subtracted where the result may be
 * negative.
 */
typedef guint64 SimTime;

#define SIM_TIME_PER_SECOND G_GUINT64_CONSTANT (1000000000000)
#define SIM_TIME_MAX        G_MAXUINT64

typedef enum
{
  QUANTITY_TIME,      /* s:       ps ns us ms s min h */
  QUANTITY_BYTES,     /* B:       B kB MB GB TB PB, KiB MiB GiB TiB PiB */
  QUANTITY_BANDWIDTH, /* B/s:     B/s kB/s .. TB/s, KiB/s .. TiB/s, bit/s kbit/s .. Tbit/s */
  QUANTITY_COMPUTE,   /* FLOP/s:  FLOP/s kFLOP/s .. PFLOP/s EFLOP/s */
  QUANTITY_COUNT,     /* 1:       no unit; suffixes k M G T (decimal) allowed: "10k", "5e8" */
  QUANTITY_RATIO,     /* 1:       a plain number, or "85 %" */
  QUANTITY_FREQUENCY, /* Hz:      Hz kHz MHz GHz */
  QUANTITY_POWER,     /* W:       mW W kW MW */
  QUANTITY_LENGTH,    /* m:       m km */
  QUANTITY_DENSITY,   /* W/Hz:    W/Hz; of noise, whose power grows with the bandwidth */
  QUANTITY_N_KINDS,
} QuantityKind;

/*
 * Whether reports can hold NUMBER, and what is computed of a few of them: zero, or of a magnitude
 * from 1e-30 to 1e30. No physical quantity, count or measurement is beyond; what is beyond ends in
 * infinities, NaN and numbers of 300 digits. Readers of numbers refuse it.
 */
gboolean number_is_usable (double number);

/* Name of a kind with its article, for messages: "a bandwidth". */
const char *quantity_kind_name (QuantityKind kind);

/* An example of a well-formed value of a kind, for messages: "900 GB/s". */
const char *quantity_kind_example (QuantityKind kind);

/* The units of a kind as one line, for hints: "units of a time: ps, ns, us, ms, s, min, h". */
const char *quantity_kind_units (QuantityKind kind);

/*
 * Parses TEXT ("900GB/s", "900 GB/s") as a quantity of KIND. Returns TRUE and sets *VALUE in the
 * base unit. Otherwise returns FALSE and, where WHY is not NULL, sets *WHY to a newly allocated
 * message such as "expected a bandwidth such as '900 GB/s', got 'fast'" (a unit of another kind, a
 * missing unit, a negative, infinite or malformed number each say so). The number is read in the C
 * locale.
 */
gboolean quantity_parse (QuantityKind kind, const char *text, double *value, char **why);

/*
 * Prints VALUE (base unit) in engineering units with DIGITS significant digits: "1.34 us", "12.5
 * GB/s", "39.4 GiB" (bytes in IEC units, everything else SI). Newly allocated. Independent of the
 * locale.
 */
char *quantity_format (QuantityKind kind, double value, guint digits);

/*
 * Shortest text with a unit that quantity_parse reads back as exactly VALUE (finite, not negative):
 * "900 GB/s", "80 GiB", "400 Gbit/s". Newly allocated.
 */
char *quantity_format_exact (QuantityKind kind, double value);

/*
 * Seconds to picoseconds, rounded to nearest; saturates at SIM_TIME_MAX; SECONDS must not be
 * negative or NaN.
 */
SimTime sim_time_from_seconds (double seconds);

/*
 * When AMOUNT has passed at RATE (1/s, not negative), in ps after now: rounded up, but for rounding
 * residues; 0 without an amount, SIM_TIME_MAX when it does not end.
 */
SimTime sim_time_span (double amount, double rate);

static inline SimTime
sim_time_add (SimTime a, SimTime b)
{
  return a < SIM_TIME_MAX - b ? a + b : SIM_TIME_MAX;
}

static inline double
sim_time_to_seconds (SimTime t)
{
  return (double) t / (double) SIM_TIME_PER_SECOND;
}

/*
 * Shortest decimal text that reads back as VALUE, in the C locale: for CSV, JSON and other machine
 * output.
 */
char *number_format_exact (double value);
