/*
 * The limit of the process's own memory: what the machine and its control groups leave, and which
 * run gives up.
 */
#include <glib/gstdio.h>
#include <pthread.h>
#include <string.h>

#include "../suite.h"
#include "base/own-memory.h"
#include "fixture.h"

#define GIB (G_GUINT64_CONSTANT (1) << 30)
#define MIB (1u << 20)

static void
put (const char *root, const char *name, const char *text)
{
  g_autofree char *path = g_build_filename (root, name, NULL);
  g_autofree char *folder = g_path_get_dirname (path);

  ck_assert_int_eq (g_mkdir_with_parents (folder, 0700), 0);
  ck_assert (g_file_set_contents (path, text, -1, NULL));
}

static char *
new_root (void)
{
  char *root = g_dir_make_tmp ("own-memory-XXXXXX", NULL);

  ck_assert_ptr_nonnull (root);
  return root;
}

START_TEST (test_machine)
{
  g_autofree char *root = new_root ();

  ck_assert_uint_eq (own_memory_below (root), 0);
  put (root, "proc/meminfo", "MemTotal:        8388608 kB\nMemFree: 1 kB\n");
  ck_assert_uint_eq (own_memory_below (root), 8 * GIB);
}
END_TEST

/* The tightest group above the process counts, in both versions; "max" is no number. */
START_TEST (test_groups)
{
  g_autofree char *first = new_root (), *second = new_root ();

  put (second, "proc/meminfo", "MemTotal: 8388608 kB\n");
  put (second, "proc/self/cgroup", "0::/slice/job\n");
  put (second, "sys/fs/cgroup/slice/job/memory.max", "max\n");
  ck_assert_uint_eq (own_memory_below (second), 8 * GIB);
  put (second, "sys/fs/cgroup/slice/memory.max", "1073741824\n");
  ck_assert_uint_eq (own_memory_below (second), GIB);
  put (second, "sys/fs/cgroup/memory.max", "536870912\n"); /* as a container sees its own */
  ck_assert_uint_eq (own_memory_below (second), GIB / 2);

  put (first, "proc/meminfo", "MemTotal: 8388608 kB\n");
  put (first, "proc/self/cgroup", "5:cpuset:/\n4:memory:/job\n0::/\n");
  put (first, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  ck_assert_uint_eq (own_memory_below (first), 8 * GIB);
  put (first, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
  ck_assert_uint_eq (own_memory_below (first), 2 * GIB);
}
END_TEST

/* Bytes that are there, and not promised alone. */
static char *
take (gsize n_bytes)
{
  char *memory = g_malloc (n_bytes);

  memset (memory, 1, n_bytes);
  return memory;
}

START_TEST (test_no_limit)
{
  own_memory_set_limit (0);
  own_memory_begin (FALSE);
  ck_assert (own_memory_count (G_MAXSIZE / 2));
  ck_assert (!own_memory_is_over ());
  ck_assert_int_eq (own_memory_end (), OWN_MEMORY_ENOUGH);
}
END_TEST

START_TEST (test_one_run)
{
  g_autofree char *memory = NULL;

  own_memory_set_limit (256 * MIB);
  own_memory_begin (FALSE);
  ck_assert (own_memory_count (MIB));
  ck_assert (!own_memory_is_over ());
  memory = take (300 * MIB);
  ck_assert (own_memory_count (300 * MIB));
  ck_assert (own_memory_is_over ());
  g_clear_pointer (&memory, g_free);
  ck_assert (own_memory_count (MIB));
  ck_assert_msg (own_memory_is_over (), "a run that is over stays so");
  ck_assert_int_eq (own_memory_end (), OWN_MEMORY_OVER);

  /* the next one knows nothing of it */
  own_memory_begin (FALSE);
  ck_assert (!own_memory_is_over ());
  ck_assert_int_eq (own_memory_end (), OWN_MEMORY_ENOUGH);
}
END_TEST

/* A run may not go on for ever, and where none is there is nothing to wait for. */
START_TEST (test_too_much)
{
  char *memory = take (300 * MIB);

  own_memory_set_limit (256 * MIB);
  ck_assert (!own_memory_count (300 * MIB));
  own_memory_begin (FALSE);
  ck_assert (own_memory_count (MIB));
  own_memory_set_limit (64 * MIB);
  ck_assert (!own_memory_count (MIB));
  ck_assert_int_eq (own_memory_end (), OWN_MEMORY_ENOUGH);
  g_free (memory);
}
END_TEST

/* ---- two runs -------------------------------------------------------------------------------- */

typedef struct
{
  GAsyncQueue *go, *said;
} Other;

/* A small run: it says whether it is over each time that it is asked to, and how it ended. */
static void *
run_small (void *data)
{
  Other *self = data;

  own_memory_begin (FALSE);
  own_memory_count (MIB);
  g_async_queue_push (self->said, GINT_TO_POINTER (1));
  g_async_queue_pop (self->go);
  g_async_queue_push (self->said, GINT_TO_POINTER (1 + own_memory_is_over ()));
  g_async_queue_pop (self->go);
  g_async_queue_push (self->said, GINT_TO_POINTER (1 + (gint) own_memory_end ()));
  return NULL;
}

/* A run of this thread that takes more than the limit, beside the small one of THREAD. */
static char *
take_beside (Other *other, pthread_t *thread)
{
  char *memory;

  own_memory_set_limit (256 * MIB);
  own_memory_begin (FALSE);
  ck_assert_int_eq (pthread_create (thread, NULL, run_small, other), 0);
  g_async_queue_pop (other->said);
  memory = take (300 * MIB);
  ck_assert (own_memory_count (300 * MIB));
  return memory;
}

START_TEST (test_most_gives_up)
{
  g_autoptr (GAsyncQueue) go = g_async_queue_new (), said = g_async_queue_new ();
  Other                   other = { go, said };
  pthread_t               thread;
  g_autofree char        *memory = NULL;

  memory = take_beside (&other, &thread);
  g_async_queue_push (go, GINT_TO_POINTER (1));
  ck_assert_msg (GPOINTER_TO_INT (g_async_queue_pop (said)) == 1, "the small run gave up");
  ck_assert (own_memory_is_over ());
  g_clear_pointer (&memory, g_free);
  ck_assert_int_eq (own_memory_end (), OWN_MEMORY_CROWDED);

  g_async_queue_push (go, GINT_TO_POINTER (1));
  ck_assert_int_eq (GPOINTER_TO_INT (g_async_queue_pop (said)), 1 + OWN_MEMORY_ENOUGH);
  own_memory_begin (TRUE); /* waits for the other */
  ck_assert_int_eq (own_memory_end (), OWN_MEMORY_ENOUGH);
  pthread_join (thread, NULL);
}
END_TEST

/* What others have given back since somebody looked is no shortage of a small run. */
START_TEST (test_short_no_more)
{
  g_autoptr (GAsyncQueue) go = g_async_queue_new (), said = g_async_queue_new ();
  Other                   other = { go, said };
  pthread_t               thread;
  g_autofree char        *memory = NULL;

  memory = take_beside (&other, &thread);
  g_clear_pointer (&memory, g_free);
  ck_assert_int_eq (own_memory_end (), OWN_MEMORY_ENOUGH);

  g_async_queue_push (go, GINT_TO_POINTER (1));
  ck_assert_msg (GPOINTER_TO_INT (g_async_queue_pop (said)) == 1, "the small run gave up");
  g_async_queue_push (go, GINT_TO_POINTER (1));
  ck_assert_int_eq (GPOINTER_TO_INT (g_async_queue_pop (said)), 1 + OWN_MEMORY_ENOUGH);
  pthread_join (thread, NULL);
}
END_TEST

SUITE_MAIN (own_memory)
{
  TCase *tcase = tcase_create ("own-memory");

  tcase_add_test (tcase, test_machine);
  tcase_add_test (tcase, test_groups);
  tcase_add_test (tcase, test_no_limit);
  tcase_add_test (tcase, test_one_run);
  tcase_add_test (tcase, test_too_much);
  tcase_add_test (tcase, test_most_gives_up);
  tcase_add_test (tcase, test_short_no_more);
  return run_case (suite_create ("own-memory"), tcase);
}
