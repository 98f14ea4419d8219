#include "base/config/option.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"

/* A value of any option type, parsed but not yet stored. */
typedef union
{
  char    *text;
  gboolean flag;
  gint64   number;
  gint     choice;
  double   quantity;
} OptionValue;

#define MEMBER(type, spec, structure) ((type *) (void *) ((char *) (structure) + (spec)->offset))
#define CONST_MEMBER(type, spec, structure) \
  ((type const *) (const void *) ((const char *) (structure) + (spec)->offset))

static gboolean
has_range (const OptionSpec *spec)
{
  return spec->min != 0 || spec->max != 0;
}

static gboolean
parse_bool (const char *text, gboolean *value)
{
  static const char *const on[] = { "true", "1", "yes", "on" };
  static const char *const off[] = { "false", "0", "no", "off" };

  for (guint i = 0; i < G_N_ELEMENTS (on); i++)
    if (g_ascii_strcasecmp (text, on[i]) == 0 || g_ascii_strcasecmp (text, off[i]) == 0)
      {
        *value = g_ascii_strcasecmp (text, on[i]) == 0;
        return TRUE;
      }
  return FALSE;
}

/*
 * Reads digits with at most one point among them: the number is *DIGITS * 10^*EXPONENT. NULL when
 * malformed.
 */
static const char *
scan_mantissa (const char *p, guint64 *digits, gint64 *exponent)
{
  guint    n = 0;
  gboolean fraction = FALSE;

  *digits = 0;
  for (; g_ascii_isdigit (*p) || (*p == '.' && !fraction); p++)
    {
      if (*p == '.')
        {
          fraction = TRUE;
          continue;
        }
      if (*digits > (G_MAXUINT64 - 9) / 10)
        return NULL;
      *digits = *digits * 10 + (guint64) (*p - '0');
      *exponent -= fraction;
      n++;
    }
  return n > 0 ? p : NULL;
}

/* Reads "e8" or a decimal suffix into *EXPONENT, up to the end of the text. */
static gboolean
scan_exponent (const char *p, gint64 *exponent)
{
  static const char *const suffixes[] = { "k", "M", "G", "T" };
  char                    *end = NULL;

  if ((*p == 'e' || *p == 'E')
      && (g_ascii_isdigit (p[1]) || ((p[1] == '+' || p[1] == '-') && g_ascii_isdigit (p[2]))))
    {
      *exponent += CLAMP (g_ascii_strtoll (p + 1, &end, 10), -1000, 1000);
      p = end;
    }
  for (guint i = 0; i < G_N_ELEMENTS (suffixes); i++)
    if (strcmp (p, suffixes[i]) == 0)
      {
        *exponent += 3 * (gint64) (i + 1);
        return TRUE;
      }
  return *p == '\0';
}

/* Whole numbers in exact decimal arithmetic: a double would round what lies above 2^53. */
static gboolean
parse_int (const char *text, gint64 *value)
{
  gboolean    negative = *text == '-';
  const char *p = text + (*text == '-' || *text == '+');
  guint64     digits;
  gint64      exponent = 0;

  p = scan_mantissa (p, &digits, &exponent);
  if (!p || !scan_exponent (p, &exponent))
    return FALSE;
  for (; exponent < 0 && digits > 0; exponent++, digits /= 10)
    if (digits % 10 != 0)
      return FALSE;
  for (; exponent > 0 && digits > 0; exponent--)
    if (!g_uint64_checked_mul (&digits, digits, 10))
      return FALSE;
  if (digits > (guint64) G_MAXINT64)
    return FALSE;
  *value = negative ? -(gint64) digits : (gint64) digits;
  return TRUE;
}

static char *
format_bound (const OptionSpec *spec, double bound)
{
  if (spec->type == OPTION_QUANTITY && spec->kind == QUANTITY_RATIO && bound == 1 && spec->max == 1)
    return g_strdup ("100 %"); /* the other bounds are in per cent, too */
  if (spec->type == OPTION_QUANTITY && bound >= 0)
    return quantity_format_exact (spec->kind, bound);
  return number_format_exact (bound);
}

/* Unset it is zero, which means something of its own: a zero that is given would mean that. */
static gboolean
is_unset_by_zero (const OptionSpec *spec)
{
  return spec->optional && spec->fallback == NULL && !spec->or_zero;
}

/*
 * A message unless NUMBER lies in the range of SPEC. A bound on a whole number of 2^53 or more is
 * none to tell of.
 */
static char *
check_range (const OptionSpec *spec, double number, const char *text)
{
  const double     unbounded = 9007199254740992.0;
  const char      *zero = spec->or_zero ? "0 or " : "";
  g_autofree char *min = NULL;
  g_autofree char *max = NULL;

  if (number == 0 && is_unset_by_zero (spec) && (!has_range (spec) || spec->min == 0))
    return g_strdup_printf ("'%s' must be above 0, got '%s': leave it out for its default",
                            spec->key, text);
  if (!has_range (spec) || (number >= spec->min && (number <= spec->max || spec->max < spec->min))
      || (spec->or_zero && number == 0))
    return NULL;
  min = format_bound (spec, spec->min);
  if (spec->max < spec->min || spec->max >= (spec->type == OPTION_INT ? unbounded : G_MAXDOUBLE))
    return g_strdup_printf ("'%s' must be %sat least %s, got '%s'", spec->key, zero, min, text);
  max = format_bound (spec, spec->max);
  return g_strdup_printf ("'%s' must be %sbetween %s and %s, got '%s'", spec->key, zero, min, max,
                          text);
}

#define NUMBERED_MAX (1 << 20)

/* A choice that takes a number: "layers:K", or "K" alone. */
static gboolean
is_numbered (const char *choice)
{
  return g_str_has_suffix (choice, ":K") || g_str_equal (choice, "K");
}

/* "layers:8" of "layers:K". */
static gboolean
parse_choice (const char *choice, const char *text, gint *number)
{
  gsize  prefix = strlen (choice) - 1;
  gint64 value;

  *number = 0;
  if (!is_numbered (choice) || g_ascii_strncasecmp (choice, text, prefix) != 0
      || !parse_int (text + prefix, &value) || value < 1 || value > NUMBERED_MAX)
    return FALSE;
  *number = (gint) value;
  return TRUE;
}

static char *
format_choice (const OptionSpec *spec, gint value)
{
  gint last = 0;

  while (last < value && spec->choices[last + 1] != NULL)
    last++;
  if (last == value)
    return g_strdup (spec->choices[value]);
  return g_strdup_printf ("%.*s%d", (int) strlen (spec->choices[last]) - 1, spec->choices[last],
                          value - last);
}

/*
 * Each parser returns NULL and sets *VALUE, or returns a newly allocated message and may set *HINT
 * (newly allocated).
 */
static char *
parse_enum_value (const OptionSpec *spec, const char *text, OptionValue *value, char **hint)
{
  gint number;

  value->choice = name_index (text, spec->choices);
  if (value->choice >= 0 && !is_numbered (spec->choices[value->choice]))
    return NULL;
  for (gint i = 0; spec->choices[i]; i++)
    if (parse_choice (spec->choices[i], text, &number))
      {
        value->choice = i + number;
        return NULL;
      }
  *hint = suggest_hint (text, spec->choices);
  return g_strdup_printf ("unknown value '%s' for '%s'", text, spec->key);
}

static char *
parse_int_value (const OptionSpec *spec, const char *text, OptionValue *value, char **hint)
{
  if (parse_int (text, &value->number))
    return check_range (spec, (double) value->number, text);
  *hint = g_strdup ("such as 8, 4k or 5e8");
  return g_strdup_printf ("expected a whole number for '%s', got '%s'", spec->key, text);
}

static char *
parse_quantity_value (const OptionSpec *spec, const char *text, OptionValue *value, char **hint)
{
  char *why = NULL;

  if (!quantity_parse (spec->kind, text, &value->quantity, &why))
    {
      *hint = g_strdup (quantity_kind_units (spec->kind));
      return why;
    }
  return check_range (spec, value->quantity, text);
}

static char *
parse_value (const OptionSpec *spec, const char *text, OptionValue *value, char **hint)
{
  memset (value, 0, sizeof *value);
  switch (spec->type)
    {
    case OPTION_STRING:
      value->text = g_strdup (text);
      return NULL;
    case OPTION_BOOL:
      if (parse_bool (text, &value->flag))
        return NULL;
      return g_strdup_printf ("expected true or false for '%s', got '%s'", spec->key, text);
    case OPTION_INT:
      return parse_int_value (spec, text, value, hint);
    case OPTION_ENUM:
      return parse_enum_value (spec, text, value, hint);
    case OPTION_QUANTITY:
      return parse_quantity_value (spec, text, value, hint);
    }
  g_assert_not_reached ();
}

/* Takes VALUE. */
static void
store_value (const OptionSpec *spec, gpointer structure, const OptionValue *value)
{
  switch (spec->type)
    {
    case OPTION_STRING:
      g_free (*MEMBER (char *, spec, structure));
      *MEMBER (char *, spec, structure) = value->text;
      break;
    case OPTION_BOOL:
      *MEMBER (gboolean, spec, structure) = value->flag;
      break;
    case OPTION_INT:
      *MEMBER (gint64, spec, structure) = value->number;
      break;
    case OPTION_ENUM:
      *MEMBER (gint, spec, structure) = value->choice;
      break;
    case OPTION_QUANTITY:
      *MEMBER (double, spec, structure) = value->quantity;
      break;
    }
}

static OptionValue
load_value (const OptionSpec *spec, gconstpointer structure)
{
  OptionValue value;

  memset (&value, 0, sizeof value);
  switch (spec->type)
    {
    case OPTION_STRING:
      value.text = *CONST_MEMBER (char *, spec, structure);
      break;
    case OPTION_BOOL:
      value.flag = *CONST_MEMBER (gboolean, spec, structure);
      break;
    case OPTION_INT:
      value.number = *CONST_MEMBER (gint64, spec, structure);
      break;
    case OPTION_ENUM:
      value.choice = *CONST_MEMBER (gint, spec, structure);
      break;
    case OPTION_QUANTITY:
      value.quantity = *CONST_MEMBER (double, spec, structure);
      break;
    }
  return value;
}

void
option_table_defaults (const OptionSpec *table, gpointer structure)
{
  for (const OptionSpec *spec = table; spec->key; spec++)
    {
      OptionValue      value;
      g_autofree char *hint = NULL;
      g_autofree char *message = NULL;

      if (!spec->fallback)
        continue;
      message = parse_value (spec, spec->fallback, &value, &hint);
      g_assert_cmpstr (message, ==, NULL); /* the table is wrong */
      store_value (spec, structure, &value);
    }
}

void
option_table_clear (const OptionSpec *table, gpointer structure)
{
  for (const OptionSpec *spec = table; spec->key; spec++)
    if (spec->type == OPTION_STRING)
      g_clear_pointer (MEMBER (char *, spec, structure), g_free);
}

void
option_table_copy (const OptionSpec *table, gconstpointer source, gpointer target)
{
  for (const OptionSpec *spec = table; spec->key; spec++)
    {
      OptionValue value = load_value (spec, source);

      if (spec->type == OPTION_STRING)
        value.text = g_strdup (value.text);
      store_value (spec, target, &value);
    }
}

const OptionSpec *
option_table_find (const OptionSpec *table, const char *key)
{
  for (const OptionSpec *spec = table; spec->key; spec++)
    if (strcmp (spec->key, key) == 0)
      return spec;
  return NULL;
}

const char *
option_table_find_in_group (const OptionSpec *table, const char *group, const char *key)
{
  g_autofree char *prefix = g_strconcat (group, "_", key, NULL);

  for (const OptionSpec *spec = table; spec->key != NULL; spec++)
    if (key != NULL ? g_str_equal (spec->key, prefix) : g_str_has_prefix (spec->key, prefix))
      return spec->key;
  return NULL;
}

const char **
option_table_keys (const OptionSpec *table)
{
  GPtrArray *keys = g_ptr_array_new ();

  for (const OptionSpec *spec = table; spec->key; spec++)
    g_ptr_array_add (keys, (gpointer) spec->key);
  g_ptr_array_add (keys, NULL);
  return (const char **) g_ptr_array_free (keys, FALSE);
}

/* As parse_value, but of what a user wrote. */
static char *
parse_given (const OptionSpec *spec, const char *text, OptionValue *value, char **hint)
{
  if (spec->type != OPTION_STRING || text[strspn (text, " \t")] != '\0')
    return parse_value (spec, text, value, hint);
  *hint = g_strdup (spec->help);
  return g_strdup_printf ("'%s' has no value", spec->key);
}

void
option_unset (const OptionSpec *spec, gpointer structure)
{
  OptionValue value = { 0 };

  if (spec->type == OPTION_STRING)
    value.text = g_strdup (spec->fallback);
  store_value (spec, structure, &value);
}

gboolean
option_set (const OptionSpec *spec, gpointer structure, const char *text, const SourceMark *mark,
            DiagList *diags)
{
  OptionValue      value = { 0 };
  g_autofree char *stripped = g_strdup (text);
  g_autofree char *hint = NULL;
  g_autofree char *message = NULL;

  if (spec->type != OPTION_STRING)
    g_strstrip (stripped);
  message = parse_given (spec, stripped, &value, &hint);
  if (!message)
    {
      store_value (spec, structure, &value);
      return TRUE;
    }

  /* A place in a file shows the key; elsewhere a message about a quantity does not name it. */
  if (spec->type == OPTION_QUANTITY && hint && (!mark || !mark->text))
    diag_error (diags, mark, hint, "'%s': %s", spec->key, message);
  else
    diag_error (diags, mark, hint, "%s", message);
  return FALSE;
}

/* ---- reading --------------------------------------------------------------------------------- */

/*
 * Options without a default that are neither optional nor flags: zero or NULL says that nobody set
 * them.
 */
static gboolean
is_missing (const OptionSpec *spec, gconstpointer structure)
{
  OptionValue value = load_value (spec, structure);

  if (spec->fallback || spec->optional)
    return FALSE;
  switch (spec->type)
    {
    case OPTION_STRING:
      return value.text == NULL;
    case OPTION_INT:
      return value.number == 0;
    case OPTION_QUANTITY:
      return value.quantity == 0;
    case OPTION_BOOL:
    case OPTION_ENUM:
      return FALSE;
    }
  g_assert_not_reached ();
}

gboolean
option_check_required (const OptionSpec *table, gconstpointer structure, const SourceMark *mark,
                       DiagList *diags)
{
  gboolean ok = TRUE;

  for (const OptionSpec *spec = table; spec->key; spec++)
    if (is_missing (spec, structure))
      {
        diag_error (diags, mark, spec->help, "missing '%s'", spec->key);
        ok = FALSE;
      }
  return ok;
}

/* Zero where zero is out of range: of a struct that nobody filled. */
static gboolean
is_no_number (const OptionSpec *spec, double value)
{
  return value == 0 && !spec->or_zero && has_range (spec) && (spec->min > 0 || spec->max < 0);
}

/* Unset optional numbers are zero; where zero is out of range it can only mean that. */
static gboolean
is_unset_number (const OptionSpec *spec, double value)
{
  return spec->optional && is_no_number (spec, value);
}

gboolean
option_is_default (const OptionSpec *spec, gconstpointer structure)
{
  const OptionValue value = load_value (spec, structure);

  return option_has_value (spec, structure, spec->fallback)
         || (spec->type == OPTION_STRING && value.text == NULL)
         || (spec->type == OPTION_INT && is_no_number (spec, (double) value.number))
         || (spec->type == OPTION_QUANTITY && is_no_number (spec, value.quantity));
}

gboolean
option_has_value (const OptionSpec *spec, gconstpointer structure, const char *said)
{
  const OptionValue              value = load_value (spec, structure);
  OptionValue                    usual = { 0 };
  g_autofree char               *hint = NULL;
  G_GNUC_UNUSED g_autofree char *unread = /* what is said is right */
      said != NULL ? parse_value (spec, said, &usual, &hint) : NULL;
  g_autofree char *text = spec->type == OPTION_STRING ? usual.text : NULL;

  switch (spec->type)
    {
    case OPTION_STRING:
      return g_strcmp0 (value.text, text) == 0;
    case OPTION_BOOL:
      return value.flag == usual.flag;
    case OPTION_INT:
      return value.number == usual.number;
    case OPTION_ENUM:
      return value.choice == usual.choice;
    case OPTION_QUANTITY:
      return value.quantity == usual.quantity;
    }
  g_assert_not_reached ();
}

char *
option_format (const OptionSpec *spec, gconstpointer structure)
{
  OptionValue value = load_value (spec, structure);

  switch (spec->type)
    {
    case OPTION_STRING:
      return g_strdup (value.text ? value.text : "");
    case OPTION_BOOL:
      return g_strdup (value.flag ? "true" : "false");
    case OPTION_INT:
      if (is_unset_number (spec, (double) value.number))
        return g_strdup ("");
      return g_strdup_printf ("%" G_GINT64_FORMAT, value.number);
    case OPTION_ENUM:
      return format_choice (spec, value.choice);
    case OPTION_QUANTITY:
      if (is_unset_number (spec, value.quantity))
        return g_strdup ("");
      return quantity_format_exact (spec->kind, value.quantity);
    }
  g_assert_not_reached ();
}
