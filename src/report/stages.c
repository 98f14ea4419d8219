#include "report/stages.h"

#include "analysis/stages.h"
#include "report/fields-private.h"
#include "report/report.h"
#include "report/terminal-private.h"

#define GIB 1073741824.0

/* A stage, and what it is a stage of. */
typedef struct
{
  const Prediction *of;
  const StageUse   *use;
} Row;

/* ---- text ------------------------------------------------------------------------------------ */

static char *
memory (guint64 bytes)
{
  return quantity_format (QUANTITY_BYTES, (double) bytes, 3);
}

static char *
share (const Row *row, double seconds)
{
  g_autofree char *text = quantity_format (QUANTITY_TIME, seconds, 3);

  return g_strdup_printf ("%s %4.1f %%", text, 100 * seconds / row->of->step_time_s);
}

static void
add_line (struct libscols_table *table, const Row *row)
{
  const StageUse *use = row->use;
  char           *cells[11] = { NULL };

  cells[0] = g_strdup_printf ("%u", use->stage);
  cells[1] = g_strdup (use->layers);
  cells[2] = g_strdup_printf ("%.1f M", use->n_parameters / 1e6);
  cells[3] = memory (use->hbm.allocated);
  cells[4] = memory (use->hbm.reserved);
  cells[5] = memory (use->hbm.device);
  cells[6] = share (row, use->busy_s);
  cells[7] = share (row, use->bubble_s);
  cells[8] = share (row, use->exposed_comm_s);
  cells[9] = g_strdup (use->hbm.fits ? "" : "does not fit");
  terminal_table_take (table, cells);
}

void
report_stages_text (const Prediction *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "STAGE", TRUE },        { "LAYERS", FALSE }, { "WEIGHTS", TRUE }, { "ALLOCATED", TRUE },
    { "RESERVED", TRUE },     { "DEVICE", TRUE },  { "BUSY", TRUE },    { "BUBBLE", TRUE },
    { "EXPOSED COMM", TRUE }, { "", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  g_string_append (out,
                   "\nStages (weights of a rank; memory of the fullest rank; of a step, "
                   "means over the ranks: kernels\nrun, nothing runs, collectives and messages "
                   "run without a kernel)\n");
  for (guint i = 0; i < self->stages->len; i++)
    {
      const Row row = { self, &g_array_index (self->stages, StageUse, i) };

      add_line (table, &row);
    }
  terminal_table_finish (table, out);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

FIELD_TEXT_OF (Row, row_scenario, p->of->scenario)
FIELD_TEXT_OF (Row, row_strategy, p->of->strategy)
FIELD_NUMBER_OF (Row, row_stage, p->use->stage)
FIELD_TEXT_OF (Row, row_layers, p->use->layers)
FIELD_NUMBER_OF (Row, row_blocks, p->use->n_blocks)
FIELD_NUMBER_OF (Row, row_embedding, p->use->embedding)
FIELD_NUMBER_OF (Row, row_head, p->use->head)
FIELD_NUMBER_OF (Row, row_parameters, p->use->n_parameters)
FIELD_NUMBER_OF (Row, row_fits, p->use->hbm.fits)
FIELD_NUMBER_OF (Row, row_allocated, (double) p->use->hbm.allocated / GIB)
FIELD_NUMBER_OF (Row, row_reserved, (double) p->use->hbm.reserved / GIB)
FIELD_NUMBER_OF (Row, row_device, (double) p->use->hbm.device / GIB)
FIELD_TEXT_OF (Row, row_place, p->use->hbm.place)
FIELD_TEXT_OF (Row, row_peak_op, p->use->hbm.peak_op)
FIELD_NUMBER_OF (Row, row_busy, p->use->busy_s)
FIELD_NUMBER_OF (Row, row_bubble, p->use->bubble_s)
FIELD_NUMBER_OF (Row, row_exposed, p->use->exposed_comm_s)

static const Field fields[] = {
  { .name = "scenario", .text = row_scenario, .place = FIELD_IN_CSV },
  { .name = "strategy", .text = row_strategy, .place = FIELD_IN_CSV },
  { .name = "stage", .type = FIELD_NUMBER, .number = row_stage },
  { .name = "layers", .text = row_layers },
  { .name = "n_blocks", .type = FIELD_NUMBER, .number = row_blocks },
  { .name = "has_embedding", .type = FIELD_BOOL, .number = row_embedding },
  { .name = "has_head", .type = FIELD_BOOL, .number = row_head },
  { .name = "n_parameters", .type = FIELD_NUMBER, .number = row_parameters },
  { .name = "fits", .type = FIELD_BOOL, .number = row_fits },
  { .name = "peak_allocated_gib", .type = FIELD_NUMBER, .number = row_allocated },
  { .name = "peak_reserved_gib", .type = FIELD_NUMBER, .number = row_reserved },
  { .name = "peak_device_gib", .type = FIELD_NUMBER, .number = row_device },
  { .name = "place", .text = row_place },
  { .name = "peak_op", .text = row_peak_op },
  { .name = "busy_s", .type = FIELD_NUMBER, .number = row_busy },
  { .name = "bubble_s", .type = FIELD_NUMBER, .number = row_bubble },
  { .name = "exposed_comm_s", .type = FIELD_NUMBER, .number = row_exposed },
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

/* Row of each stage. */
static GArray *
rows_of (const Prediction *self)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (Row));

  for (guint i = 0; i < self->stages->len; i++)
    {
      const Row row = { self, &g_array_index (self->stages, StageUse, i) };

      g_array_append_val (rows, row);
    }
  return rows;
}

void
report_stages_csv (const Prediction *self, GString *out)
{
  g_autoptr (GArray) rows = rows_of (self);

  fields_csv (fields, rows->data, rows->len, sizeof (Row), out);
}

struct json_object *
report_stages_json (const Prediction *self)
{
  g_autoptr (GArray) rows = rows_of (self);

  return fields_json_list (fields, rows->data, rows->len, sizeof (Row));
}
