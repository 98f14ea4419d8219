/* What the files of the store share: statements of SQLite over its tables. */
#pragma once

#include <sqlite3.h>

#include "decide/sweep/result-store.h"

#define N_OWN 6 /* columns of `run` that are no results */

struct _ResultStore
{
  sqlite3            *db;
  char               *file, *context; /* file: as it was given, for messages */
  char               *path;           /* as SQLite opens it */
  const ResultColumn *columns;
  guint               n_columns, n_options;
  gint64              newest; /* rowid of the last run that was there before */
  sqlite3_stmt       *find, *put, *one;
};

/* FALSE, with what SQLite says of its last call. */
gboolean store_set_error (const ResultStore *self, GError **error);

gboolean      store_execute (ResultStore *self, const char *sql, GError **error);
sqlite3_stmt *store_prepare (ResultStore *self, const char *sql, GError **error);

/* Runs SQL with N texts bound to it (NULL: null). */
gboolean store_run_texts (ResultStore *self, const char *sql, const char *const *texts, guint n,
                          GError **error);

/* The first number that SQL says, with TEXT bound to it where it is not NULL. */
gboolean store_ask_number (ResultStore *self, const char *sql, const char *text, gint64 *number,
                           GError **error);

void store_append_name (GString *sql, const char *name);

/* The columns of `run` in SCHEMA, name to type; and one more of them, where it is not PRESENT. */
GHashTable *store_column_set (ResultStore *self, const char *schema, GError **error);
gboolean    store_add_column (ResultStore *self, GHashTable *present, const char *name,
                              const char *type, GError **error);
