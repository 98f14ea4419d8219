/*
 * A row of results as a table of fields: one table for CSV, where a field is a column, and for
 * JSON, where it is a key.
 */
#pragma once

#include <glib.h>

#include "report/json-private.h"

typedef enum
{
  FIELD_TEXT,     /* NULL: empty in both */
  FIELD_WORD,     /* NULL: empty in CSV, null in JSON */
  FIELD_BOOL,     /* 1 or 0 in CSV */
  FIELD_COUNT,    /* whole; CSV leaves 0 empty */
  FIELD_NUMBER,   /* not finite: empty in CSV, null in JSON */
  FIELD_RATE,     /* a number of which more is better */
  FIELD_OPTIONAL, /* a number; 0 = not asked for: empty in CSV, null in JSON */
  FIELD_SETTING,  /* an option of a Prediction's scenario; empty and null where it is unset */
} FieldType;

typedef enum
{
  FIELD_IN_BOTH,
  FIELD_IN_CSV,
  FIELD_IN_JSON,
} FieldPlace;

typedef struct
{
  const char *name; /* NULL ends a table */
  const char *(*text) (gconstpointer row);
  double (*number) (gconstpointer row);
  FieldType   type;
  FieldPlace  place;
  const char *section; /* of a setting */
  gboolean    about;   /* what the results are of, or how they were made: no result itself */
} Field;

/* Getters: NAME of a row that is a ROW, which the expression calls p. */
#define FIELD_TEXT_OF(Row, name, expression)   \
  static const char *name (gconstpointer data) \
  {                                            \
    const Row *p = data;                       \
    return expression;                         \
  }
#define FIELD_NUMBER_OF(Row, name, expression) \
  static double name (gconstpointer data)      \
  {                                            \
    const Row *p = data;                       \
    return (double) (expression);              \
  }

/* What every CSV row ends with; JSON documents begin with it. */
const char *field_program_version (gconstpointer row);
double      field_schema (gconstpointer row);
#define FIELDS_OF_THE_PROGRAM                                                             \
  { .name = "program_version", .text = field_program_version, .place = FIELD_IN_CSV },    \
  {                                                                                       \
    .name = "schema", .type = FIELD_NUMBER, .number = field_schema, .place = FIELD_IN_CSV \
  }

/* The header and N rows, of SIZE bytes each. */
void fields_csv (const Field *fields, gconstpointer rows, guint n, gsize size, GString *out);
void fields_csv_pointers (const Field *fields, const GPtrArray *rows, GString *out);

void fields_add_json (const Field *fields, gconstpointer row, struct json_object *object);
struct json_object *fields_json (const Field *fields, gconstpointer row); /* an object */
struct json_object *fields_json_list (const Field *fields, gconstpointer rows, guint n, gsize size);
