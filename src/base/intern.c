#include "base/intern.h"

#include <pthread.h>

#define CHUNK 4096 /* bytes */

/* It is no GMutex: ThreadSanitizer does not see GLib's locks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static GStringChunk   *texts;

/* It is weak because a fuzzer, which has names without end, puts one that forgets in its place. */
__attribute__ ((weak)) const char *
intern_text (const char *text)
{
  const char *kept;

  if (text == NULL)
    return NULL;
  pthread_mutex_lock (&lock);
  if (texts == NULL)
    texts = g_string_chunk_new (CHUNK);
  kept = g_string_chunk_insert_const (texts, text);
  pthread_mutex_unlock (&lock);
  return kept;
}
