/* Which reader a trace of a step wants. */
#include "import/trace/trace-load.h"

#include <stdio.h>
#include <string.h>

#include "base/intern.h"
#include "import/trace/chakra-trace.h"
#include "import/trace/kineto-trace.h"

#define PROFILER \
  "take the trace of PyTorch's profiler: export_chrome_trace, or tensorboard_trace_handler"

/*
 * What files of other tools begin with, or end on; NULL: nothing that tells them. A Chakra file has
 * a length and a line feed there.
 */
static const struct
{
  const char *begin, *end, *what;
} others[] = {
  { "SQLite format 3", NULL, "a database, as nsys and rocprof export: " PROFILER },
  { NULL, ".nsys-rep", "a report of Nsight Systems: " PROFILER },
  { NULL, ".qdrep", "a report of Nsight Systems: " PROFILER },
  { NULL, ".ncu-rep", "a report of Nsight Compute: " PROFILER },
  { NULL, ".pb", "a profile of TensorBoard or XLA: " PROFILER },
  { NULL, ".pftrace", "a trace of Perfetto: " PROFILER },
  { NULL, ".perfetto-trace", "a trace of Perfetto: " PROFILER },
  { NULL, ".pickle", "a pickle, as of a snapshot of the allocator's memory: " PROFILER },
  { NULL, ".pkl", "a pickle, as of a snapshot of the allocator's memory: " PROFILER },
  { "\x80\x02}", NULL, "a pickle, as of a snapshot of the allocator's memory: " PROFILER },
  { "\x80\x03}", NULL, "a pickle, as of a snapshot of the allocator's memory: " PROFILER },
  { "\x80\x04\x95", NULL, "a pickle, as of a snapshot of the allocator's memory: " PROFILER },
  { "\x80\x05\x95", NULL, "a pickle, as of a snapshot of the allocator's memory: " PROFILER },
  { "PK\x03\x04", NULL, "an archive (zip): unpack it first" },
  { "<!", NULL, "a page: " PROFILER },
  { "<html", NULL, "a page: " PROFILER },
  { "<?xml", NULL, "XML: " PROFILER },
};

/* FALSE after a diagnostic: FILE, which begins with HEAD, is of another tool. */
static gboolean
check_other (const char *file, const char *head, DiagList *diags)
{
  const SourceMark mark = { .file = intern_text (file) };
  g_autofree char *name = g_path_get_basename (file);

  if (strstr (name, "tfevents") != NULL)
    {
      diag_error (diags, &mark, "it is TensorBoard's list of events: " PROFILER,
                  "the file is no trace of a step");
      return FALSE;
    }
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if ((others[i].begin != NULL && g_str_has_prefix (head, others[i].begin))
        || (others[i].end != NULL && g_str_has_suffix (name, others[i].end)))
      {
        g_autofree char *hint = g_strconcat ("it is ", others[i].what, NULL);

        diag_error (diags, &mark, hint, "the file is no trace of a step");
        return FALSE;
      }
  return TRUE;
}

/* The first bytes of FILE, at most 15, and a NUL. */
static void
read_head (const char *file, char head[16])
{
  FILE *stream = fopen (file, "rb");

  memset (head, 0, 16);
  if (stream == NULL || fread (head, 1, 15, stream) == 0)
    head[0] = '\0';
  if (stream != NULL)
    fclose (stream);
}

/* JSON, gzipped or not, begins with a brace or a bracket; a Chakra file with a length. */
static gboolean
is_kineto (const char *file, const char *head)
{
  g_autofree char *base = g_ascii_strdown (file, -1);

  if (g_str_has_prefix (head, "\x1f\x8b"))
    return TRUE;
  return g_str_has_suffix (base, ".json") || g_str_has_suffix (base, ".json.gz")
         || ((head[0] == '{' || head[0] == '[') && !g_str_has_suffix (base, ".et"));
}

static gint
compare_launches (gconstpointer a, gconstpointer b)
{
  const TraceKernel *x = a, *y = b;

  if (x->launch != y->launch)
    return x->launch < y->launch ? -1 : 1;
  return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

StepTrace *
step_trace_load (const char *file, DiagList *diags)
{
  char       head[16];
  StepTrace *self = NULL;

  read_head (file, head);
  if (!check_other (file, head, diags))
    return NULL;
  self = is_kineto (file, head) ? kineto_trace_load (file, diags) : chakra_trace_load (file, diags);

  if (self != NULL)
    g_array_sort (self->kernels, compare_launches);
  return self;
}
