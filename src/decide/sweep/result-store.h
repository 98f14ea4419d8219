/*
 * The store of a sweep's results: an SQLite database with a row a run.
 *
 *   run      digest (of the scenario), context, base, point, failure (NULL: predicted), warning
 *            (the first), repeats, a column a result, a column an option that was varied
 *            ("training.micro_batch")
 *   context  what else a result depends on: the program's version, the profiles, options
 *   base     the scenario, as YAML, that the varied options are laid over
 *
 * A run is told by its digest and context: it is stored once, under the name of the first point of
 * a base that has them, in whatever order they are put. What has been put is there after any end of
 * the process; a power failure may cost the last of it. One thread at a time.
 */
#pragma once

#include <gio/gio.h>

#define RESULT_STORE_VERSION 1 /* of the tables above: PRAGMA user_version */

typedef enum
{
  RESULT_STORE_FAILED, /* the database says why: no room, no rights */
  RESULT_STORE_REFUSED /* no store, or one of another version */
} ResultStoreError;
#define RESULT_STORE_ERROR (g_quark_from_static_string ("result-store"))

typedef enum
{
  RESULT_NULL,
  RESULT_TEXT,
  RESULT_WHOLE,
  RESULT_REAL,
} ResultType;

typedef struct
{
  const char *name;
  ResultType  type;
} ResultColumn;

typedef struct
{
  ResultType type;
  gint64     whole;
  double     real;
  char      *text; /* owned */
} ResultValue;

/* Frees N VALUES. */
void result_values_free (ResultValue *values, guint n);

/* A run on its way into the store. */
typedef struct
{
  char        *digest, *base; /* base: result_base_id */
  guint64      point;         /* its place in the sweep */
  char        *failure;       /* why there is no prediction; NULL: there is */
  char        *warning;       /* the first one, or NULL */
  char       **settings;      /* by the store's options; "" = the base's own */
  ResultValue *values;        /* by the store's columns; NULL: failed */
  guint        n_values;
} ResultRow;

void result_row_free (ResultRow *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ResultRow, result_row_free)

/* What is known of a run. */
typedef struct
{
  gboolean known, failed, fits;
  gboolean fresh; /* put since the store was opened */
  double   speed; /* tokens/s/GPU */
  guint64  point; /* what it was put as */
} ResultBrief;

ResultBrief result_row_brief (const ResultRow *self, const ResultColumn *columns);

typedef struct _ResultStore ResultStore;

/*
 * Opens FILE, or makes it. The results are COLUMNS (ended by a NULL name), which outlive the store,
 * and OPTIONS (strv; NULL: none) what rows set; columns that FILE lacks are added. NULL with ERROR.
 */
ResultStore *result_store_open (const char *file, const ResultColumn *columns,
                                const char *const *options, GError **error);
/* Opens FILE to be read, which must be there; it may be write-protected. */
ResultStore *result_store_open_existing (const char *file, GError **error);
void         result_store_free (ResultStore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ResultStore, result_store_free)

/* What the rows that follow depend on. */
gboolean result_store_set_context (ResultStore *self, const char *program_version,
                                   const char *profiles, const char *options, GError **error);

/* The scenario YAML under its id. */
gboolean result_store_add_base (ResultStore *self, const char *yaml, GError **error);
char    *result_base_id (const char *yaml); /* newly allocated */

/* The run of DIGEST in the context. */
gboolean result_store_find (ResultStore *self, const char *digest, ResultBrief *brief,
                            GError **error);

/* For good when it returns; a run that is known counts as repeated, and stays as it is. */
gboolean result_store_put (ResultStore *self, const ResultRow *row, GError **error);

/* Forgets the failed runs of the context. */
gboolean result_store_forget_failures (ResultStore *self, GError **error);

/* Runs of the store that are of the context, or of OTHERS. */
gboolean result_store_count (ResultStore *self, gboolean others, guint64 *n, GError **error);

/* Told of a row: N VALUES under NAMES; FALSE stops. */
typedef gboolean (*ResultVisit) (const char *const *names, const ResultValue *values, guint n,
                                 gpointer user);

/* The run of DIGEST in the context. */
gboolean result_store_visit_one (ResultStore *self, const char *digest, ResultVisit visit,
                                 gpointer user, GError **error);
/* All runs: by context and base, the oldest first, then by point. */
gboolean result_store_visit_all (ResultStore *self, ResultVisit visit, gpointer user,
                                 GError **error);

/* The id of the context; NULL: none is set. */
const char *result_store_context (const ResultStore *self);

/*
 * What runs of base BASE in context CONTEXT are made of: the scenario as YAML, the version of the
 * program, the profiles' hash, options. Newly allocated, NULL where the store does not know.
 */
gboolean result_store_origin (ResultStore *self, const char *base, const char *context,
                              char **scenario, char **program_version, char **profiles,
                              char **options, GError **error);

typedef struct
{
  guint64 rows, added, differing; /* of the other; of those: new; known with another result */
} ResultMerge;

/* Adds the runs of FILE, all or none; what SELF knows stays. SELF's own file adds nothing. */
gboolean result_store_merge (ResultStore *self, const char *file, ResultMerge *merge,
                             GError **error);
