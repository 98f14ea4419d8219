#include "bench/results.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_FILES 8

struct Results
{
  const Machine *machine;
  char          *folder;
  FILE          *files[MAX_FILES]; /* [0]: results.csv */
  char           names[MAX_FILES][32];
  unsigned       n_files, n_lines;
  bool           writes, hidden, headed, failed;
  char           date[16];
};

static const char columns[] =
    "format,host,date,device,driver,cuda,nccl,benchmark,variant,dtype,bytes,m,n,k,batch,ranks,"
    "channels,repeats,value,low,high,unit,remark\n";

Results *
results_open (const char *folder, const Machine *machine, bool writes, const char **error)
{
  Results  *self = calloc (1, sizeof *self);
  time_t    now = time (NULL);
  struct tm day;

  *error = NULL;
  if (self == NULL)
    {
      *error = "out of memory";
      return NULL;
    }
  self->machine = machine;
  self->writes = writes;
  gmtime_r (&now, &day);
  strftime (self->date, sizeof self->date, "%Y-%m-%d", &day);
  if (folder == NULL || !writes)
    return self;
  self->folder = strdup (folder);
  if (self->folder == NULL)
    *error = "out of memory";
  else if (mkdir (folder, 0777) != 0 && errno != EEXIST)
    *error = strerror (errno);
  else if (results_file (self, "results.csv", columns, error) != NULL)
    return self;
  results_close (self);
  return NULL;
}

/* FILE is new, and gets HEADER, or begins with it and ends with a whole line. */
static bool
check_table (FILE *file, const char *header, const char **error)
{
  char line[1024];

  if (fgets (line, sizeof line, file) == NULL)
    {
      rewind (file); /* ends reading */
      if (fputs (header, file) >= 0 && fflush (file) == 0)
        return true;
      *error = strerror (errno);
      return false;
    }
  if (strcmp (line, header) != 0)
    *error = "the file is there and has another header: take another folder";
  else if (fseek (file, -1, SEEK_END) != 0 || getc (file) != '\n')
    *error =
        "the file is there and was cut in the middle of its last line: remove that line, or take "
        "another folder";
  fseek (file, 0, SEEK_END);
  return *error == NULL;
}

FILE *
results_file (Results *self, const char *name, const char *header, const char **error)
{
  char  path[4096];
  FILE *file;

  *error = NULL;
  if (self->folder == NULL)
    return NULL;
  for (unsigned i = 0; i < self->n_files; i++)
    if (strcmp (self->names[i], name) == 0)
      return self->files[i];
  if (self->n_files == MAX_FILES || strlen (name) >= sizeof self->names[0]
      || (size_t) snprintf (path, sizeof path, "%s/%s", self->folder, name) >= sizeof path)
    {
      *error = "too long a path, or too many files";
      return NULL;
    }
  file = fopen (path, "a+");
  if (file == NULL)
    {
      *error = strerror (errno);
      return NULL;
    }
  if (!check_table (file, header, error))
    {
      fclose (file);
      return NULL;
    }
  snprintf (self->names[self->n_files], sizeof self->names[0], "%s", name);
  self->files[self->n_files++] = file;
  return file;
}

/* A cell after the first: with the comma before it. */
static void
put_text (FILE *file, const char *text)
{
  bool quoted = text != NULL && strpbrk (text, ",\"\r\n") != NULL;

  putc (',', file);
  if (quoted)
    putc ('"', file);
  for (const char *c = text; c != NULL && *c != '\0'; c++)
    {
      if (*c == '"')
        putc ('"', file);
      putc (*c == '\n' || *c == '\r' ? ' ' : *c, file);
    }
  if (quoted)
    putc ('"', file);
}

static void
put_count (FILE *file, uint64_t count)
{
  putc (',', file);
  if (count > 0)
    fprintf (file, "%llu", (unsigned long long) count);
}

static void
put_line (const Results *self, FILE *file, const Result *r)
{
  const Machine *m = self->machine;

  fprintf (file, "%d", RESULTS_FORMAT);
  put_text (file, m->host);
  put_text (file, self->date);
  put_text (file, m->device);
  put_text (file, m->driver);
  put_text (file, m->cuda);
  put_text (file, m->nccl);
  put_text (file, r->benchmark);
  put_text (file, r->variant);
  put_text (file, r->dtype);
  put_count (file, r->bytes);
  put_count (file, r->m);
  put_count (file, r->n);
  put_count (file, r->k);
  put_count (file, r->batch);
  put_count (file, r->ranks);
  put_count (file, r->channels);
  put_count (file, r->repeats);
  fprintf (file, ",%.9g,%.9g,%.9g", r->value, r->low, r->high);
  put_text (file, r->unit != NULL ? r->unit : "us");
  put_text (file, r->remark);
  putc ('\n', file);
}

/* What was moved or multiplied, and how fast. */
static void
describe_rate (const Result *r, char *text, size_t size)
{
  double seconds = 1e-6 * r->value;

  *text = '\0';
  if (r->unit != NULL && strcmp (r->unit, "us") != 0)
    return;
  if (r->m > 0 && r->n > 0 && r->k > 0 && strcmp (r->benchmark, "matmul") == 0)
    snprintf (text, size, "%.1f TFLOP/s",
              2e-12 * (double) r->m * (double) r->n * (double) r->k
                  * (double) (r->batch > 0 ? r->batch : 1) / seconds);
  else if (r->bytes > 0)
    snprintf (text, size, "%.4g GB/s", 1e-9 * (double) r->bytes / seconds);
}

static void
show_line (Results *self, const Result *r)
{
  char size[96] = "", rate[48];

  if (!self->headed)
    printf ("# %-14s %-26s %-5s %24s %12s %12s %12s %-5s %s\n", "benchmark", "variant", "dtype",
            "bytes or m x n x k x batch", "median", "low", "high", "unit", "rate");
  self->headed = true;
  if (r->m > 0)
    snprintf (size, sizeof size, "%llu x %llu x %llu x %llu", (unsigned long long) r->m,
              (unsigned long long) r->n, (unsigned long long) r->k,
              (unsigned long long) (r->batch > 0 ? r->batch : 1));
  else if (r->bytes > 0)
    snprintf (size, sizeof size, "%llu", (unsigned long long) r->bytes);
  describe_rate (r, rate, sizeof rate);
  printf ("  %-14s %-26s %-5s %26s %12.6g %12.6g %12.6g %-5s %s\n", r->benchmark,
          r->variant != NULL ? r->variant : "", r->dtype != NULL ? r->dtype : "", size, r->value,
          r->low, r->high, r->unit != NULL ? r->unit : "us", rate);
  fflush (stdout);
}

bool
results_add (Results *self, const Result *result)
{
  self->n_lines++;
  if (!self->writes)
    return true;
  if (!self->hidden)
    show_line (self, result);
  if (self->n_files > 0)
    {
      put_line (self, self->files[0], result);
      self->failed |= fflush (self->files[0]) != 0 || ferror (self->files[0]);
    }
  return !self->failed;
}

unsigned
results_count (const Results *self)
{
  return self->n_lines;
}

void
results_show (Results *self, bool shown)
{
  self->hidden = !shown;
}

const Machine *
results_machine (const Results *self)
{
  return self->machine;
}

bool
results_close (Results *self)
{
  bool good;

  if (self == NULL)
    return true;
  for (unsigned i = 0; i < self->n_files; i++)
    if (fclose (self->files[i]) != 0)
      self->failed = true;
  good = !self->failed;
  free (self->folder);
  free (self);
  return good;
}

/* ---- statistics ------------------------------------------------------------------------------ */

static int
compare_doubles (const void *a, const void *b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

/* Quantile Q (0..1) of N SORTED values, linear between neighbours; N > 0. */
static double
quantile (const double *sorted, unsigned n, double q)
{
  double   at = q * (n - 1);
  unsigned below = (unsigned) at, above = below + 1 < n ? below + 1 : below;

  return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
}

void
result_set_times (Result *result, double *samples, unsigned n)
{
  qsort (samples, n, sizeof *samples, compare_doubles);
  result->repeats = n;
  result->value = 1e6 * quantile (samples, n, 0.5);
  result->low = 1e6 * quantile (samples, n, 0.1);
  result->high = 1e6 * quantile (samples, n, 0.9);
}
