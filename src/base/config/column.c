#include "base/config/column.h"

#include <math.h>

#include "base/config/csv.h"
#include "base/config/units.h"
#include "base/file/layout.h"

const char *
column_program_version (const Column *column, gconstpointer row)
{
  (void) column;
  (void) row;
  return layout_program_version ();
}

double
column_schema (const Column *column, gconstpointer row)
{
  (void) column;
  (void) row;
  return RESULTS_SCHEMA;
}

/* ---- values ---------------------------------------------------------------------------------- */

gboolean
column_is_text (const Column *self)
{
  return self->kind == COLUMN_TEXT || self->kind == COLUMN_WORD;
}

/* NULL: what the row points to is not there. */
static gconstpointer
member_of (const Column *self, gconstpointer row)
{
  const char *of = self->is_via ? G_STRUCT_MEMBER (gconstpointer, row, self->via) : row;

  return of != NULL ? of + self->offset : NULL;
}

static double
number_of_member (const Column *self, gconstpointer row)
{
  gconstpointer member = member_of (self, row);

  if (member == NULL)
    return NAN;
  switch (self->type)
    {
    case MEMBER_DOUBLE:
      return *(const double *) member;
    case MEMBER_INT:
      return *(const int *) member;
    case MEMBER_UINT:
      return *(const guint *) member;
    case MEMBER_INT64:
      return (double) *(const gint64 *) member;
    case MEMBER_UINT64:
      return (double) *(const guint64 *) member;
    default:
      g_assert_not_reached ();
    }
}

double
column_number (const Column *self, gconstpointer row)
{
  const double number =
      self->number != NULL ? self->number (self, row) : number_of_member (self, row);

  if (self->flags & COLUMN_OPTIONAL && number == 0)
    return NAN;
  return self->scale != 0 ? self->scale * number : number;
}

const char *
column_text (const Column *self, gconstpointer row)
{
  gconstpointer member;

  if (self->text != NULL)
    return self->text (self, row);
  g_assert (self->type == MEMBER_TEXT);
  member = member_of (self, row);
  return member != NULL ? *(const char *const *) member : NULL;
}

gboolean
column_has (const Column *self, gconstpointer row)
{
  if (column_is_text (self))
    return column_text (self, row) != NULL;
  return isfinite (column_number (self, row));
}

double *
column_place (const Column *self, gpointer row)
{
  g_assert (self->type == MEMBER_DOUBLE && self->number == NULL);
  return (double *) member_of (self, row);
}

char *
column_cell (const Column *self, gconstpointer row)
{
  double number;

  if (column_is_text (self))
    {
      const char *text = column_text (self, row);

      return g_strdup (text != NULL ? text : "");
    }
  number = column_number (self, row);
  if (!isfinite (number))
    return g_strdup ("");
  return self->kind == COLUMN_BOOL    ? g_strdup (number != 0 ? "1" : "0")
         : self->kind == COLUMN_COUNT ? g_strdup_printf ("%.0f", number)
                                      : number_format_exact (number);
}

char *
column_show (const Column *self, gconstpointer row)
{
  double number;

  if (self->show != NULL)
    return self->show (self, row);
  if (column_is_text (self))
    return column_cell (self, row);
  number = column_number (self, row);
  if (!isfinite (number))
    return g_strdup ("");
  switch (self->kind)
    {
    case COLUMN_BOOL:
      return g_strdup (number != 0 ? "yes" : "no");
    case COLUMN_COUNT:
      return g_strdup_printf ("%.0f", number);
    case COLUMN_RATE:
      return g_strdup_printf ("%.1f", number);
    case COLUMN_TIME:
      return quantity_format (QUANTITY_TIME, number, 4);
    case COLUMN_BYTES:
      return quantity_format (QUANTITY_BYTES, number, 4);
    case COLUMN_GIB:
      return g_strdup_printf ("%.1f GiB", number);
    case COLUMN_PERCENT:
      return g_strdup_printf ("%.1f %%", number);
    case COLUMN_RATIO:
      return g_strdup_printf ("%.1f %%", 100 * number);
    case COLUMN_CHANGE:
      return g_strdup_printf ("%+.1f %%", 100 * number);
    case COLUMN_AMOUNT:
      return quantity_format (QUANTITY_COUNT, number, 3);
    default: /* four digits and more, without an exponent */
      return g_strdup_printf (fabs (number) >= 1e4 && fabs (number) < 1e15 ? "%.0f" : "%.4g",
                              number);
    }
}

const Column *
column_find (const Column *columns, const char *key)
{
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (g_strcmp0 (column->key, key) == 0)
      return column;
  return NULL;
}

/* ---- rows ------------------------------------------------------------------------------------ */

Rows
rows_of_array (const GArray *array)
{
  return (Rows){ array->data, array->len, g_array_get_element_size ((GArray *) array) };
}

Rows
rows_of_pointers (const GPtrArray *pointers)
{
  return (Rows){ pointers->pdata, pointers->len, 0 };
}

gconstpointer
rows_at (const Rows *self, guint i)
{
  return self->size > 0 ? (const char *) self->first + i * self->size
                        : ((const gconstpointer *) self->first)[i];
}

/* ROW: NULL for the header. */
static void
append_csv (const Column *columns, gconstpointer row, GString *out)
{
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (g_free);

  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    if (column->key != NULL && !(column->flags & COLUMN_JSON_ONLY))
      g_ptr_array_add (cells, row != NULL ? column_cell (column, row) : g_strdup (column->key));
  csv_append_row (out, (const char *const *) cells->pdata, cells->len);
}

void
columns_csv (const Column *columns, Rows rows, GString *out)
{
  append_csv (columns, NULL, out);
  for (guint i = 0; i < rows.n; i++)
    append_csv (columns, rows_at (&rows, i), out);
}
