/*
 * A profile of the links that a file shows and no shipped profile has, and of a GPU that has more
 * of them than its model's profile.
 */
#include <string.h>

#include "import/topology/import-graph-private.h"

/* ---- what it is laid over -------------------------------------------------------------------- */

/* The better, the more; 0: none that this is like. */
static guint
likeness (const LinkProfile *link, const char *technology)
{
  const guint kind = link->kind == LINK_GRAPH  ? 3
                     : link->kind == LINK_MESH ? 2
                                               : link->kind == LINK_SWITCH;
  if (kind == 0 || link->technology == NULL)
    return 0;
  if (strcmp (link->technology, technology) == 0)
    return kind + 3;
  return technology_order (link->technology, technology) == TECHNOLOGY_NEWER ? kind : 0;
}

/*
 * The shipped profile whose efficiency and latency stand for links of TECHNOLOGY: of its own, else
 * of a later generation. NULL: there is none.
 */
static const char *
find_base (ProfileSet *profiles, const char *technology)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, "link");
  g_autoptr (DiagList) diags = diag_list_new ();
  const char          *found = NULL;
  guint                most = 0;
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const LinkProfile *link = profile_set_link (profiles, ids[i], NULL, diags);
      const guint        own = link != NULL ? likeness (link, technology) : 0;
      if (own <= most)
        continue;
      most = own;
      found = link->id;
    }
  return found;
}

/* ---- the profiles ---------------------------------------------------------------------------- */

static char *
links_text (const LinkGraph *graph)
{
  GString *text = g_string_new (NULL);
  for (guint a = 0; a < graph->n; a++)
    for (guint b = a + 1; b < graph->n; b++)
      if (graph->links[a][b] > 0)
        {
          g_string_append_printf (text, "%s%u-%u", text->len > 0 ? " " : "", a, b);
          if (graph->links[a][b] > 1)
            g_string_append_printf (text, ":%u", graph->links[a][b]);
        }
  return g_string_free (text, FALSE);
}

/* What a link carries, or all those of a pair of a mesh. */
static char *
rate_figure (const Machine *self, const GpuProfile *gpu, const PairLinks *pairs)
{
  const guint      n = MAX (pairs->mesh, 1);
  g_autofree char *value = g_strdup_printf ("%g GB/s", n * pairs->rate * 1e-9);
  g_autofree char *source = g_strdup_printf ("%u x a link of the profile '%s'", n, gpu->id);
  return pairs->measured ? machine_figure ("bandwidth", value, self->source, "measured",
                                           "the rate that it has for them")
                         : machine_figure ("bandwidth", value, source, "estimate", NULL);
}

char *
machine_write_links (Machine *self, const GpuProfile *gpu, const PairLinks *pairs,
                     ProfileSet *profiles)
{
  const char      *technology = gpu->own_links.technology;
  const char      *base = find_base (profiles, technology);
  g_autofree char *links = links_text (pairs->graph), *rate = rate_figure (self, gpu, pairs);
  GString         *text = g_string_new (NULL);
  g_autofree char *whole = NULL;
  if (base == NULL)
    {
      g_autofree char *hint = g_strdup_printf (
          "write one of the kind 'graph' with links: \"%s\", and name it with --intra ID", links);
      machine_error (self, &machine_gpu (self, 0)->mark, hint,
                     "no link profile of '%s' or later has figures for these links", technology);
      g_string_free (text, TRUE);
      return NULL;
    }
  g_string_append_printf (text,
                          "# Efficiency and latency are those of '%s'.\nextends: %s\n"
                          "title: \"links of %s, imported\"\nkind: %s\ntechnology: %s\n",
                          base, base, self->stem, pairs->mesh > 0 ? "mesh" : "graph", technology);
  g_string_append_printf (text, pairs->mesh > 0 ? "links:\n" : "links: \"%s\"\n", links);
  g_string_append (text, rate);
  whole = g_string_free (text, FALSE);
  return machine_add_part (self, "link", "links", whole);
}

char *
machine_write_gpu (Machine *self, const GpuProfile *gpu, guint links)
{
  g_autofree char *value = g_strdup_printf ("\"%u x %s, %g GB/s\"", links,
                                            gpu->own_links.technology, gpu->own_links.rate * 1e-9);
  g_autofree char *figure = machine_figure ("links", value, self->source, "measured",
                                            "their number; the rate is the model's");
  g_autofree char *text = g_strdup_printf ("extends: %s\ntitle: \"%s, links as imported\"\n%s",
                                           gpu->id, gpu->title, figure);
  char            *name = machine_add_part (self, "gpu", "gpu", text);
  diag_warning (self->diags, &machine_gpu (self, 0)->mark,
                "is it another model? Name it with --gpu ID",
                "a GPU has %u links to others, the profile of '%s' says '%s': '%s' has those of "
                "the file",
                links, gpu->id, gpu->links.value, name);
  return name;
}
