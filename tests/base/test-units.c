/*
 * Quantities: every unit against a factor written out here, what is refused and with which words,
 * printing, and that printing reads back. It does not test which locales exist: where none has a
 * decimal comma, that test says so.
 */
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "../suite.h"
#include "base/config/units.h"
#include "fixture.h"

typedef struct
{
  QuantityKind kind;
  const char  *text;
  double       value;
} Reading;

static const Reading readings[] = {
  { QUANTITY_TIME, "7 ps", 7e-12 },
  { QUANTITY_TIME, "7 ns", 7e-9 },
  { QUANTITY_TIME, "1.3 us", 1.3e-6 },
  { QUANTITY_TIME, "1.3 \302\265s", 1.3e-6 },
  { QUANTITY_TIME, "7 ms", 7e-3 },
  { QUANTITY_TIME, "7 s", 7 },
  { QUANTITY_TIME, "7 min", 420 },
  { QUANTITY_TIME, "7 h", 25200 },
  { QUANTITY_BYTES, "3 B", 3 },
  { QUANTITY_BYTES, "3 kB", 3000 },
  { QUANTITY_BYTES, "3 MB", 3000000 },
  { QUANTITY_BYTES, "3 GB", 3000000000.0 },
  { QUANTITY_BYTES, "3 TB", 3000000000000.0 },
  { QUANTITY_BYTES, "3 PB", 3000000000000000.0 },
  { QUANTITY_BYTES, "3 KiB", 3072 },
  { QUANTITY_BYTES, "3 MiB", 3145728 },
  { QUANTITY_BYTES, "80 GiB", 85899345920.0 },
  { QUANTITY_BYTES, "3 TiB", 3298534883328.0 },
  { QUANTITY_BYTES, "3 PiB", 3377699720527872.0 },
  { QUANTITY_BANDWIDTH, "900 B/s", 900 },
  { QUANTITY_BANDWIDTH, "900 kB/s", 900e3 },
  { QUANTITY_BANDWIDTH, "900 MB/s", 900e6 },
  { QUANTITY_BANDWIDTH, "900 GB/s", 900e9 },
  { QUANTITY_BANDWIDTH, "4.8 TB/s", 4.8e12 },
  { QUANTITY_BANDWIDTH, "2 PB/s", 2e15 },
  { QUANTITY_BANDWIDTH, "2 KiB/s", 2048 },
  { QUANTITY_BANDWIDTH, "2 MiB/s", 2097152 },
  { QUANTITY_BANDWIDTH, "2 GiB/s", 2147483648.0 },
  { QUANTITY_BANDWIDTH, "2 TiB/s", 2199023255552.0 },
  { QUANTITY_BANDWIDTH, "8 bit/s", 1 },
  { QUANTITY_BANDWIDTH, "8 kbit/s", 1000 },
  { QUANTITY_BANDWIDTH, "8 Mbit/s", 1000000 },
  { QUANTITY_BANDWIDTH, "400 Gbit/s", 50e9 },
  { QUANTITY_BANDWIDTH, "8 Tbit/s", 1e12 },
  { QUANTITY_COMPUTE, "5 FLOP/s", 5 },
  { QUANTITY_COMPUTE, "5 kFLOP/s", 5e3 },
  { QUANTITY_COMPUTE, "5 MFLOP/s", 5e6 },
  { QUANTITY_COMPUTE, "5 GFLOP/s", 5e9 },
  { QUANTITY_COMPUTE, "989 TFLOP/s", 989e12 },
  { QUANTITY_COMPUTE, "5 PFLOP/s", 5e15 },
  { QUANTITY_COMPUTE, "1EFLOP/s", 1e18 }, /* the E is no exponent */
  { QUANTITY_COUNT, "8192", 8192 },
  { QUANTITY_COUNT, "5e8", 5e8 },
  { QUANTITY_COUNT, "10k", 10000 },
  { QUANTITY_COUNT, "10 M", 1e7 },
  { QUANTITY_COUNT, "10G", 1e10 },
  { QUANTITY_COUNT, "10T", 1e13 },
  { QUANTITY_RATIO, "0.85", 0.85 },
  { QUANTITY_RATIO, "85 %", 0.85 },
  { QUANTITY_RATIO, "85%", 0.85 },
  { QUANTITY_FREQUENCY, "3 Hz", 3 },
  { QUANTITY_FREQUENCY, "3 kHz", 3e3 },
  { QUANTITY_FREQUENCY, "3 MHz", 3e6 },
  { QUANTITY_FREQUENCY, "1.98 GHz", 1.98e9 },
  { QUANTITY_POWER, "700 W", 700 },
  { QUANTITY_POWER, "10.2 kW", 10200 },
  { QUANTITY_POWER, "2 MW", 2e6 },
  { QUANTITY_POWER, "100 mW", 0.1 },
  { QUANTITY_LENGTH, "200 m", 200 },
  { QUANTITY_LENGTH, "1.5 km", 1500 },
  { QUANTITY_DENSITY, "4e-21 W/Hz", 4e-21 },
  { QUANTITY_BANDWIDTH, "  900GB/s \t", 900e9 }, /* spelling of the number and the space */
  { QUANTITY_BANDWIDTH, "+900 GB/s", 900e9 },
  { QUANTITY_BANDWIDTH, ".5 GB/s", 5e8 },
  { QUANTITY_BANDWIDTH, "5. GB/s", 5e9 },
  { QUANTITY_BANDWIDTH, "1e-2 GB/s", 1e7 },
  { QUANTITY_BANDWIDTH, "1E+2GB/s", 1e11 },
  { QUANTITY_TIME, "0 s", 0 },
  { QUANTITY_TIME, "-0 s", 0 },
};

START_TEST (test_units)
{
  const Reading *reading = &readings[_i];
  double         value = -1;
  char          *why = NULL;

  ck_assert_msg (quantity_parse (reading->kind, reading->text, &value, &why), "%s", why);
  ck_assert_msg (value == reading->value, "'%s' is %.17g, not %.17g", reading->text, value,
                 reading->value);
  ck_assert_ptr_null (why);
  ck_assert (!signbit (value));
}
END_TEST

typedef struct
{
  QuantityKind kind;
  const char  *text;
  const char  *why;
} Refusal;

static const Refusal refusals[] = {
  { QUANTITY_BANDWIDTH, "fast", "expected a bandwidth such as '900 GB/s', got 'fast'" },
  { QUANTITY_BANDWIDTH, "", "expected a bandwidth such as '900 GB/s', got ''" },
  { QUANTITY_BANDWIDTH, "900",
    "expected a bandwidth such as '900 GB/s', got '900', which has no unit" },
  { QUANTITY_BANDWIDTH, "80 GiB",
    "expected a bandwidth such as '900 GB/s', got '80 GiB', which is a size" },
  { QUANTITY_BANDWIDTH, "9 gb/s",
    "expected a bandwidth such as '900 GB/s', got '9 gb/s' with the unknown unit 'gb/s'" },
  { QUANTITY_BANDWIDTH, "9 Gb/s",
    "expected a bandwidth such as '900 GB/s', got '9 Gb/s' with the unknown unit 'Gb/s'" },
  { QUANTITY_BANDWIDTH, "-5 GB/s",
    "expected a bandwidth such as '900 GB/s', got '-5 GB/s', which is negative" },
  { QUANTITY_BANDWIDTH, "1e308 GB/s",
    "expected a bandwidth such as '900 GB/s', got '1e308 GB/s', which is too large" },
  { QUANTITY_BANDWIDTH, "1e999 B/s",
    "expected a bandwidth such as '900 GB/s', got '1e999 B/s', which is too large" },
  { QUANTITY_TIME, "nan",
    "expected a time such as '1.3 us', got 'nan', which is not a finite number" },
  { QUANTITY_TIME, "inf s",
    "expected a time such as '1.3 us', got 'inf s', which is not a finite number" },
  { QUANTITY_TIME, "-Infinity",
    "expected a time such as '1.3 us', got '-Infinity', which is not a finite number" },
  { QUANTITY_TIME, ".inf",
    "expected a time such as '1.3 us', got '.inf', which is not a finite number" },
  { QUANTITY_TIME, "0x10 s",
    "expected a time such as '1.3 us', got '0x10 s' with the unknown unit 'x10 s'" },
  { QUANTITY_TIME, "1,5 s",
    "expected a time such as '1.3 us', got '1,5 s' with the unknown unit ',5 s'" },
  { QUANTITY_TIME, ". s", "expected a time such as '1.3 us', got '. s'" },
  { QUANTITY_TIME, "e5 s", "expected a time such as '1.3 us', got 'e5 s'" },
  { QUANTITY_TIME, "- 5 s", "expected a time such as '1.3 us', got '- 5 s'" },
  { QUANTITY_BYTES, "3 kb",
    "expected a size such as '80 GiB', got '3 kb' with the unknown unit 'kb'" },
  { QUANTITY_BYTES, "3 GB/s",
    "expected a size such as '80 GiB', got '3 GB/s', which is a bandwidth" },
  { QUANTITY_COMPUTE, "3 GHz",
    "expected a compute rate such as '989 TFLOP/s', got '3 GHz', which is a frequency" },
  { QUANTITY_COUNT, "3 GB", "expected a count such as '10k', got '3 GB', which is a size" },
  { QUANTITY_COUNT, "3 Ki",
    "expected a count such as '10k', got '3 Ki' with the unknown unit 'Ki'" },
  { QUANTITY_RATIO, "3 W", "expected a ratio such as '0.85', got '3 W', which is a power" },
  { QUANTITY_FREQUENCY, "3 %",
    "expected a frequency such as '1.98 GHz', got '3 %', which is a ratio" },
  { QUANTITY_POWER, "3 s", "expected a power such as '700 W', got '3 s', which is a time" },
};

START_TEST (test_refusals)
{
  const Refusal   *refusal = &refusals[_i];
  double           value = 42;
  g_autofree char *why = NULL;

  ck_assert (!quantity_parse (refusal->kind, refusal->text, &value, &why));
  ck_assert_str_eq (why, refusal->why);
  ck_assert (value == 42);
  ck_assert (!quantity_parse (refusal->kind, refusal->text, &value, NULL));
}
END_TEST

typedef struct
{
  QuantityKind kind;
  guint        digits;
  double       value;
  const char  *text;
} Printing;

static const Printing printings[] = {
  { QUANTITY_TIME, 3, 1.3e-6, "1.30 us" },
  { QUANTITY_TIME, 3, 1.3449e-6, "1.34 us" },
  { QUANTITY_TIME, 3, 5400, "5400 s" },
  { QUANTITY_TIME, 3, 0, "0 ps" },
  { QUANTITY_TIME, 3, 5e-13, "0.500 ps" },
  { QUANTITY_TIME, 3, -0.25, "-250 ms" },
  { QUANTITY_TIME, 3, INFINITY, "inf" },
  { QUANTITY_TIME, 3, -INFINITY, "-inf" },
  { QUANTITY_TIME, 3, NAN, "nan" },
  { QUANTITY_BYTES, 3, 1023, "1023 B" },
  { QUANTITY_BYTES, 3, 1024, "1.00 KiB" },
  { QUANTITY_BYTES, 3, 1023.0 * 1073741824, "1020 GiB" }, /* three digits, yet below 1 TiB */
  { QUANTITY_BYTES, 3, 39.4 * 1073741824, "39.4 GiB" },
  { QUANTITY_BYTES, 3, 1.5, "1.50 B" },
  { QUANTITY_BANDWIDTH, 3, 12.5e9, "12.5 GB/s" },
  { QUANTITY_BANDWIDTH, 3, 999.96e9, "1.00 TB/s" },
  { QUANTITY_BANDWIDTH, 3, 999.4e9, "999 GB/s" },
  { QUANTITY_COMPUTE, 4, 989.4e12, "989.4 TFLOP/s" },
  { QUANTITY_COUNT, 3, 7, "7" },
  { QUANTITY_COUNT, 3, 1.25, "1.25" },
  { QUANTITY_COUNT, 4, 8030261248.0, "8.030G" },
  { QUANTITY_RATIO, 3, 0.385, "38.5 %" },
  { QUANTITY_RATIO, 3, 1e307, "1e+307" },
  { QUANTITY_FREQUENCY, 3, 1.98e9, "1.98 GHz" },
  { QUANTITY_POWER, 3, 10200, "10.2 kW" },
  { QUANTITY_LENGTH, 3, 1500, "1.50 km" },
};

START_TEST (test_format)
{
  const Printing  *printing = &printings[_i];
  g_autofree char *text = quantity_format (printing->kind, printing->value, printing->digits);

  ck_assert_str_eq (text, printing->text);
}
END_TEST

START_TEST (test_format_exact)
{
  static const Printing cases[] = {
    { QUANTITY_BANDWIDTH, 0, 900e9, "900 GB/s" },
    { QUANTITY_BYTES, 0, 85899345920.0, "80 GiB" },
    { QUANTITY_BYTES, 0, 512e9, "512 GB" },
    { QUANTITY_TIME, 0, 1.3e-6, "1.3 us" },
    { QUANTITY_RATIO, 0, 0.85, "85 %" },
    { QUANTITY_COUNT, 0, 10000, "10k" },
    { QUANTITY_TIME, 0, 0, "0 s" },
    { QUANTITY_COUNT, 0, 7, "7" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = quantity_format_exact (cases[i].kind, cases[i].value);
      ck_assert_str_eq (text, cases[i].text);
    }
}
END_TEST

/*
 * Random doubles over many magnitudes: exact text reads back as the same double, printed text
 * within its digits.
 */
START_TEST (test_round_trips)
{
  const guint32     seed = 20;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);

  for (guint i = 0; i < 4000; i++)
    {
      QuantityKind kind = (QuantityKind) g_rand_int_range (rand, QUANTITY_TIME, QUANTITY_N_KINDS);
      double       value = g_rand_double (rand) * pow (10, g_rand_int_range (rand, -14, 21));
      guint        digits = (guint) g_rand_int_range (rand, 1, 16);
      g_autofree char *exact = quantity_format_exact (kind, value);
      g_autofree char *printed = quantity_format (kind, value, digits);
      g_autofree char *plain = number_format_exact (value);
      double           again = -1;

      ck_assert_msg (quantity_parse (kind, exact, &again, NULL) && again == value, "%s (seed %u)",
                     exact, seed);
      ck_assert_msg (quantity_parse (kind, printed, &again, NULL), "%s (seed %u)", printed, seed);
      ck_assert_msg (fabs (again - value) <= 0.5000001 * pow (10, 1.0 - digits) * value,
                     "%s is not %s to %u digits", printed, exact, digits);
      ck_assert_msg (g_ascii_strtod (plain, NULL) == value, "%s (seed %u)", plain, seed);
    }
}
END_TEST

START_TEST (test_number_format_exact)
{
  static const struct
  {
    double      value;
    const char *text;
  } cases[] = {
    { 0, "0" },
    { 0.1, "0.1" },
    { 1.0 / 3, "0.3333333333333333" },
    { 1e6, "1000000" },
    { 1e300, "1e+300" },
    { 5e-324, "5e-324" },
    { -2.5, "-2.5" },
    { 0.1 + 0.2, "0.30000000000000004" },
    { INFINITY, "inf" },
    { -INFINITY, "-inf" },
    { NAN, "nan" },
    { 123456789012.0, "123456789012" },
    { -NAN, "nan" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = number_format_exact (cases[i].value);
      ck_assert_str_eq (text, cases[i].text);
    }
}
END_TEST

START_TEST (test_sim_time)
{
  ck_assert_uint_eq (sim_time_from_seconds (0), 0);
  ck_assert_uint_eq (sim_time_from_seconds (1), 1000000000000);
  ck_assert_uint_eq (sim_time_from_seconds (1.3e-6), 1300000);
  ck_assert_uint_eq (sim_time_from_seconds (0.4e-12), 0);
  ck_assert_uint_eq (sim_time_from_seconds (0.6e-12), 1);
  ck_assert_uint_eq (sim_time_from_seconds (1e9), SIM_TIME_MAX); /* 31 years */
  ck_assert_uint_eq (sim_time_from_seconds (INFINITY), SIM_TIME_MAX);
  ck_assert (sim_time_to_seconds (2500000000000) == 2.5);
}
END_TEST

/* Sums and spans end at SIM_TIME_MAX, and never come round to small times again. */
START_TEST (test_sim_time_saturates)
{
  const SimTime half = SIM_TIME_MAX / 2;

  ck_assert_uint_eq (sim_time_add (1, 2), 3);
  ck_assert_uint_eq (sim_time_add (half, half), SIM_TIME_MAX - 1);
  ck_assert_uint_eq (sim_time_add (half + 1, half), SIM_TIME_MAX);
  ck_assert_uint_eq (sim_time_add (half + 1, half + 1), SIM_TIME_MAX);
  ck_assert_uint_eq (sim_time_add (SIM_TIME_MAX, 0), SIM_TIME_MAX);
  ck_assert_uint_eq (sim_time_add (1, SIM_TIME_MAX), SIM_TIME_MAX);
  ck_assert_uint_eq (sim_time_add (SIM_TIME_MAX, SIM_TIME_MAX), SIM_TIME_MAX);

  ck_assert_uint_lt (sim_time_from_seconds (1.8446744073709e7), SIM_TIME_MAX);
  ck_assert_uint_eq (sim_time_from_seconds (1.8446744073710e7), SIM_TIME_MAX);

  ck_assert_uint_eq (sim_time_span (0, 0), 0);
  ck_assert_uint_eq (sim_time_span (-1, 1), 0);
  ck_assert_uint_eq (sim_time_span (1, 0), SIM_TIME_MAX);
  ck_assert_uint_eq (sim_time_span (1, 1), 1000000000000);
  ck_assert_uint_eq (sim_time_span (1, 3e12), 1);                     /* a third of a picosecond */
  ck_assert_uint_eq (sim_time_span (1 + 1e-15, 1), 1000000000000);    /* a residue of rounding */
  ck_assert_uint_eq (sim_time_span (1, 1e-7), 10000000000000000000u); /* 115 days, above 2^63 ps */
  ck_assert_uint_eq (sim_time_span (1, 5e-8), SIM_TIME_MAX);
  ck_assert_uint_eq (sim_time_span (INFINITY, INFINITY), SIM_TIME_MAX);
}
END_TEST

START_TEST (test_kinds)
{
  for (QuantityKind kind = QUANTITY_TIME; kind < QUANTITY_N_KINDS; kind++)
    {
      double value = -1;

      ck_assert (g_str_has_prefix (quantity_kind_name (kind), "a "));
      ck_assert (strlen (quantity_kind_units (kind)) > 10);
      ck_assert_msg (quantity_parse (kind, quantity_kind_example (kind), &value, NULL), "kind %d",
                     (int) kind);
      ck_assert (value > 0);
    }
}
END_TEST

static gboolean
set_comma_locale (const char *name)
{
  return setlocale (LC_ALL, name) && strcmp (localeconv ()->decimal_point, ",") == 0;
}

/*
 * Sets a locale that writes 1,5 for 1.5: an installed one, or one compiled to FOLDER. FALSE where
 * none is to be had.
 */
static gboolean
use_comma_locale (const char *folder)
{
  static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8",
                                       "pt_BR.UTF-8" };
  g_autofree char *command = g_strdup_printf ("localedef -i de_DE -f UTF-8 %s/comma.UTF-8", folder);
  g_autofree char *out = NULL, *err = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    if (set_comma_locale (names[i]))
      return TRUE;
  if (!g_spawn_command_line_sync (command, &out, &err, NULL, NULL))
    return FALSE;
  g_setenv ("LOCPATH", folder, TRUE);
  return set_comma_locale ("comma.UTF-8");
}

START_TEST (test_locale)
{
  char            *folder = make_folder ();
  g_autofree char *printed = NULL, *exact = NULL, *number = NULL;
  double           value = 0;

  if (!use_comma_locale (folder))
    fprintf (
        stderr,
        "test_locale: no locale with a decimal comma is to be had: only the C locale is tested\n");
  ck_assert (quantity_parse (QUANTITY_BANDWIDTH, "1.5 GB/s", &value, NULL));
  ck_assert (value == 1.5e9);
  ck_assert (!quantity_parse (QUANTITY_BANDWIDTH, "1,5 GB/s", &value, NULL));
  printed = quantity_format (QUANTITY_BANDWIDTH, 1.5e9, 3);
  exact = quantity_format_exact (QUANTITY_BANDWIDTH, 1.5e9);
  number = number_format_exact (1.5);
  ck_assert_str_eq (printed, "1.50 GB/s");
  ck_assert_str_eq (exact, "1.5 GB/s");
  ck_assert_str_eq (number, "1.5");
  setlocale (LC_ALL, "C");
  g_spawn_sync (NULL, (char *[]){ "rm", "-rf", folder, NULL }, NULL, G_SPAWN_SEARCH_PATH, NULL,
                NULL, NULL, NULL, NULL, NULL);
  g_free (folder);
}
END_TEST

SUITE_MAIN (units)
{
  TCase *tcase = tcase_create ("units");

  tcase_add_loop_test (tcase, test_units, 0, G_N_ELEMENTS (readings));
  tcase_add_loop_test (tcase, test_refusals, 0, G_N_ELEMENTS (refusals));
  tcase_add_loop_test (tcase, test_format, 0, G_N_ELEMENTS (printings));
  tcase_add_test (tcase, test_format_exact);
  tcase_add_test (tcase, test_round_trips);
  tcase_add_test (tcase, test_number_format_exact);
  tcase_add_test (tcase, test_sim_time);
  tcase_add_test (tcase, test_sim_time_saturates);
  tcase_add_test (tcase, test_kinds);
  tcase_add_test (tcase, test_locale);
  return run_case (suite_create ("units"), tcase);
}
