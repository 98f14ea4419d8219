/*
 * A program that gets no memory ends: that is said, with exit status 1. GLib would end it with a
 * signal, as if it were a fault of the program, and other libraries would write to where nothing
 * is. So the C library's functions are asked here, of all libraries, in the program alone. Under a
 * sanitizer, which has functions of its own, or with another C library, nothing is changed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temporary.h"
#include "cli/stream.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER
#endif
#endif
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) \
    && !defined(HAS_SANITIZER)

void *__libc_malloc (size_t n_bytes);
void *__libc_calloc (size_t n, size_t n_bytes);
void *__libc_realloc (void *memory, size_t n_bytes);

static void *
checked (void *memory, size_t n_bytes)
{
  static const char words[] = "shardsim: out of memory: this needs more than there is\n";
  ssize_t           written;

  if (memory != NULL || n_bytes == 0)
    return memory;
  temporary_clean_up ();
  written = write (STDERR_FILENO, words, strlen (words));
  (void) written;
  _exit (EXIT_RUNTIME);
}

void *
malloc (size_t n_bytes)
{
  return checked (__libc_malloc (n_bytes), n_bytes);
}

void *
calloc (size_t n, size_t n_bytes)
{
  return checked (__libc_calloc (n, n_bytes), n > 0 ? n_bytes : 0);
}

void *
realloc (void *memory, size_t n_bytes)
{
  return checked (__libc_realloc (memory, n_bytes), n_bytes);
}
#endif
