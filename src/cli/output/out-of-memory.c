/*
 * A program that gets no memory ends: that is said, with exit status 1. GLib would end it with a
 * signal, as if it were a fault of the program, and other libraries would write to where nothing
 * is. So the C library's functions are asked here, of all libraries, in the program alone, and the
 * limit of memory is looked at on the way. Under a sanitizer, which has functions of its own, or
 * with another C library, these stay as they are.
 */
#include "cli/output/out-of-memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/temporary.h"
#include "base/own-memory.h"
#include "cli/output/stream.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) \
    && !defined(HAS_SANITIZER)

#define COUNT_AT (4u << 20) /* bytes that a thread asks for before the memory is looked at */

void *__libc_malloc (size_t n_bytes);
void *__libc_calloc (size_t n, size_t n_bytes);
void *__libc_realloc (void *memory, size_t n_bytes);

static _Thread_local size_t asked; /* since then */

static G_NORETURN void
give_up (const char *words)
{
  ssize_t written;

  temporary_clean_up ();
  written = write (STDERR_FILENO, words, strlen (words));
  (void) written;
  _exit (EXIT_RUNTIME);
}

static void
pass_on (void)
{
  const size_t n_bytes = asked;

  asked = 0;
  if (!own_memory_count (n_bytes))
    give_up ("shardsim: out of memory: this needs more than it may take: see "
             "'--max-memory-use'\n");
}

static inline void *
checked (void *memory, size_t n_bytes)
{
  if (G_UNLIKELY (memory == NULL && n_bytes > 0))
    give_up ("shardsim: out of memory: this needs more than there is\n");
  asked += n_bytes;
  if (G_UNLIKELY (asked >= COUNT_AT))
    pass_on ();
  return memory;
}

void *
malloc (size_t n_bytes)
{
  return checked (__libc_malloc (n_bytes), n_bytes);
}

void *
calloc (size_t n, size_t n_bytes)
{
  return checked (__libc_calloc (n, n_bytes), n * n_bytes);
}

void *
realloc (void *memory, size_t n_bytes)
{
  return checked (__libc_realloc (memory, n_bytes), n_bytes);
}

#endif

void
out_of_memory_prepare (void)
{
  own_memory_set_limit (own_memory_of_machine () / 2);
}
