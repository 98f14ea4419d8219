#include "engine/flow-table.h"

#include <math.h>
#include <string.h>

#include "base/config/csv.h"
#include "base/config/suggest.h"
#include "base/config/units.h"
#include "base/intern.h"

#define MAX_ROUTE 4096 /* links */

struct _FlowTable
{
  FlowNet      *net;
  GStringChunk *names;
  GPtrArray    *links, *flows; /* names */
  GHashTable   *link_numbers;  /* name -> number + 1 */
  GArray       *latencies;     /* SimTime a link */
  GArray       *expected;      /* double a flow; NULL without that column */
};

static FlowTable *
flow_table_new (void)
{
  FlowTable *self = g_new0 (FlowTable, 1);

  self->net = flow_net_new ();
  self->names = g_string_chunk_new (1 << 16);
  self->links = g_ptr_array_new ();
  self->flows = g_ptr_array_new ();
  self->link_numbers = g_hash_table_new (g_str_hash, g_str_equal);
  self->latencies = g_array_new (FALSE, FALSE, sizeof (SimTime));
  return self;
}

void
flow_table_free (FlowTable *self)
{
  if (self == NULL)
    return;
  flow_net_free (self->net);
  g_string_chunk_free (self->names);
  g_ptr_array_unref (self->links);
  g_ptr_array_unref (self->flows);
  g_hash_table_unref (self->link_numbers);
  g_array_unref (self->latencies);
  g_clear_pointer (&self->expected, g_array_unref);
  g_free (self);
}

/* ---- columns and fields ---------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  gboolean    required;
} Column;

enum
{
  LINK_NAME,
  LINK_BANDWIDTH,
  LINK_LATENCY,
  LINK_COLUMNS,
};
static const Column link_columns[] = { { "link", TRUE },
                                       { "bandwidth", TRUE },
                                       { "latency", FALSE } };

enum
{
  FLOW_NAME,
  FLOW_LINKS,
  FLOW_BYTES,
  FLOW_START,
  FLOW_LATENCY,
  FLOW_CAP,
  FLOW_WEIGHT,
  FLOW_LOADS,
  FLOW_FINISH,
  FLOW_COLUMNS,
};
static const Column flow_columns[] = {
  { "flow", TRUE },    { "links", TRUE },    { "bytes", TRUE },
  { "start_s", TRUE }, { "latency", FALSE }, { "rate_cap", FALSE },
  { "weight", FALSE }, { "loads", FALSE },   { "finish_s", FALSE },
};

/* A file being read: where its columns are, and what the current row says. */
typedef struct
{
  CsvReader *reader;
  DiagList  *diags;
  gint       places[FLOW_COLUMNS]; /* -1: absent */
  gboolean   any_link;             /* the links could not be read: routes may name what they like */
  guint      n_errors;             /* before the file */
  guint64    n_rows;
} Sheet;

/* FALSE after diagnostics: unknown columns, and missing ones. */
static gboolean
find_columns (Sheet *sheet, const Column *columns, guint n)
{
  const char *names[FLOW_COLUMNS + 1] = { NULL };
  guint       n_errors = diag_list_n_errors (sheet->diags);

  for (guint c = 0; c < n; c++)
    {
      names[c] = columns[c].name;
      sheet->places[c] = csv_reader_find (sheet->reader, columns[c].name);
      if (sheet->places[c] < 0 && columns[c].required)
        csv_reader_missing (sheet->reader, columns[c].name, NULL, sheet->diags);
    }
  csv_reader_check_names (sheet->reader, names, sheet->diags);
  return diag_list_n_errors (sheet->diags) == n_errors;
}

/* "" where the column is absent. */
static const char *
field (const Sheet *sheet, guint column)
{
  return sheet->places[column] < 0
             ? ""
             : csv_reader_field (sheet->reader, (guint) sheet->places[column]);
}

static void G_GNUC_PRINTF (4, 5)
    refuse (const Sheet *sheet, guint column, const char *hint, const char *format, ...)
{
  SourceMark       mark = csv_reader_mark (sheet->reader, (guint) sheet->places[column]);
  va_list          arguments;
  g_autofree char *text = NULL;

  va_start (arguments, format);
  text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  diag_error (sheet->diags, &mark, hint, "%s", text);
}

/*
 * A number without a unit that can be reckoned with; the C library would take "inf", "nan" and
 * hexadecimal ones as well.
 */
static gboolean
parse_number (const char *text, double *value)
{
  char *end = NULL;

  if (*text == '\0' || strspn (text, "+-.eE0123456789") < strlen (text))
    return FALSE;
  *value = g_ascii_strtod (text, &end);
  return *end == '\0' && number_is_usable (*value);
}

/* A field with a plain number of at least 0, or above 0. FALSE after a diagnostic. */
static gboolean
read_number (const Sheet *sheet, guint column, const char *what, gboolean positive, double *value)
{
  const char *text = field (sheet, column);

  if (*text == '\0')
    refuse (sheet, column, NULL, "expected %s, got nothing", what);
  else if (!parse_number (text, value))
    refuse (sheet, column,
            g_ascii_isdigit (*text) ? "a plain number: this column takes no unit" : NULL,
            "expected %s, got '%s'", what, text);
  else if (*value < 0)
    refuse (sheet, column, NULL, "expected %s, got '%s', which is negative", what, text);
  else if (positive && *value == 0)
    refuse (sheet, column, NULL, "expected %s, got '%s', which is zero", what, text);
  else
    return TRUE;
  return FALSE;
}

/* A field with a quantity and its unit; an empty one leaves *VALUE. FALSE after a diagnostic. */
static void
read_quantity (const Sheet *sheet, guint column, QuantityKind kind, gboolean positive,
               double *value)
{
  const char      *text = field (sheet, column);
  g_autofree char *why = NULL;

  if (*text == '\0')
    return;
  if (!quantity_parse (kind, text, value, &why))
    refuse (sheet, column, quantity_kind_units (kind), "%s", why);
  else if (positive && !(*value > 0))
    refuse (sheet, column, NULL, "expected %s above zero, got '%s'", quantity_kind_name (kind),
            text);
}

/* ---- names ----------------------------------------------------------------------------------- */

/*
 * Takes the name in a field; NULL after a diagnostic. NUMBERS tells the names that were there
 * before.
 */
static const char *
take_name (FlowTable *self, const Sheet *sheet, GHashTable *numbers, GPtrArray *names)
{
  const char *text = field (sheet, 0),
             *kind = csv_reader_column (sheet->reader, (guint) sheet->places[0]);
  const char *name;

  if (*text == '\0')
    refuse (sheet, 0, NULL, "a %s without a name", kind);
  else if (g_hash_table_contains (numbers, text))
    refuse (sheet, 0, NULL, "duplicate %s '%s'", kind, text);
  else
    {
      name = g_string_chunk_insert (self->names, text);
      g_ptr_array_add (names, (gpointer) name);
      g_hash_table_insert (numbers, (gpointer) name, GUINT_TO_POINTER (names->len));
      return name;
    }
  return NULL;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void
read_link (FlowTable *self, const Sheet *sheet)
{
  double      bandwidth = 0, latency = 0;
  const char *name = take_name (self, sheet, self->link_numbers, self->links);

  if (name != NULL && strpbrk (name, " \t") != NULL)
    refuse (sheet, LINK_NAME, NULL, "a link's name has no spaces: '%s'", name);
  if (*field (sheet, LINK_BANDWIDTH) == '\0')
    refuse (sheet, LINK_BANDWIDTH, NULL, "expected a bandwidth such as '%s', got nothing",
            quantity_kind_example (QUANTITY_BANDWIDTH));
  else
    read_quantity (sheet, LINK_BANDWIDTH, QUANTITY_BANDWIDTH, TRUE, &bandwidth);
  read_quantity (sheet, LINK_LATENCY, QUANTITY_TIME, FALSE, &latency);
  if (name == NULL)
    return;

  /* a wrong link keeps its name, so that routes over it are not wrong as well */
  SimTime ps = sim_time_from_seconds (latency);
  flow_net_add_link (self->net, bandwidth > 0 ? bandwidth : 1);
  g_array_append_val (self->latencies, ps);
}

/* ---- flows ----------------------------------------------------------------------------------- */

typedef struct
{
  guint32 links[MAX_ROUTE];
  double  loads[MAX_ROUTE];
  guint   n_links, n_loads;
  SimTime latency; /* of its links together */
} Route;

static gboolean
add_to_route (FlowTable *self, const Sheet *sheet, Route *route, const char *name)
{
  guint number = GPOINTER_TO_UINT (g_hash_table_lookup (self->link_numbers, name));

  if (number == 0)
    {
      if (!sheet->any_link)
        {
          g_autofree char *hint = NULL;

          if (self->links->len > 0 && diag_list_n_errors (sheet->diags) < DIAG_LIST_MAX)
            {
              const char *nearest =
                  suggest_nearest (name, (const char *const *) self->links->pdata);
              hint = nearest != NULL ? g_strdup_printf ("did you mean '%s'?", nearest) : NULL;
            }
          refuse (sheet, FLOW_LINKS, hint, "unknown link '%s'", name);
        }
      return FALSE;
    }
  for (guint i = 0; i < route->n_links; i++)
    if (route->links[i] == number - 1)
      {
        refuse (sheet, FLOW_LINKS, NULL, "the route has a loop: link '%s' twice", name);
        return FALSE;
      }
  if (route->n_links == MAX_ROUTE)
    {
      refuse (sheet, FLOW_LINKS, NULL, "more than %d links", MAX_ROUTE);
      return FALSE;
    }
  route->links[route->n_links++] = number - 1;
  route->latency =
      sim_time_add (route->latency, g_array_index (self->latencies, SimTime, number - 1));
  return TRUE;
}

/* Calls for the words of TEXT, which is cut up meanwhile. */
static char *
next_word (char **rest)
{
  char *word = *rest + strspn (*rest, " \t");
  char *end = word + strcspn (word, " \t");

  *rest = *end == '\0' ? end : end + 1;
  *end = '\0';
  return *word == '\0' ? NULL : word;
}

static gboolean
read_route (FlowTable *self, const Sheet *sheet, Route *route)
{
  g_autofree char *text = g_strdup (field (sheet, FLOW_LINKS));
  char            *rest = text, *word;
  gboolean         right = TRUE;
  guint            n_words = 0;

  route->n_links = 0;
  route->latency = 0;
  for (; (word = next_word (&rest)) != NULL; n_words++)
    right = add_to_route (self, sheet, route, word) && right;
  if (n_words == 0)
    refuse (sheet, FLOW_LINKS, NULL, "a route without links");
  return right && route->n_links > 0;
}

/* One load a link; an empty field means 1 on each. */
static gboolean
read_loads (const Sheet *sheet, Route *route, gboolean route_is_right)
{
  g_autofree char *text = g_strdup (field (sheet, FLOW_LOADS));
  char            *rest = text, *word;

  for (route->n_loads = 0; (word = next_word (&rest)) != NULL; route->n_loads++)
    {
      double load;
      if (!parse_number (word, &load) || load <= 0)
        {
          refuse (sheet, FLOW_LOADS, NULL, "expected numbers above zero, got '%s'", word);
          return FALSE;
        }
      if (route->n_loads < MAX_ROUTE)
        route->loads[route->n_loads] = load;
    }
  if (route->n_loads == 0 || !route_is_right || route->n_loads == route->n_links)
    return TRUE;
  refuse (sheet, FLOW_LOADS, NULL, "expected one load a link: %u links, %u loads", route->n_links,
          route->n_loads);
  return FALSE;
}

static void
read_flow (FlowTable *self, const Sheet *sheet, GHashTable *numbers, Route *route)
{
  guint    n_errors = diag_list_n_errors (sheet->diags);
  double   start = 0, latency = 0;
  FlowSpec spec = { .links = route->links, .weight = 1 };
  gboolean right;
  double   value = NAN;

  take_name (self, sheet, numbers, self->flows);
  right = read_route (self, sheet, route);
  read_loads (sheet, route, right);
  read_number (sheet, FLOW_BYTES, "a number of bytes", TRUE, &spec.bytes);
  read_number (sheet, FLOW_START, "a time in seconds", FALSE, &start);
  read_quantity (sheet, FLOW_LATENCY, QUANTITY_TIME, FALSE, &latency);
  read_quantity (sheet, FLOW_CAP, QUANTITY_BANDWIDTH, TRUE, &spec.cap);
  if (*field (sheet, FLOW_WEIGHT) != '\0')
    read_number (sheet, FLOW_WEIGHT, "a weight", TRUE, &spec.weight);
  if (self->expected != NULL)
    {
      if (*field (sheet, FLOW_FINISH) != '\0')
        read_number (sheet, FLOW_FINISH, "a time in seconds", FALSE, &value);
      g_array_append_val (self->expected, value);
    }
  if (diag_list_n_errors (sheet->diags) > n_errors || !right)
    return;
  spec.n_links = route->n_links;
  spec.loads = route->n_loads > 0 ? route->loads : NULL;
  spec.start = sim_time_from_seconds (start);
  spec.latency = sim_time_add (sim_time_from_seconds (latency), route->latency);
  flow_net_add_flow (self->net, &spec);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void
check_rows (const Sheet *sheet, const char *file, const char *what)
{
  SourceMark mark = { intern_text (file), 0, 0, 0, NULL };

  if (sheet->n_rows == 0 && diag_list_n_errors (sheet->diags) == sheet->n_errors)
    diag_error (sheet->diags, &mark, NULL, "a header without rows: expected at least one %s", what);
}

/* FALSE when the file has no such table at all. */
static gboolean
read_links (FlowTable *self, const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  Sheet sheet = { .reader = reader, .diags = diags, .n_errors = diag_list_n_errors (diags) };

  if (reader == NULL || !find_columns (&sheet, link_columns, LINK_COLUMNS))
    return FALSE;
  for (; csv_reader_next (reader, diags); sheet.n_rows++)
    read_link (self, &sheet);
  g_ptr_array_add (self->links, NULL);
  g_ptr_array_set_size (self->links,
                        (gint) self->links->len - 1); /* ends the array, but is not part of it */
  check_rows (&sheet, file, "link");
  return TRUE;
}

static void
read_flows (FlowTable *self, const char *file, gboolean links_known, DiagList *diags)
{
  g_autoptr (CsvReader)  reader = csv_reader_open (file, diags);
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree Route      *route = g_new (Route, 1);
  Sheet                  sheet = { .reader = reader,
                                   .diags = diags,
                                   .any_link = !links_known,
                                   .n_errors = diag_list_n_errors (diags) };

  if (reader == NULL || !find_columns (&sheet, flow_columns, FLOW_COLUMNS))
    return;
  if (sheet.places[FLOW_FINISH] >= 0)
    self->expected = g_array_new (FALSE, FALSE, sizeof (double));
  for (; csv_reader_next (reader, diags); sheet.n_rows++)
    read_flow (self, &sheet, numbers, route);
  check_rows (&sheet, file, "flow");
}

FlowTable *
flow_table_load (const char *links_file, const char *flows_file, DiagList *diags)
{
  g_autoptr (FlowTable) self = flow_table_new ();
  guint                 n_errors = diag_list_n_errors (diags);
  gboolean              links_known = read_links (self, links_file, diags);

  read_flows (self, flows_file, links_known, diags);
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&self) : NULL;
}

FlowNet *
flow_table_net (FlowTable *self)
{
  return self->net;
}

const char *const *
flow_table_link_names (const FlowTable *self)
{
  return (const char *const *) self->links->pdata;
}

const char *const *
flow_table_flow_names (const FlowTable *self)
{
  return (const char *const *) self->flows->pdata;
}

const double *
flow_table_expected (const FlowTable *self)
{
  return self->expected == NULL ? NULL : (const double *) (gpointer) self->expected->data;
}
