/*
 * Exchange by files. Exchange number s of rank r is FOLDER/s.r, written under another name and
 * renamed, so that whoever sees it sees all of it. A rank that begins exchange s has read all of s
 * - 1, so all have written s - 1 and have read s - 2: it removes its own file of s - 2.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/world/world-private.h"

typedef struct
{
  char     folder[3840];
  unsigned timeout_s, sequence;
} Files;

#define PATH_BYTES 4096

static void
name_of (const Files *files, unsigned sequence, unsigned rank, const char *suffix, char *path)
{
  snprintf (path, PATH_BYTES, "%s/%u.%u%s", files->folder, sequence, rank, suffix);
}

static bool
write_part (const Files *files, unsigned rank, const void *in, size_t bytes)
{
  char  path[PATH_BYTES], draft[PATH_BYTES];
  FILE *file;
  bool  good;

  name_of (files, files->sequence, rank, "", path);
  name_of (files, files->sequence, rank, ".part", draft);
  file = fopen (draft, "w");
  if (file == NULL)
    return false;
  good = fwrite (in, 1, bytes, file) == bytes;
  good = fclose (file) == 0 && good;
  return good && rename (draft, path) == 0;
}

static bool
someone_failed (const Files *files)
{
  char path[PATH_BYTES];

  snprintf (path, sizeof path, "%s/failed", files->folder);
  return access (path, F_OK) == 0;
}

/*
 * Whatever lies in FOLDER beside the parts of the first exchange, which other ranks may have begun,
 * was left by another run.
 */
static bool
has_old_files (const char *folder)
{
  DIR                 *files = opendir (folder);
  const struct dirent *file;
  bool                 found = false;

  while (files != NULL && !found && (file = readdir (files)) != NULL)
    found = *file->d_name != '.' && strncmp (file->d_name, "0.", 2) != 0;
  if (files != NULL)
    closedir (files);
  return found;
}

/* Waits for RANK's part of this exchange. */
static bool
read_part (const Files *files, unsigned rank, void *out, size_t bytes)
{
  struct timespec pause = { .tv_nsec = 100000 };
  double          waited = 0;
  char            path[PATH_BYTES];
  DIR            *folder;

  name_of (files, files->sequence, rank, "", path);
  while (waited < files->timeout_s)
    {
      FILE *file = fopen (path, "r");

      if (file != NULL)
        {
          bool good = fread (out, 1, bytes, file) == bytes && getc (file) == EOF;

          fclose (file);
          return good;
        }
      /* ESTALE: network file systems, of a name that has just become another file. */
      if ((errno != ENOENT && errno != ESTALE) || someone_failed (files))
        return false;
      nanosleep (&pause, NULL);
      waited += 1e-9 * (double) pause.tv_nsec;
      if (pause.tv_nsec < 20000000)
        {
          pause.tv_nsec *= 2;
          continue;
        }
      /*
       * Network file systems remember that a file was not there; looking into the folder makes them
       * ask again.
       */
      folder = opendir (files->folder);
      if (folder == NULL)
        continue;
      (void) readdir (folder);
      closedir (folder);
    }
  return false;
}

static void
remove_part (const Files *files, unsigned sequence, unsigned rank)
{
  char path[PATH_BYTES];

  name_of (files, sequence, rank, "", path);
  unlink (path);
}

static bool
files_gather (World *self, const void *in, void *out, size_t bytes)
{
  Files   *files = self->state;
  unsigned rank = self->place.rank;
  bool     good = write_part (files, rank, in, bytes);

  for (unsigned i = 0; good && i < self->place.size; i++)
    good = read_part (files, i, (char *) out + i * bytes, bytes);
  if (files->sequence > 0)
    remove_part (files, files->sequence - 1, rank);
  files->sequence++;
  return good;
}

/*
 * Nobody reads the last exchange again once all have said so by one more file, which rank 0 alone
 * reads.
 */
static void
remove_last (World *self)
{
  Files *files = self->state;
  char   nothing = 0;

  if (self->place.rank != 0)
    {
      write_part (files, self->place.rank, &nothing, 1);
      return;
    }
  for (unsigned i = 1; i < self->place.size; i++)
    if (!read_part (files, i, &nothing, 1))
      return;
  for (unsigned i = 0; i < self->place.size; i++)
    {
      remove_part (files, files->sequence - 1, i);
      remove_part (files, files->sequence, i);
    }
}

static void
files_close (World *self, bool failed)
{
  Files *files = self->state;
  char   nothing = 0, *all = calloc (self->place.size, 1), path[PATH_BYTES];

  snprintf (path, sizeof path, "%s/failed", files->folder);
  if (failed)
    {
      FILE *file = fopen (path, "w");

      if (file != NULL)
        fclose (file);
    }
  else if (all != NULL && files_gather (self, &nothing, all, 1))
    remove_last (self);
  free (all);
  free (files);
}

static bool
files_failed (World *self)
{
  return someone_failed (self->state);
}

bool
world_files_open (World *self, const char *folder, unsigned timeout_s, const char **error)
{
  Files *files = calloc (1, sizeof *files);
  char   path[PATH_BYTES];

  if (files == NULL || strlen (folder) >= sizeof files->folder)
    {
      *error = files == NULL ? "out of memory" : "the rendezvous folder's name is too long";
      free (files);
      return false;
    }
  snprintf (files->folder, sizeof files->folder, "%s", folder);
  files->timeout_s = timeout_s;
  name_of (files, 0, self->place.rank, "", path);
  if (has_old_files (folder) || access (path, F_OK) == 0)
    *error = "the rendezvous folder holds files of another run: name an empty one";
  else if (access (folder, W_OK | X_OK) != 0)
    *error = "the rendezvous folder cannot be written";
  if (*error != NULL)
    {
      free (files);
      return false;
    }
  self->state = files;
  self->gather = files_gather;
  self->failed = files_failed;
  self->close = files_close;
  return true;
}
