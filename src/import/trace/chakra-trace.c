#include "import/trace/chakra-trace.h"

#include <string.h>

#include "import/trace/chakra-file.h"

#define NO_NODE G_MAXUINT32

/* What is kept of a node: what its name means, and the first node that launched it. */
typedef struct
{
  guint64      id, parent;
  gboolean     has_parent;
  RangeMeaning meaning;
  guint32      kernel; /* index, or NO_NODE */
} Entry;

typedef struct
{
  StepTrace  *trace;
  GArray     *entries; /* Entry, in the order of the file */
  GHashTable *places;  /* id -> index + 1 */
} Reading;

/* ---- shardsim's own -------------------------------------------------------------------------- */

/* "block 3 mlp.up" */
static gint32
block_of_unit (const char *unit)
{
  if (g_str_has_prefix (unit, "block "))
    return (gint32) g_ascii_strtoll (unit + strlen ("block "), NULL, 10);
  if (g_str_has_prefix (unit, "embedding"))
    return TRACE_EMBEDDING;
  return g_str_has_prefix (unit, "head") ? TRACE_HEAD : TRACE_NO_BLOCK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void
take_kernel (Reading *self, const ChakraNode *node)
{
  gboolean    coll = node->type == CHAKRA_COMM_COLL;
  gboolean    talks = coll || node->type == CHAKRA_COMM_SEND || node->type == CHAKRA_COMM_RECV;
  TraceKernel kernel = { .name = g_string_chunk_insert_const (self->trace->strings, node->name),
                         .start_ns = (gint64) MIN (node->start_us, G_MAXINT64 / 4000) * 1000,
                         .duration_ns = (gint64) MIN (node->duration_us, TRACE_LONGEST_US) * 1000,
                         .launch = (gint64) MIN (node->id, G_MAXINT64),
                         .step = -1,
                         .owner = { TRACE_FORWARD, TRACE_NO_BLOCK } };

  if (node->phase != NULL)
    {
      TraceOwner owner = { TRACE_UNKNOWN, TRACE_NO_BLOCK };

      for (guint part = 0; part <= TRACE_OPTIMIZER; part++)
        if (g_str_equal (node->phase, trace_part_name ((TracePart) part)))
          owner.part = (TracePart) part;
      if (node->unit != NULL)
        owner.block = block_of_unit (node->unit);
      if (node->owner != NULL && owner.part != TRACE_OPTIMIZER)
        owner.part = TRACE_STRATEGY;
      kernel.owner = owner;
    }
  if (talks)
    {
      CollectiveKind kind = coll ? chakra_collective_kind (node->comm_type) : COLLECTIVE_N_KINDS;

      kernel.owner.part = TRACE_COMMUNICATION;
      kernel.collective = kind < COLLECTIVE_N_KINDS        ? collective_kind_name (kind)
                          : node->type == CHAKRA_COMM_SEND ? "send"
                          : node->type == CHAKRA_COMM_RECV ? "receive"
                                                           : kernel.name;
      kernel.bytes = MAX (node->comm_size, 0);
    }
  self->trace->has_times |= node->start_us > 0;
  g_array_append_val (self->trace->kernels, kernel);
}

/* ---- whose kernels they are ------------------------------------------------------------------ */

#define MAX_DEPTH 256 /* of nested ranges; a circle ends there too */

static void
find_owner (Reading *self, const Entry *entry)
{
  const Entry *chain[MAX_DEPTH];
  TraceKernel *kernel = &g_array_index (self->trace->kernels, TraceKernel, entry->kernel);
  TraceOwner   owner = { TRACE_FORWARD, TRACE_NO_BLOCK };
  guint        n = 0;

  for (const Entry *at = entry; at != NULL && at->has_parent && n < MAX_DEPTH;)
    {
      guint place = GPOINTER_TO_UINT (g_hash_table_lookup (self->places, &at->parent));

      at = place > 0 ? &g_array_index (self->entries, Entry, place - 1) : NULL;
      if (at != NULL)
        chain[n++] = at;
    }
  while (n-- > 0)
    {
      if (chain[n]->meaning.kind == RANGE_STEP)
        kernel->step = chain[n]->meaning.number;
      trace_owner_enter (&owner, chain[n]->meaning, TRACE_NO_BLOCK);
    }
  if (kernel->owner.part != TRACE_COMMUNICATION)
    kernel->owner = owner;
}

static gboolean
read_nodes (Reading *self, ChakraReader *reader, DiagList *diags)
{
  guint      n_errors = diag_list_n_errors (diags);
  ChakraNode node;

  while (chakra_reader_next (reader, &node, diags))
    {
      Entry    entry = { .id = node.id, .kernel = NO_NODE, .meaning = range_meaning (node.name) };
      gboolean runs = node.type == CHAKRA_COMP || node.type == CHAKRA_COMM_COLL
                      || node.type == CHAKRA_COMM_SEND || node.type == CHAKRA_COMM_RECV;

      if (runs && !node.on_host)
        {
          entry.kernel = self->trace->kernels->len;
          take_kernel (self, &node);
        }
      if (node.phase == NULL && node.n_ctrl_deps > 0)
        {
          entry.has_parent = TRUE;
          entry.parent = node.ctrl_deps[0];
        }
      g_array_append_val (self->entries, entry);
      g_hash_table_insert (self->places, g_memdup2 (&entry.id, sizeof entry.id),
                           GUINT_TO_POINTER (self->entries->len));
    }
  for (guint i = 0; i < self->entries->len; i++)
    {
      const Entry *entry = &g_array_index (self->entries, Entry, i);

      if (entry->kernel != NO_NODE && entry->has_parent)
        find_owner (self, entry);
    }
  return diag_list_n_errors (diags) == n_errors;
}

StepTrace *
chakra_trace_load (const char *file, DiagList *diags)
{
  g_autoptr (ChakraReader) reader = chakra_reader_open (file, diags);
  g_autoptr (StepTrace)    trace = step_trace_new ();
  Reading                  self = { .trace = trace };
  gboolean                 ok;

  if (reader == NULL)
    return NULL;
  self.entries = g_array_new (FALSE, FALSE, sizeof (Entry));
  self.places = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  ok = read_nodes (&self, reader, diags);
  g_array_unref (self.entries);
  g_hash_table_unref (self.places);
  return ok ? g_steal_pointer (&trace) : NULL;
}
