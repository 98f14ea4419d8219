/*
 * Which nodes of a shared fabric a job has. A fabric has slots, one a node, in the order of its
 * leaves; node i of the job is in slot_of[i], and rank i x GPUs is its first.
 *
 * packed: the first n slots. spread:L: the first L leaves, floor (i L / n) being that of node i.
 * random: n slots drawn without replacement (Fisher and Yates), in the order of the draw;
 * scattered: the same ones in ascending order, as a scheduler lists them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/intern.h"
#include "hardware/cluster/cluster-private.h"
#include "hardware/cluster/host-file-private.h"

/* All that one reading needs. */
typedef struct
{
  Cluster              *cluster;
  const ClusterOptions *options;
  InputFiles           *files;
  const OptionMarks    *marks;
  DiagList             *diags;
  GPtrArray            *names; /* of the slots, or NULL: by number */
} Placing;

#define PLACE_MARK(self) option_mark ((self)->marks, "placement", "nodes", "name", NULL)

/* Nodes of the smallest run that the fabric tells apart; 0: it is one switch. */
static guint
nodes_of_leaf (const Fabric *fabric)
{
  return fabric->leaf_nodes > 0 ? fabric->leaf_nodes : fabric->group_nodes;
}

/* ---- the rules ------------------------------------------------------------------------------- */

static gboolean
place_spread (const Placing *self, guint64 n_leaves, guint32 *slots)
{
  const Fabric    *fabric = &self->cluster->fabric;
  const guint      n = self->cluster->n_nodes, leaf = nodes_of_leaf (fabric);
  const guint      all = (fabric->slots + leaf - 1) / leaf;
  guint64          before = G_MAXUINT64;
  guint            in_leaf = 0;
  g_autofree char *hint = g_strdup_printf (
      "the fabric has %u leaves of %u nodes; 'fabric_nodes' makes it larger", all, leaf);

  if (n_leaves > all || n_leaves > n)
    {
      diag_error (self->diags, PLACE_MARK (self), hint,
                  "%u nodes cannot be spread over %" G_GUINT64_FORMAT " leaves", n, n_leaves);
      return FALSE;
    }
  for (guint i = 0; i < n; i++)
    {
      const guint64 mine = i * n_leaves / n;

      in_leaf = mine == before ? in_leaf + 1 : 0;
      before = mine;
      slots[i] = (guint32) (mine * leaf + in_leaf);
      if (in_leaf >= leaf || slots[i] >= fabric->slots)
        {
          diag_error (self->diags, PLACE_MARK (self), hint, "%u nodes do not fit: '%s'", n,
                      self->options->placement);
          return FALSE;
        }
    }
  return TRUE;
}

/* Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014. */
static guint64
draw (guint64 *state)
{
  guint64 z = *state += G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static int
compare_slots (const void *a, const void *b)
{
  const guint32 x = *(const guint32 *) a, y = *(const guint32 *) b;

  return (x > y) - (x < y);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Slots by the names of their hosts, which differ. */
static GHashTable *
slots_by_name (const Placing *self)
{
  GHashTable *slots = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < self->names->len; i++)
    g_hash_table_insert (slots, g_ptr_array_index (self->names, i), GUINT_TO_POINTER (i));
  return slots;
}

/* The slot of HOST by name or, where the fabric's nodes have none, by number: '17', 'node17'. */
static gboolean
find_slot (const Placing *self, GHashTable *named, const char *host, guint32 *slot)
{
  const char *digits = g_str_has_prefix (host, "node") ? host + strlen ("node") : host;
  guint64     number;
  gpointer    found;

  if (named != NULL)
    {
      const gboolean known = g_hash_table_lookup_extended (named, host, NULL, &found);

      *slot = known ? GPOINTER_TO_UINT (found) : 0;
      return known;
    }
  if (!g_ascii_string_to_unsigned (digits, 10, 0, self->cluster->fabric.slots - 1, &number, NULL))
    return FALSE;
  *slot = (guint32) number;
  return TRUE;
}

static char *
known_hosts (const Placing *self)
{
  const guint last = self->cluster->fabric.slots - 1;

  if (self->names == NULL)
    return g_strdup_printf ("the fabric has node0 to node%u; 'hosts' gives them names", last);
  return g_strdup_printf ("'hosts' has '%s' to '%s'",
                          (const char *) g_ptr_array_index (self->names, 0),
                          (const char *) g_ptr_array_index (self->names, last));
}

/* As many hosts as the job has nodes; else an error where the file goes wrong. */
static void
check_number (const Placing *self, const GArray *hosts)
{
  const guint      n = self->cluster->n_nodes;
  SourceMark       mark = { .file = intern_text (self->options->placement), .line = 1 };
  g_autofree char *hint = g_strdup_printf ("a host a node of the job, which has %u", n);

  if (hosts->len == n)
    return;
  if (hosts->len > 0)
    mark = g_array_index (hosts, HostLine, MIN (n, hosts->len - 1)).mark;
  if (hosts->len == 0)
    diag_error (self->diags, &mark, "write a host a line: 'gpu17', 'gpu17 slots=8' or 'gpu17:8'",
                "no host in the file, the job has %u nodes", n);
  else
    diag_error (self->diags, &mark, hint, "'%s' lists %u hosts, the job has %u nodes",
                self->options->placement, hosts->len, n);
}

static void
place_hosts (const Placing *self, const GArray *hosts, guint32 *slots)
{
  const guint            errors = diag_list_n_errors (self->diags);
  g_autoptr (GHashTable) named = self->names != NULL ? slots_by_name (self) : NULL;
  g_autofree guint      *line_of = g_new0 (guint, self->cluster->fabric.slots);

  for (guint i = 0; i < hosts->len; i++)
    {
      const HostLine *host = &g_array_index (hosts, HostLine, i);
      const guint     gpus =
          i < self->cluster->n_nodes ? cluster_gpus_of_node (self->cluster, i) : host->slots;
      g_autofree char *hint = known_hosts (self);
      guint32          slot;

      if (!find_slot (self, named, host->name, &slot))
        diag_error (self->diags, &host->mark, hint, "unknown host '%s'", host->name);
      else if (line_of[slot] > 0)
        diag_error (self->diags, &host->mark, "a line a node, whatever its processes",
                    "host '%s' is listed in line %u already", host->name, line_of[slot]);
      else if (host->slots > 0 && host->slots != gpus)
        diag_error (self->diags, &host->mark, "a process a GPU",
                    "%u processes on '%s', but node %u of the job has %u GPUs", host->slots,
                    host->name, i, gpus);
      else
        {
          line_of[slot] = host->mark.line;
          if (i < self->cluster->n_nodes)
            slots[i] = slot;
        }
    }
  if (diag_list_n_errors (self->diags) == errors)
    check_number (self, hosts);
}

/* ---- words ----------------------------------------------------------------------------------- */

typedef enum
{
  PLACEMENT_PACKED,
  PLACEMENT_RANDOM,
  PLACEMENT_SCATTERED,
  PLACEMENT_SPREAD,
  PLACEMENT_FILE,
} PlacementWord;

#define SPREAD "spread:"

static const char *const words[] = { "packed", "random", "scattered", NULL };

static PlacementWord
word_of (const char *text)
{
  for (guint i = 0; words[i] != NULL; i++)
    if (text != NULL && g_ascii_strcasecmp (text, words[i]) == 0)
      return (PlacementWord) i;
  if (text == NULL || *text == '\0')
    return PLACEMENT_PACKED;
  return g_ascii_strncasecmp (text, SPREAD, strlen (SPREAD)) == 0 ? PLACEMENT_SPREAD
                                                                  : PLACEMENT_FILE;
}

gboolean
cluster_placement_is_file (const char *text)
{
  return word_of (text) == PLACEMENT_FILE;
}

/* What TEXT, no file, may have been meant for. Newly allocated. */
static char *
suggest_placement (const char *text)
{
  static const char *const known[] = { "packed", "random", "scattered", "spread", NULL };
  g_autofree char         *base = g_path_get_basename (text); /* a scenario's is beside it */
  g_autofree char         *word = g_strndup (base, strcspn (base, ":"));
  const char              *nearest = suggest_nearest (word, known), *number = strchr (text, ':');

  if (nearest == NULL)
    return g_strdup ("packed, spread:L, random, scattered, or a text file with a host a line");
  if (strcmp (nearest, "spread") == 0)
    return g_strdup_printf ("did you mean '%s%s'?", SPREAD,
                            number != NULL && number[1] != '\0' ? number + 1 : "4");
  if (number != NULL)
    return g_strdup_printf ("did you mean '%s', which takes no number?", nearest);
  return g_strdup_printf ("did you mean '%s'?", nearest);
}

/* FALSE after a diagnostic: a host is named twice. */
static gboolean
check_names (const Placing *self)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < self->names->len; i++)
    if (!g_hash_table_add (seen, g_ptr_array_index (self->names, i)))
      {
        diag_error (self->diags, option_mark (self->marks, "hosts", NULL), "a name a node",
                    "'hosts' names '%s' twice", (const char *) g_ptr_array_index (self->names, i));
        return FALSE;
      }
  return TRUE;
}

/* How many slots there are, and their names. FALSE after diagnostics. */
static gboolean
count_slots (Placing *self)
{
  Fabric      *fabric = &self->cluster->fabric;
  const gint64 told = self->options->fabric_nodes;

  if (self->options->hosts != NULL)
    {
      self->names = host_names_expand (self->options->hosts,
                                       option_mark (self->marks, "hosts", NULL), self->diags);
      if (self->names == NULL || !check_names (self))
        return FALSE;
      if (told > 0 && told != self->names->len)
        {
          diag_error (self->diags, option_mark (self->marks, "hosts", "fabric_nodes", NULL), NULL,
                      "'hosts' names %u nodes, 'fabric_nodes' says %" G_GINT64_FORMAT,
                      self->names->len, told);
          return FALSE;
        }
    }
  fabric->slots = self->names != NULL ? self->names->len : (guint) told;
  if (fabric->slots > 0 && fabric->slots < self->cluster->n_nodes)
    {
      diag_error (self->diags, option_mark (self->marks, "nodes", "name", "fabric_nodes", NULL),
                  NULL, "%u nodes do not fit on a fabric of %u", self->cluster->n_nodes,
                  fabric->slots);
      return FALSE;
    }
  fabric->slots = MAX (fabric->slots, self->cluster->n_nodes);
  return TRUE;
}

/* FALSE after a diagnostic: what is asked for needs leaves. */
static gboolean
check_use (const Placing *self, PlacementWord word)
{
  if (word != PLACEMENT_PACKED && nodes_of_leaf (&self->cluster->fabric) == 0)
    diag_error (self->diags, PLACE_MARK (self), "give 'leaf_nodes', the nodes under one leaf",
                "one switch over all nodes: it is all the same where a job lies");
  else
    return TRUE;
  return FALSE;
}

static void
place (const Placing *self, PlacementWord word, const GArray *hosts, guint32 *slots)
{
  const char *text = self->options->placement;
  guint64     n_leaves;

  if (word == PLACEMENT_FILE)
    place_hosts (self, hosts, slots);
  else if (word != PLACEMENT_SPREAD)
    {
      Fabric             *fabric = &self->cluster->fabric;
      const guint         n = self->cluster->n_nodes;
      g_autofree guint32 *all = g_new0 (guint32, fabric->slots);
      guint64             state = (guint64) self->options->placement_seed;

      for (guint i = 0; i < fabric->slots; i++)
        all[i] = i;
      for (guint i = 0; i < n; i++)
        {
          const guint other = i + (guint) (draw (&state) % (fabric->slots - i));

          slots[i] = all[other];
          all[other] = all[i];
        }
      if (word == PLACEMENT_SCATTERED)
        qsort (slots, n, sizeof *slots, compare_slots);
      fabric->drawn = TRUE;
    }
  else if (g_ascii_string_to_unsigned (text + strlen (SPREAD), 10, 1, G_MAXUINT32, &n_leaves, NULL))
    place_spread (self, n_leaves, slots);
  else
    diag_error (self->diags, PLACE_MARK (self), "write the number of leaves, as in 'spread:4'",
                "no number of leaves: '%s'", text);
}

void
cluster_place_job (Cluster *self, const ClusterOptions *options, InputFiles *files,
                   const OptionMarks *marks, DiagList *diags)
{
  Placing             placing = { self, options, files, marks, diags, NULL };
  const PlacementWord word = word_of (options->placement);
  const GArray       *hosts = NULL;

  self->fabric.placement = intern_text (word == PLACEMENT_PACKED ? "packed" : options->placement);
  if (word == PLACEMENT_FILE)
    {
      g_autofree char *hint = suggest_placement (options->placement);

      hosts = host_file_get (files, options->placement, PLACE_MARK (&placing), hint, diags);
    }
  if (count_slots (&placing) && (word != PLACEMENT_FILE || hosts != NULL)
      && check_use (&placing, word) && word != PLACEMENT_PACKED)
    {
      self->fabric.slot_of = g_new0 (guint32, self->n_nodes);
      place (&placing, word, hosts, self->fabric.slot_of);
    }
  g_clear_pointer (&placing.names, g_ptr_array_unref);
}
