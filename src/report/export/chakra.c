#include "report/export/chakra.h"

#include <math.h>
#include <string.h>

#include "cost/kernel/host-cost.h"
#include "cost/kernel/measured-times.h"
#include "import/trace/chakra-file.h"

/*
 * While one rank is written. Set: for each stream a vector clock, the last node of every stream
 * that all that comes next on it runs after (ids from 1; 0: none). Computed: a node depends on what
 * its stream learnt of since the node before it, so no edge follows from another one of its own
 * stream.
 */
typedef struct
{
  const Schedule        *schedule;
  const Cluster         *cluster;
  const MeasuredKernels *measured;
  const char            *prefix;
  guint                  n_streams;
  guint                  role, rank;
  ScheduleItems          items;
  ScheduleSection        section;
  ChakraWriter          *out;
  ChakraWritten         *written;
  KernelModel           *model; /* of the rank's GPU */
  const MeasuredTimes   *times;
  double                 speed;
  const NodeProfile     *node;
  guint64                n_nodes;
  guint64               *clocks;       /* [stream][stream] */
  guint64               *host;         /* [stream]: what the host has waited for */
  guint64               *events;       /* [event][stream] */
  guint64               *comms;        /* [comm]: last node on it */
  guint32               *comm_streams; /* [comm]: its stream */
  GArray               **waits; /* [stream]: guint64, nodes that the next one there waits for */
  GArray                *calls; /* guint32 a node: nodes of its group call so far */
  GArray                *data_deps, *ctrl_deps; /* guint64, of the node or call that comes next */
  GHashTable            *own;                   /* set of KernelDesc: the model's kernels */
  GHashTable            *tags;                  /* messages so far, by communicator, way and peer */
  double                *rest; /* [stream]: s that whole microseconds have left out so far */
  guint                  call; /* nodes of the group call so far */
} Writer;

/* ---- order ----------------------------------------------------------------------------------- */

static guint64 *
clock_of (const Writer *self, guint32 stream)
{
  return &self->clocks[(gsize) stream * self->n_streams];
}

/* Node LAST and those of the same group call. */
static void
add_dep (const Writer *self, GArray *deps, guint64 last)
{
  guint32 n = g_array_index (self->calls, guint32, last - 1);

  for (guint64 id = last - n; id < last; id++)
    g_array_append_val (deps, id);
}

static void
wait_for (Writer *self, guint32 stream, guint32 of, guint64 last, GArray *deps)
{
  guint64 *clock = clock_of (self, stream);

  if (last <= clock[of])
    return;
  clock[of] = last;
  add_dep (self, deps, last);
}

static void
record (Writer *self, guint32 event, guint32 stream)
{
  memcpy (&self->events[(gsize) event * self->n_streams], clock_of (self, stream),
          self->n_streams * sizeof (guint64));
}

static void
stream_waits (Writer *self, guint32 stream, guint32 event)
{
  for (guint s = 0; s < self->n_streams; s++)
    wait_for (self, stream, s, self->events[(gsize) event * self->n_streams + s],
              self->waits[stream]);
}

static void
host_waits (Writer *self, guint32 event)
{
  for (guint s = 0; s < self->n_streams; s++)
    self->host[s] = MAX (self->host[s], self->events[(gsize) event * self->n_streams + s]);
}

/* What the op or group call that comes next on STREAM runs after. COMM: SCHEDULE_NONE of others. */
static void
begin_op (Writer *self, guint32 stream, guint32 comm)
{
  GArray *waits = self->waits[stream];
  guint64 before = clock_of (self, stream)[stream];

  g_array_set_size (self->data_deps, 0);
  g_array_set_size (self->ctrl_deps, 0);
  if (before > 0)
    add_dep (self, self->data_deps, before);
  g_array_append_vals (self->data_deps, waits->data, waits->len);
  g_array_set_size (waits, 0);
  if (comm != SCHEDULE_NONE && self->comms[comm] > 0)
    wait_for (self, stream, self->comm_streams[comm], self->comms[comm], self->data_deps);
  for (guint s = 0; s < self->n_streams; s++)
    wait_for (self, stream, s, self->host[s], self->ctrl_deps);
  self->call = 0;
}

static void
end_op (Writer *self, guint32 stream, guint32 comm)
{
  clock_of (self, stream)[stream] = self->n_nodes;
  if (comm == SCHEDULE_NONE)
    return;
  self->comms[comm] = self->n_nodes;
  self->comm_streams[comm] = stream;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void
add_node (Writer *self, const ScheduleItem *item, ChakraNode *node, const char *what)
{
  const char *unit =
      item->unit != SCHEDULE_NONE ? schedule_unit_name (self->schedule, item->unit) : NULL;
  g_autofree char *name = unit != NULL ? g_strdup_printf ("%s %s", what, unit) : g_strdup (what);

  node->id = self->n_nodes++;
  node->name = name;
  node->unit = unit;
  if (item->phase != PHASE_NONE)
    node->phase = schedule_phase_name ((SchedulePhase) item->phase);
  node->stream = schedule_stream_info (self->schedule, item->stream)->name;
  node->data_deps = (const guint64 *) (gconstpointer) self->data_deps->data;
  node->n_data_deps = self->data_deps->len;
  node->ctrl_deps = (const guint64 *) (gconstpointer) self->ctrl_deps->data;
  node->n_ctrl_deps = self->ctrl_deps->len;
  self->call++;
  g_array_append_val (self->calls, self->call);
  chakra_writer_add (self->out, node);
}

static void
own_list (GHashTable *own, const KernelDesc *kernels, guint n)
{
  for (guint i = 0; i < n; i++)
    g_hash_table_add (own, (gpointer) &kernels[i]);
}

/* The model's kernels, by address: others are the strategy's. */
static GHashTable *
own_kernels (const Workload *workload)
{
  GHashTable *own = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      if (i > 0 && layer == workload_layer (workload, i - 1))
        continue;
      own_list (own, layer->forward, layer->n_forward);
      own_list (own, layer->recompute, layer->n_recompute);
      own_list (own, layer->backward, layer->n_backward);
    }
  return own;
}

/* Whole microseconds, so that their sum over STREAM is that of SECONDS. */
static guint64
whole_us (Writer *self, guint32 stream, double seconds)
{
  double us = MAX (floor ((seconds + self->rest[stream]) * 1e6 + 0.5), 0);

  self->rest[stream] += seconds - us * 1e-6;
  return (guint64) us;
}

static void
add_kernel (Writer *self, const ScheduleItem *item)
{
  const KernelDesc *kernel = item->kernel;
  ChakraNode        node = chakra_node (0, CHAKRA_COMP, NULL);
  KernelCost        cost;

  measured_times_cost (self->times, kernel, item->phase == PHASE_OPTIMIZER, &cost);
  node.num_ops = MAX (kernel->flops, 1);
  node.tensor_size = kernel->read_bytes + kernel->write_bytes;
  node.kind = kernel_kind_name (kernel->kind);
  if (item->phase != PHASE_OPTIMIZER && !g_hash_table_contains (self->own, kernel))
    node.owner = "strategy";
  node.duration_us =
      whole_us (self, item->stream, cost.latency + (cost.alone - cost.latency) / self->speed);
  add_node (self, item, &node, kernel->name);
}

static void
add_host_op (Writer *self, const ScheduleItem *item)
{
  ChakraNode node = chakra_node (0, CHAKRA_COMP, NULL);
  HostCost   cost;

  host_cost (self->node, item->host, &cost);
  node.on_host = TRUE;
  node.num_ops = (double) item->host->elements;
  node.tensor_size = item->host->read_bytes + item->host->write_bytes;
  node.kind = host_kind_name (item->host->kind);
  node.duration_us = whole_us (self, item->stream, cost.alone);
  add_node (self, item, &node, item->host->name);
}

/*
 * A copy within the GPU's memory is a kernel of its bytes; one within the host's, whose time is
 * not said, a node of the host.
 */
static void
add_copy (Writer *self, const ScheduleItem *item)
{
  ChakraNode node = chakra_node (0, CHAKRA_COMP, NULL);
  double     bytes = (double) item->bytes;
  KernelDesc copy = kernel_desc_stream (KERNEL_COPY, item->label, DTYPE_BF16, bytes, bytes, 1);
  KernelCost cost;

  node.num_ops = 1;
  node.tensor_size = bytes;
  node.kind = move_kind_name (item->collective);
  node.on_host = move_from (item->collective) != PLACE_HBM;
  kernel_model_cost (self->model, &copy, &cost);
  if (!node.on_host)
    node.duration_us = whole_us (self, item->stream, cost.alone);
  add_node (self, item, &node, item->label);
}

/* Towards the GPU a load, away from it a store. */
static void
add_move (Writer *self, const ScheduleItem *item)
{
  Place      from = move_from (item->collective), to = move_to (item->collective);
  ChakraNode node = chakra_node (0, from < to ? CHAKRA_MEM_STORE : CHAKRA_MEM_LOAD, NULL);

  node.tensor_size = (double) item->bytes;
  node.kind = move_kind_name (item->collective);
  add_node (self, item, &node, item->label);
}

/* The n-th message from one rank to another on a communicator has the same tag at both ends. */
static gint
next_tag (Writer *self, guint32 comm, ScheduleMessage way, guint32 peer)
{
  gint64 key = ((gint64) comm << 33) | ((gint64) way << 32) | peer;
  guint  n = GPOINTER_TO_UINT (g_hash_table_lookup (self->tags, &key));

  g_hash_table_insert (self->tags, g_memdup2 (&key, sizeof key), GUINT_TO_POINTER (n + 1));
  return (gint) ((n * schedule_n_comms (self->schedule) + comm) & G_MAXINT);
}

static guint32
member_of (const Writer *self, MeshGroup group, guint index)
{
  return mesh_group_member (group, self->rank, index);
}

static void
add_message (Writer *self, const ScheduleItem *item, ScheduleMessage way, guint peer)
{
  guint32    other = member_of (self, schedule_comm_info (self->schedule, item->ref)->group, peer);
  gboolean   sends = way == MESSAGE_SEND;
  ChakraNode node = chakra_node (0, sends ? CHAKRA_COMM_SEND : CHAKRA_COMM_RECV, NULL);

  node.comm_size = (double) item->bytes;
  node.comm_src = (gint) (sends ? self->rank : other);
  node.comm_dst = (gint) (sends ? other : self->rank);
  node.comm_tag = next_tag (self, item->ref, way, other);
  add_node (self, item, &node, item->label);
}

/* Every member to the next of the group, and from the one before: a group call of two messages. */
static void
add_ring (Writer *self, const ScheduleItem *item, MeshGroup group)
{
  guint own = mesh_group_index (group, self->rank);

  add_message (self, item, MESSAGE_SEND, (own + 1) % group.size);
  add_message (self, item, MESSAGE_RECEIVE, (own + group.size - 1) % group.size);
}

/* Groups are numbered from 1: ASTRA-sim takes 0 for all ranks. */
static guint64
group_number (const Schedule *schedule, guint n_ranks, guint32 comm, guint32 rank)
{
  MeshGroup group = schedule_comm_info (schedule, comm)->group;
  guint64   number = 1;

  for (guint32 c = 0; c < comm; c++)
    if (schedule_comm_info (schedule, c)->group.size > 1)
      number += n_ranks / schedule_comm_info (schedule, c)->group.size;
  return number + mesh_group_number (group, rank);
}

static void
add_collective (Writer *self, const ScheduleItem *item)
{
  CollectiveKind   kind = (CollectiveKind) item->collective;
  MeshGroup        group = schedule_comm_info (self->schedule, item->ref)->group;
  ChakraNode       node = chakra_node (0, CHAKRA_COMM_COLL, NULL);
  g_autofree char *name = g_strdup_printf (
      "%" G_GUINT64_FORMAT,
      group_number (self->schedule, cluster_n_gpus (self->cluster), item->ref, self->rank));

  self->written->kinds |= 1u << kind;
  if (chakra_collective (kind) == CHAKRA_NONE)
    {
      add_ring (self, item, group);
      return;
    }
  node.comm_type = chakra_collective (kind);
  node.comm_size = (double) chakra_comm_size (kind, item->bytes, group.size);
  node.pg_name = name;
  add_node (self, item, &node, item->label);
}

static void
add_op (Writer *self, const ScheduleItem *item, gboolean continues)
{
  guint32 comm =
      item->kind == ITEM_COLLECTIVE || item->kind == ITEM_P2P ? item->ref : SCHEDULE_NONE;

  if (!continues)
    begin_op (self, item->stream, item->kind == ITEM_P2P ? SCHEDULE_NONE : comm);
  if (item->kind == ITEM_KERNEL)
    add_kernel (self, item);
  else if (item->kind == ITEM_HOST_OP)
    add_host_op (self, item);
  else if (item->kind == ITEM_MOVE && move_from (item->collective) == move_to (item->collective))
    add_copy (self, item);
  else if (item->kind == ITEM_MOVE)
    add_move (self, item);
  else if (item->kind == ITEM_P2P)
    add_message (self, item, (ScheduleMessage) item->collective, item->peer);
  else
    add_collective (self, item);
  if (item->kind != ITEM_P2P || !item->more)
    end_op (self, item->stream, item->kind == ITEM_P2P ? SCHEDULE_NONE : comm);
}

static void
write_items (Writer *self)
{
  gboolean more = FALSE; /* the item before it was of a group call that goes on */

  for (guint i = 0; i < self->items.n; i++)
    {
      const ScheduleItem *item = &self->items.items[i];

      switch ((ItemKind) item->kind)
        {
        case ITEM_KERNEL:
        case ITEM_HOST_OP:
        case ITEM_MOVE:
        case ITEM_COLLECTIVE:
        case ITEM_P2P:
          add_op (self, item, more);
          more = item->kind == ITEM_P2P && item->more;
          break;
        case ITEM_RECORD:
          record (self, item->ref, item->stream);
          break;
        case ITEM_WAIT:
          stream_waits (self, item->stream, item->ref);
          break;
        case ITEM_HOST_WAIT:
          host_waits (self, item->ref);
          break;
        default: /* of the host alone, or carried over from the section before */
          break;
        }
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void
writer_init (Writer *self)
{
  guint n_events = schedule_n_events (self->schedule, self->role, self->section);
  guint n_comms = schedule_n_comms (self->schedule);

  self->n_streams = schedule_n_streams (self->schedule);
  self->clocks = g_new0 (guint64, (gsize) self->n_streams * self->n_streams + 1);
  self->host = g_new0 (guint64, self->n_streams + 1);
  self->events = g_new0 (guint64, (gsize) n_events * self->n_streams + 1);
  self->comms = g_new0 (guint64, n_comms + 1);
  self->comm_streams = g_new0 (guint32, n_comms + 1);
  self->rest = g_new0 (double, self->n_streams + 1);
  self->waits = g_new0 (GArray *, self->n_streams + 1);
  for (guint s = 0; s < self->n_streams; s++)
    self->waits[s] = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->calls = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->data_deps = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->ctrl_deps = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->own = own_kernels (schedule_role_workload (self->schedule, self->role));
  self->tags = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
}

static void
writer_clear (Writer *self)
{
  for (guint s = 0; s < self->n_streams; s++)
    g_array_unref (self->waits[s]);
  g_free (self->waits);
  g_free (self->clocks);
  g_free (self->host);
  g_free (self->events);
  g_free (self->comms);
  g_free (self->comm_streams);
  g_free (self->rest);
  g_array_unref (self->calls);
  g_array_unref (self->data_deps);
  g_array_unref (self->ctrl_deps);
  g_hash_table_unref (self->tags);
  g_hash_table_unref (self->own);
}

static gboolean
write_rank (Writer *self, GError **error)
{
  g_autofree char          *path = g_strdup_printf ("%s.%u.et", self->prefix, self->rank);
  g_autoptr (OutputFile)    file = output_file_open (path, error);
  g_autoptr (ChakraWriter)  out = NULL;
  g_autoptr (KernelModel)   model = NULL;
  g_autoptr (MeasuredTimes) times = NULL;

  if (file == NULL)
    return FALSE;
  self->role = schedule_role_of_rank (self->schedule, self->rank);
  self->items = schedule_items (self->schedule, self->role, self->section);
  self->model = model = kernel_model_new (cluster_gpu_profile (self->cluster, self->rank));
  times = measured_times_new (model, schedule_role_workload (self->schedule, self->role),
                              self->measured);
  self->speed = cluster_gpu_speed (self->cluster, self->rank);
  self->node =
      cluster_node_profile (self->cluster, cluster_node_of_gpu (self->cluster, self->rank));
  out = chakra_writer_new (output_file_stream (file));
  self->times = times;
  self->out = out;
  writer_init (self);
  write_items (self);
  writer_clear (self);
  self->written->n_files++;
  self->written->n_nodes += self->n_nodes;
  return output_files_publish (&file, 1, error);
}

static void
print_groups (const Schedule *schedule, guint n_ranks, FILE *out)
{
  const char *between = "";

  fputs ("{", out);
  for (guint32 c = 0; c < schedule_n_comms (schedule); c++)
    {
      MeshGroup           group = schedule_comm_info (schedule, c)->group;
      g_autofree guint32 *members = g_new (guint32, group.size);

      for (guint32 rank = 0; rank < n_ranks; rank++)
        {
          if (group.size == 1 || mesh_group_index (group, rank) != 0) /* alone; not the first */
            continue;
          mesh_group_members (group, rank, members);
          fprintf (out, "%s\n  \"%" G_GUINT64_FORMAT "\": [", between,
                   group_number (schedule, n_ranks, c, rank));
          for (guint i = 0; i < group.size; i++)
            fprintf (out, "%s%u", i > 0 ? ", " : "", members[i]);
          fputs ("]", out);
          between = ",";
        }
    }
  fputs ("\n}\n", out);
}

static gboolean
write_groups (const Schedule *schedule, guint n_ranks, const char *prefix, GError **error)
{
  g_autofree char       *path = g_strconcat (prefix, ".json", NULL);
  g_autoptr (OutputFile) file = output_file_open (path, error);

  if (file == NULL)
    return FALSE;
  print_groups (schedule, n_ranks, output_file_stream (file));
  return output_files_publish (&file, 1, error);
}

gboolean
report_chakra_write (const ReplayPlan *plan, const ChakraParts *parts, const char *prefix,
                     ChakraWritten *written, GError **error)
{
  const Cluster  *cluster = replay_plan_resolved (plan)->cluster;
  const Schedule *schedule = replay_plan_schedule (plan);
  guint           n_ranks = cluster_n_gpus (cluster);

  *written = (ChakraWritten){ 0 };
  for (guint i = 0; i < (parts->ranks != NULL ? parts->ranks->len : n_ranks); i++)
    {
      Writer writer = {
        .schedule = schedule,
        .cluster = cluster,
        .measured = workload_training (replay_plan_resolved (plan)->workload)->measured,
        .prefix = prefix,
        .section = parts->section,
        .rank = parts->ranks != NULL ? g_array_index (parts->ranks, guint32, i) : i,
        .written = written,
      };

      if (!write_rank (&writer, error))
        return FALSE;
    }
  return write_groups (schedule, n_ranks, prefix, error);
}
