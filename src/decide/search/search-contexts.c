/*
 * Which kinds of context ranks a search tries: what is refused, or does what another one does,
 * costs neither a bound nor a simulation.
 */
#include "decide/search/search-private.h"
#include "model/mesh/context-heads.h"

#define CONTEXT_KEY "mesh.context"

/* ---- of a mesh ------------------------------------------------------------------------------- */

/* The kind of STRUCTURE, which an axis sets; -1: none does. */
static gint
kind_of (const Search *self, guint64 structure)
{
  const OptionSpec *kinds = option_table_find (mesh_options, "context");
  const char       *word = search_text (self, structure, CONTEXT_KEY);

  for (gint kind = 0; word != NULL && kinds->choices[kind] != NULL; kind++)
    if (g_str_equal (kinds->choices[kind], word))
      return kind;
  return -1;
}

static gint64
context_ranks (const Search *self, guint64 structure)
{
  return search_number (self, structure, "mesh.cp", MAX (self->scenario->mesh.cp, 1));
}

/*
 * How many of CP context ranks beside so many tensor ranks divide heads inside of rings. What rings
 * carry from node to node falls with their number u as 1 / u - 1 / cp, so that of those whose
 * all-to-alls stay inside a node the most are tried. 1: none, or all, which leaves rings nothing.
 */
static gint64
inner_ranks (const Search *self, gint64 tp, gint64 rows, gint64 cp)
{
  gint64 most = 1;

  for (gint64 by = 2; by <= cp && tp * rows * by <= (gint64) self->gpus_per_node; by *= 2)
    if (cp % by == 0 && context_can_divide (&self->shape, tp, by))
      most = by;
  return most < cp ? most : 1;
}

/* What becomes of a structure for the kind that an axis sets there. */
typedef enum
{
  CONTEXT_TRIED,
  CONTEXT_REFUSED, /* the heads do not divide so */
  CONTEXT_IDLE,    /* another number of ranks that divide heads is the better one */
} ContextUse;

static ContextUse
use_of (const Search *self, guint64 structure, gint kind)
{
  const MeshOptions *mesh = &self->scenario->mesh;
  const gint64       cp = context_ranks (self, structure);
  const gint64       tp = search_number (self, structure, "mesh.tp", MAX (mesh->tp, 1));
  const gint64       rows = search_number (self, structure, "mesh.tp_rows", MAX (mesh->tp_rows, 1));
  const gint64       by = search_number (self, structure, "mesh.ulysses", 0);

  if (kind == CONTEXT_ULYSSES && !context_can_divide (&self->shape, tp, cp))
    return CONTEXT_REFUSED;
  if (kind == CONTEXT_USP && by > 0 && by != inner_ranks (self, tp, rows, cp))
    return CONTEXT_IDLE;
  return CONTEXT_TRIED;
}

/* STRUCTURE of KIND stays: it stands for the kind where it has the least ranks. */
static void
note (Search *self, guint64 structure, gint kind)
{
  guint64 *known = &self->contexts[kind];

  if (*known == G_MAXUINT64 || context_ranks (self, structure) < context_ranks (self, *known))
    *known = structure;
}

void
search_choose_contexts (Search *self)
{
  SearchResult *result = self->result;
  const guint64 n_variants = self->space->variants->len;
  guint64       n_refused = 0;
  guint         kept = 0;

  if (g_hash_table_contains (self->space->varied, CONTEXT_KEY))
    return; /* what was asked for is tried */
  for (guint i = 0; i < self->nodes->len; i++)
    {
      const Node       node = *node_at (self, i);
      const gint       kind = kind_of (self, node.index);
      const ContextUse use = kind < 0 ? CONTEXT_TRIED : use_of (self, node.index, kind);

      n_refused += use == CONTEXT_REFUSED;
      if (use != CONTEXT_TRIED)
        continue;
      if (kind >= 0)
        note (self, node.index, kind);
      *node_at (self, kept++) = node;
    }
  g_array_set_size (self->nodes, kept);
  result->n_structures = kept + n_refused;
  result->n_configurations = result->n_structures * n_variants;
  result->n_refused += n_refused * n_variants;
  if (n_refused > 0)
    search_count_drop (self, "context ranks of 'ulysses' do not divide the heads of a tensor rank",
                       n_refused * n_variants);
}

/* ---- of a framework -------------------------------------------------------------------------- */

/*
 * VARIANT on the context ranks of STRUCTURE, or on none (NULL), and else as the scenario has it.
 * KIND: in the place of STRUCTURE's; NULL: its own.
 */
static gboolean
is_run_on (const Search *self, const SearchVariant *variant, const guint64 *structure,
           const char *kind)
{
  static const char *const keys[] = { "mesh.cp", CONTEXT_KEY, "mesh.ulysses" };
  g_autoptr (GArray)       options = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (Scenario)     scenario = NULL;
  const ScenarioOverride   batch[] = { { "training.global_batch", "~", "search" },
                                       { "training.grad_accum", "1", "search" } };
  const ScenarioOverride   alone = { "mesh.cp", "1", "search" };

  g_array_append_vals (options, batch, G_N_ELEMENTS (batch));
  if (structure == NULL)
    g_array_append_val (options, alone);
  for (guint i = 0; structure != NULL && i < G_N_ELEMENTS (keys); i++)
    {
      const gboolean         other = kind != NULL && g_str_equal (keys[i], CONTEXT_KEY);
      const ScenarioOverride option = { keys[i],
                                        other ? kind : search_text (self, *structure, keys[i]),
                                        "search" };

      if (option.value != NULL)
        g_array_append_val (options, option);
    }
  scenario =
      scenario_with (variant->scenario, self->strategies,
                     (const ScenarioOverride *) (gpointer) options->data, options->len, diags);
  return scenario != NULL && search_is_run (self, scenario);
}

guint
search_context_kinds (const Search *self, const SearchVariant *variant)
{
  const OptionSpec *kinds = option_table_find (mesh_options, "context");
  const guint64    *ring = &self->contexts[CONTEXT_RING];
  guint             run = 0;

  if (self->options->runners == NULL || *ring == G_MAXUINT64
      || !is_run_on (self, variant, NULL, NULL))
    return SEARCH_ALL_CONTEXTS;
  for (guint kind = 0; kind < SEARCH_CONTEXTS; kind++)
    if (self->contexts[kind] != G_MAXUINT64 ? is_run_on (self, variant, &self->contexts[kind], NULL)
                                            : is_run_on (self, variant, ring, kinds->choices[kind]))
      run |= 1u << kind;
  return run != 0 ? run : 1u << CONTEXT_RING;
}

gboolean
search_context_may_become (const Search *self, const Scenario *scenario,
                           const ScenarioOverride *change)
{
  const OptionSpec *kinds = option_table_find (mesh_options, "context");
  const char       *name = scenario->strategy->strategy->name;
  gint              kind = 0;

  if (!g_str_equal (change->key, CONTEXT_KEY))
    return TRUE;
  while (!g_str_equal (kinds->choices[kind], change->value))
    kind++;
  for (guint v = 0; v < self->space->variants->len; v++)
    {
      const SearchVariant *variant = g_ptr_array_index (self->space->variants, v);

      if (g_str_equal (variant->scenario->strategy->strategy->name, name))
        return self->contexts[kind] == G_MAXUINT64 && (variant->contexts & 1u << kind) != 0;
    }
  return TRUE;
}

char *
search_context_refusal (const Search *self, guint64 structure)
{
  return g_strdup_printf ("no framework that runs the strategy has 'context: %s'",
                          search_text (self, structure, CONTEXT_KEY));
}

void
search_drop_contexts (Search *self)
{
  guint kept = 0;

  for (guint i = 0; i < self->nodes->len; i++)
    {
      const Node node = *node_at (self, i);
      gboolean   is_run = FALSE;

      for (guint v = 0; v < self->space->variants->len && !is_run; v++)
        is_run =
            search_context_is_run (self, node.index, g_ptr_array_index (self->space->variants, v));
      if (is_run)
        *node_at (self, kept++) = node;
      else
        {
          g_autofree char *reason = search_context_refusal (self, node.index);

          self->result->n_refused += self->space->variants->len;
          search_count_drop (self, reason, self->space->variants->len);
        }
    }
  g_array_set_size (self->nodes, kept);
}

gboolean
search_context_is_run (const Search *self, guint64 structure, const SearchVariant *variant)
{
  const gint kind = variant->contexts == SEARCH_ALL_CONTEXTS ? -1 : kind_of (self, structure);

  return kind < 0 || g_hash_table_contains (self->space->varied, CONTEXT_KEY)
         || (variant->contexts & 1u << kind) != 0;
}
