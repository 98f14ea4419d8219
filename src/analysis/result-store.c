#include "analysis/result-store.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#define APPLICATION_ID 0x53485357 /* "SHSW" */
#define BUSY_MS        30000      /* another process writes */

/* Columns of `run` that are no results, in the order of the statements. */
#define OWN_COLUMNS "digest", "context", "base", "point", "failure", "warning"
#define N_OWN       6

struct _ResultStore
{
  sqlite3            *db;
  char               *file, *context; /* file: as it was given, for messages */
  char               *path;           /* as SQLite opens it */
  const ResultColumn *columns;
  guint               n_columns, n_options;
  sqlite3_stmt       *find, *put, *one;
};

/* ---- values and rows ------------------------------------------------------------------------- */

void
result_values_free (ResultValue *values, guint n)
{
  for (guint i = 0; i < n && values != NULL; i++)
    g_free (values[i].text);
  g_free (values);
}

void
result_row_free (ResultRow *self)
{
  if (self == NULL)
    return;
  g_free (self->digest);
  g_free (self->base);
  g_free (self->failure);
  g_free (self->warning);
  g_strfreev (self->settings);
  result_values_free (self->values, self->n_values);
  g_free (self);
}

ResultBrief
result_row_brief (const ResultRow *self, const ResultColumn *columns)
{
  ResultBrief brief = { .known = TRUE, .failed = self->values == NULL };

  for (guint i = 0; self->values != NULL && i < self->n_values; i++)
    if (g_str_equal (columns[i].name, "fits"))
      brief.fits = self->values[i].whole != 0;
    else if (g_str_equal (columns[i].name, "tokens_per_s_per_gpu"))
      brief.speed = self->values[i].real;
  return brief;
}

/* ---- SQLite ---------------------------------------------------------------------------------- */

static gboolean
set_error (const ResultStore *self, GError **error)
{
  g_set_error (error, RESULT_STORE_ERROR, RESULT_STORE_FAILED, "'%s': %s", self->file,
               self->db != NULL ? sqlite3_errmsg (self->db) : "out of memory");
  return FALSE;
}

static gboolean
execute (ResultStore *self, const char *sql, GError **error)
{
  return sqlite3_exec (self->db, sql, NULL, NULL, NULL) == SQLITE_OK || set_error (self, error);
}

static sqlite3_stmt *
prepare (ResultStore *self, const char *sql, GError **error)
{
  sqlite3_stmt *statement = NULL;

  if (sqlite3_prepare_v2 (self->db, sql, -1, &statement, NULL) != SQLITE_OK)
    set_error (self, error);
  return statement;
}

/* Runs STATEMENT with N texts bound to it (NULL: null), and finishes it. */
static gboolean
run_texts (ResultStore *self, const char *sql, const char *const *texts, guint n, GError **error)
{
  sqlite3_stmt *statement = prepare (self, sql, error);
  gboolean      good;

  if (statement == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++)
    sqlite3_bind_text (statement, (int) i + 1, texts[i], -1, SQLITE_STATIC);
  good = sqlite3_step (statement) == SQLITE_DONE || set_error (self, error);
  sqlite3_finalize (statement);
  return good;
}

/* The first number that SQL says, with TEXT bound to it where it is not NULL. */
static gboolean
ask_number (ResultStore *self, const char *sql, const char *text, gint64 *number, GError **error)
{
  sqlite3_stmt *statement = prepare (self, sql, error);
  int           code;

  if (statement == NULL)
    return FALSE;
  if (text != NULL)
    sqlite3_bind_text (statement, 1, text, -1, SQLITE_STATIC);
  code = sqlite3_step (statement);
  *number = code == SQLITE_ROW ? sqlite3_column_int64 (statement, 0) : 0;
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    set_error (self, error);
  sqlite3_finalize (statement);
  return code == SQLITE_ROW || code == SQLITE_DONE;
}

static void
append_name (GString *sql, const char *name)
{
  char *quoted = sqlite3_mprintf ("\"%w\"", name);

  g_string_append (sql, quoted);
  sqlite3_free (quoted);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *
type_word (ResultType type)
{
  return type == RESULT_TEXT ? " TEXT" : type == RESULT_WHOLE ? " INTEGER" : " REAL";
}

/* The names of SCHEMA's run, as a set. */
static GHashTable *
column_set (ResultStore *self, const char *schema, GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autofree char       *sql =
      g_strdup_printf ("SELECT name, type FROM pragma_table_info('run', '%s')", schema);
  sqlite3_stmt *statement = prepare (self, sql, error);
  int           code = SQLITE_ERROR;

  if (statement == NULL)
    return NULL;
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    g_hash_table_insert (names, g_strdup ((const char *) sqlite3_column_text (statement, 0)),
                         g_strdup ((const char *) sqlite3_column_text (statement, 1)));
  if (code != SQLITE_DONE)
    set_error (self, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? g_steal_pointer (&names) : NULL;
}

static gboolean
add_column (ResultStore *self, GHashTable *present, const char *name, const char *type,
            GError **error)
{
  g_autoptr (GString) sql = g_string_new ("ALTER TABLE run ADD COLUMN ");

  if (g_hash_table_contains (present, name))
    return TRUE;
  g_hash_table_insert (present, g_strdup (name), NULL);
  append_name (sql, name);
  g_string_append (sql, type);
  return execute (self, sql->str, error);
}

static gboolean
make_tables (ResultStore *self, const char *const *options, GError **error)
{
  g_autoptr (GHashTable) present = NULL;
  g_autofree char *marks = g_strdup_printf ("PRAGMA application_id = %d; PRAGMA user_version = %d",
                                            APPLICATION_ID, RESULT_STORE_VERSION);

  if (!execute (self,
                "CREATE TABLE IF NOT EXISTS context (id TEXT PRIMARY KEY, program_version TEXT, "
                "profiles TEXT, options TEXT);"
                "CREATE TABLE IF NOT EXISTS base (id TEXT PRIMARY KEY, scenario TEXT);"
                "CREATE TABLE IF NOT EXISTS run (digest TEXT NOT NULL, context TEXT NOT NULL, "
                "base TEXT NOT NULL, point INTEGER NOT NULL, failure TEXT, warning TEXT, "
                "repeats INTEGER NOT NULL DEFAULT 0);"
                "CREATE UNIQUE INDEX IF NOT EXISTS run_key ON run (digest, context);",
                error))
    return FALSE;
  present = column_set (self, "main", error);
  for (guint i = 0; present != NULL && i < self->n_columns; i++)
    if (!add_column (self, present, self->columns[i].name, type_word (self->columns[i].type),
                     error))
      return FALSE;
  for (const char *const *option = options; present != NULL && option != NULL && *option != NULL;
       option++)
    if (!add_column (self, present, *option, "", error))
      return FALSE;
  return present != NULL && execute (self, marks, error);
}

static gboolean
prepare_all (ResultStore *self, const char *const *options, GError **error)
{
  static const char *const own[] = { OWN_COLUMNS };
  g_autoptr (GString)      sql = g_string_new ("INSERT INTO run (");

  self->find = prepare (self,
                        "SELECT failure IS NOT NULL, fits, tokens_per_s_per_gpu FROM run "
                        "WHERE digest = ?1 AND context = ?2",
                        error);
  if (self->find == NULL)
    return FALSE;
  for (guint i = 0; i < N_OWN + self->n_columns + self->n_options; i++)
    {
      g_string_append (sql, i > 0 ? ", " : "");
      append_name (sql, i < N_OWN                     ? own[i]
                        : i < N_OWN + self->n_columns ? self->columns[i - N_OWN].name
                                                      : options[i - N_OWN - self->n_columns]);
    }
  g_string_append (sql, ") VALUES (?");
  for (guint i = 1; i < N_OWN + self->n_columns + self->n_options; i++)
    g_string_append (sql, ", ?");
  g_string_append (sql, ") ON CONFLICT (digest, context) DO UPDATE SET repeats = repeats + 1");
  self->put = prepare (self, sql->str, error);
  return self->put != NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The first number that SQL says; FALSE: it says none. */
static gboolean
peek_number (ResultStore *self, const char *sql, gint64 *number)
{
  return ask_number (self, sql, NULL, number, NULL);
}

#define OUR_TABLES "'run', 'context', 'base'"

/* A database of ours, or (FRESH) one of nobody's yet. */
static gboolean
check_marks (ResultStore *self, gboolean *fresh, GError **error)
{
  gint64 application, version, n_tables, n_ours;

  if (!peek_number (self, "PRAGMA application_id", &application)
      || !peek_number (self, "PRAGMA user_version", &version)
      || !peek_number (self, "SELECT count(*) FROM sqlite_master", &n_tables)
      || !peek_number (self,
                       "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN "
                       "(" OUR_TABLES ")",
                       &n_ours))
    {
      if (sqlite3_errcode (self->db) != SQLITE_NOTADB)
        return set_error (self, error);
      application = n_tables = 1;
    }
  *fresh = application == 0 && version == 0 && n_tables == 0;
  if (!*fresh && application == APPLICATION_ID && version != RESULT_STORE_VERSION)
    g_set_error (error, RESULT_STORE_ERROR, RESULT_STORE_REFUSED,
                 "'%s' is a result store of version %" G_GINT64_FORMAT
                 ", this program's is %d\n  hint: give another store, or read it with the "
                 "shardsim that wrote it",
                 self->file, version, RESULT_STORE_VERSION);
  else if (!*fresh && (application != APPLICATION_ID || n_ours != 3))
    g_set_error (error, RESULT_STORE_ERROR, RESULT_STORE_REFUSED,
                 "'%s' is no result store\n  hint: give a new name, or one that 'shardsim sweep' "
                 "wrote",
                 self->file);
  else
    return TRUE;
  return FALSE;
}

static gboolean
open_path (ResultStore *self, int flags, GError **error)
{
  sqlite3_close (g_steal_pointer (&self->db));
  if (sqlite3_open_v2 (self->path, &self->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI, NULL)
      != SQLITE_OK)
    return set_error (self, error);
  sqlite3_busy_timeout (self->db, BUSY_MS);
  return TRUE;
}

/*
 * A store in a folder that may not be written: SQLite wants files beside it, unless told that
 * nobody writes. FALSE: it is not that, or rows are in such a file.
 */
static gboolean
open_unwritable (ResultStore *self)
{
  g_autofree char *wal = g_strconcat (self->path, "-wal", NULL);
  g_autofree char *escaped = NULL;
  const int        code = sqlite3_errcode (self->db) & 0xff;

  if ((code != SQLITE_CANTOPEN && code != SQLITE_READONLY) || g_file_test (wal, G_FILE_TEST_EXISTS))
    return FALSE;
  escaped = g_uri_escape_string (self->path, G_URI_RESERVED_CHARS_ALLOWED_IN_PATH, FALSE);
  g_free (self->path);
  self->path = g_strdup_printf ("file:%s?immutable=1", escaped);
  return open_path (self, SQLITE_OPEN_READONLY, NULL);
}

/* The whole path: SQLite gives names such as ":memory:" and "" a meaning of their own. */
static ResultStore *
store_new (const char *file)
{
  ResultStore *self = g_new0 (ResultStore, 1);

  self->file = g_strdup (file);
  self->path = g_canonicalize_filename (file, NULL);
  return self;
}

ResultStore *
result_store_open (const char *file, const ResultColumn *columns, const char *const *options,
                   GError **error)
{
  gboolean                fresh;
  g_autoptr (ResultStore) self = store_new (file);

  self->columns = columns;
  while (columns[self->n_columns].name != NULL)
    self->n_columns++;
  self->n_options = options != NULL ? g_strv_length ((char **) options) : 0;
  if (!open_path (self, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error)
      || !check_marks (self, &fresh, error)
      || !execute (self,
                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                   "PRAGMA wal_autocheckpoint = 8000; BEGIN IMMEDIATE",
                   error)
      || !make_tables (self, options, error) || !execute (self, "COMMIT", error)
      || !prepare_all (self, options, error))
    return NULL;
  return g_steal_pointer (&self);
}

ResultStore *
result_store_open_existing (const char *file, GError **error)
{
  gboolean                fresh = FALSE, good;
  g_autoptr (ResultStore) self = store_new (file);
  g_autoptr (GError)      first = NULL;

  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    {
      g_set_error (error, RESULT_STORE_ERROR, RESULT_STORE_REFUSED, "there is no store '%s'", file);
      return NULL;
    }
  /* to read takes the right to write, where there is one: a store that was killed is mended */
  good = open_path (self, SQLITE_OPEN_READWRITE, &first) && check_marks (self, &fresh, &first);
  if (!good && open_unwritable (self))
    {
      g_clear_error (&first);
      good = check_marks (self, &fresh, &first);
    }
  if (good && fresh)
    g_set_error (&first, RESULT_STORE_ERROR, RESULT_STORE_REFUSED, "'%s' is an empty file", file);
  if (first == NULL)
    return g_steal_pointer (&self);
  g_propagate_error (error, g_steal_pointer (&first));
  return NULL;
}

void
result_store_free (ResultStore *self)
{
  if (self == NULL)
    return;
  sqlite3_finalize (self->find);
  sqlite3_finalize (self->put);
  sqlite3_finalize (self->one);
  sqlite3_close (self->db);
  g_free (self->file);
  g_free (self->path);
  g_free (self->context);
  g_free (self);
}

/* ---- what runs depend on --------------------------------------------------------------------- */

/* The start of a hash, which tells texts apart. Newly allocated. */
static char *
short_hash (const char *text)
{
  char *hash = g_compute_checksum_for_string (G_CHECKSUM_SHA256, text, -1);

  hash[16] = '\0';
  return hash;
}

gboolean
result_store_set_context (ResultStore *self, const char *program_version, const char *profiles,
                          const char *options, GError **error)
{
  g_autofree char *all = g_strjoin ("\n", program_version, profiles, options, NULL);
  const char      *texts[] = { NULL, program_version, profiles, options };

  g_free (self->context);
  self->context = short_hash (all);
  texts[0] = self->context;
  return run_texts (self, "INSERT OR IGNORE INTO context VALUES (?1, ?2, ?3, ?4)", texts, 4, error);
}

char *
result_base_id (const char *yaml)
{
  return short_hash (yaml);
}

gboolean
result_store_add_base (ResultStore *self, const char *yaml, GError **error)
{
  g_autofree char *id = result_base_id (yaml);
  const char      *texts[] = { id, yaml };

  return run_texts (self, "INSERT OR IGNORE INTO base VALUES (?1, ?2)", texts, 2, error);
}

/* ---- runs ------------------------------------------------------------------------------------ */

gboolean
result_store_find (ResultStore *self, const char *digest, ResultBrief *brief, GError **error)
{
  int code;

  *brief = (ResultBrief){ 0 };
  sqlite3_bind_text (self->find, 1, digest, -1, SQLITE_STATIC);
  sqlite3_bind_text (self->find, 2, self->context, -1, SQLITE_STATIC);
  code = sqlite3_step (self->find);
  if (code == SQLITE_ROW)
    *brief = (ResultBrief){ .known = TRUE,
                            .failed = sqlite3_column_int (self->find, 0) != 0,
                            .fits = sqlite3_column_int (self->find, 1) != 0,
                            .speed = sqlite3_column_double (self->find, 2) };
  else if (code != SQLITE_DONE)
    set_error (self, error);
  sqlite3_reset (self->find);
  return code == SQLITE_ROW || code == SQLITE_DONE;
}

static void
bind_value (sqlite3_stmt *statement, int at, const ResultValue *value)
{
  if (value == NULL || value->type == RESULT_NULL)
    sqlite3_bind_null (statement, at);
  else if (value->type == RESULT_TEXT)
    sqlite3_bind_text (statement, at, value->text, -1, SQLITE_STATIC);
  else if (value->type == RESULT_WHOLE)
    sqlite3_bind_int64 (statement, at, value->whole);
  else
    sqlite3_bind_double (statement, at, value->real);
}

/* What reads as a number is one: so it sorts. */
static void
bind_setting (sqlite3_stmt *statement, int at, const char *text)
{
  char        *end = NULL;
  const gint64 whole = g_ascii_strtoll (text, &end, 10);

  if (*text == '\0')
    sqlite3_bind_null (statement, at);
  else if (*end == '\0')
    sqlite3_bind_int64 (statement, at, whole);
  else
    sqlite3_bind_text (statement, at, text, -1, SQLITE_STATIC);
}

gboolean
result_store_put (ResultStore *self, const ResultRow *row, GError **error)
{
  int      at = 1;
  gboolean good;

  sqlite3_bind_text (self->put, at++, row->digest, -1, SQLITE_STATIC);
  sqlite3_bind_text (self->put, at++, self->context, -1, SQLITE_STATIC);
  sqlite3_bind_text (self->put, at++, row->base, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (self->put, at++, (gint64) row->point);
  sqlite3_bind_text (self->put, at++, row->failure, -1, SQLITE_STATIC);
  sqlite3_bind_text (self->put, at++, row->warning, -1, SQLITE_STATIC);
  for (guint i = 0; i < self->n_columns; i++)
    bind_value (self->put, at++, row->values != NULL ? &row->values[i] : NULL);
  for (guint i = 0; i < self->n_options; i++)
    bind_setting (self->put, at++, row->settings[i]);
  good = sqlite3_step (self->put) == SQLITE_DONE || set_error (self, error);
  sqlite3_reset (self->put);
  sqlite3_clear_bindings (self->put);
  return good;
}

gboolean
result_store_forget_failures (ResultStore *self, GError **error)
{
  const char *texts[] = { self->context };

  return run_texts (self, "DELETE FROM run WHERE failure IS NOT NULL AND context = ?1", texts, 1,
                    error);
}

gboolean
result_store_count_others (ResultStore *self, guint64 *n, GError **error)
{
  gint64   count = 0;
  gboolean good = ask_number (self, "SELECT count(*) FROM run WHERE context <> ?1", self->context,
                              &count, error);

  *n = (guint64) count;
  return good;
}

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
    set_error (self, error);
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
      prepare (self,
               "SELECT name FROM pragma_table_info('run') ORDER BY name IN "
               "('digest', 'context', 'base', 'point', 'failure', 'warning', 'repeats'), cid",
               error);

  if (statement == NULL)
    return NULL;
  while (sqlite3_step (statement) == SQLITE_ROW)
    {
      g_string_append (sql, sql->len > before ? ", " : "");
      append_name (sql, (const char *) sqlite3_column_text (statement, 0));
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

      self->one = sql != NULL ? prepare (self, sql, error) : NULL;
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
  sqlite3_stmt *statement = sql != NULL ? prepare (self, sql, error) : NULL;
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
  sqlite3_stmt *statement = prepare (self, sql, error);
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
    set_error (self, error);
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
  g_autoptr (GHashTable) here = column_set (self, "main", error);
  g_autoptr (GHashTable) there = here != NULL ? column_set (self, "part", error) : NULL;
  GHashTableIter         iter;
  gpointer               name, type;

  if (there == NULL)
    return FALSE;
  g_hash_table_iter_init (&iter, there);
  while (g_hash_table_iter_next (&iter, &name, &type))
    {
      g_autofree char *suffix = g_strconcat (" ", type, NULL);

      if (!add_column (self, here, name, suffix, error))
        return FALSE;
      g_string_append (list, list->len > 0 ? ", " : "");
      append_name (list, name);
    }
  return TRUE;
}

static gboolean
take_rows (ResultStore *self, ResultMerge *merge, GError **error)
{
  g_autoptr (GString) list = g_string_new (NULL), sql = g_string_new (NULL);
  gint64              rows = 0, differing = 0;

  if (!take_columns (self, list, error)
      || !ask_number (self, "SELECT count(*) FROM part.run", NULL, &rows, error)
      || !ask_number (self,
                      "SELECT count(*) FROM part.run p JOIN main.run m ON m.digest = p.digest "
                      "AND m.context = p.context WHERE p.step_time_s IS NOT m.step_time_s "
                      "OR p.failure IS NOT m.failure",
                      NULL, &differing, error)
      || !execute (self,
                   "INSERT OR IGNORE INTO main.context SELECT * FROM part.context;"
                   "INSERT OR IGNORE INTO main.base SELECT * FROM part.base",
                   error))
    return FALSE;
  g_string_append_printf (sql, "INSERT OR IGNORE INTO main.run (%s) SELECT %s FROM part.run",
                          list->str, list->str);
  if (!execute (self, sql->str, error))
    return FALSE;
  *merge =
      (ResultMerge){ (guint64) rows, (guint64) sqlite3_changes64 (self->db), (guint64) differing };
  return TRUE;
}

/* Whether two names are of one file. */
static gboolean
same_file (const char *a, const char *b)
{
  GStatBuf x, y;

  return g_stat (a, &x) == 0 && g_stat (b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

gboolean
result_store_merge (ResultStore *self, const char *file, ResultMerge *merge, GError **error)
{
  g_autoptr (ResultStore) other = NULL;
  gint64                  rows = 0;
  gboolean                good;

  *merge = (ResultMerge){ 0 };
  if (same_file (self->file, file)) /* "-o all.db *.db" */
    {
      good = ask_number (self, "SELECT count(*) FROM run", NULL, &rows, error);
      merge->rows = (guint64) rows;
      return good;
    }
  other = result_store_open_existing (file, error);
  if (other == NULL
      || !run_texts (self, "ATTACH ?1 AS part", (const char *[]){ other->path }, 1, error))
    return FALSE;
  good = execute (self, "BEGIN IMMEDIATE", error) && take_rows (self, merge, error)
         && execute (self, "COMMIT", error);
  if (!good)
    sqlite3_exec (self->db, "ROLLBACK", NULL, NULL, NULL);
  sqlite3_exec (self->db, "DETACH part", NULL, NULL, NULL);
  return good;
}
