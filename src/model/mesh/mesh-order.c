#include "model/mesh/mesh-order.h"

#include <string.h>

typedef enum
{
  AXIS_TP,
  AXIS_CP,
  AXIS_EP,
  AXIS_DP,
  AXIS_PP,
  N_AXES,
} Axis;

static const char *const names[N_AXES] = { "tp", "cp", "ep", "dp", "pp" };

/* Of one order: the degree of each axis of attention, and its place in the order. */
typedef struct
{
  guint    size[N_AXES], at[N_AXES];
  guint    n;
  gint     rows;       /* place of the rows of the tensor axis among the words, -1: not said */
  gboolean rows_first; /* they stand before its columns */
} Order;

static void
order_init (Order *self, const MeshOptions *mesh, guint world)
{
  const guint tensor = (guint) mesh_tensor_ranks (mesh);

  *self = (Order){ .size = { tensor, (guint) mesh->cp, 1, world / (guint) mesh_replica (mesh),
                             (guint) mesh->pp },
                   .rows = -1 };
  for (guint a = 0; a < N_AXES; a++)
    self->at[a] = G_MAXUINT;
}

static gboolean
add_word (Order *self, const char *word, char **why)
{
  for (guint a = 0; a < N_AXES; a++)
    if (g_str_equal (word, names[a]))
      {
        if (self->at[a] != G_MAXUINT)
          *why = g_strdup_printf ("has '%s' twice", word);
        self->at[a] = self->n++;
        return *why == NULL;
      }
  *why = g_strdup_printf ("has no axis '%s'", word);
  return FALSE;
}

/* The rows are next to the columns, or have not been named: then behind them. */
static gboolean
place_rows (Order *self, gint columns, char **why)
{
  if (self->rows < 0)
    return TRUE;
  if (columns < 0 || ABS (self->rows - columns) != 1)
    {
      *why = g_strdup ("has 'tp_rows' apart from 'tp', which is not modelled");
      return FALSE;
    }
  self->rows_first = self->rows < columns;
  return TRUE;
}

static gboolean
read_words (Order *self, const char *text, char **why)
{
  g_auto (GStrv) words = g_strsplit (text, "-", -1);
  gint           columns = -1;

  for (guint i = 0; words[i] != NULL; i++)
    {
      if (g_str_equal (words[i], names[AXIS_TP]))
        columns = (gint) i;
      if (g_str_equal (words[i], "tp_rows") && self->rows < 0)
        self->rows = (gint) i;
      else if (!add_word (self, words[i], why))
        return FALSE;
    }
  if (!place_rows (self, columns, why))
    return FALSE;
  for (guint a = 0; a < N_AXES; a++)
    {
      if (self->at[a] != G_MAXUINT)
        continue;
      if (self->size[a] > 1)
        {
          *why =
              g_strdup_printf ("lacks '%s', of which there are %u ranks", names[a], self->size[a]);
          return FALSE;
        }
      self->at[a] = N_AXES; /* of one rank: anywhere */
    }
  return TRUE;
}

static guint
stride_of (const Order *self, Axis axis)
{
  guint stride = 1;

  for (guint a = 0; a < N_AXES; a++)
    if (self->at[a] < self->at[axis])
      stride *= self->size[a];
  return stride;
}

/* What the groups of a mesh cannot say. */
static gboolean
is_modelled (const Order *self, const MeshOptions *mesh, gboolean experts, char **why)
{
  const guint    etp = (guint) (mesh->etp > 0 ? mesh->etp : mesh_tensor_ranks (mesh));
  const guint    span = etp * (guint) mesh->ep, stages = stride_of (self, AXIS_PP);
  const guint    outside = self->size[AXIS_TP] * self->size[AXIS_CP] * self->size[AXIS_DP];
  const gboolean inside = self->size[AXIS_PP] > 1 && stages < outside;

  if (self->size[AXIS_CP] > 1 && self->size[AXIS_DP] > 1 && self->at[AXIS_DP] < self->at[AXIS_CP])
    *why = g_strdup ("has 'dp' before 'cp', which is not modelled");
  else if (!experts || !mesh_spreads_experts (mesh))
    return TRUE;
  else if (self->size[AXIS_TP] > 1 && stride_of (self, AXIS_TP) > 1)
    *why = g_strdup ("does not begin with 'tp', which is not modelled of experts");
  else if (mesh->ep > 1 && self->at[AXIS_EP] < N_AXES && self->at[AXIS_DP] < self->at[AXIS_EP])
    *why = g_strdup ("has 'dp' before 'ep', which is not modelled");
  else if (inside && self->at[AXIS_EP] < self->at[AXIS_PP] && span != stages)
    *why = g_strdup_printf ("has stages behind %u ranks of attention and %u of experts: they would "
                            "not be the same",
                            stages, span);
  else if (inside && !mesh_folds_experts (mesh) && mesh->cp > 1 && mesh->ep % mesh->cp != 0
           && mesh->cp % mesh->ep != 0)
    *why = g_strdup_printf ("has 'pp' inside experts of %u ranks", span);
  else if (inside && mesh_folds_experts (mesh) && stages % span != 0)
    *why = g_strdup_printf ("has 'pp' inside experts of %u ranks", span);
  return *why == NULL;
}

gboolean
mesh_strides (const MeshOptions *mesh, guint world, gboolean experts, MeshStrides *strides,
              char **why)
{
  const char *text = mesh->order != NULL ? mesh->order : MESH_ORDER_DEFAULT;
  Order       order;

  *why = NULL;
  order_init (&order, mesh, world);
  if (!read_words (&order, text, why) || !is_modelled (&order, mesh, experts, why))
    return FALSE;
  *strides =
      (MeshStrides){ stride_of (&order, AXIS_TP), stride_of (&order, AXIS_CP),
                     stride_of (&order, AXIS_DP), stride_of (&order, AXIS_PP), order.rows_first };
  return TRUE;
}

MeshOrderKind
mesh_order_kind (const MeshOptions *mesh, guint world)
{
  const guint      tp = (guint) mesh_tensor_ranks (mesh), cp = (guint) mesh->cp;
  const guint      pp = (guint) mesh->pp, dp = world / (tp * cp * pp);
  g_autofree char *why = NULL;
  MeshStrides      s;

  if (!mesh_strides (mesh, world, FALSE, &s, &why) || (tp > 1 && s.tp > 1)
      || (cp > 1 && s.cp != tp))
    return MESH_ORDER_OTHER;
  if ((dp == 1 || s.dp == tp * cp) && (pp == 1 || s.pp == tp * cp * dp))
    return MESH_ORDER_STAGES_LAST;
  return s.pp == tp * cp ? MESH_ORDER_DATA_LAST : MESH_ORDER_OTHER;
}

Mesh
mesh_of_options (const MeshOptions *mesh, guint world, guint ranks_per_node, gboolean experts)
{
  const guint      tp = (guint) mesh_tensor_ranks (mesh), cp = (guint) mesh->cp;
  const guint      pp = (guint) mesh->pp;
  g_autofree char *why = NULL;
  MeshStrides      s = { 0 };
  const gboolean   folds = experts && mesh_folds_experts (mesh);
  Mesh             self = { .n_ranks = world / (tp * pp),
                            .ranks_per_node = ranks_per_node,
                            .world = world,
                            .stride = tp,
                            .stages = pp,
                            .experts = (guint) mesh->ep,
                            .tensor_rows = (guint) MAX (mesh->tp_rows, 1),
                            .expert_tensor = folds ? (guint) mesh->etp : 0 };

  if (!mesh_strides (mesh, world, experts, &s, &why))
    return self;
  self.rows_first = s.rows_first;
  if (mesh_order_kind (mesh, world) == MESH_ORDER_STAGES_LAST)
    return self;
  self.stride = cp > 1 ? s.cp : s.dp;
  self.tensor = tp;
  self.tensor_stride = tp > 1 ? s.tp : 1;
  self.stage_stride = s.pp;
  if (cp > 1 && self.n_ranks > cp && s.dp != s.cp * cp)
    {
      self.run = cp;
      self.jump = s.dp;
    }
  return self;
}
