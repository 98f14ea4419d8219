#include "strategy/compression/layer-ranks.h"

#include "strategy/compression/l-greco.h"
#include "strategy/compression/layer-errors.h"

#include <math.h>

typedef struct
{
  const TensorDesc *tensor;
  guint             layer; /* of the stage */
  guint64           rank;  /* the uniform one first, then the chosen one */
} Matrix;

struct _LayerRanks
{
  GArray *matrices; /* Matrix: of the compressed ones, layer by layer */
};

typedef struct
{
  const PlanInput          *in;
  const CompressionOptions *options;
  const LayerErrors        *measured; /* or NULL */
  GArray                   *matrices;
  guint                     n_choices; /* of a matrix at most */
  GrecoChoice              *table;     /* [matrix][choice] */
  double                    uniform;   /* error of the uniform rank, of all matrices */
} Search;

static guint64
rows (const TensorDesc *tensor)
{
  return tensor->shape[0];
}

static guint64
columns (const TensorDesc *tensor)
{
  return tensor->elements / tensor->shape[0];
}

/* Whether factors of RANK are small enough. */
static gboolean
compresses (const CompressionOptions *o, const TensorDesc *tensor, guint64 rank)
{
  double sum = (double) (rows (tensor) + columns (tensor));

  return sum * (double) rank * o->min_rate < (double) rows (tensor) * (double) columns (tensor);
}

guint64
layer_ranks_uniform (const CompressionOptions *options, const TensorDesc *tensor)
{
  guint64 rank = MIN ((guint64) options->rank, MIN (rows (tensor), columns (tensor)));

  return compresses (options, tensor, rank) ? rank : 0;
}

guint64
layer_ranks_tried (const CompressionOptions *options, const TensorDesc *tensor, guint64 *first)
{
  guint64 last = (guint64) ceil (options->max_rank_ratio * (double) options->rank);
  guint64 uniform = layer_ranks_uniform (options, tensor);

  *first = MAX ((guint64) floor (options->min_rank_ratio * (double) options->rank), 1);
  *first = MIN (*first, uniform);
  last = MIN (last, MIN (rows (tensor), columns (tensor)));
  if (uniform == 0)
    return 0;
  while (!compresses (options, tensor, last)) /* r0 does */
    last--;
  return last + 1 - *first;
}

/* ---- the search ------------------------------------------------------------------------------ */

static void
find_matrices (Search *self, guint kind)
{
  const Workload *workload = self->in->workload;
  const gboolean  spread = mesh_spreads_experts (workload_mesh (workload));

  for (guint l = 0; l < workload_n_layers (workload); l++)
    for (guint t = 0; t < workload_layer (workload, l)->n_trainable; t++)
      {
        const TensorDesc *tensor = &workload_layer (workload, l)->trainable[t];
        Matrix            matrix = { tensor, l, layer_ranks_uniform (self->options, tensor) };
        guint64           first, n = layer_ranks_tried (self->options, tensor, &first);

        if (n == 0 || (kind == 1) != (spread && tensor->expert))
          continue;
        g_array_append_val (self->matrices, matrix);
        self->n_choices = MAX (self->n_choices, (guint) n);
      }
}

/* Exponent of the spectra of model layer LAYER. */
static double
exponent_of (const Search *self, guint layer)
{
  const CompressionOptions *o = self->options;
  double last = (double) model_n_blocks (workload_shape (self->in->workload)) + 1;

  return o->spectrum_exponent + o->spectrum_spread * (2 * layer / last - 1);
}

/* FALSE after a diagnostic. */
static gboolean
fill_row (Search *self, const Matrix *matrix, GrecoChoice *row, DiagList *diags)
{
  guint64            first, n = layer_ranks_tried (self->options, matrix->tensor, &first);
  const guint64      end = first + n;
  g_autofree double *errors = g_new0 (double, end);
  guint              layer = workload_model_layer (self->in->workload, matrix->layer);

  if (self->measured == NULL)
    greco_power_law_errors (MIN (rows (matrix->tensor), columns (matrix->tensor)),
                            exponent_of (self, layer), end, errors);
  for (guint64 r = 1; r < end && self->measured != NULL; r++)
    errors[r] = layer_errors_of (self->measured, layer, matrix->tensor->name, (guint) r);
  for (guint c = 0; c < self->n_choices; c++)
    row[c] = (GrecoChoice){ INFINITY, INFINITY };
  for (guint64 r = first; r < end; r++)
    if (isfinite (errors[r]))
      row[r - first] =
          (GrecoChoice){ (double) (r * (rows (matrix->tensor) + columns (matrix->tensor))),
                         errors[r] };
  self->uniform += errors[matrix->rank];
  if (isfinite (errors[matrix->rank]))
    return TRUE;
  return diag_option_error (diags, "layer_errors",
                            "a line of each matrix with the uniform rank: the budget is its error",
                            "'%s' has no error of rank %" G_GUINT64_FORMAT " of '%s' in layer %u",
                            self->options->layer_errors, matrix->rank, matrix->tensor->name,
                            workload_model_layer (self->in->workload, matrix->layer));
}

/* What is sent of all matrices with the ranks CHOSEN, or their uniform ones (NULL). */
static double
total_of (const Search *self, const guint *chosen)
{
  double sum = 0;

  for (guint i = 0; i < self->matrices->len; i++)
    {
      const Matrix *matrix = &g_array_index (self->matrices, Matrix, i);
      guint64       first, rank = matrix->rank;

      layer_ranks_tried (self->options, matrix->tensor, &first);
      if (chosen != NULL)
        rank = first + chosen[i];
      sum += (double) rank * (double) (rows (matrix->tensor) + columns (matrix->tensor));
    }
  return sum;
}

static gboolean
read_measured (Search *self, DiagList *diags)
{
  const char      *text = self->options->layer_errors;
  g_autofree char *file = NULL;

  if (text == NULL)
    return TRUE;
  file = self->in->base_dir != NULL && !g_path_is_absolute (text)
             ? g_build_filename (self->in->base_dir, text, NULL)
             : g_strdup (text);
  diag_list_set_key (diags, "layer_errors");
  if (!g_file_test (file, G_FILE_TEST_EXISTS))
    diag_error (diags, NULL, "a CSV file beside the scenario file", "no file of errors '%s'", file);
  else
    self->measured = layer_errors_get (self->in->files, file, diags);
  diag_list_set_key (diags, NULL);
  return self->measured != NULL;
}

LayerRanks *
layer_ranks_new (const PlanInput *in, const CompressionOptions *options, guint kind,
                 DiagList *diags)
{
  g_autoptr (LayerRanks)  self = NULL;
  Search                  search = { .in = in, .options = options };
  g_autofree GrecoChoice *table = NULL;
  guint                   n;
  g_autofree guint       *chosen = NULL;

  if (options->scheme != COMPRESSION_POWERSGD || options->layer_ranks == LAYER_RANKS_UNIFORM
      || !read_measured (&search, diags))
    return NULL;
  self = g_new0 (LayerRanks, 1);
  self->matrices = search.matrices = g_array_new (FALSE, FALSE, sizeof (Matrix));
  find_matrices (&search, kind);
  search.table = table = g_new0 (GrecoChoice, (gsize) search.matrices->len * search.n_choices + 1);
  for (guint i = 0; i < search.matrices->len; i++)
    if (!fill_row (&search, &g_array_index (search.matrices, Matrix, i),
                   &table[(gsize) i * search.n_choices], diags))
      return NULL;
  /*
   * The uniform rank stays where no choice keeps the budget, and where it keeps it and sends less:
   * of many matrices each error is rounded up to a bucket, so that its own may be beyond the sum.
   */
  n = search.matrices->len;
  chosen = g_new0 (guint, n);
  if (greco_choose (search.table, n, search.n_choices,
                    search.options->error_budget * search.uniform, GRECO_BUCKETS, chosen)
      && (search.options->error_budget < 1
          || total_of (&search, chosen) < total_of (&search, NULL)))
    for (guint i = 0; i < n; i++)
      {
        Matrix *matrix = &g_array_index (search.matrices, Matrix, i);
        guint64 first;

        layer_ranks_tried (search.options, matrix->tensor, &first);
        matrix->rank = first + chosen[i];
      }
  return g_steal_pointer (&self);
}

void
layer_ranks_free (LayerRanks *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->matrices);
  g_free (self);
}

guint64
layer_ranks_of (const LayerRanks *self, guint layer, const TensorDesc *tensor)
{
  for (guint i = 0; i < self->matrices->len; i++)
    {
      const Matrix *matrix = &g_array_index (self->matrices, Matrix, i);

      if (matrix->layer == layer && matrix->tensor->name == tensor->name
          && matrix->tensor->elements == tensor->elements)
        return matrix->rank;
    }
  return 0;
}
