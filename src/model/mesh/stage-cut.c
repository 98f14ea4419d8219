#include "model/mesh/stage-cut.h"

#include <string.h>

/* ---- as a list says -------------------------------------------------------------------------- */

/* A whole number at the start of TEXT, which moves behind it and blanks; FALSE: there is none. */
static gboolean
read_count (const char **text, guint *count)
{
  char   *end;
  guint64 value;

  *text += strspn (*text, " ");
  if (!g_ascii_isdigit (**text))
    return FALSE;
  value = g_ascii_strtoull (*text, &end, 10);
  if (value > G_MAXINT)
    return FALSE;
  *count = (guint) value;
  *text = end + strspn (end, " ");
  return TRUE;
}

/* "8", or "14 x 8": how often, and blocks. */
static gboolean
read_entry (const char *text, guint *times, guint *blocks)
{
  *times = 1;
  if (!read_count (&text, blocks))
    return FALSE;
  if (*text == 'x' || *text == '*')
    {
      text++;
      *times = *blocks;
      if (!read_count (&text, blocks))
        return FALSE;
    }
  return *text == '\0';
}

GArray *
stage_layers_parse (const char *text, char **why)
{
  g_auto (GStrv)     entries = g_strsplit (text, ",", -1);
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (guint));

  if (entries[0] == NULL)
    *why = g_strdup ("there is no number of blocks");
  for (guint i = 0; entries[i] != NULL; i++)
    {
      guint times, blocks;

      if (!read_entry (entries[i], &times, &blocks) || times == 0)
        {
          *why = g_strdup_printf ("'%s' is no number of blocks", g_strstrip (entries[i]));
          return NULL;
        }
      if (times > STAGE_CHUNKS_MAX - list->len)
        {
          *why = g_strdup_printf ("more than %d chunks", STAGE_CHUNKS_MAX);
          return NULL;
        }
      for (guint k = 0; k < times; k++)
        g_array_append_val (list, blocks);
    }
  return list->len > 0 ? g_steal_pointer (&list) : NULL;
}

/* ---- by blocks or cost ----------------------------------------------------------------------- */

static guint
even_begin (guint blocks, guint chunk, guint n)
{
  guint even = blocks / n, extra = blocks % n;

  if (extra != 0 && (blocks + 2) % n == 0)
    return (blocks + 2) / n * chunk;
  return 1 + even * chunk + MIN (chunk, extra);
}

/* Blocks up to the C-th of N shares: the first that reach it. Exact: integers below 2^53. */
static guint
blocks_to_share (double block, double whole, guint blocks, guint c, guint n)
{
  guint k = 0;

  while (k <= blocks && block * k * n < whole * c)
    k++;
  return k;
}

static void
cut_by_cost (const ModelShape *shape, guint n, guint *begins)
{
  const guint  blocks = (guint) shape->n_layers;
  const double heads = (double) shape->n_heads * (double) shape->head_dim;
  const double block = (double) shape->d_model * (4 * heads + 3 * (double) shape->d_ff);
  const double whole = block * blocks + (double) shape->vocab * (double) shape->d_model;
  guint        last = blocks + 1;

  for (guint chunk = 1; chunk < n; chunk++)
    {
      guint k = blocks_to_share (block, whole, blocks, chunk, n);

      if (k > blocks) /* the chunk before has the head */
        last = MIN (last, MAX (begins[chunk - 1], 1));
      begins[chunk] = MIN (k + 1, last);
    }
  for (guint chunk = n - 1; chunk > 0; chunk--)
    begins[chunk] = MIN (begins[chunk], chunk + 1 < n ? begins[chunk + 1] - 1 : last);
  for (guint chunk = 1; chunk < n; chunk++)
    begins[chunk] = MAX (begins[chunk], chunk + 1);
}

guint *
stage_cut (const ModelShape *shape, const MeshOptions *mesh)
{
  guint  n = mesh_model_chunks (mesh), blocks = (guint) shape->n_layers;
  guint *begins = g_new0 (guint, n + 1);

  if (mesh->layers != NULL && mesh->pp > 1)
    {
      g_autofree char   *why = NULL;
      g_autoptr (GArray) list = stage_layers_parse (mesh->layers, &why);
      guint              layer = 1;

      /* LAYERS has been checked against N and the model: mesh-check.c. */
      g_assert (list != NULL && list->len == n);
      for (guint chunk = 1; chunk < n; chunk++)
        {
          layer += g_array_index (list, guint, chunk - 1);
          begins[chunk] = layer;
        }
    }
  else if (mesh->cut == MESH_CUT_COST)
    cut_by_cost (shape, n, begins);
  else
    for (guint chunk = 1; chunk < n; chunk++)
      begins[chunk] = even_begin (blocks, chunk, n);
  begins[n] = (guint) model_n_blocks (shape) + 2;
  return begins;
}
