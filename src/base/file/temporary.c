#include "base/file/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_MESSAGE 65536  /* of a child process */
#define ONE_SIGNAL  300000 /* us: launchers send one to the process and to its group */

typedef enum
{
  KIND_FILE,
  KIND_FOLDER,     /* with the files in it */
  KIND_NEW_FOLDER, /* if it is empty */
} Kind;

typedef struct
{
  char *name;
  Kind  kind;
} Temporary;

static struct
{
  pthread_mutex_t lock;
  GArray         *list; /* Temporary, in order of their making; NULL when there are none */
  char           *last_words;
  Stop           *stop; /* NULL: a signal ends the process */
  gint64          told; /* us, when STOP was */
  pid_t           child;
  sigset_t        watched;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the list: under the lock ---------------------------------------------------------------- */

static void
add (const char *name, Kind kind)
{
  Temporary temporary = { g_strdup (name), kind };

  if (process.list == NULL)
    process.list = g_array_new (FALSE, FALSE, sizeof (Temporary));
  g_array_append_val (process.list, temporary);
}

static void
forget (guint i)
{
  g_free (g_array_index (process.list, Temporary, i).name);
  g_array_remove_index (process.list, i);
  if (process.list->len == 0)
    g_clear_pointer (&process.list, g_array_unref);
}

/* Place of NAME + 1; 0 when it is not listed. */
static guint
find (const char *name)
{
  for (guint i = process.list != NULL ? process.list->len : 0; i > 0; i--)
    if (g_str_equal (g_array_index (process.list, Temporary, i - 1).name, name))
      return i;
  return 0;
}

/* Removes and forgets the one at place I. */
static void
take_away (guint i)
{
  const Temporary *temporary = &g_array_index (process.list, Temporary, i);

  if (temporary->kind == KIND_FOLDER)
    {
      g_autoptr (GDir) dir = g_dir_open (temporary->name, 0, NULL);
      const char      *entry;

      while (dir != NULL && (entry = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *file = g_build_filename (temporary->name, entry, NULL);

          g_unlink (file);
        }
    }
  if (temporary->kind == KIND_FILE)
    g_unlink (temporary->name);
  else
    g_rmdir (temporary->name);
  forget (i);
}

static void
forget_name (const char *name, gboolean remove)
{
  guint place;

  pthread_mutex_lock (&process.lock);
  place = find (name);
  if (place > 0 && remove)
    take_away (place - 1);
  else if (place > 0)
    forget (place - 1);
  pthread_mutex_unlock (&process.lock);
}

/* ---- making and removing --------------------------------------------------------------------- */

int
temporary_file (char *name)
{
  int fd, code;

  pthread_mutex_lock (&process.lock);
  fd = g_mkstemp_full (name, O_WRONLY | O_CLOEXEC, 0666);
  code = errno;
  if (fd >= 0)
    add (name, KIND_FILE);
  pthread_mutex_unlock (&process.lock);
  errno = code;
  return fd;
}

static gboolean
note_folder (const char *name, Kind kind, gboolean made)
{
  int code = errno;

  if (made)
    add (name, kind);
  pthread_mutex_unlock (&process.lock);
  errno = code;
  return made;
}

gboolean
temporary_folder (char *name)
{
  pthread_mutex_lock (&process.lock);
  return note_folder (name, KIND_FOLDER, g_mkdtemp (name) != NULL);
}

gboolean
temporary_new_folder (const char *name)
{
  pthread_mutex_lock (&process.lock);
  return note_folder (name, KIND_NEW_FOLDER, g_mkdir (name, 0777) == 0);
}

void
temporary_remove (const char *name)
{
  forget_name (name, TRUE);
}

void
temporary_keep (const char *name)
{
  forget_name (name, FALSE);
}

/* ---- renaming -------------------------------------------------------------------------------- */

/*
 * A second name for the file TO, as long as others may fail; *ASIDE stays NULL when there is none.
 * 0 or an errno. These names need no place in the list, as none is left when the lock is.
 */
static int
set_aside (const char *from, const char *to, char **aside)
{
  g_autofree char *name = g_strconcat (from, ".old", NULL);
  GStatBuf         info;

  if (link (to, name) != 0)
    {
      if (errno == ENOENT || errno == EEXIST)
        return errno == ENOENT ? 0 : EEXIST;
      if (g_lstat (to, &info) != 0)
        return errno;
      if (S_ISDIR (info.st_mode))
        return EISDIR;
      if (g_rename (to, name) != 0) /* a file system without hard links: it is away for a moment */
        return errno;
    }
  *aside = g_steal_pointer (&name);
  return 0;
}

/* What stood under TO stands there again. Never removed unless it does. */
static void
take_back (const char *to, const char *aside, gboolean replaced)
{
  if (aside == NULL && replaced)
    g_unlink (to);
  else if (aside != NULL && g_rename (aside, to) == 0)
    g_unlink (aside); /* two names of one file stay two */
}

int
temporary_rename (const char *const *from, const char *const *to, guint n, guint *failed)
{
  g_autoptr (GPtrArray) aside = g_ptr_array_new_with_free_func (g_free);
  guint                 done = 0;
  int                   code = 0;

  pthread_mutex_lock (&process.lock);
  for (; done < n && code == 0; done += code == 0)
    {
      char *old = NULL;

      if (n > 1)
        code = set_aside (from[done], to[done], &old);
      g_ptr_array_add (aside, old);
      if (code == 0 && g_rename (from[done], to[done]) != 0)
        code = errno;
    }
  for (guint i = 0; i < aside->len; i++)
    {
      const char *old = g_ptr_array_index (aside, i);

      if (code != 0)
        take_back (to[i], old, i < done);
      else if (old != NULL)
        g_unlink (old);
    }
  for (guint i = 0; i < n; i++)
    if (find (from[i]) > 0)
      take_away (find (from[i]) - 1); /* nothing, where it was renamed */
  pthread_mutex_unlock (&process.lock);
  *failed = done;
  return code;
}

/* ---- signals --------------------------------------------------------------------------------- */

/*
 * It writes nothing any more then. Nobody else has its number: it is waited for under the lock, too
 * (wait_for_child).
 */
static void
end_child (void)
{
  if (process.child > 0 && kill (process.child, SIGKILL) == 0)
    waitpid (process.child, NULL, 0);
}

void
temporary_clean_up (void)
{
  if (pthread_mutex_trylock (&process.lock) != 0)
    return;
  end_child ();
  while (process.list != NULL)
    take_away (process.list->len - 1);
  pthread_mutex_unlock (&process.lock);
}

/* Whether the work ends by itself for the signal NUMBER. */
static gboolean
is_taken (int number)
{
  const gint64 now = g_get_monotonic_time ();
  gboolean     taken;

  pthread_mutex_lock (&process.lock);
  taken = (number == SIGINT || number == SIGTERM) && process.stop != NULL;
  if (taken && stop_by_signal (process.stop, number))
    process.told = now;
  else
    taken = taken && now - process.told < ONE_SIGNAL;
  pthread_mutex_unlock (&process.lock);
  return taken;
}

static void *
watch (void *unused)
{
  int      number;
  sigset_t set;

  (void) unused;
  do
    if (sigwait (&process.watched, &number) != 0)
      return NULL;
  while (is_taken (number));
  pthread_mutex_lock (&process.lock); /* for good: nothing is made from now on */
  end_child ();
  while (process.list != NULL)
    take_away (process.list->len - 1);
  if (process.last_words != NULL)
    fputs (process.last_words, stderr);
  signal (number, SIG_DFL);
  sigemptyset (&set);
  sigaddset (&set, number);
  pthread_sigmask (SIG_UNBLOCK, &set, NULL);
  raise (number);
  return NULL;
}

void
temporary_set_stop (Stop *stop)
{
  pthread_mutex_lock (&process.lock);
  process.stop = stop;
  pthread_mutex_unlock (&process.lock);
}

void
temporary_set_last_words (const char *words)
{
  pthread_mutex_lock (&process.lock);
  g_free (process.last_words);
  process.last_words = g_strdup (words);
  pthread_mutex_unlock (&process.lock);
}

/* For a child between fork and exec: it gets its signals itself. */
static void
restore_signals (gpointer unused)
{
  (void) unused;
  pthread_sigmask (SIG_UNBLOCK, &process.watched, NULL);
}

void
temporary_watch_signals (void)
{
  static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
  pthread_t        thread;

  sigemptyset (&process.watched);
  for (guint i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      struct sigaction before;

      if (sigaction (numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaddset (&process.watched, numbers[i]);
    }
  pthread_sigmask (SIG_BLOCK, &process.watched, NULL);
  if (pthread_create (&thread, NULL, watch, NULL) == 0)
    pthread_detach (thread);
  else
    restore_signals (NULL); /* they end the process as ever, and leave what there is */
}

/* ---- the child process ----------------------------------------------------------------------- */

/* Everything that comes out of FD, the first MAX_MESSAGE bytes kept, as UTF-8. */
static char *
read_messages (int fd)
{
  g_autoptr (GString) text = g_string_new (NULL);
  char                buffer[4096];
  gssize              n;

  while ((n = read (fd, buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0 && text->len < MAX_MESSAGE)
      g_string_append_len (text, buffer, n);
  close (fd);
  return g_utf8_make_valid (text->str, (gssize) text->len);
}

/* Its status, as waitpid has it. */
static int
wait_for_child (pid_t child)
{
  siginfo_t info;
  int       status = 0;

  while (waitid (P_PID, (id_t) child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
    continue;
  pthread_mutex_lock (&process.lock);
  waitpid (child, &status, 0); /* at once */
  process.child = 0;
  pthread_mutex_unlock (&process.lock);
  return status;
}

gboolean
temporary_run (const char *folder, const char *const *words, gboolean *good, char **messages,
               GError **error)
{
  const GSpawnFlags flags =
      G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL;
  g_auto (GStrv) argv = g_strdupv ((char **) words);
  gboolean       started;
  GPid           child;
  int            fd, status;

  pthread_mutex_lock (&process.lock);
  started = g_spawn_async_with_pipes (folder, argv, NULL, flags, restore_signals, NULL, &child,
                                      NULL, NULL, &fd, error);
  process.child = started ? child : 0;
  pthread_mutex_unlock (&process.lock);
  if (!started)
    return FALSE;
  *messages = read_messages (fd);
  status = wait_for_child (child);
  *good = WIFEXITED (status) && WEXITSTATUS (status) == 0;
  return TRUE;
}
