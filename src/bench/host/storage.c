/*
 * Writing and reading one file, block by block from one thread or several, through host memory that
 * is page-locked where there is a GPU, as offloading to a disk does. A value is the time of a pass
 * over the file for each of its blocks; bytes are those of the block. Variants that end in ".8"
 * have eight threads, each with one request in flight: a drive needs several to show its rate.
 *
 * With O_DIRECT nothing lies in the page cache. Where the file system does not take it, the writes'
 * time includes fsync and the cache is dropped before reading, which the kernel may not do: a
 * remark says so. Either way the last block is followed by fdatasync within the time, and what a
 * disk's own cache holds is not known.
 *
 * The file has no name while it is used: it is gone when the program ends, however that happens.
 */
#include "bench/benchmarks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "bench/room.h"

#ifdef BENCH_CUDA
#include "bench/gpu/cuda.h"
#endif

#define MIB           ((uint64_t) 1 << 20)
#define ALIGNMENT     4096
#define LARGEST_FILE  (1024 * MIB)
#define SMALLEST_FILE (16 * MIB)
#define MAX_BLOCKS    256 /* of one pass over the file */
#define MAX_REPEATS   1000

/* Requests in flight at most: the queue depth that DeepSpeed's swapping defaults to. */
#define MAX_DEPTH 8

/* Repeats of a size end after so many seconds. */
#define LONGEST_S 5.0

/* Of file systems in memory (linux/magic.h). */
#define TMPFS_KIND 0x01021994
#define RAMFS_KIND 0x858458f6

typedef struct
{
  int      fd;
  bool     direct; /* no page cache */
  bool     locked; /* the buffer is page-locked */
  char    *buffer;
  uint64_t file_bytes;
} Storage;

static bool
failed (const Bench *bench, const char *what, const char *subject)
{
  bench_error (bench, what, "'%s': %s", subject, strerror (errno));
  return false;
}

/* ---- the file -------------------------------------------------------------------------------- */

/*
 * A new file at PATH, or where that is NULL in the output folder or the current one; its name is
 * removed at once. An existing one is somebody else's.
 */
static bool
open_file (const Bench *bench, Storage *self, const char *path)
{
  const char *folder = bench->options->output != NULL ? bench->options->output : ".";
  char        own[4096];

  if (path == NULL)
    {
      const int length =
          snprintf (own, sizeof own, "%s/.shardsim-bench-%ld", folder, (long) getpid ());

      if (length < 0 || (size_t) length >= sizeof own)
        {
          bench_error (bench, "open", "the output folder's path is too long");
          return false;
        }
      path = own;
    }
  self->fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_DIRECT, 0600);
  self->direct = self->fd >= 0;
  if (self->fd < 0 && errno == EINVAL)
    {
      unlink (path); /* some file systems make it before they refuse */
      self->fd = open (path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
  if (self->fd < 0)
    return failed (bench, "open", path);
  if (unlink (path) != 0)
    return failed (bench, "unlink", path);
  return true;
}

/*
 * The file's size: at most a quarter of what is free, 1 GiB, and four blocks of the largest size
 * that was asked for.
 */
static bool
choose_size (const Bench *bench, Storage *self)
{
  struct statvfs space;
  struct statfs  kind;
  uint64_t       room;

  if (fstatvfs (self->fd, &space) != 0)
    return failed (bench, "fstatvfs", "file");
  room = (uint64_t) space.f_bavail * space.f_frsize / 4;
  self->file_bytes = room < LARGEST_FILE ? room / ALIGNMENT * ALIGNMENT : LARGEST_FILE;
  if (bench->options->max_bytes > 0 && bench->options->max_bytes < self->file_bytes / 4)
    self->file_bytes = 4 * bench->options->max_bytes / ALIGNMENT * ALIGNMENT;
  if (fstatfs (self->fd, &kind) == 0
      && ((unsigned long) kind.f_type == TMPFS_KIND || (unsigned long) kind.f_type == RAMFS_KIND))
    bench_note (bench,
                "the file lies in memory, not on a disk (tmpfs): choose another with --file");
  if (room >= SMALLEST_FILE)
    return true;
  bench_error (bench, "space",
               "only %.0f MiB are free where the file lies, and a quarter of them is used",
               (double) room * 4 / (double) MIB);
  return false;
}

/* ---- the buffer ------------------------------------------------------------------------------ */

/*
 * Memory of the system's, locked afterwards where there is a GPU: the kernel can read into it
 * directly whatever the driver.
 */
static bool
open_buffer (const Bench *bench, Storage *self, uint64_t bytes)
{
  void    *memory;
  uint64_t seed = 1;
  int      error = posix_memalign (&memory, ALIGNMENT, bytes);

  if (error != 0)
    {
      bench_error (bench, "posix_memalign", "%s", strerror (error));
      return false;
    }
  self->buffer = memory;
  for (uint64_t at = 0; at < bytes; at += sizeof (uint64_t))
    *(uint64_t *) (void *) (self->buffer + at) = bench_random (&seed);
#ifdef BENCH_CUDA
  cudaError_t locked = cudaHostRegister (self->buffer, bytes, cudaHostRegisterDefault);

  self->locked = locked == cudaSuccess;
  if (!self->locked)
    {
      cudaGetLastError (); /* not one of the benchmarks that follow */
      bench_note (bench, "host memory is not page-locked: %s", cudaGetErrorString (locked));
    }
#endif
  return true;
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef ssize_t (*Transfer) (int fd, void *buffer, size_t bytes, off_t at);

static ssize_t
write_part (int fd, void *buffer, size_t bytes, off_t at)
{
  return pwrite (fd, buffer, bytes, at);
}

/* What one of the threads does of a pass: every DEPTH-th of N blocks, from its number on. */
typedef struct
{
  const Bench   *bench;
  const Storage *self;
  Transfer       transfer;
  uint64_t       bytes, n;
  unsigned       number, depth;
  bool           ok;
  pthread_t      thread;
} Worker;

/* A call may move less than it was asked to. */
static bool
move_block (const Worker *worker, uint64_t at)
{
  const Bench   *bench = worker->bench;
  const Storage *self = worker->self;
  Transfer       transfer = worker->transfer;
  uint64_t       bytes = worker->bytes, done = 0;
  char          *buffer = self->buffer + worker->number * bytes;

  while (done < bytes)
    {
      ssize_t n = transfer (self->fd, buffer + done, bytes - done, (off_t) (at + done));

      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        return failed (bench, transfer == write_part ? "pwrite" : "pread", "file");
      if (n == 0)
        {
          bench_error (bench, "pread", "the file ends at byte %llu",
                       (unsigned long long) at + done);
          return false;
        }
      done += (uint64_t) n;
    }
  return true;
}

static void *
move_blocks (void *user)
{
  Worker *worker = user;

  worker->ok = true;
  for (uint64_t i = worker->number; worker->ok && i < worker->n; i += worker->depth)
    worker->ok = move_block (worker, i * worker->bytes);
  return NULL;
}

/* All blocks, by as many threads as requests are to be in flight. The first is this one. */
static bool
move_all (const Worker *one)
{
  Worker   workers[MAX_DEPTH];
  unsigned n = 1;
  int      error = 0;
  bool     ok;

  workers[0] = *one;
  while (n < one->depth && error == 0)
    {
      workers[n] = *one;
      workers[n].number = n;
      error = pthread_create (&workers[n].thread, NULL, move_blocks, &workers[n]);
      n += error == 0;
    }
  if (error == 0)
    move_blocks (&workers[0]);
  else
    bench_error (one->bench, "pthread_create", "%s", strerror (error));
  ok = error == 0 && workers[0].ok;
  for (unsigned i = 1; i < n; i++)
    {
      pthread_join (workers[i].thread, NULL);
      ok = workers[i].ok && ok;
    }
  return ok;
}

/* One pass over N blocks with DEPTH requests in flight: *SECONDS for each of them. */
static bool
pass (const Bench *bench, const Storage *self, Transfer transfer, uint64_t bytes, uint64_t n,
      unsigned depth, double *seconds)
{
  const Worker one = { bench, self, transfer, bytes, n, .depth = depth };
  bool         writes = transfer == write_part;
  double       start;
  int          error;

  /* What was written has to be on the disk before the cache can let it go. */
  if (!writes && !self->direct
      && (error = posix_fadvise (self->fd, 0, 0, POSIX_FADV_DONTNEED)) != 0)
    {
      errno = error;
      return failed (bench, "posix_fadvise", "file");
    }
  start = bench_now ();
  if (!move_all (&one))
    return false;
  if (writes && fdatasync (self->fd) != 0)
    return failed (bench, "fdatasync", "file");
  *seconds = (bench_now () - start) / (double) n;
  return true;
}

static const struct
{
  const char *variant;
  Transfer    transfer;
  unsigned    depth;
} cases[] = {
  { "write", write_part, 1 },
  { "read", pread, 1 },
  { "write.8", write_part, MAX_DEPTH },
  { "read.8", pread, MAX_DEPTH },
};

static bool
measure (const Bench *bench, const Storage *self, unsigned index, uint64_t bytes)
{
  Transfer transfer = cases[index].transfer;
  unsigned depth = cases[index].depth;
  double   samples[MAX_REPEATS], start, unused;
  uint64_t n = self->file_bytes / bytes < MAX_BLOCKS ? self->file_bytes / bytes : MAX_BLOCKS;
  unsigned repeats = bench->options->repeats < MAX_REPEATS ? bench->options->repeats : MAX_REPEATS;
  unsigned taken = 0;
  Result   result = { .benchmark = bench->name, .variant = cases[index].variant, .bytes = bytes };

  /* The first writing gives the blocks their place, and reading needs them written. */
  if (transfer == write_part && !pass (bench, self, transfer, bytes, n, depth, &unused))
    return false;
  start = bench_now ();
  while (taken < repeats && (taken == 0 || bench_now () - start < LONGEST_S))
    if (!pass (bench, self, transfer, bytes, n, depth, &samples[taken++]))
      return false;
  result_set_times (&result, samples, taken);
  result.remark = self->direct   ? self->locked ? "direct; page-locked" : "direct"
                  : self->locked ? "page cache in play; page-locked"
                                 : "page cache in play";
  return results_add (bench->results, &result);
}

static bool
measure_sizes (const Bench *bench, Storage *self)
{
  uint64_t sizes[BENCH_MAX_LIST], room = room_host ();
  unsigned n;

  if (!open_file (bench, self, bench->options->file) || !choose_size (bench, self))
    return false;
  room /= MAX_DEPTH;
  room = room < self->file_bytes / 4 ? room : self->file_bytes / 4;
  room_sizes (bench, 64 << 10, 64 * MIB, 4, ALIGNMENT, room, sizes, &n);
  if (!self->direct)
    bench_note (bench,
                "the file system has no O_DIRECT: the page cache is in play, and what is read may "
                "come from memory");
  if (n == 0 || !open_buffer (bench, self, MAX_DEPTH * sizes[n - 1]))
    return n == 0;
  for (unsigned i = 0; i < n; i++)
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++)
      if (!measure (bench, self, k, sizes[i]))
        return false;
  return true;
}

bool
bench_storage (Bench *bench)
{
  Storage self = { .fd = -1 };
  bool    ok = measure_sizes (bench, &self);

#ifdef BENCH_CUDA
  if (self.locked)
    cudaHostUnregister (self.buffer);
#endif
  free (self.buffer);
  if (self.fd >= 0)
    close (self.fd);
  return ok;
}
