#include "bench/bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void
bench_error (const Bench *bench, const char *what, const char *format, ...)
{
  const WorldPlace *place = bench->world != NULL ? world_place (bench->world) : NULL;
  char              text[1024];
  va_list           args;

  va_start (args, format);
  vsnprintf (text, sizeof text, format, args);
  va_end (args);
  if (place == NULL)
    {
      fprintf (stderr, "shardsim-bench: %s: %s: %s\n", bench->name, what, text);
      return;
    }
  /* One call: lines of several ranks stay whole. */
  fprintf (stderr, "shardsim-bench: %s rank %u: %s%s%s: %s\n", place->host, place->rank,
           bench->name != NULL ? bench->name : "", bench->name != NULL ? ": " : "", what, text);
}

void
bench_note (const Bench *bench, const char *format, ...)
{
  char    text[1024];
  va_list args;

  if (world_place (bench->world)->rank != 0)
    return;
  va_start (args, format);
  vsnprintf (text, sizeof text, format, args);
  va_end (args);
  fprintf (stderr, "shardsim-bench: %s%s%s\n", bench->name != NULL ? bench->name : "",
           bench->name != NULL ? ": " : "", text);
}

unsigned
bench_sizes (const BenchOptions *options, uint64_t from, uint64_t to, double factor,
             uint64_t *sizes, unsigned max)
{
  double   step = options->step_factor > 0 ? options->step_factor : factor;
  uint64_t first = options->min_bytes > 0 ? options->min_bytes : from;
  uint64_t last = options->max_bytes > 0 ? options->max_bytes : to;
  unsigned n = 0;

  for (double size = (double) first; n < max && (uint64_t) size <= last; size *= step)
    if (n == 0 || (uint64_t) size > sizes[n - 1])
      sizes[n++] = (uint64_t) size;
  return n;
}

bool
bench_list_has (const char *list, const char *word)
{
  size_t length = strlen (word);

  if (list == NULL)
    return true;
  for (const char *at = list; at != NULL; at = strchr (at, ','))
    {
      at += *at == ',';
      if (strncmp (at, word, length) == 0 && (at[length] == ',' || at[length] == '\0'))
        return true;
    }
  return false;
}

double
bench_now (void)
{
  struct timespec now;

  clock_gettime (CLOCK_MONOTONIC, &now);
  return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

uint64_t
bench_random (uint64_t *seed)
{
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);

  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
