/*
 * A column of a table, told once: where a row keeps its value, of what kind that is, what CSV and
 * JSON call it, under which title people read it, and one sentence about it. Text, CSV, JSON, pages
 * and the documentation are all made of that, and so is what else goes over the values of a struct.
 *
 * A table of columns is an array that ends with { 0 }; its rows are structs of one type.
 */
#pragma once

#include <glib.h>

/*
 * The number of the form of all results in CSV and JSON (docs/results.md). It grows when a column
 * or a key goes, is renamed, or means something else; new ones do not change it.
 */
#define RESULTS_SCHEMA      1
#define RESULTS_SCHEMA_TEXT G_STRINGIFY (RESULTS_SCHEMA)

/* What a value is, and so how it is written. Numbers that are not finite are none, as NULL is. */
typedef enum
{
  COLUMN_END,     /* none: this ends a table */
  COLUMN_TEXT,    /* none is an empty text */
  COLUMN_WORD,    /* none is null in JSON */
  COLUMN_BOOL,    /* 1 or 0 in CSV */
  COLUMN_COUNT,   /* whole */
  COLUMN_NUMBER,  /* read to four digits */
  COLUMN_RATE,    /* read to one decimal */
  COLUMN_TIME,    /* s */
  COLUMN_BYTES,   /* B */
  COLUMN_GIB,     /* GiB */
  COLUMN_PERCENT, /* % */
  COLUMN_RATIO,   /* read in % */
  COLUMN_CHANGE,  /* the same, with its sign */
  COLUMN_AMOUNT,  /* of many: read as "1.23G" */
} ColumnKind;

typedef enum
{
  COLUMN_GROWS = 1 << 0,     /* a sum over what a step repeats */
  COLUMN_MORE = 1 << 1,      /* more is better */
  COLUMN_OPTIONAL = 1 << 2,  /* a number that is none where it is 0 */
  COLUMN_ORIGIN = 1 << 3,    /* what results are of, or how they were made: no result itself */
  COLUMN_CSV_ONLY = 1 << 4,  /* where JSON has it elsewhere */
  COLUMN_JSON_ONLY = 1 << 5, /* where CSV has no column of that name */
  COLUMN_WAITS = 1 << 6,     /* a sum of waits: repeats differ in it a little */
  COLUMN_LEFT_OUT = 1 << 8,  /* JSON has no key where there is none */
  COLUMN_IF_ANY = 1 << 7,    /* people read it only in tables of which a row has it */
} ColumnFlags;

/* The C type of a member. */
typedef enum
{
  MEMBER_NONE,
  MEMBER_TEXT,
  MEMBER_DOUBLE,
  MEMBER_INT,
  MEMBER_UINT,
  MEMBER_INT64,
  MEMBER_UINT64,
} MemberType;

typedef struct _Column Column;
struct _Column
{
  const char *key;   /* of CSV and JSON; NULL: in neither */
  const char *title; /* in lower case but for names, as pages have it; NULL: not for people */
  ColumnKind  kind;
  guint       flags; /* ColumnFlags */
  /* where the value is: in a member (COLUMN_MEMBER, COLUMN_VIA), or what a getter says */
  MemberType type;
  gboolean   is_via; /* the member is of a struct to which the row points; NULL there: none */
  gsize      via, offset;
  double     scale; /* what a number is multiplied with; 0: nothing */
  double (*number) (const Column *column, gconstpointer row);
  const char *(*text) (const Column *column, gconstpointer row);
  gconstpointer of; /* for a getter */
  /* how people read it, where the kind does not say that; newly allocated */
  char *(*show) (const Column *column, gconstpointer row);
  const char *unit;  /* of the documentation, where the kind does not say it */
  const char *about; /* one sentence, or less where the key says it */
};

#define MEMBER_TYPE(member_) \
  _Generic ((member_),        \
      char *: MEMBER_TEXT,    \
      const char *: MEMBER_TEXT, \
      double: MEMBER_DOUBLE,  \
      int: MEMBER_INT,        \
      guint: MEMBER_UINT,     \
      gint64: MEMBER_INT64,   \
      guint64: MEMBER_UINT64)

/* The member of a row of type ROW; the same of what its member POINTER points to. */
#define COLUMN_MEMBER(Row, member_) \
  .type = MEMBER_TYPE (((Row *) 0)->member_), .offset = G_STRUCT_OFFSET (Row, member_)
#define COLUMN_VIA(Row, pointer, member_)                              \
  .type = MEMBER_TYPE (((Row *) 0)->pointer->member_), .is_via = TRUE, \
  .via = G_STRUCT_OFFSET (Row, pointer),                               \
  .offset = G_STRUCT_OFFSET (__typeof__ (*((Row *) 0)->pointer), member_)

/* Getters of what is computed: NAME of a row that is a ROW, which the expression calls p. */
#define COLUMN_NUMBER_OF(Row, name, expression)                \
  static double name (const Column *column, gconstpointer row) \
  {                                                            \
    const Row *p = row;                                        \
    (void) column;                                             \
    return (double) (expression);                              \
  }
#define COLUMN_TEXT_OF(Row, name, expression)                       \
  static const char *name (const Column *column, gconstpointer row) \
  {                                                                 \
    const Row *p = row;                                             \
    (void) column;                                                  \
    return expression;                                              \
  }

/* What made a result: every CSV row has it; JSON documents begin with it. */
const char *column_program_version (const Column *column, gconstpointer row);
double      column_schema (const Column *column, gconstpointer row);
#define COLUMNS_OF_THE_PROGRAM(flags_)                                                           \
  { "program_version", .kind = COLUMN_TEXT, .flags = COLUMN_ORIGIN | (flags_),                   \
    .text = column_program_version, .about = "which program printed it" },                       \
  {                                                                                              \
    "schema", .kind = COLUMN_NUMBER, .flags = COLUMN_ORIGIN | (flags_), .number = column_schema, \
              .about = RESULTS_SCHEMA_TEXT                                                       \
  }

/* ---- values ---------------------------------------------------------------------------------- */

gboolean column_is_text (const Column *self);

/* Of ROW; not finite, NULL: none. */
double      column_number (const Column *self, gconstpointer row);
const char *column_text (const Column *self, gconstpointer row);
gboolean    column_has (const Column *self, gconstpointer row);

/* Where ROW keeps the number, a double by itself. */
double *column_place (const Column *self, gpointer row);

/* The value as CSV has it, and as people read it. Newly allocated. */
char *column_cell (const Column *self, gconstpointer row);
char *column_show (const Column *self, gconstpointer row);

/* The one of KEY; NULL: there is none. */
const Column *column_find (const Column *columns, const char *key);

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows in a row, or pointers to them. */
typedef struct
{
  gconstpointer first;
  guint         n;
  gsize         size; /* of a row; 0: they are pointers */
} Rows;

Rows          rows_of_array (const GArray *array);
Rows          rows_of_pointers (const GPtrArray *pointers);
gconstpointer rows_at (const Rows *self, guint i);

/* A header and a row each. */
void columns_csv (const Column *columns, Rows rows, GString *out);
