/* Which reader a trace of a step wants. */
#include "measure/trace-load.h"

#include <stdio.h>

#include "measure/chakra-trace.h"
#include "measure/kineto-trace.h"

/* JSON, gzipped or not, begins with a brace or a bracket; a Chakra file with a length. */
static gboolean
is_kineto (const char *file)
{
  g_autofree char *base = g_ascii_strdown (file, -1);
  FILE            *stream = fopen (file, "rb");
  unsigned char    head[2] = { 0 };
  gsize            n = stream != NULL ? fread (head, 1, sizeof head, stream) : 0;

  if (stream != NULL)
    fclose (stream);
  if (n == 2 && head[0] == 0x1f && head[1] == 0x8b)
    return TRUE;
  return g_str_has_suffix (base, ".json") || g_str_has_suffix (base, ".json.gz")
         || (n > 0 && (head[0] == '{' || head[0] == '[') && !g_str_has_suffix (base, ".et"));
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
  StepTrace *self =
      is_kineto (file) ? kineto_trace_load (file, diags) : chakra_trace_load (file, diags);

  if (self != NULL)
    g_array_sort (self->kernels, compare_launches);
  return self;
}
