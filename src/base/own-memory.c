#include "base/own-memory.h"

#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/config/units.h"

/* Bytes by which a run may be over before it comes to ask, beside half of the limit. */
#define ON_THE_WAY (64u << 20)
/* Times that a run asks: it may fill an array that was made long before. */
#define LOOK_EVERY 8

typedef struct _Run Run;
struct _Run
{
  gsize    taken;  /* since it began, with what it has given back */
  gboolean over;   /* it was told so */
  gboolean others; /* were running then */
  guint    depth;  /* of runs in it; 0: none is on its way */
  guint    asked;  /* times since it looked */
  Run     *next;
};

static struct
{
  pthread_mutex_t lock;
  pthread_cond_t  changed;
  guint64         limit;    /* bytes; 0: none */
  gint            short_of; /* memory: a flag, as is */
  gint            trimming;
  gint            n_runs;
  guint           n_waiting; /* to run alone */
  gboolean        alone;     /* the one on its way is */
  Run            *runs;
} process = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static _Thread_local Run current;

/* ---- the machine ----------------------------------------------------------------------------- */

/* The number in the file NAME below FOLDER; 0: there is none, as where it says "max". */
static guint64
read_number (const char *folder, const char *name)
{
  g_autofree char *path = g_build_filename (folder, name, NULL), *text = NULL;

  return g_file_get_contents (path, &text, NULL, NULL) ? g_ascii_strtoull (text, NULL, 10) : 0;
}

static guint64
lesser (guint64 a, guint64 b)
{
  return a == 0 ? b : b == 0 ? a : MIN (a, b);
}

/* The least that NAME says of GROUP ("/a/b") and of those above it. */
static guint64
limit_of_groups (const char *mount, const char *group, const char *name)
{
  g_autofree char *path = g_strdup (group);
  guint64          least = 0;

  for (;;)
    {
      g_autofree char *folder = g_build_filename (mount, path, NULL);
      char            *slash;

      least = lesser (least, read_number (folder, name));
      slash = strrchr (path, '/');
      if (slash == NULL)
        return least;
      *slash = '\0';
    }
}

/* LINE: "4:memory:/a/b", or "0::/a/b" of the second version. */
static guint64
limit_of_line (const char *root, char *line)
{
  g_auto (GStrv)   parts = g_strsplit (line, ":", 3);
  g_autofree char *unified = g_build_filename (root, "sys/fs/cgroup", NULL);
  g_autofree char *first = g_build_filename (unified, "memory", NULL);

  if (g_strv_length (parts) < 3)
    return 0;
  if (*parts[1] == '\0')
    return limit_of_groups (unified, parts[2], "memory.max");
  return strstr (parts[1], "memory") != NULL
             ? limit_of_groups (first, parts[2], "memory.limit_in_bytes")
             : 0;
}

guint64
own_memory_below (const char *root)
{
  g_autofree char *info = g_build_filename (root, "proc/meminfo", NULL);
  g_autofree char *groups = g_build_filename (root, "proc/self/cgroup", NULL);
  g_autofree char *text = NULL, *of_groups = NULL;
  g_auto (GStrv)   lines = NULL;
  guint64          least = 0;
  const char      *total;

  if (g_file_get_contents (info, &text, NULL, NULL) && (total = strstr (text, "MemTotal:")) != NULL)
    least = g_ascii_strtoull (total + strlen ("MemTotal:"), NULL, 10) * 1024;
  if (g_file_get_contents (groups, &of_groups, NULL, NULL))
    lines = g_strsplit (of_groups, "\n", -1);
  for (guint i = 0; lines != NULL && lines[i] != NULL; i++)
    least = lesser (least, limit_of_line (root, lines[i]));
  return least;
}

guint64
own_memory_of_machine (void)
{
  return own_memory_below ("/");
}

/* ---- looking --------------------------------------------------------------------------------- */

void
own_memory_set_limit (guint64 bytes)
{
  __atomic_store_n (&process.limit, bytes, __ATOMIC_RELAXED);
}

static guint64
limit_now (void)
{
  return __atomic_load_n (&process.limit, __ATOMIC_RELAXED);
}

/* Bytes that this process has of the machine, without what it maps of files; 0: nobody says. */
static guint64
taken_now (void)
{
  char      text[128];
  const int file = open ("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  ssize_t   n = -1;
  guint64   size, resident, shared;

  if (file >= 0)
    {
      n = read (file, text, sizeof text - 1);
      close (file);
    }
  if (n <= 0)
    return 0;
  text[n] = '\0';
  if (sscanf (text, "%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT, &size,
              &resident, &shared)
      != 3)
    return 0;
  return (resident - MIN (shared, resident)) * (guint64) sysconf (_SC_PAGESIZE);
}

/* What was freed goes back to the machine. */
static void
give_back (void)
{
#ifdef __GLIBC__
  malloc_trim (0);
#endif
}

static guint64
look (void)
{
  const guint64 limit = limit_now ();
  guint64       taken = limit > 0 ? taken_now () : 0;

  if (taken > limit && g_atomic_int_compare_and_exchange (&process.trimming, FALSE, TRUE))
    {
      give_back ();
      taken = taken_now ();
      g_atomic_int_set (&process.trimming, FALSE);
    }
  g_atomic_int_set (&process.short_of, taken > limit);
  return taken;
}

gboolean
own_memory_count (gsize bytes)
{
  const guint64 limit = limit_now ();
  guint64       taken;

  if (limit == 0)
    return TRUE;
  if (current.depth > 0)
    __atomic_add_fetch (&current.taken, bytes, __ATOMIC_RELAXED);
  taken = look ();
  return taken <= limit
         || (g_atomic_int_get (&process.n_runs) > 0 && taken - limit <= limit / 2 + ON_THE_WAY);
}

/* ---- runs ------------------------------------------------------------------------------------ */

void
own_memory_begin (gboolean alone)
{
  if (current.depth++ > 0)
    return;
  pthread_mutex_lock (&process.lock);
  process.n_waiting += alone;
  while (process.alone || (alone ? process.n_runs > 0 : process.n_waiting > 0))
    pthread_cond_wait (&process.changed, &process.lock);
  process.n_waiting -= alone;
  process.alone = alone;
  current = (Run){ .depth = 1, .next = process.runs };
  process.runs = &current;
  g_atomic_int_inc (&process.n_runs);
  pthread_mutex_unlock (&process.lock);
}

OwnMemoryEnd
own_memory_end (void)
{
  Run **at = &process.runs;

  if (--current.depth > 0)
    return current.over ? OWN_MEMORY_OVER : OWN_MEMORY_ENOUGH;
  pthread_mutex_lock (&process.lock);
  while (*at != &current)
    at = &(*at)->next;
  *at = current.next;
  process.alone = FALSE;
  g_atomic_int_add (&process.n_runs, -1);
  pthread_cond_broadcast (&process.changed);
  pthread_mutex_unlock (&process.lock);
  if (current.over)
    {
      give_back ();
      look ();
    }
  return !current.over ? OWN_MEMORY_ENOUGH : current.others ? OWN_MEMORY_CROWDED : OWN_MEMORY_OVER;
}

/* Whether no run has taken more than this thread's. */
static gboolean
has_most (void)
{
  gboolean most = TRUE;

  pthread_mutex_lock (&process.lock);
  current.others = process.runs != &current || current.next != NULL;
  for (const Run *run = process.runs; run != NULL; run = run->next)
    most &= run == &current || __atomic_load_n (&run->taken, __ATOMIC_RELAXED) <= current.taken;
  pthread_mutex_unlock (&process.lock);
  return most;
}

gboolean
own_memory_is_over (void)
{
  if (current.depth == 0)
    return FALSE;
  if (current.over)
    return TRUE;
  if (++current.asked % LOOK_EVERY == 0)
    look ();
  /* the flag may be old: other runs have ended since */
  current.over =
      G_UNLIKELY (g_atomic_int_get (&process.short_of)) && has_most () && look () > limit_now ();
  return current.over;
}

gboolean
own_memory_was_over (void)
{
  return current.depth > 0 && current.over;
}

void
own_memory_set_error (GError **error)
{
  g_autofree char *limit = quantity_format (QUANTITY_BYTES, (double) limit_now (), 3);

  g_set_error (error, OWN_MEMORY_ERROR, 0,
               "it was stopped, as it takes more memory than shardsim may (%s): simulate less at a "
               "time (fewer micro-batches, no '--unfolded'), or raise '--max-memory-use'",
               limit);
}
