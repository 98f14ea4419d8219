/*
 * An imported machine as the text of a node profile. Of a chain of switches the nearest and the
 * outermost count: the distances between devices are those of the whole chain.
 */
#include <string.h>

#include "import/topology/import-private.h"

/* The switches as a profile has them. */
typedef struct
{
  gint    *nearest; /* [switches] number as a lower switch, or MACHINE_NONE */
  gint    *top;     /* [switches] number as an upper switch, or MACHINE_NONE */
  guint    n_lower, n_upper;
  double   rate;   /* the slowest of GPUs' that say; 0 = none does */
  gboolean unlike; /* and they are not alike */
} Layout;

static guint
outermost (const Machine *self, guint i)
{
  while (machine_switch (self, i)->parent != MACHINE_NONE)
    i = (guint) machine_switch (self, i)->parent;
  return i;
}

static void
note_switches (const GArray *devices, Layout *layout)
{
  for (guint i = 0; i < devices->len; i++)
    {
      const gint own = g_array_index (devices, MachineDevice, i).pcie_switch;
      if (own != MACHINE_NONE)
        layout->nearest[own] = 0;
    }
}

/* Several switches with devices under one outermost switch: that is an upper one. */
static void
number_switches (const Machine *self, Layout *layout)
{
  g_autofree guint *n_inside = g_new0 (guint, self->switches->len + 1);
  for (guint i = 0; i < self->switches->len; i++)
    if (layout->nearest[i] != MACHINE_NONE)
      {
        layout->nearest[i] = (gint) layout->n_lower++;
        n_inside[outermost (self, i)]++;
      }
  for (guint i = 0; i < self->switches->len; i++)
    if (n_inside[i] > 1)
      layout->top[i] = (gint) layout->n_upper++;
}

/* The switches that GPUs hang under; all, where they hang under none. Newly allocated. */
static gboolean *
above_gpus (const Machine *self)
{
  gboolean *above = g_new0 (gboolean, self->switches->len + 1), any = FALSE;
  for (guint i = 0; i < self->gpus->len; i++)
    for (gint at = machine_gpu (self, i)->pcie_switch; at != MACHINE_NONE;
         at = machine_switch (self, (guint) at)->parent)
      any = above[at] = TRUE;
  for (guint i = 0; i < self->switches->len; i++)
    above[i] |= !any;
  return above;
}

static void
layout_init (Layout *layout, const Machine *self)
{
  g_autofree gboolean *above = above_gpus (self);
  *layout = (Layout){ 0 };
  layout->nearest = g_new (gint, self->switches->len + 1);
  layout->top = g_new (gint, self->switches->len + 1);
  for (guint i = 0; i < self->switches->len; i++)
    layout->nearest[i] = layout->top[i] = MACHINE_NONE;
  note_switches (self->gpus, layout);
  note_switches (self->cards, layout);
  number_switches (self, layout);
  for (guint i = 0; i < self->switches->len; i++)
    {
      const double rate = machine_switch (self, i)->rate;
      if (rate < 1e9 || !above[i]
          || (layout->nearest[i] == MACHINE_NONE && layout->top[i] == MACHINE_NONE))
        continue;
      layout->unlike |= layout->rate > 0 && layout->rate != rate;
      layout->rate = layout->rate > 0 ? MIN (layout->rate, rate) : rate;
    }
}

/* ---- text ------------------------------------------------------------------------------------ */

/* In double quotes, as YAML reads it back. */
static char *
quote (const char *text)
{
  GString         *out = g_string_new ("\"");
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  for (const char *p = valid; *p != '\0'; p = g_utf8_next_char (p))
    {
      const gunichar c = g_utf8_get_char (p);
      if (c == '"' || c == '\\')
        g_string_append_c (out, '\\');
      if (g_unichar_isprint (c))
        g_string_append_unichar (out, c);
      else
        g_string_append_c (out, '?');
    }
  return g_string_free (g_string_append_c (out, '"'), FALSE);
}

typedef struct
{
  GString    *out;
  const char *source; /* the file's name */
} Writer;

char *
machine_figure (const char *key, const char *value, const char *source, const char *confidence,
                const char *what)
{
  g_autofree char *words =
      what != NULL ? g_strdup_printf ("%s: %s", source, what) : g_strdup (source);
  g_autofree char *quoted = quote (words);
  return g_strdup_printf ("%s: { value: %s, source: %s, confidence: %s }\n", key, value, quoted,
                          confidence);
}

static void
write_figure (Writer *self, const char *key, const char *value, const char *confidence,
              const char *what)
{
  g_autofree char *text = machine_figure (key, value, self->source, confidence, what);
  g_string_append (self->out, text);
}

static void
write_count (Writer *self, const char *key, guint64 value, const char *what)
{
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, value);
  write_figure (self, key, text, "measured", what);
}

static void
write_place (GString *out, gint place)
{
  if (out->str[out->len - 1] != '[')
    g_string_append (out, ", ");
  if (place == MACHINE_NONE)
    g_string_append (out, "none");
  else
    g_string_append_printf (out, "%d", place);
}

static void
write_devices (Writer *self, const char *kind, const GArray *devices, const Layout *layout)
{
  gboolean rooted = FALSE;
  for (guint i = 0; i < devices->len; i++)
    rooted |= g_array_index (devices, MachineDevice, i).pcie_switch == MACHINE_NONE;
  if (devices->len > 0 && layout->n_lower > 0)
    {
      g_string_append_printf (self->out, "%s_switch: [", kind);
      for (guint i = 0; i < devices->len; i++)
        {
          const gint own = g_array_index (devices, MachineDevice, i).pcie_switch;
          write_place (self->out, own != MACHINE_NONE ? layout->nearest[own] : MACHINE_NONE);
        }
      g_string_append (self->out, "]\n");
    }
  if (!rooted)
    return;
  g_string_append_printf (self->out, "%s_socket: [", kind);
  for (guint i = 0; i < devices->len; i++)
    {
      const MachineDevice *device = &g_array_index (devices, MachineDevice, i);
      write_place (self->out,
                   device->pcie_switch == MACHINE_NONE ? (gint) device->socket : MACHINE_NONE);
    }
  g_string_append (self->out, "]\n");
}

static void
write_switches (Writer *self, const Machine *machine, const Layout *layout)
{
  if (layout->n_lower == 0)
    return;
  g_string_append (self->out, "switch_socket: [");
  for (guint i = 0; i < machine->switches->len; i++)
    if (layout->nearest[i] != MACHINE_NONE)
      write_place (self->out, (gint) machine_switch (machine, i)->socket);
  g_string_append (self->out, "]\n");
  if (layout->n_upper == 0)
    return;
  g_string_append (self->out, "switch_upper: [");
  for (guint i = 0; i < machine->switches->len; i++)
    if (layout->nearest[i] != MACHINE_NONE)
      write_place (self->out, layout->top[outermost (machine, i)]);
  g_string_append (self->out, "]\n");
}

static void
write_uplink (Writer *self, const Machine *machine, const Layout *layout, const GpuProfile *gpu)
{
  const double     rate = layout->rate > 0 ? layout->rate : gpu->host_link.value;
  g_autofree char *value = quantity_format (QUANTITY_BANDWIDTH, rate, 4);
  if (layout->n_lower == 0)
    return;
  if (layout->unlike)
    {
      diag_warning (machine->diags, &machine->mark, "see 'pcie_uplink'",
                    "PCIe switches with unlike links: all get the slowest, %s", value);
    }
  if (layout->rate > 0)
    write_figure (self, "pcie_uplink", value, "measured", "speed and lanes of the switches' links");
  else
    write_figure (self, "pcie_uplink", value, "estimate", "does not say; as the GPU's own slot");
}

static void
write_socket_link (Writer *self, const Machine *machine)
{
  if (machine->sockets < 2 || machine->socket_link <= 0)
    return;
  g_autofree char *value = quantity_format (QUANTITY_BANDWIDTH, machine->socket_link, 4);
  write_figure (self, "socket_link", value, "estimate",
                "what NCCL assumes between NUMA nodes of its CPU");
}

static void
write_memory (Writer *self, const Machine *machine)
{
  g_autofree char *bytes = g_strdup_printf ("%" G_GUINT64_FORMAT " B", machine->dram_bytes);
  if (machine->dram_bytes >= 1000000000 && machine->dram_bytes <= 1000000000000000)
    write_figure (self, "dram_bytes", bytes, "measured", "memory of its NUMA nodes");
  if (machine->cores > 0 && machine->cores <= 65536)
    write_count (self, "cores", machine->cores, "its cores");
}

static void
write_words (Writer *self, const char *title, const char *gpu, const char *intra, const char *nic)
{
  g_autofree char *words = g_strdup_printf ("%s, imported from %s", title, self->source);
  g_autofree char *quoted = quote (words);
  g_string_append_printf (
      self->out,
      "# What the file does not say is that of 'generic': see each figure's source.\n"
      "extends: generic\ntitle: %s\ngpu: %s\nintra: %s\nnic: %s\n",
      quoted, gpu, intra, nic);
  g_string_append (self->out,
                   "gpu_direct_level: pxb # NCCL's default; phb or sys where the site sets "
                   "NCCL_NET_GDR_LEVEL\n");
}

char *
machine_write (const Machine *self, const char *title, const GpuProfile *profile, const char *gpu,
               const char *intra, const char *nic)
{
  Layout layout;
  Writer writer = { g_string_new (NULL), self->source };
  layout_init (&layout, self);
  if (layout.n_lower > MACHINE_MAX_OTHER)
    machine_error (self, &self->mark, NULL, "more than %u PCIe switches", MACHINE_MAX_OTHER);
  write_words (&writer, title, gpu, intra, nic);
  write_count (&writer, "gpus", self->gpus->len, NULL);
  write_count (&writer, "nics", self->cards->len, NULL);
  write_count (&writer, "sockets", self->sockets, "NUMA nodes");
  write_count (&writer, "pcie_switches", layout.n_lower, "that GPUs and cards hang under");
  if (layout.n_upper > 0)
    write_count (&writer, "pcie_upper", layout.n_upper, "above those");
  write_uplink (&writer, self, &layout, profile);
  write_socket_link (&writer, self);
  write_memory (&writer, self);
  write_devices (&writer, "gpu", self->gpus, &layout);
  write_devices (&writer, "nic", self->cards, &layout);
  write_switches (&writer, self, &layout);
  /* `generic` is a host of two sockets. */
  if (self->sockets > 2)
    diag_warning (
        self->diags, &self->mark, "give 'dram_bandwidth' and 'socket_link' of your machine",
        "%u NUMA nodes, each with the memory bandwidth of a socket of 'generic'", self->sockets);
  const gboolean ok = layout.n_lower <= MACHINE_MAX_OTHER;
  g_free (layout.nearest);
  g_free (layout.top);
  return g_string_free (writer.out, !ok);
}
