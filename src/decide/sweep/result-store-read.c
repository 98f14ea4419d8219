/* What a store holds, row by row, and a store joined to another. */
#include "decide/sweep/result-store-private.h"

#include <string.h>

#include "base/file/same-file.h"

/* ---- reading --------------------------------------------------------------------------------- */

static ResultValue
value_of (sqlite3_stmt *statement, int column)
{
  switch (sqlite3_column_type (statement, column))
    {
    case SQLITE_INTEGER:
      return (ResultValue){ .type = RESULT_WHOLE,
                            .whole = sqlite3_column_int64 (statement, column) };
    case SQLITE_FLOAT:
      return (ResultValue){ .type = RESULT_REAL,
                            .real = sqlite3_column_double (statement, column) };
    case SQLITE_NULL:
      return (ResultValue){ .type = RESULT_NULL };
    default:
      return (ResultValue){ .type = RESULT_TEXT,
                            .text =
                                g_strdup ((const char *) sqlite3_column_text (statement, column)) };
    }
}

/* Every row of STATEMENT, which is reset. */
static gboolean
visit_rows (ResultStore *self, sqlite3_stmt *statement, ResultVisit visit, gpointer user,
            GError **error)
{
  const guint             n = (guint) sqlite3_column_count (statement);
  g_autofree const char **names = g_new0 (const char *, n + 1);
  gboolean                going = TRUE;
  int                     code = SQLITE_DONE;

  for (guint i = 0; i < n; i++)
    names[i] = sqlite3_column_name (statement, (int) i);
  while (going && (code = sqlite3_step (statement)) == SQLITE_ROW)
    {
      ResultValue *values = g_new0 (ResultValue, n);

      for (guint i = 0; i < n; i++)
        values[i] = value_of (statement, (int) i);
      going = visit (names, values, n, user);
      result_values_free (values, n);
    }
  if (going && code != SQLITE_DONE)
    store_set_error (self, error);
  sqlite3_reset (statement);
  return !going || code == SQLITE_DONE;
}

/* SELECT of all columns, the results first, and END. Newly allocated; NULL with ERROR. */
static char *
select_all (ResultStore *self, const char *end, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("SELECT ");
  const gsize         before = sql->len;
  sqlite3_stmt       *statement =
      store_prepare (self,
                     "SELECT name FROM pragma_table_info('run') ORDER BY name IN "
                     "('digest', 'context', 'base', 'point', 'failure', 'warning', 'repeats'), cid",
                     error);

  if (statement == NULL)
    return NULL;
  while (sqlite3_step (statement) == SQLITE_ROW)
    {
      g_string_append (sql, sql->len > before ? ", " : "");
      store_append_name (sql, (const char *) sqlite3_column_text (statement, 0));
    }
  sqlite3_finalize (statement);
  g_string_append (sql, " FROM run ");
  g_string_append (sql, end);
  return g_string_free (g_steal_pointer (&sql), FALSE);
}

gboolean
result_store_visit_one (ResultStore *self, const char *digest, ResultVisit visit, gpointer user,
                        GError **error)
{
  if (self->one == NULL)
    {
      g_autofree char *sql = select_all (self, "WHERE digest = ?1 AND context = ?2", error);

      self->one = sql != NULL ? store_prepare (self, sql, error) : NULL;
    }
  if (self->one == NULL)
    return FALSE;
  sqlite3_bind_text (self->one, 1, digest, -1, SQLITE_STATIC);
  sqlite3_bind_text (self->one, 2, self->context, -1, SQLITE_STATIC);
  return visit_rows (self, self->one, visit, user, error);
}

gboolean
result_store_visit_all (ResultStore *self, ResultVisit visit, gpointer user, GError **error)
{
  g_autofree char *sql =
      select_all (self,
                  "ORDER BY (SELECT c.rowid FROM context c WHERE c.id = run.context), "
                  "(SELECT b.rowid FROM base b WHERE b.id = run.base), point, digest",
                  error);
  sqlite3_stmt *statement = sql != NULL ? store_prepare (self, sql, error) : NULL;
  gboolean      good = statement != NULL && visit_rows (self, statement, visit, user, error);

  sqlite3_finalize (statement);
  return good;
}

const char *
result_store_context (const ResultStore *self)
{
  return self->context;
}

/* The first row of SQL with ID bound to it, as texts; NULL where there is none. */
static gboolean
ask_texts (ResultStore *self, const char *sql, const char *id, char **const *texts, guint n,
           GError **error)
{
  sqlite3_stmt *statement = store_prepare (self, sql, error);
  int           code;

  if (statement == NULL)
    return FALSE;
  sqlite3_bind_text (statement, 1, id, -1, SQLITE_STATIC);
  code = sqlite3_step (statement);
  for (guint i = 0; i < n; i++)
    *texts[i] = code == SQLITE_ROW
                    ? g_strdup ((const char *) sqlite3_column_text (statement, (int) i))
                    : NULL;
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    store_set_error (self, error);
  sqlite3_finalize (statement);
  return code == SQLITE_ROW || code == SQLITE_DONE;
}

gboolean
result_store_origin (ResultStore *self, const char *base, const char *context, char **scenario,
                     char **program_version, char **profiles, char **options, GError **error)
{
  char **of_base[] = { scenario }, **of_context[] = { program_version, profiles, options };

  return ask_texts (self, "SELECT scenario FROM base WHERE id = ?1", base, of_base, 1, error)
         && ask_texts (self, "SELECT program_version, profiles, options FROM context WHERE id = ?1",
                       context, of_context, 3, error);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Columns that only the other store has are added here. */
static gboolean
take_columns (ResultStore *self, GString *list, GError **error)
{
  g_autoptr (GHashTable) here = store_column_set (self, "main", error);
  g_autoptr (GHashTable) there = here != NULL ? store_column_set (self, "part", error) : NULL;
  GHashTableIter         iter;
  gpointer               name, type;

  if (there == NULL)
    return FALSE;
  g_hash_table_iter_init (&iter, there);
  while (g_hash_table_iter_next (&iter, &name, &type))
    {
      g_autofree char *suffix = g_strconcat (" ", type, NULL);

      if (!store_add_column (self, here, name, suffix, error))
        return FALSE;
      g_string_append (list, list->len > 0 ? ", " : "");
      store_append_name (list, name);
    }
  return TRUE;
}

static gboolean
take_rows (ResultStore *self, ResultMerge *merge, GError **error)
{
  g_autoptr (GString) list = g_string_new (NULL), sql = g_string_new (NULL);
  gint64              rows = 0, differing = 0;

  if (!take_columns (self, list, error)
      || !store_ask_number (self, "SELECT count(*) FROM part.run", NULL, &rows, error)
      || !store_ask_number (
          self,
          "SELECT count(*) FROM part.run p JOIN main.run m ON m.digest = p.digest "
          "AND m.context = p.context WHERE p.step_time_s IS NOT m.step_time_s "
          "OR p.failure IS NOT m.failure",
          NULL, &differing, error)
      || !store_execute (self,
                         "INSERT OR IGNORE INTO main.context SELECT * FROM part.context;"
                         "INSERT OR IGNORE INTO main.base SELECT * FROM part.base",
                         error))
    return FALSE;
  g_string_append_printf (sql, "INSERT OR IGNORE INTO main.run (%s) SELECT %s FROM part.run",
                          list->str, list->str);
  if (!store_execute (self, sql->str, error))
    return FALSE;
  *merge =
      (ResultMerge){ (guint64) rows, (guint64) sqlite3_changes64 (self->db), (guint64) differing };
  return TRUE;
}

gboolean
result_store_merge (ResultStore *self, const char *file, ResultMerge *merge, GError **error)
{
  g_autoptr (ResultStore) other = NULL;
  gint64                  rows = 0;
  gboolean                good;

  *merge = (ResultMerge){ 0 };
  if (file_is_same (self->file, file)) /* "-o all.db *.db" */
    {
      good = store_ask_number (self, "SELECT count(*) FROM run", NULL, &rows, error);
      merge->rows = (guint64) rows;
      return good;
    }
  other = result_store_open_existing (file, error);
  if (other == NULL
      || !store_run_texts (self, "ATTACH ?1 AS part", (const char *[]){ other->path }, 1, error))
    return FALSE;
  good = store_execute (self, "BEGIN IMMEDIATE", error) && take_rows (self, merge, error)
         && store_execute (self, "COMMIT", error);
  if (!good)
    sqlite3_exec (self->db, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_exec (self->db, "DETACH part", NULL, NULL, NULL);
  return good;
}
