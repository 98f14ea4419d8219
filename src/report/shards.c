#include "report/shards-private.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

#define MOST_ADVICE 16 /* lines of the text form */

/* ---- words ----------------------------------------------------------------------------------- */

static const ShardSize *
size_at (const Shards *self, guint i)
{
  return &g_array_index (self->sizes, ShardSize, i);
}

char *
shards_summary (const Shards *self)
{
  const guint64      elements = size_at (self, 0)->elements;
  const MeshOptions *mesh = workload_mesh (self->options.workload);
  g_autofree char   *count = quantity_format (QUANTITY_COUNT, (double) elements, 6);
  g_autofree char   *part =
      mesh->tp * mesh->ep == 1
            ? g_strdup ("")
            : g_strdup_printf (" of one rank (tp %" G_GINT64_FORMAT ", ep %" G_GINT64_FORMAT ")",
                               mesh->tp, mesh->ep);
  g_autoptr (GString) out = g_string_new (NULL);

  g_string_append_printf (out, "%s parameters%s in %u units: ", count, part,
                          size_at (self, 0)->n_units);
  for (guint i = 0; i < self->units->len; i++)
    {
      const ShardUnit *unit = g_ptr_array_index (self->units, i);

      g_string_append (out, i > 0 ? ", " : "");
      if (unit->n > 1)
        g_string_append_printf (out, "%u x ", unit->n);
      g_string_append (out, unit->name);
    }
  return g_string_free (g_steal_pointer (&out), FALSE);
}

char *
shards_padding (double ratio)
{
  const double percent = 100 * ratio;
  const int    digits = percent >= 100 ? 0 : percent >= 10 ? 1 : 2;

  return g_strdup_printf ("%.*f %%", digits, percent);
}

char *
shards_gathered (const ShardSize *size)
{
  g_autofree char *bytes = quantity_format (QUANTITY_BYTES, (double) size->largest_bytes, 4);
  g_autofree char *padding = shards_padding (shard_size_largest_padding (size));

  return g_strdup_printf ("%s (+%s)", bytes, padding);
}

char *
shards_misaligned (const ShardSize *size)
{
  return g_strdup_printf ("%u of %u", size->n_misaligned, size->n_units);
}

char *
shards_copied (const ShardSize *size)
{
  return size->copied_bytes > 0 ? quantity_format (QUANTITY_BYTES, (double) size->copied_bytes, 4)
                                : g_strdup ("none");
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* "0.01 %, 4.883 GiB a rank" */
static char *
price_of (const ShardSize *size)
{
  g_autofree char *padding = shards_padding (shard_size_padding (size));
  g_autofree char *bytes = quantity_format (QUANTITY_BYTES, (double) size->rank_bytes, 4);

  return g_strdup_printf ("%s, %s a rank", padding, bytes);
}

/* "; 3 replicas of 128 (0.00 %, 1.5 GiB a rank) take all 384: --shard 128" */
static void
append_replicas (const ShardAdvice *advice, GString *out)
{
  const guint      used = advice->replicas * advice->shard.ranks;
  const gboolean   one = advice->replicas == 1;
  g_autofree char *price = price_of (&advice->shard);

  g_string_append_printf (out, "; %u replica%s of %u", advice->replicas, one ? "" : "s",
                          advice->shard.ranks);
  if (advice->shard.ranks != advice->size.ranks)
    g_string_append_printf (out, " (%s)", price);
  if (used == advice->asked.ranks)
    g_string_append_printf (out, " take all %u: --shard %u", used, advice->shard.ranks);
  else
    g_string_append_printf (out, " take%s %u of %u", one ? "s" : "", used, advice->asked.ranks);
}

char *
shards_advice (const ShardAdvice *advice)
{
  g_autofree char    *asked = shards_padding (shard_size_padding (&advice->asked));
  g_autofree char    *price = NULL;
  g_autoptr (GString) out = g_string_new (NULL);

  g_string_append_printf (out, "%s on %u ranks pads %s: ", advice->asked.format->name,
                          advice->asked.ranks, asked);
  if (!advice->found)
    {
      g_string_append (out, "no smaller number of ranks pads less; take another format");
      return g_string_free (g_steal_pointer (&out), FALSE);
    }
  price = price_of (&advice->size);
  if (advice->little)
    g_string_append_printf (out, "shard over %u (%s)", advice->size.ranks, price);
  else
    g_string_append_printf (out, "no smaller number pads less than %g %%, %u least (%s)",
                            100 * SHARDS_LITTLE, advice->size.ranks, price);
  append_replicas (advice, out);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static void
append_advice (const Shards *self, GString *out)
{
  if (self->advice->len == 0)
    return;
  g_string_append_printf (out, "\nWhere padding is above %g %%:\n", 100 * SHARDS_MUCH);
  for (guint i = 0; i < MIN (self->advice->len, MOST_ADVICE); i++)
    {
      g_autofree char *line = shards_advice (&g_array_index (self->advice, ShardAdvice, i));

      g_string_append_printf (out, "  %s.\n", line);
    }
  if (self->advice->len > MOST_ADVICE)
    g_string_append_printf (out, "  %u more: --format json has them all.\n",
                            self->advice->len - MOST_ADVICE);
}

/* ---- layout ---------------------------------------------------------------------------------- */

const char *const shards_place_titles[SHARDS_PLACE_CELLS] = {
  "UNIT", "TENSOR", "SHAPE", "BLOCK", "START", "END", "RANKS", "ON ONE", "PADDING",
};

static char *
shape_text (const TensorDesc *tensor)
{
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint d = 0; tensor != NULL && d < tensor->n_dims; d++)
    g_string_append_printf (out, "%s%" G_GUINT64_FORMAT, d > 0 ? " x " : "", tensor->shape[d]);
  return g_string_free (g_steal_pointer (&out), FALSE);
}

static char *
count_text (guint64 count)
{
  return g_strdup_printf ("%" G_GUINT64_FORMAT, count);
}

char **
shards_place_cells (const ShardPlace *place)
{
  const TensorDesc *tensor = place->tensor;
  char            **cells = g_new0 (char *, SHARDS_PLACE_CELLS + 1);
  guint             n = 0;

  cells[n++] = g_strdup (place->unit->name);
  cells[n++] = g_strdup (tensor != NULL ? tensor->name : "(padding)");
  cells[n++] = shape_text (tensor);
  cells[n++] = place->block > 0 ? count_text (place->block) : g_strdup ("");
  cells[n++] = count_text (place->start);
  cells[n++] = count_text (place->end);
  cells[n++] = place->last_rank > place->first_rank
                   ? g_strdup_printf ("%u - %u", place->first_rank, place->last_rank)
                   : g_strdup_printf ("%u", place->first_rank);
  cells[n++] = count_text (place->rank_elements);
  cells[n++] = count_text (place->padding);
  return cells;
}

const char *
shards_layout_note (const Shards *self)
{
  return shards_have_buffers (self)
             ? "Elements of a unit's buffer, which the ranks share in equal stretches; padding "
               "stands before its tensor."
             : "Elements of a rank's shard, in which its parts of all tensors follow each other; "
               "padding is what is added to the tensor, over all ranks.";
}

static void
append_layout (const Shards *self, GString *out)
{
  TerminalColumn         columns[SHARDS_PLACE_CELLS];
  struct libscols_table *table;

  if (self->places->len == 0)
    return;
  for (guint c = 0; c < SHARDS_PLACE_CELLS; c++)
    columns[c] = (TerminalColumn){ shards_place_titles[c], c >= SHARDS_PLACE_TEXTS };
  table = terminal_table_new (columns, SHARDS_PLACE_CELLS);
  for (guint i = 0; i < self->places->len; i++)
    {
      g_auto (GStrv) cells = shards_place_cells (&g_array_index (self->places, ShardPlace, i));

      terminal_table_take (table, cells);
    }
  g_string_append_printf (out, "\n%s\n\n", shards_layout_note (self));
  terminal_table_finish (table, out);
}

/* ---- table ----------------------------------------------------------------------------------- */

static const TerminalColumn columns[] = {
  { "RANKS", TRUE },         { "FORMAT", FALSE },  { "PADDING", TRUE },    { "A RANK", TRUE },
  { "LARGEST UNIT", FALSE }, { "GATHERED", TRUE }, { "MISALIGNED", TRUE }, { "COPIES", TRUE },
};

static void
append_table (const Shards *self, GString *out)
{
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->sizes->len; i++)
    {
      const ShardSize *size = size_at (self, i);
      char            *cells[] = { g_strdup_printf ("%u", size->ranks),
                                   g_strdup (size->format->name),
                                   shards_padding (shard_size_padding (size)),
                                   quantity_format (QUANTITY_BYTES, (double) size->rank_bytes, 4),
                                   g_strdup (size->largest->name),
                                   shards_gathered (size),
                                   shards_misaligned (size),
                                   shards_copied (size),
                                   NULL };

      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

void
report_shards_text (const Shards *self, GString *out)
{
  const Workload  *workload = self->options.workload;
  g_autofree char *summary = shards_summary (self);

  g_string_append_printf (out, "%s: %s\n\n", workload_shape (workload)->name, summary);
  append_table (self, out);
  g_string_append (out, "\nMisaligned: units whose bytes a rank are no multiple of NCCL's 16. "
                        "Copies: read and written a step.\n");
  for (guint f = 0; f < self->options.n_formats; f++)
    g_string_append_printf (out, "  %-12s %s\n", self->options.formats[f]->name,
                            self->options.formats[f]->title);
  append_layout (self, out);
  append_advice (self, out);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

typedef struct
{
  const Shards    *shards;
  const ShardSize *size;
} Row;

#define TEXT_OF(name, expression)   FIELD_TEXT_OF (Row, text_##name, expression)
#define NUMBER_OF(name, expression) FIELD_NUMBER_OF (Row, number_##name, expression)

static const MeshOptions *
mesh_of (const Row *row)
{
  return workload_mesh (row->shards->options.workload);
}

TEXT_OF (model, workload_shape (p->shards->options.workload)->name)
TEXT_OF (format, p->size->format->name)
TEXT_OF (block, workload_training (p->shards->options.workload)->shard_block)
TEXT_OF (order, ragged_order_names[p->shards->options.order])
TEXT_OF (largest_unit, p->size->largest->name)
NUMBER_OF (ranks, p->size->ranks)
NUMBER_OF (tp, mesh_of (p)->tp)
NUMBER_OF (ep, mesh_of (p)->ep)
NUMBER_OF (experts_apart, p->shards->options.experts_apart)
NUMBER_OF (elements, p->size->elements)
NUMBER_OF (padded, p->size->padded)
NUMBER_OF (padding, 100 * shard_size_padding (p->size))
NUMBER_OF (rank_bytes, p->size->rank_bytes)
NUMBER_OF (units, p->size->n_units)
NUMBER_OF (misaligned, p->size->n_misaligned)
NUMBER_OF (largest_elements, p->size->largest->elements)
NUMBER_OF (largest_bytes, p->size->largest_bytes)
NUMBER_OF (largest_padding, 100 * shard_size_largest_padding (p->size))
NUMBER_OF (copied_bytes, p->size->copied_bytes)

#define TEXT(name_, getter)                                  \
  {                                                          \
    .name = name_, .type = FIELD_WORD, .text = text_##getter \
  }
#define NUMBER(name_, getter)                                      \
  {                                                                \
    .name = name_, .type = FIELD_NUMBER, .number = number_##getter \
  }

static const Field fields[] = {
  TEXT ("model", model),
  TEXT ("format", format),
  NUMBER ("ranks", ranks),
  NUMBER ("padding_percent", padding),
  NUMBER ("bytes_per_rank", rank_bytes),
  TEXT ("largest_unit", largest_unit),
  NUMBER ("gathered_bytes", largest_bytes),
  NUMBER ("gathered_padding_percent", largest_padding),
  NUMBER ("units", units),
  NUMBER ("misaligned_units", misaligned),
  NUMBER ("copied_bytes_per_step", copied_bytes),
  NUMBER ("elements", elements),
  NUMBER ("padded_elements", padded),
  NUMBER ("largest_unit_elements", largest_elements),
  TEXT ("block", block),
  TEXT ("order", order),
  { .name = "experts_apart", .type = FIELD_BOOL, .number = number_experts_apart },
  NUMBER ("tp", tp),
  NUMBER ("ep", ep),
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

static Row *
rows_new (const Shards *self)
{
  Row *rows = g_new (Row, self->sizes->len);

  for (guint i = 0; i < self->sizes->len; i++)
    rows[i] = (Row){ self, size_at (self, i) };
  return rows;
}

void
report_shards_csv (const Shards *self, GString *out)
{
  g_autofree Row *rows = rows_new (self);

  fields_csv (fields, rows, self->sizes->len, sizeof *rows, out);
}

static struct json_object *
place_json (const ShardPlace *place)
{
  struct json_object *object = json_object_new_object ();
  const TensorDesc   *tensor = place->tensor;
  g_autofree char    *shape = tensor != NULL ? shape_text (tensor) : NULL;

  json_add_text (object, "unit", place->unit->name);
  json_add_count (object, "units", place->unit->n);
  json_add_text (object, "tensor", tensor != NULL ? tensor->name : NULL);
  json_add_text (object, "shape", shape);
  json_add_count (object, "block", place->block);
  json_add_count (object, "start", place->start);
  json_add_count (object, "end", place->end);
  json_add_count (object, "first_rank", place->first_rank);
  json_add_count (object, "last_rank", place->last_rank);
  json_add_count (object, "rank_elements", place->rank_elements);
  json_add_count (object, "padding", place->padding);
  return object;
}

static struct json_object *
advice_json (const ShardAdvice *advice)
{
  struct json_object *object = json_object_new_object ();
  g_autofree char    *words = shards_advice (advice);
  const gboolean      found = advice->found;

  json_add_text (object, "format", advice->asked.format->name);
  json_add_count (object, "ranks", advice->asked.ranks);
  json_add_number (object, "padding_percent", 100 * shard_size_padding (&advice->asked));
  json_add_number (object, "smaller_ranks", found ? advice->size.ranks : NAN);
  json_add_number (object, "smaller_padding_percent",
                   found ? 100 * shard_size_padding (&advice->size) : NAN);
  json_add_number (object, "shard_ranks", found ? advice->shard.ranks : NAN);
  json_add_number (object, "shard_padding_percent",
                   found ? 100 * shard_size_padding (&advice->shard) : NAN);
  json_add_number (object, "replicas", found ? advice->replicas : NAN);
  json_add_text (object, "words", words);
  return object;
}

void
report_shards_json (const Shards *self, GString *out)
{
  struct json_object *root = json_document_new ();
  struct json_object *layout = json_object_new_array (), *advice = json_object_new_array ();
  g_autofree Row     *rows = rows_new (self);

  json_object_object_add (root, "results",
                          fields_json_list (fields, rows, self->sizes->len, sizeof *rows));
  for (guint i = 0; i < self->places->len; i++)
    json_object_array_add (layout, place_json (&g_array_index (self->places, ShardPlace, i)));
  json_object_object_add (root, "layout", layout);
  for (guint i = 0; i < self->advice->len; i++)
    json_object_array_add (advice, advice_json (&g_array_index (self->advice, ShardAdvice, i)));
  json_object_object_add (root, "advice", advice);
  json_finish (root, out);
}
