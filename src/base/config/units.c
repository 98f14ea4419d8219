#include "base/config/units.h"

#include <math.h>
#include <string.h>

/*
 * One spelling of a unit: base value = number * multiply / divide. Two factors keep "1.3 us"
 * correctly rounded.
 */
typedef struct
{
  const char *symbol;
  double      multiply;
  double      divide;
  gboolean    printed; /* one of the ascending steps that quantity_format chooses from */
} Unit;

typedef struct
{
  const char *name;
  const char *example;
  const char *units_help;
  const Unit *units; /* printed ones in ascending order; ended by a NULL symbol */
} Kind;

#define KI 1024.0
#define MI (KI * KI)
#define GI (MI * KI)
#define TI (GI * KI)
#define PI (TI * KI)

static const Unit time_units[] = {
  { "ps", 1, 1e12, TRUE },        { "ns", 1, 1e9, TRUE },  { "us", 1, 1e6, TRUE },
  { "ms", 1, 1e3, TRUE },         { "s", 1, 1, TRUE },     { "\302\265s", 1, 1e6, FALSE },
  { "\316\274s", 1, 1e6, FALSE }, { "min", 60, 1, FALSE }, { "h", 3600, 1, FALSE },
  { NULL, 0, 0, FALSE },
};

static const Unit byte_units[] = {
  { "B", 1, 1, TRUE },      { "KiB", KI, 1, TRUE },   { "MiB", MI, 1, TRUE },
  { "GiB", GI, 1, TRUE },   { "TiB", TI, 1, TRUE },   { "PiB", PI, 1, TRUE },
  { "kB", 1e3, 1, FALSE },  { "MB", 1e6, 1, FALSE },  { "GB", 1e9, 1, FALSE },
  { "TB", 1e12, 1, FALSE }, { "PB", 1e15, 1, FALSE }, { NULL, 0, 0, FALSE },
};

static const Unit bandwidth_units[] = {
  { "B/s", 1, 1, TRUE },       { "kB/s", 1e3, 1, TRUE },    { "MB/s", 1e6, 1, TRUE },
  { "GB/s", 1e9, 1, TRUE },    { "TB/s", 1e12, 1, TRUE },   { "PB/s", 1e15, 1, TRUE },
  { "KiB/s", KI, 1, FALSE },   { "MiB/s", MI, 1, FALSE },   { "GiB/s", GI, 1, FALSE },
  { "TiB/s", TI, 1, FALSE },   { "bit/s", 1, 8, FALSE },    { "kbit/s", 1e3, 8, FALSE },
  { "Mbit/s", 1e6, 8, FALSE }, { "Gbit/s", 1e9, 8, FALSE }, { "Tbit/s", 1e12, 8, FALSE },
  { NULL, 0, 0, FALSE },
};

static const Unit compute_units[] = {
  { "FLOP/s", 1, 1, TRUE },     { "kFLOP/s", 1e3, 1, TRUE },  { "MFLOP/s", 1e6, 1, TRUE },
  { "GFLOP/s", 1e9, 1, TRUE },  { "TFLOP/s", 1e12, 1, TRUE }, { "PFLOP/s", 1e15, 1, TRUE },
  { "EFLOP/s", 1e18, 1, TRUE }, { NULL, 0, 0, FALSE },
};

static const Unit count_units[] = {
  { "", 1, 1, TRUE },    { "k", 1e3, 1, TRUE },  { "M", 1e6, 1, TRUE },
  { "G", 1e9, 1, TRUE }, { "T", 1e12, 1, TRUE }, { NULL, 0, 0, FALSE },
};

static const Unit ratio_units[] = {
  { "%", 1, 100, TRUE },
  { "", 1, 1, FALSE },
  { NULL, 0, 0, FALSE },
};

static const Unit frequency_units[] = {
  { "Hz", 1, 1, TRUE },    { "kHz", 1e3, 1, TRUE }, { "MHz", 1e6, 1, TRUE },
  { "GHz", 1e9, 1, TRUE }, { NULL, 0, 0, FALSE },
};

static const Unit power_units[] = {
  { "W", 1, 1, TRUE },     { "kW", 1e3, 1, TRUE }, { "MW", 1e6, 1, TRUE },
  { "mW", 1, 1e3, FALSE }, { NULL, 0, 0, FALSE },
};

static const Unit length_units[] = {
  { "m", 1, 1, TRUE },
  { "km", 1e3, 1, TRUE },
  { NULL, 0, 0, FALSE },
};

static const Unit density_units[] = {
  { "W/Hz", 1, 1, TRUE },
  { NULL, 0, 0, FALSE },
};

static const Kind kinds[QUANTITY_N_KINDS] = {
  [QUANTITY_TIME] = { "a time", "1.3 us", "units of a time: ps, ns, us, ms, s, min, h",
                      time_units },
  [QUANTITY_BYTES] = { "a size", "80 GiB",
                       "units of a size: B, kB, MB, GB, TB, PB (powers of 1000), KiB, MiB, GiB, "
                       "TiB, PiB (powers of 1024)",
                       byte_units },
  [QUANTITY_BANDWIDTH] = { "a bandwidth", "900 GB/s",
                           "units of a bandwidth: bytes as B/s, kB/s, MB/s, GB/s, TB/s, PB/s or "
                           "KiB/s, MiB/s, GiB/s, TiB/s; bits as bit/s, kbit/s, Mbit/s, Gbit/s, "
                           "Tbit/s",
                           bandwidth_units },
  [QUANTITY_COMPUTE] = { "a compute rate", "989 TFLOP/s",
                         "units of a compute rate: FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, TFLOP/s, "
                         "PFLOP/s, EFLOP/s",
                         compute_units },
  [QUANTITY_COUNT] = { "a count", "10k", "a count has no unit; the suffixes k, M, G, T are decimal",
                       count_units },
  [QUANTITY_RATIO] = { "a ratio", "0.85",
                       "a ratio is a plain number or a percentage such as '85 %'", ratio_units },
  [QUANTITY_FREQUENCY] = { "a frequency", "1.98 GHz", "units of a frequency: Hz, kHz, MHz, GHz",
                           frequency_units },
  [QUANTITY_POWER] = { "a power", "700 W", "units of a power: mW, W, kW, MW", power_units },
  [QUANTITY_LENGTH] = { "a length", "200 m", "units of a length: m, km", length_units },
  [QUANTITY_DENSITY] = { "a noise density", "4e-21 W/Hz", "the unit of a noise density: W/Hz",
                         density_units },
};

const char *
quantity_kind_name (QuantityKind kind)
{
  g_assert (kind < G_N_ELEMENTS (kinds));
  return kinds[kind].name;
}

const char *
quantity_kind_example (QuantityKind kind)
{
  g_assert (kind < G_N_ELEMENTS (kinds));
  return kinds[kind].example;
}

const char *
quantity_kind_units (QuantityKind kind)
{
  g_assert (kind < G_N_ELEMENTS (kinds));
  return kinds[kind].units_help;
}

static const Unit *
find_unit (QuantityKind kind, const char *symbol)
{
  for (const Unit *unit = kinds[kind].units; unit->symbol; unit++)
    if (strcmp (unit->symbol, symbol) == 0)
      return unit;
  return NULL;
}

/* The kind other than KIND that SYMBOL belongs to, or -1. */
static gint
find_other_kind (QuantityKind kind, const char *symbol)
{
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (i != (guint) kind && *symbol && find_unit (i, symbol))
      return (gint) i;
  return -1;
}

static const char *
skip_digits (const char *text, guint *n_digits)
{
  for (; g_ascii_isdigit (*text); text++)
    *n_digits += 1;
  return text;
}

/*
 * End of the decimal number at the start of TEXT, or NULL. Scanned here because strtod also takes
 * hexadecimal numbers, "inf" and "nan". An 'e' counts as an exponent only before digits, so
 * "1EFLOP/s" is a number and a unit.
 */
static const char *
scan_number (const char *text)
{
  guint n_digits = 0;

  if (*text == '-' || *text == '+')
    text++;
  text = skip_digits (text, &n_digits);
  if (*text == '.')
    text = skip_digits (text + 1, &n_digits);
  if (n_digits == 0)
    return NULL;

  if (*text == 'e' || *text == 'E')
    {
      const char *exponent = text + (text[1] == '-' || text[1] == '+' ? 2 : 1);
      if (g_ascii_isdigit (*exponent))
        return skip_digits (exponent, &n_digits);
    }
  return text;
}

static gboolean
is_not_finite (const char *text)
{
  if (*text == '-' || *text == '+')
    text++;
  return g_ascii_strncasecmp (text, "nan", 3) == 0 || g_ascii_strncasecmp (text, "inf", 3) == 0
         || g_ascii_strncasecmp (text, ".nan", 4) == 0
         || g_ascii_strncasecmp (text, ".inf", 4) == 0;
}

/*
 * Sets *WHY to "expected <kind> such as '<example>', got '<TEXT>'<REASON>"; always FALSE. Takes
 * REASON.
 */
static gboolean
refuse (QuantityKind kind, const char *text, char *reason, char **why)
{
  g_autofree char *owned = reason;

  if (why)
    *why = g_strdup_printf ("expected %s such as '%s', got '%s'%s", kinds[kind].name,
                            kinds[kind].example, text, owned ? owned : "");
  return FALSE;
}

static gboolean
refuse_unit (QuantityKind kind, const char *text, const char *symbol, char **why)
{
  gint other = find_other_kind (kind, symbol);

  if (!*symbol)
    return refuse (kind, text, g_strdup (", which has no unit"), why);
  if (other >= 0)
    return refuse (kind, text, g_strdup_printf (", which is %s", kinds[other].name), why);
  return refuse (kind, text, g_strdup_printf (" with the unknown unit '%s'", symbol), why);
}

gboolean
number_is_usable (double number)
{
  return number == 0 || (fabs (number) >= 1e-30 && fabs (number) <= 1e30);
}

gboolean
quantity_parse (QuantityKind kind, const char *text, double *value, char **why)
{
  g_autofree char *stripped = NULL;

  g_assert (kind < G_N_ELEMENTS (kinds) && text && value);
  stripped = g_strstrip (g_strdup (text));

  const char *end = scan_number (stripped);
  if (!end)
    return refuse (kind, stripped,
                   is_not_finite (stripped) ? g_strdup (", which is not a finite number") : NULL,
                   why);

  const char *symbol = end;
  while (g_ascii_isspace (*symbol))
    symbol++;
  const Unit *unit = find_unit (kind, symbol);
  if (!unit)
    return refuse_unit (kind, stripped, symbol, why);

  double number = g_ascii_strtod (stripped, NULL) * unit->multiply / unit->divide;
  if (!number_is_usable (number))
    return refuse (kind, stripped,
                   g_strdup (fabs (number) < 1 ? ", which is too small" : ", which is too large"),
                   why);
  if (number < 0)
    return refuse (kind, stripped, g_strdup (", which is negative"), why);

  *value = number == 0 ? 0 : number; /* "-0" is zero */
  return TRUE;
}

/* MAGNITUDE in fixed notation with at least DIGITS significant digits. */
static char *
format_digits (double magnitude, guint digits)
{
  char buffer[400]; /* the largest double has 309 digits */
  char format[16];
  int  exponent = magnitude > 0 ? (int) floor (log10 (magnitude)) : 0;
  int  decimals = CLAMP ((int) digits - 1 - exponent, 0, 60);

  g_snprintf (format, sizeof format, "%%.%df", decimals);
  g_ascii_formatd (buffer, sizeof buffer, format, magnitude);
  return g_strdup (buffer);
}

/*
 * MAGNITUDE rounded to DIGITS significant digits, so that 999.9 GB/s becomes 1.00 TB/s and not 1000
 * GB/s.
 */
static double
round_digits (double magnitude, guint digits)
{
  char buffer[64];
  char format[16];

  g_snprintf (format, sizeof format, "%%.%ue", digits - 1);
  g_ascii_formatd (buffer, sizeof buffer, format, magnitude);
  return g_ascii_strtod (buffer, NULL);
}

/* The largest printed unit of KIND that leaves a number of at least one, else the smallest. */
static const Unit *
choose_unit (QuantityKind kind, double magnitude, guint digits)
{
  const Unit *best = kinds[kind].units;

  for (const Unit *unit = best + 1; unit->symbol && unit->printed; unit++)
    if (round_digits (magnitude * unit->divide / unit->multiply, digits) >= 1)
      best = unit;
  return best;
}

char *
quantity_format (QuantityKind kind, double value, guint digits)
{
  g_assert (kind < G_N_ELEMENTS (kinds));
  digits = CLAMP (digits, 1, 17);

  if (!isfinite (value))
    return g_strdup (isnan (value) ? "nan" : value > 0 ? "inf" : "-inf");

  double      magnitude = fabs (value);
  const Unit *unit = choose_unit (kind, magnitude, digits);
  double      scaled = magnitude * unit->divide / unit->multiply;
  if (!isfinite (scaled))
    return number_format_exact (value); /* percent of a number at the end of the range */

  gboolean discrete = kind == QUANTITY_COUNT || kind == QUANTITY_BYTES;
  /* Bytes and counts below the first prefix are whole numbers and stay it: "1023 B", "7". */
  gboolean whole =
      scaled == 0 || (discrete && unit == kinds[kind].units && scaled == floor (scaled));

  if (!whole)
    scaled = round_digits (scaled, digits);
  g_autofree char *number = format_digits (scaled, whole ? 1 : digits);
  const char      *space = kind == QUANTITY_COUNT ? "" : " ";

  return g_strconcat (value < 0 && scaled > 0 ? "-" : "", number, *unit->symbol ? space : "",
                      unit->symbol, NULL);
}

char *
quantity_format_exact (QuantityKind kind, double value)
{
  g_autofree char *best = NULL;

  g_assert (kind < G_N_ELEMENTS (kinds) && isfinite (value) && value >= 0);
  for (const Unit *unit = kinds[kind].units; unit->symbol; unit++)
    {
      double           scaled = value * unit->divide / unit->multiply;
      double           back = 0;
      g_autofree char *number = isfinite (scaled) ? number_format_exact (scaled) : g_strdup ("");
      const char      *space = *unit->symbol && kind != QUANTITY_COUNT ? " " : "";
      g_autofree char *text = g_strconcat (number, space, unit->symbol, NULL);

      if (quantity_parse (kind, text, &back, NULL) && back == value
          && (!best || strlen (text) < strlen (best)))
        {
          g_free (best);
          best = g_steal_pointer (&text);
        }
    }
  g_assert (best); /* the unit with factor one always reads back */
  return g_steal_pointer (&best);
}

/* 2^64: the first double that no SimTime holds. */
#define TOO_LONG 18446744073709551616.0

SimTime
sim_time_from_seconds (double seconds)
{
  double ps = round (seconds * (double) SIM_TIME_PER_SECOND);

  g_assert (seconds >= 0);
  return ps < TOO_LONG ? (SimTime) ps : SIM_TIME_MAX;
}

SimTime
sim_time_span (double amount, double rate)
{
  double ps, nearest;

  if (!(amount > 0))
    return 0;
  ps = amount / rate * (double) SIM_TIME_PER_SECOND;
  nearest = floor (ps + 0.5);
  if (!(fabs (ps - nearest) <= 1e-9 + 1e-14 * ps))
    nearest = ceil (ps);
  return nearest < TOO_LONG ? (SimTime) nearest : SIM_TIME_MAX;
}

char *
number_format_exact (double value)
{
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  char format[8];
  /*
   * "%g" drops trailing zeros, so 15 digits cover all shorter texts; subnormal numbers have fewer
   * digits.
   */
  guint first = fabs (value) < 1e-300 ? 1 : 15;

  if (value >= 1 && value < 1e15 && value == floor (value)) /* most are; 15 digits print the same */
    return g_strdup_printf ("%" G_GINT64_FORMAT, (gint64) value);
  for (guint digits = first; digits <= 17; digits++)
    {
      g_snprintf (format, sizeof format, "%%.%ug", digits);
      g_ascii_formatd (buffer, sizeof buffer, format, value);
      if (isnan (value) || g_ascii_strtod (buffer, NULL) == value)
        break;
    }
  return g_strdup (isnan (value) ? "nan" : buffer);
}
