#include "measure/figure-padding.h"

#include <math.h>
#include <string.h>

#include "analysis/shard-ranks.h"
#include "analysis/shards.h"
#include "base/suggest.h"
#include "base/units.h"
#include "measure/figure-runs.h"
#include "measure/figure-table.h"
#include "workload/shard-block.h"

#define SUFFIX  ".padding.csv"
#define SEQ_LEN 128 /* of no weight here: a workload has one */

static const char *const units[] = { "layer", "experts", NULL };
static const char *const quantities[] = { "padding_percent", "shard_elements", NULL };

gboolean
padding_is_percent (const PaddingRow *row)
{
  return strcmp (row->quantity, quantities[0]) == 0;
}

gboolean
figure_padding_is (const char *folder, const char *name)
{
  g_autofree char *file = figure_file (folder, name, SUFFIX);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

/* ---- a model --------------------------------------------------------------------------------- */

typedef struct
{
  ModelShape      shape;
  TrainingOptions training;
  MeshOptions     mesh;
  Workload       *workload;
} Model;

static void
model_clear (Model *self)
{
  g_clear_pointer (&self->workload, workload_free);
  model_shape_clear (&self->shape);
  option_table_clear (training_options, &self->training);
  option_table_clear (mesh_options, &self->mesh);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Model, model_clear)

static gboolean
resolve (Model *self, const char *name, const SourceMark *mark, DiagList *diags)
{
  ModelOptions options = { 0 };
  OptionMarks  marks = { .table = model_options };
  gboolean     resolved;

  option_marks_set (&marks, "config", mark);
  option_table_defaults (model_options, &options);
  g_free (options.config);
  options.config = g_strdup (name);
  resolved = model_resolve (&options, NULL, NULL, &self->shape, &marks, diags);
  option_table_clear (model_options, &options);
  option_marks_clear (&marks);
  return resolved;
}

/* ROW's model and blocks. FALSE after diagnostics at the places of both. */
static gboolean
model_load (Model *self, const PaddingRow *row, const SourceMark *model, const SourceMark *block,
            DiagList *diags)
{
  const OptionSpec *spec = option_table_find (training_options, "shard_block");
  const guint       n_errors = diag_list_n_errors (diags);

  option_table_defaults (training_options, &self->training);
  option_table_defaults (mesh_options, &self->mesh);
  if (!resolve (self, row->model, model, diags))
    return FALSE;
  self->training.seq_len = SEQ_LEN;
  self->training.micro_batch = 1;
  if (*row->block != '\0')
    option_set (spec, &self->training, row->block, block, diags);
  if (diag_list_n_errors (diags) > n_errors)
    return FALSE;
  self->workload = workload_new_stage (&self->shape, &self->training, &self->mesh, 0);
  return workload_check_blocks (self->workload, self->training.shard_block, block, diags);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(member) G_STRUCT_OFFSET (PaddingRow, member)

static const FigureColumn columns[] = {
  { "figure", ROW (figure), FIGURE_WORD, 0, 0 },
  { "row", ROW (row), FIGURE_WORD, 0, 0 },
  { "model", ROW (model), FIGURE_WORD, 0, 0 },
  { "format", ROW (format), FIGURE_WORD, 0, 0 },
  { "block", ROW (block), FIGURE_WORD, 0, 0 },
  { "unit", ROW (unit), FIGURE_WORD, 0, 0 },
  { "ranks", ROW (ranks_text), FIGURE_WORD, 0, 0 },
  { "quantity", ROW (quantity), FIGURE_WORD, 0, 0 },
  { "published", ROW (said), FIGURE_WORD, 0, 0 },
  { "assumptions", ROW (assumptions), FIGURE_WORD, 0, 0 },
};

/* FALSE after a diagnostic. */
static gboolean
check_word (const CsvReader *reader, const char *column, const char *word, const char *const *words,
            DiagList *diags)
{
  const SourceMark mark = figure_table_mark (reader, column);
  g_autofree char *hint = NULL;

  if (name_index (word, words) >= 0)
    return TRUE;
  hint = suggest_hint (word, words);
  diag_error (diags, &mark, hint, "unknown value '%s' for '%s'", word, column);
  return FALSE;
}

/* "33", "< 3", "up to 18", or nothing. FALSE after a diagnostic. */
static gboolean
read_published (PaddingRow *row, const CsvReader *reader, DiagList *diags)
{
  static const char *const meanings[] = {
    [PADDING_EACH] = "", [PADDING_BELOW] = "< ", [PADDING_UP_TO] = "up to "
  };
  const SourceMark mark = figure_table_mark (reader, "published");
  const char      *number = row->said;
  char            *end;

  row->published = NAN;
  for (guint m = 0; m < G_N_ELEMENTS (meanings); m++)
    if (g_str_has_prefix (row->said, meanings[m]))
      {
        row->meaning = (PaddingMeaning) m;
        number = row->said + strlen (meanings[m]);
      }
  if (*row->said == '\0')
    return TRUE;
  row->published = g_ascii_strtod (number, &end);
  if (end != number && *end == '\0' && row->published > 0 && number_is_usable (row->published))
    return TRUE;
  diag_error (diags, &mark, "33, '< 3' or 'up to 18'",
              "expected a number above 0 for 'published', got '%s'", row->said);
  return FALSE;
}

static void
check_row (gpointer self, gpointer data, const CsvReader *reader, DiagList *diags)
{
  PaddingRow      *row = data;
  const SourceMark format = figure_table_mark (reader, "format");
  const SourceMark ranks = figure_table_mark (reader, "ranks");
  const SourceMark block = figure_table_mark (reader, "block");
  const SourceMark unit = figure_table_mark (reader, "unit");
  const SourceMark name = figure_table_mark (reader, "model");
  const guint      n_errors = diag_list_n_errors (diags);
  g_auto (Model)   model = { 0 };

  (void) self;
  if (shard_format_find (row->format) == NULL)
    diag_error (diags, &format, NULL, "unknown sharding format '%s'", row->format);
  if (!read_published (row, reader, diags) || !check_word (reader, "unit", row->unit, units, diags)
      || !check_word (reader, "quantity", row->quantity, quantities, diags))
    return;
  row->ranks = shard_ranks_parse (row->ranks_text, &ranks, diags);
  if (row->ranks->len == 0 && diag_list_n_errors (diags) == n_errors)
    diag_error (diags, &ranks, NULL, "there is no number of ranks");
  if (model_load (&model, row, &name, &block, diags) && strcmp (row->unit, units[1]) == 0
      && model.shape.n_experts == 0)
    diag_error (diags, &unit, NULL, "%s has no experts", row->model);
  if (diag_list_n_errors (diags) > n_errors)
    g_clear_pointer (&row->ranks, g_array_unref);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The commonest unit of SHARDS that is of experts or not, as ROW says; NULL: the model has none. */
static const ShardUnit *
unit_of (const PaddingRow *row, const Shards *shards)
{
  const gboolean   experts = strcmp (row->unit, units[1]) == 0;
  const ShardUnit *found = NULL;

  for (guint i = 0; i < shards->units->len; i++)
    {
      const ShardUnit *unit = g_ptr_array_index (shards->units, i);

      if (unit->experts == experts && (found == NULL || unit->n > found->n))
        found = unit;
    }
  return found;
}

/* Of UNIT on M ranks. */
static double
value_of (const PaddingRow *row, const ShardUnit *unit, guint m)
{
  const guint64 padded = shard_format_find (row->format)
                             ->padded ((const TensorDesc *) (gconstpointer) unit->tensors->data,
                                       unit->tensors->len, m);
  const guint64 shard = padded / m;

  return padding_is_percent (row) ? 100 * ((double) padded / (double) unit->elements - 1)
                                  : (double) shard;
}

/* Of one value of ROW: 0 where it is as published. */
static double
error_at (const PaddingRow *row, double value)
{
  if (row->meaning == PADDING_BELOW && value <= row->published)
    return 0;
  return value / row->published - 1;
}

/* Half of the last digit of what was said. */
static double
half_unit (const PaddingRow *row)
{
  const char *point = strchr (row->said, '.');

  return 0.5 * pow (10, point != NULL ? -(double) strlen (point + 1) : 0);
}

static void
judge (PaddingRow *row)
{
  row->low = row->high = g_array_index (row->values, double, 0);
  for (guint i = 1; i < row->values->len; i++)
    {
      row->low = MIN (row->low, g_array_index (row->values, double, i));
      row->high = MAX (row->high, g_array_index (row->values, double, i));
    }
  row->error = NAN;
  if (isnan (row->published))
    return;
  row->error = error_at (row, row->high);
  if (row->meaning == PADDING_EACH && fabs (error_at (row, row->low)) > fabs (row->error))
    row->error = error_at (row, row->low);
  row->holds = fabs (row->error) * row->published <= half_unit (row);
}

/* ROW's table is read, so that its model loads. */
static void
compute (PaddingRow *row, DiagList *diags)
{
  static const SourceMark nowhere = { 0 };
  g_auto (Model)          model = { 0 };
  g_autoptr (Shards)      shards = NULL;
  const ShardUnit        *unit;
  ShardsOptions           options = { .ranks = (const guint *) (gconstpointer) row->ranks->data,
                                      .n_ranks = row->ranks->len,
                                      .formats = { shard_format_find (row->format) },
                                      .n_formats = 1,
                                      .experts_apart = strcmp (row->unit, units[1]) == 0 };

  model_load (&model, row, &nowhere, &nowhere, diags);
  options.workload = model.workload;
  shards = shards_new (&options);
  unit = unit_of (row, shards);
  row->values = g_array_new (FALSE, FALSE, sizeof (double));
  for (guint i = 0; i < row->ranks->len; i++)
    {
      const double value = value_of (row, unit, g_array_index (row->ranks, guint, i));

      g_array_append_val (row->values, value);
    }
  judge (row);
}

/* ---- the figure ------------------------------------------------------------------------------ */

static void
row_clear (gpointer data)
{
  PaddingRow *row = data;

  g_clear_pointer (&row->ranks, g_array_unref);
  g_clear_pointer (&row->values, g_array_unref);
}

static FigurePadding *
padding_new (const char *name)
{
  FigurePadding *self = g_new0 (FigurePadding, 1);

  self->name = g_strdup (name);
  self->rows = g_array_new (FALSE, TRUE, sizeof (PaddingRow));
  g_array_set_clear_func (self->rows, row_clear);
  self->strings = g_string_chunk_new (4096);
  return self;
}

FigurePadding *
figure_padding_compute (const char *folder, const char *name, DiagList *diags)
{
  g_autofree char          *file = figure_file (folder, name, SUFFIX);
  g_autoptr (FigurePadding) self = padding_new (name);

  if (!figure_table_read (file, columns, G_N_ELEMENTS (columns), check_row, NULL, self->rows,
                          self->strings, diags))
    return NULL;
  for (guint i = 0; i < self->rows->len; i++)
    compute (&g_array_index (self->rows, PaddingRow, i), diags);
  return g_steal_pointer (&self);
}

void
figure_padding_free (FigurePadding *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
