#include "driver/oracle/expect-sums.h"

#include <string.h>

#define TENSOR_WORDS (TENSOR_MAX_DIMS + 3) /* of a tensor, of which formulas know no more */

struct _ExpectSums
{
  const Workload *workload;
  GHashTable     *sums; /* ExpectSum -> double* */
  gboolean        has_kept;
  ExpectKept      kept;
  GHashTable     *formulas; /* Words -> double* */
  GArray         *words;    /* of the formula that is looked for */
};

/* A format, its ranks and the sizes of tensors. */
typedef struct
{
  guint   n;
  guint64 words[];
} Words;

static guint
hash_words (const guint64 *words, guint n)
{
  guint64 hash = n;

  for (guint i = 0; i < n; i++)
    {
      hash = (hash ^ words[i]) * G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
      hash ^= hash >> 32;
    }
  return (guint) hash;
}

static guint
words_hash (gconstpointer key)
{
  const Words *self = key;

  return hash_words (self->words, self->n);
}

static gboolean
words_equal (gconstpointer a, gconstpointer b)
{
  const Words *x = a, *y = b;

  return x->n == y->n && memcmp (x->words, y->words, x->n * sizeof *x->words) == 0;
}

static guint
sum_hash (gconstpointer key)
{
  const ExpectSum *sum = key;
  const guint64    words[] = { GPOINTER_TO_SIZE (sum->format), (guint64) sum->filter,
                               (guint64) sum->first << 32 | sum->end,
                               (guint64) sum->m << 32 | sum->what << 1 | sum->kind };

  return hash_words (words, G_N_ELEMENTS (words));
}

static gboolean
sum_equal (gconstpointer a, gconstpointer b)
{
  const ExpectSum *x = a, *y = b;

  return x->what == y->what && x->format == y->format && x->filter == y->filter
         && x->first == y->first && x->end == y->end && x->kind == y->kind && x->m == y->m;
}

ExpectSums *
expect_sums_new (void)
{
  ExpectSums *self = g_new0 (ExpectSums, 1);

  self->sums = g_hash_table_new_full (sum_hash, sum_equal, g_free, g_free);
  self->formulas = g_hash_table_new_full (words_hash, words_equal, g_free, g_free);
  self->words = g_array_new (FALSE, FALSE, sizeof (guint64));
  return self;
}

void
expect_sums_free (ExpectSums *self)
{
  g_hash_table_unref (self->sums);
  g_hash_table_unref (self->formulas);
  g_array_unref (self->words);
  g_free (self);
}

void
expect_sums_begin (ExpectSums *self, const Workload *workload)
{
  self->workload = workload;
  self->has_kept = FALSE;
  g_hash_table_remove_all (self->sums);
}

/* NULL: nobody keeps them, or those of another workload, such as another stage's. */
static ExpectSums *
sums_of (const PlanInput *in)
{
  return in->sums != NULL && in->sums->workload == in->workload ? in->sums : NULL;
}

/* ---- formulas -------------------------------------------------------------------------------- */

static void
set_words (GArray *words, const ShardFormat *format, const TensorDesc *tensors, guint n, guint m)
{
  guint64 *word;

  /* the first one is Words.n */
  g_array_set_size (words, 3 + TENSOR_WORDS * n);
  word = (guint64 *) (gpointer) words->data;
  *word++ = 0;
  ((Words *) (gpointer) words->data)->n = 2 + TENSOR_WORDS * n;
  *word++ = GPOINTER_TO_SIZE (format);
  *word++ = m;
  for (guint i = 0; i < n; i++)
    {
      const TensorDesc *tensor = &tensors[i];

      for (guint d = 0; d < TENSOR_MAX_DIMS; d++)
        *word++ = tensor->shape[d];
      *word++ = tensor->n_dims;
      *word++ = tensor->block;
      *word++ = tensor->elements;
    }
}

double
expect_formula (const PlanInput *in, const ShardFormat *format, const TensorDesc *tensors, guint n,
                guint m)
{
  ExpectSums   *self = sums_of (in);
  const double *known;
  double       *value;

  if (self == NULL)
    return format->formula (tensors, n, m);
  set_words (self->words, format, tensors, n, m);
  known = g_hash_table_lookup (self->formulas, self->words->data);
  if (known != NULL)
    return *known;
  value = g_new (double, 1);
  *value = format->formula (tensors, n, m);
  g_hash_table_insert (self->formulas,
                       g_memdup2 (self->words->data, self->words->len * sizeof (guint64)), value);
  return *value;
}

/* ---- sums of the workload -------------------------------------------------------------------- */

gboolean
expect_sums_find (const PlanInput *in, const ExpectSum *sum, double *value)
{
  ExpectSums   *self = sums_of (in);
  const double *known = self != NULL ? g_hash_table_lookup (self->sums, sum) : NULL;

  if (known != NULL)
    *value = *known;
  return known != NULL;
}

double
expect_sums_keep (const PlanInput *in, const ExpectSum *sum, double value)
{
  ExpectSums *self = sums_of (in);

  if (self != NULL)
    g_hash_table_insert (self->sums, g_memdup2 (sum, sizeof *sum),
                         g_memdup2 (&value, sizeof value));
  return value;
}

gboolean
expect_sums_find_kept (const PlanInput *in, ExpectKept *kept)
{
  const ExpectSums *self = sums_of (in);

  if (self == NULL || !self->has_kept)
    return FALSE;
  *kept = self->kept;
  return TRUE;
}

void
expect_sums_keep_kept (const PlanInput *in, ExpectKept kept)
{
  ExpectSums *self = sums_of (in);

  if (self == NULL)
    return;
  self->kept = kept;
  self->has_kept = TRUE;
}
