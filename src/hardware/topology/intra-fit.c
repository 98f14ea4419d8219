#include "hardware/topology/intra-fit.h"

#include <math.h>

#include "hardware/topology/gpu-links.h"

/* What a link takes of the GPU that it takes most of: others that it is linked to, and links. */
typedef struct
{
  guint others, links;
} Taken;

/* A judgement and what it says of the GPU; where there are too few links, WHY is NULL. */
typedef struct
{
  IntraFit    fit;
  const char *why;
} Verdict;

/* A rate that is rounded up in a profile is not one link more. */
#define ROUNDED 0.02

/*
 * LINK's rate is that of a pair of a mesh, of a bridge or of one link of a graph: as many of the
 * GPU's own links as carry it. A switch takes whatever there are: none is counted.
 */
static Taken
taken_of (const GpuLinks *own, const LinkProfile *link, guint n)
{
  const double rate = link->bandwidth.value;
  const guint  each = own->rate > 0 ? (guint) CLAMP (ceil (rate / own->rate - ROUNDED), 1, 1e6) : 0;
  Taken        most = { 0, 0 };
  switch (link->kind)
    {
    case LINK_MESH:
      return (Taken){ n - 1, (n - 1) * each };
    case LINK_PAIRS:
      return (Taken){ 1, each };
    case LINK_GRAPH:
      n = MIN (n, link->graph.n);
      for (guint a = 0; a < n; a++)
        {
          Taken of = { 0, link_graph_degree (&link->graph, n, a) * each };
          for (guint b = 0; b < n; b++)
            of.others += link->graph.links[a][b] > 0;
          most = (Taken){ MAX (most.others, of.others), MAX (most.links, of.links) };
        }
      return most;
    case LINK_NONE:
    case LINK_SWITCH:
    case LINK_PCIE:
    case LINK_HOST:
    case LINK_NETWORK:
      break;
    }
  return most;
}

static Verdict
judge_technology (const GpuLinks *own, const LinkProfile *link)
{
  if (own->technology == NULL)
    return (Verdict){ INTRA_IMPOSSIBLE, "has no links to other GPUs" };
  switch (technology_order (link->technology, own->technology))
    {
    case TECHNOLOGY_OTHER:
      return (Verdict){ INTRA_IMPOSSIBLE, "has links of another kind" };
    case TECHNOLOGY_NEWER:
      return (Verdict){ INTRA_IMPOSSIBLE, "has links of an older generation" };
    case TECHNOLOGY_OLDER:
      return (Verdict){ INTRA_THINKABLE, "has links of a newer generation" };
    case TECHNOLOGY_SAME:
      break;
    }
  return (Verdict){ INTRA_FITS, NULL };
}

/* Bridges join two boards; boards that sit on others' traces take none. */
static Verdict
judge_form (const GpuLinks *own, const LinkProfile *link, guint n)
{
  const Taken taken = taken_of (own, link, n);
  if (own->bridges > 0 && (link->kind == LINK_SWITCH || taken.others >= own->bridges))
    return (Verdict){ INTRA_IMPOSSIBLE, own->bridges == 2 ? "is bridged to one other at most"
                                                          : "is bridged to a few others at most" };
  if (taken.links > own->count)
    return (Verdict){ INTRA_IMPOSSIBLE, NULL };
  if (own->bridges == 0 && link->kind == LINK_PAIRS)
    return (Verdict){ INTRA_THINKABLE, "takes no bridges: its module has the links" };
  return (Verdict){ INTRA_FITS, NULL };
}

static Verdict
judge (const GpuProfile *gpu, const LinkProfile *link, guint n)
{
  const Verdict fits = { INTRA_FITS, NULL };
  switch (link->kind)
    {
    case LINK_PCIE:
      return gpu->peer == PEER_NO
                 ? (Verdict){ INTRA_THINKABLE, "has no peer access over PCIe as it is sold" }
                 : fits;
    case LINK_SWITCH:
    case LINK_MESH:
    case LINK_PAIRS:
    case LINK_GRAPH:
      break;
    case LINK_NONE:
    case LINK_HOST:
    case LINK_NETWORK:
      return fits;
    }
  if (!gpu->own_links.said)
    return fits;
  const Verdict technology = judge_technology (&gpu->own_links, link);
  if (technology.fit == INTRA_IMPOSSIBLE)
    return technology;
  const Verdict form = judge_form (&gpu->own_links, link, n);
  return form.fit > technology.fit ? form : technology;
}

IntraFit
intra_fit (const GpuProfile *gpu, const LinkProfile *link, guint n)
{
  return judge (gpu, link, n).fit;
}

/* "valid values: a, b": the links that fit. A profile with mistakes is none. */
static char *
list_fitting (const GpuProfile *gpu, guint n, ProfileSet *profiles)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, "link");
  g_autoptr (DiagList) diags = diag_list_new ();
  GString             *text = g_string_new (NULL);
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const LinkProfile *link = profile_set_link (profiles, ids[i], NULL, diags);
      if (link != NULL && link->kind != LINK_NETWORK && (link->kind != LINK_NONE || n == 1)
          && (link->kind != LINK_GRAPH || n <= link->graph.n)
          && intra_fit (gpu, link, n) == INTRA_FITS)
        g_string_append_printf (text, "%s%s", text->len > 0 ? ", " : "valid values: ", ids[i]);
    }
  return g_string_free (text, FALSE);
}

/* "a GPU would need 7 x 6 = 42 links and has 18": of a mesh with its pairs. */
static char *
explain_taken (const GpuLinks *own, const LinkProfile *link, guint n)
{
  const Taken taken = taken_of (own, link, n);
  const guint each = taken.links / taken.others;
  GString    *text = g_string_new ("a GPU would need ");
  if (link->kind == LINK_MESH)
    g_string_append_printf (text, "%u x %u = ", taken.others, each);
  g_string_append_printf (text, "%u links and has %u", taken.links, own->count);
  if (link->kind == LINK_MESH && each <= own->count)
    g_string_append_printf (text, ", enough for %u GPUs", own->count / each + 1);
  return g_string_free (text, FALSE);
}

gboolean
intra_check (const GpuProfile *gpu, const LinkProfile *link, guint n, ProfileSet *profiles,
             const SourceMark *mark, DiagList *diags)
{
  const Verdict verdict = judge (gpu, link, n);
  if (verdict.fit == INTRA_FITS)
    return TRUE;
  g_autofree char *hint = list_fitting (gpu, n, profiles);
  g_autofree char *own = link->kind != LINK_PCIE && gpu->own_links.technology != NULL
                             ? g_strdup_printf (" (%s)", gpu->links.value)
                             : g_strdup ("");
  if (verdict.why == NULL)
    {
      g_autofree char *why = explain_taken (&gpu->own_links, link, n);
      diag_error (diags, mark, hint, "intra '%s' cannot join %u x '%s'%s: %s", link->id, n, gpu->id,
                  own, why);
    }
  else if (verdict.fit == INTRA_IMPOSSIBLE)
    diag_error (diags, mark, hint, "intra '%s' cannot join '%s', which %s%s", link->id, gpu->id,
                verdict.why, own);
  else
    diag_warning (diags, mark, hint, "intra '%s' is odd for '%s', which %s%s", link->id, gpu->id,
                  verdict.why, own);
  return verdict.fit != INTRA_IMPOSSIBLE;
}
