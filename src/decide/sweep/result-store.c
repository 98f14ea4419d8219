#include "base/file/file-roles.h"
#include "base/file/same-file.h"
#include "decide/sweep/result-store-private.h"

#include <glib/gstdio.h>
#include <string.h>

#define APPLICATION_ID 0x53485357 /* "SHSW" */
#define BUSY_MS        30000      /* another process writes */

/* Columns of `run` that are no results, in the order of the statements. */
#define OWN_COLUMNS "digest", "context", "base", "point", "failure", "warning"
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

gboolean
store_set_error (const ResultStore *self, GError **error)
{
  g_set_error (error, RESULT_STORE_ERROR, RESULT_STORE_FAILED, "'%s': %s", self->file,
               self->db != NULL ? sqlite3_errmsg (self->db) : "out of memory");
  return FALSE;
}

gboolean
store_execute (ResultStore *self, const char *sql, GError **error)
{
  return sqlite3_exec (self->db, sql, NULL, NULL, NULL) == SQLITE_OK
         || store_set_error (self, error);
}

sqlite3_stmt *
store_prepare (ResultStore *self, const char *sql, GError **error)
{
  sqlite3_stmt *statement = NULL;

  if (sqlite3_prepare_v2 (self->db, sql, -1, &statement, NULL) != SQLITE_OK)
    store_set_error (self, error);
  return statement;
}

gboolean
store_run_texts (ResultStore *self, const char *sql, const char *const *texts, guint n,
                 GError **error)
{
  sqlite3_stmt *statement = store_prepare (self, sql, error);
  gboolean      good;

  if (statement == NULL)
    return FALSE;
  for (guint i = 0; i < n; i++)
    sqlite3_bind_text (statement, (int) i + 1, texts[i], -1, SQLITE_STATIC);
  good = sqlite3_step (statement) == SQLITE_DONE || store_set_error (self, error);
  sqlite3_finalize (statement);
  return good;
}

gboolean
store_ask_number (ResultStore *self, const char *sql, const char *text, gint64 *number,
                  GError **error)
{
  sqlite3_stmt *statement = store_prepare (self, sql, error);
  int           code;

  if (statement == NULL)
    return FALSE;
  if (text != NULL)
    sqlite3_bind_text (statement, 1, text, -1, SQLITE_STATIC);
  code = sqlite3_step (statement);
  *number = code == SQLITE_ROW ? sqlite3_column_int64 (statement, 0) : 0;
  if (code != SQLITE_ROW && code != SQLITE_DONE)
    store_set_error (self, error);
  sqlite3_finalize (statement);
  return code == SQLITE_ROW || code == SQLITE_DONE;
}

void
store_append_name (GString *sql, const char *name)
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

GHashTable *
store_column_set (ResultStore *self, const char *schema, GError **error)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  g_autofree char       *sql =
      g_strdup_printf ("SELECT name, type FROM pragma_table_info('run', '%s')", schema);
  sqlite3_stmt *statement = store_prepare (self, sql, error);
  int           code = SQLITE_ERROR;

  if (statement == NULL)
    return NULL;
  while ((code = sqlite3_step (statement)) == SQLITE_ROW)
    g_hash_table_insert (names, g_strdup ((const char *) sqlite3_column_text (statement, 0)),
                         g_strdup ((const char *) sqlite3_column_text (statement, 1)));
  if (code != SQLITE_DONE)
    store_set_error (self, error);
  sqlite3_finalize (statement);
  return code == SQLITE_DONE ? g_steal_pointer (&names) : NULL;
}

gboolean
store_add_column (ResultStore *self, GHashTable *present, const char *name, const char *type,
                  GError **error)
{
  g_autoptr (GString) sql = g_string_new ("ALTER TABLE run ADD COLUMN ");

  if (g_hash_table_contains (present, name))
    return TRUE;
  g_hash_table_insert (present, g_strdup (name), NULL);
  store_append_name (sql, name);
  g_string_append (sql, type);
  return store_execute (self, sql->str, error);
}

/* Puts a column into CREATE, or (NULL) adds it to the table, unless it is PRESENT. */
static gboolean
add_column (ResultStore *self, GHashTable *present, const char *name, const char *type,
            GString *create, GError **error)
{
  if (create == NULL)
    return store_add_column (self, present, name, type, error);
  if (!g_hash_table_insert (present, g_strdup (name), NULL))
    return TRUE;
  g_string_append (create, ", ");
  store_append_name (create, name);
  g_string_append (create, type);
  return TRUE;
}

/*
 * The columns of results and options that PRESENT lacks: put into CREATE, or (NULL) added one by
 * one, for each of which SQLite reads the whole table's definition again.
 */
static gboolean
add_columns (ResultStore *self, const char *const *options, GHashTable *present, GString *create,
             GError **error)
{
  for (guint i = 0; i < self->n_columns; i++)
    if (!add_column (self, present, self->columns[i].name, type_word (self->columns[i].type),
                     create, error))
      return FALSE;
  g_assert (options != NULL || self->n_options == 0);
  for (guint i = 0; i < self->n_options; i++)
    if (!add_column (self, present, options[i], "", create, error))
      return FALSE;
  return TRUE;
}

static gboolean
make_runs (ResultStore *self, const char *const *options, GError **error)
{
  static const char *const own[] = { OWN_COLUMNS };
  g_autoptr (GHashTable)   present = store_column_set (self, "main", error);
  g_autoptr (GString)      create =
      g_string_new ("CREATE TABLE run (digest TEXT NOT NULL, context TEXT NOT NULL, "
                    "base TEXT NOT NULL, point INTEGER NOT NULL, failure TEXT, warning TEXT, "
                    "repeats INTEGER NOT NULL DEFAULT 0");

  if (present == NULL)
    return FALSE;
  if (g_hash_table_size (present) > 0)
    return add_columns (self, options, present, NULL, error);
  for (guint i = 0; i < G_N_ELEMENTS (own); i++)
    g_hash_table_insert (present, g_strdup (own[i]), NULL);
  g_hash_table_insert (present, g_strdup ("repeats"), NULL);
  add_columns (self, options, present, create, error);
  g_string_append_c (create, ')');
  return store_execute (self, create->str, error);
}

static gboolean
make_tables (ResultStore *self, const char *const *options, GError **error)
{
  g_autofree char *rest =
      g_strdup_printf ("CREATE UNIQUE INDEX IF NOT EXISTS run_key ON run (digest, context);"
                       "PRAGMA application_id = %d; PRAGMA user_version = %d",
                       APPLICATION_ID, RESULT_STORE_VERSION);

  return store_execute (
             self,
             "CREATE TABLE IF NOT EXISTS context (id TEXT PRIMARY KEY, program_version TEXT, "
             "profiles TEXT, options TEXT);"
             "CREATE TABLE IF NOT EXISTS base (id TEXT PRIMARY KEY, scenario TEXT);",
             error)
         && make_runs (self, options, error) && store_execute (self, rest, error);
}

static gboolean
note_newest (ResultStore *self, GError **error)
{
  return store_ask_number (self, "SELECT ifnull(max(rowid), 0) FROM run", NULL, &self->newest,
                           error);
}

/* The I-th column of what is put. */
static const char *
put_column (const ResultStore *self, const char *const *options, guint i)
{
  static const char *const own[] = { OWN_COLUMNS };

  return i < N_OWN                     ? own[i]
         : i < N_OWN + self->n_columns ? self->columns[i - N_OWN].name
                                       : options[i - N_OWN - self->n_columns];
}

/* Of a base's points with equal settings the first stays, whichever thread is done first. */
static void
append_conflict (GString *sql, const ResultStore *self, const char *const *options, guint n)
{
  g_string_append (sql, " ON CONFLICT (digest, context) DO UPDATE SET"
                        " repeats = repeats + (point = excluded.point)");
  for (guint i = 0; i < n; i++)
    {
      const char *name = put_column (self, options, i);

      if (g_str_equal (name, "digest") || g_str_equal (name, "context"))
        continue;
      g_string_append (sql, ", ");
      store_append_name (sql, name);
      g_string_append (sql, " = CASE WHEN base = excluded.base AND excluded.point < point"
                            " THEN excluded.");
      store_append_name (sql, name);
      g_string_append (sql, " ELSE run.");
      store_append_name (sql, name);
      g_string_append (sql, " END");
    }
}

static gboolean
prepare_all (ResultStore *self, const char *const *options, GError **error)
{
  g_autoptr (GString) sql = g_string_new ("INSERT INTO run (");
  const guint         n = N_OWN + self->n_columns + self->n_options;

  self->find = store_prepare (self,
                              "SELECT failure IS NOT NULL, fits, tokens_per_s_per_gpu, rowid > ?3, "
                              "point FROM run WHERE digest = ?1 AND context = ?2",
                              error);
  if (self->find == NULL || !note_newest (self, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    {
      g_string_append (sql, i > 0 ? ", " : "");
      store_append_name (sql, put_column (self, options, i));
    }
  g_string_append (sql, ") VALUES (?");
  for (guint i = 1; i < n; i++)
    g_string_append (sql, ", ?");
  g_string_append (sql, ")");
  append_conflict (sql, self, options, n);
  self->put = store_prepare (self, sql->str, error);
  return self->put != NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* The first number that SQL says; FALSE: it says none. */
static gboolean
peek_number (ResultStore *self, const char *sql, gint64 *number)
{
  return store_ask_number (self, sql, NULL, number, NULL);
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
        return store_set_error (self, error);
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
    return store_set_error (self, error);
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

/* FILE has ROLE; what SQLite makes, replaces and removes beside it is no other output, either. */
static gboolean
claim (const char *file, FileRole role, GError **error)
{
  static const char *const beside[] = { "-wal", "-shm", "-journal" };
  g_autofree char         *target = file_follow_links (file);
  gboolean                 good = file_roles_add (file, role, error);

  for (guint i = 0; good && i < G_N_ELEMENTS (beside); i++)
    {
      g_autofree char *name = g_strconcat (target != NULL ? target : file, beside[i], NULL);

      good = file_roles_add (name, FILE_ROLE_UPDATED, error);
    }
  return good;
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
  if (!claim (file, FILE_ROLE_UPDATED, error)
      || !open_path (self, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error)
      || !check_marks (self, &fresh, error)
      || !store_execute (self,
                         "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                         "PRAGMA wal_autocheckpoint = 8000; BEGIN IMMEDIATE",
                         error)
      || !make_tables (self, options, error) || !store_execute (self, "COMMIT", error)
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
  if (!claim (file, FILE_ROLE_INPUT, error))
    return NULL;
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
  return store_run_texts (self, "INSERT OR IGNORE INTO context VALUES (?1, ?2, ?3, ?4)", texts, 4,
                          error);
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

  return store_run_texts (self, "INSERT OR IGNORE INTO base VALUES (?1, ?2)", texts, 2, error);
}

/* ---- runs ------------------------------------------------------------------------------------ */

gboolean
result_store_find (ResultStore *self, const char *digest, ResultBrief *brief, GError **error)
{
  int code;

  *brief = (ResultBrief){ 0 };
  sqlite3_bind_text (self->find, 1, digest, -1, SQLITE_STATIC);
  sqlite3_bind_text (self->find, 2, self->context, -1, SQLITE_STATIC);
  sqlite3_bind_int64 (self->find, 3, self->newest);
  code = sqlite3_step (self->find);
  if (code == SQLITE_ROW)
    *brief = (ResultBrief){ .known = TRUE,
                            .failed = sqlite3_column_int (self->find, 0) != 0,
                            .fits = sqlite3_column_int (self->find, 1) != 0,
                            .speed = sqlite3_column_double (self->find, 2),
                            .fresh = sqlite3_column_int (self->find, 3) != 0,
                            .point = (guint64) sqlite3_column_int64 (self->find, 4) };
  else if (code != SQLITE_DONE)
    store_set_error (self, error);
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
  good = sqlite3_step (self->put) == SQLITE_DONE || store_set_error (self, error);
  sqlite3_reset (self->put);
  sqlite3_clear_bindings (self->put);
  return good;
}

gboolean
result_store_forget_failures (ResultStore *self, GError **error)
{
  const char *texts[] = { self->context };

  return store_run_texts (self, "DELETE FROM run WHERE failure IS NOT NULL AND context = ?1", texts,
                          1, error)
         && note_newest (self, error);
}

gboolean
result_store_count (ResultStore *self, gboolean others, guint64 *n, GError **error)
{
  gint64   count = 0;
  gboolean good = store_ask_number (self,
                                    others ? "SELECT count(*) FROM run WHERE context <> ?1"
                                           : "SELECT count(*) FROM run WHERE context = ?1",
                                    self->context, &count, error);

  *n = (guint64) count;
  return good;
}
