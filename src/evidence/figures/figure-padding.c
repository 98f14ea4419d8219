#include "evidence/figures/figure-padding.h"

#include <math.h>
#include <string.h>

#include "base/config/units.h"
#include "decide/parts/shard-ranks.h"
#include "decide/parts/shards.h"
#include "evidence/figures/figure-private.h"
#include "model/optimizer/shard-block.h"

#define SEQ_LEN 128 /* of no weight here: a workload has one */

static const char *const units[] = { "layer", "experts", NULL };
static const char *const quantities[] = { "padding_percent", "shard_elements", NULL };

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

/* LINE's model and blocks. FALSE after diagnostics at the places of both. */
static gboolean
model_load (Model *self, const PaddingLine *line, const SourceMark *model, const SourceMark *block,
            DiagList *diags)
{
  const OptionSpec *spec = option_table_find (training_options, "shard_block");
  const guint       n_errors = diag_list_n_errors (diags);
  ModelOptions      options = { 0 };
  OptionMarks       marks = { .table = model_options };
  gboolean          resolved;

  option_table_defaults (training_options, &self->training);
  option_table_defaults (mesh_options, &self->mesh);
  option_marks_set (&marks, "config", model);
  option_table_defaults (model_options, &options);
  g_free (options.config);
  options.config = g_strdup (line->model);
  resolved = model_resolve (&options, NULL, NULL, &self->shape, &marks, diags);
  option_table_clear (model_options, &options);
  option_marks_clear (&marks);
  if (!resolved)
    return FALSE;
  self->training.seq_len = SEQ_LEN;
  self->training.micro_batch = 1;
  if (*line->block != '\0')
    option_set (spec, &self->training, line->block, block, diags);
  if (diag_list_n_errors (diags) > n_errors)
    return FALSE;
  self->workload = workload_new_stage (&self->shape, &self->training, &self->mesh, 0);
  return workload_check_blocks (self->workload, self->training.shard_block, block, diags);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define CELL(member) G_STRUCT_OFFSET (PaddingLine, member)

static const FigureColumn columns[] = {
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "row", CELL (row), .type = FIGURE_WORD },
  { "model", CELL (model), .type = FIGURE_WORD },
  { "format", CELL (format), .type = FIGURE_WORD },
  { "block", CELL (block), .type = FIGURE_WORD },
  { "unit", CELL (unit), .type = FIGURE_WORD, .words = units },
  { "ranks", CELL (ranks_text), .type = FIGURE_WORD },
  { "quantity", CELL (quantity), .type = FIGURE_WORD, .words = quantities },
  { "published", CELL (said), .type = FIGURE_WORD },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
};

/* "33", "< 3", "up to 18", or nothing. FALSE after a diagnostic. */
static gboolean
read_published (PaddingLine *line, const CsvReader *reader, DiagList *diags)
{
  static const char *const meanings[] = {
    [PADDING_EACH] = "", [PADDING_BELOW] = "< ", [PADDING_UP_TO] = "up to "
  };
  const SourceMark mark = figure_table_mark (reader, "published");
  const char      *number = line->said;
  char            *end;

  line->published = NAN;
  for (guint m = 0; m < G_N_ELEMENTS (meanings); m++)
    if (g_str_has_prefix (line->said, meanings[m]))
      {
        line->meaning = (PaddingMeaning) m;
        number = line->said + strlen (meanings[m]);
      }
  if (*line->said == '\0')
    return TRUE;
  line->published = g_ascii_strtod (number, &end);
  if (end != number && *end == '\0' && line->published > 0 && number_is_usable (line->published))
    return TRUE;
  diag_error (diags, &mark, "33, '< 3' or 'up to 18'",
              "expected a number above 0 for 'published', got '%s'", line->said);
  return FALSE;
}

static void
check_line (gpointer self, gpointer data, const CsvReader *reader, DiagList *diags)
{
  PaddingLine     *line = data;
  const SourceMark format = figure_table_mark (reader, "format");
  const SourceMark ranks = figure_table_mark (reader, "ranks");
  const SourceMark block = figure_table_mark (reader, "block");
  const SourceMark unit = figure_table_mark (reader, "unit");
  const SourceMark name = figure_table_mark (reader, "model");
  const guint      n_errors = diag_list_n_errors (diags);
  g_auto (Model)   model = { 0 };

  (void) self;
  line->percent = line->quantity == quantities[0];
  if (shard_format_find (line->format) == NULL)
    diag_error (diags, &format, NULL, "unknown sharding format '%s'", line->format);
  if (!read_published (line, reader, diags))
    return;
  line->ranks = shard_ranks_parse (line->ranks_text, &ranks, diags);
  if (line->ranks->len == 0 && diag_list_n_errors (diags) == n_errors)
    diag_error (diags, &ranks, NULL, "there is no number of ranks");
  if (model_load (&model, line, &name, &block, diags) && line->unit == units[1]
      && model.shape.n_experts == 0)
    diag_error (diags, &unit, NULL, "%s has no experts", line->model);
  if (diag_list_n_errors (diags) > n_errors)
    g_clear_pointer (&line->ranks, g_array_unref);
}

static void
clear_line (gpointer data)
{
  g_clear_pointer (&((PaddingLine *) data)->ranks, g_array_unref);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* The commonest unit of SHARDS that is of experts or not, as LINE says; NULL: there is none. */
static const ShardUnit *
unit_of (const PaddingLine *line, const Shards *shards)
{
  const ShardUnit *found = NULL;

  for (guint i = 0; i < shards->units->len; i++)
    {
      const ShardUnit *unit = g_ptr_array_index (shards->units, i);

      if (unit->experts == (line->unit == units[1]) && (found == NULL || unit->n > found->n))
        found = unit;
    }
  return found;
}

/* Of one value of LINE: 0 where it is as published. */
static double
error_at (const PaddingLine *line, double value)
{
  if (line->meaning == PADDING_BELOW && value <= line->published)
    return 0;
  return value / line->published - 1;
}

/* LINE's table is read, so that its model loads. */
static void
add_points (Figures *self, PaddingLine *line, DiagList *diags)
{
  static const SourceMark nowhere = { 0 };
  const ShardFormat      *format = shard_format_find (line->format);
  g_auto (Model)          model = { 0 };
  g_autoptr (Shards)      shards = NULL;
  const ShardUnit        *unit;
  ShardsOptions           options = { .ranks = (const guint *) (gconstpointer) line->ranks->data,
                                      .n_ranks = line->ranks->len,
                                      .formats = { format },
                                      .n_formats = 1,
                                      .experts_apart = line->unit == units[1] };

  model_load (&model, line, &nowhere, &nowhere, diags);
  options.workload = model.workload;
  shards = shards_new (&options);
  unit = unit_of (line, shards);
  line->first = self->rows->len;
  for (guint i = 0; i < line->ranks->len; i++)
    {
      const guint   ranks = g_array_index (line->ranks, guint, i);
      const guint64 padded = format->padded (
          (const TensorDesc *) (gconstpointer) unit->tensors->data, unit->tensors->len, ranks);
      const guint64      shard = padded / ranks;
      const double       percent = 100 * ((double) padded / (double) unit->elements - 1);
      const PaddingPoint point = { line, ranks, line->percent ? percent : (double) shard };

      g_array_append_val (self->rows, point);
      line->low = i > 0 ? MIN (line->low, point.value) : point.value;
      line->high = i > 0 ? MAX (line->high, point.value) : point.value;
    }
}

/* How far the worst number of a statement is from what was said. */
static void
judge (Figures *self, PaddingLine *line)
{
  const double published = line->published > 0 ? line->published : 1;
  double       met;

  line->error = NAN;
  if (isnan (line->published))
    return;
  line->error = error_at (line, line->high);
  if (line->meaning == PADDING_EACH && fabs (error_at (line, line->low)) > fabs (line->error))
    line->error = error_at (line, line->low);
  line->holds = fabs (line->error) * line->published <= figure_rounding (line->said);
  met = line->holds ? published : published * (1 + line->error);
  figure_add_evidence (self, line->row, line->quantity, published, met, met);
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  (void) input;
  for (guint i = 0; i < self->lines->len; i++)
    {
      add_points (self, FIGURE_LINE (self, PaddingLine, i), diags);
      judge (self, FIGURE_LINE (self, PaddingLine, i));
    }
  return TRUE;
}

const FigureComputation figure_padding = {
  .suffix = ".padding.csv",
  .alone = TRUE,
  .lines = { columns, G_N_ELEMENTS (columns), .size = sizeof (PaddingLine), .check = check_line,
             .clear = clear_line },
  .row_size = sizeof (PaddingPoint),
  .compute = compute,
};
