#include "bench/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BENCH_CUDA
#include "bench/gpu/cuda.h"
#endif

/* The number in a file of one number; UINT64_MAX: there is none, or "max". */
static uint64_t
read_number (const char *path)
{
  FILE              *file = fopen (path, "r");
  unsigned long long number;
  bool               is_read;

  if (file == NULL)
    return UINT64_MAX;
  is_read = fscanf (file, "%llu", &number) == 1;
  fclose (file);
  return is_read ? number : UINT64_MAX;
}

static uint64_t
available_memory (void)
{
  FILE              *file = fopen ("/proc/meminfo", "r");
  char               line[256];
  unsigned long long kib = 0;

  if (file != NULL)
    {
      while (kib == 0 && fgets (line, sizeof line, file) != NULL)
        sscanf (line, "MemAvailable: %llu kB", &kib);
      fclose (file);
    }
  if (kib > 0)
    return kib * 1024;
  return (uint64_t) sysconf (_SC_AVPHYS_PAGES) * (uint64_t) sysconf (_SC_PAGESIZE);
}

/* The group that the kernel shows at the root of the hierarchy: inside a container its own. */
static uint64_t
available_in_group (void)
{
  static const char *const paths[][2] = {
    { "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current" },
    { "/sys/fs/cgroup/memory/memory.limit_in_bytes",
      "/sys/fs/cgroup/memory/memory.usage_in_bytes" },
  };

  for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++)
    {
      uint64_t limit = read_number (paths[i][0]), used = read_number (paths[i][1]);

      if (limit != UINT64_MAX && used != UINT64_MAX)
        return limit > used ? limit - used : 0;
    }
  return UINT64_MAX;
}

uint64_t
room_host (void)
{
  uint64_t available = available_memory (), group = available_in_group ();

  return (group < available ? group : available) / 2;
}

void
room_sizes (const Bench *bench, uint64_t from, uint64_t to, double factor, uint64_t unit,
            uint64_t room, uint64_t sizes[BENCH_MAX_LIST], unsigned *n)
{
  unsigned all = bench_sizes (bench->options, from, to, factor, sizes, BENCH_MAX_LIST);

  *n = 0;
  for (unsigned i = 0; i < all; i++)
    {
      uint64_t size = sizes[i] / unit * unit;

      if (size == 0)
        size = unit;
      if (size > room)
        {
          bench_note (bench, "sizes from %.0f MiB on are left out: too little is free",
                      (double) size / 1048576.0);
          break;
        }
      if (*n == 0 || size > sizes[*n - 1])
        sizes[(*n)++] = size;
    }
}

#ifdef BENCH_CUDA
bool
room_device (const Bench *bench, uint64_t *bytes)
{
  size_t   free_bytes, total;
  uint64_t kept;

  CUDA_TRY (cudaMemGetInfo (&free_bytes, &total));
  kept = free_bytes / 20 + (256u << 20);
  *bytes = free_bytes > kept ? free_bytes - kept : 0;
  return true;
}
#endif
