#include "report/answer/shards.h"

#include <math.h>

#include "base/intern.h"
#include "report/document/html-private.h"
#include "report/document/json-private.h"

#define MOST_ADVICE 16 /* lines of the text form */
#define PLOT_WIDTH  640
#define LIST_WIDTH  160
#define ZOOM        20.0 /* %: a second panel has what is below, where something is above */

static const ShardSize *
size_at (const Shards *self, guint i)
{
  return &g_array_index (self->sizes, ShardSize, i);
}

/* ---- picture --------------------------------------------------------------------------------- */

/* A block of format F: ranks and padding in %. MOST becomes the most of them, if it is less. */
static void
append_block (const Shards *self, guint f, GString *data, double *most)
{
  for (guint i = f; i < self->sizes->len; i += self->options.n_formats)
    {
      const double percent = 100 * shard_size_padding (size_at (self, i));

      plot_append_number (data, size_at (self, i)->ranks);
      plot_append_number (data, percent);
      g_string_append_c (data, '\n');
      *most = MAX (*most, percent);
    }
  g_string_append (data, "\n\n");
}

static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const Shards    *self = answer;
  GString         *settings, *data;
  g_autofree char *title = NULL;
  double           most = 0;

  if (self->options.n_ranks < 2)
    return TRUE;
  settings = g_string_new (NULL);
  data = g_string_new ("# ranks padding; a block a format\n");
  g_string_append_printf (settings, "array series[%u] = [", self->options.n_formats);
  for (guint f = 0; f < self->options.n_formats; f++)
    {
      g_string_append (settings, f > 0 ? ", " : "");
      gnuplot_append_quoted (settings, self->options.formats[f]->name);
      append_block (self, f, data, &most);
    }
  g_string_append (settings, "]\n");
  title =
      g_strdup_printf ("Padding of %s over ranks", workload_shape (self->options.workload)->name);
  plot_set_text (settings, "title_text", title);
  plot_set_number (settings, "x_least", self->options.ranks[0] / 1.1);
  plot_set_number (settings, "x_most", self->options.ranks[self->options.n_ranks - 1] * 1.1);
  plot_set_number (settings, "y_most", MAX (1.1 * most, 1));
  plot_set_number (settings, "zoom", most > ZOOM ? ZOOM : 0);
  plot_set_number (settings, "list_share", (double) LIST_WIDTH / (PLOT_WIDTH + LIST_WIDTH));
  return plot_add (pictures, scripts, PICTURE_PADDING, "shards", settings, data,
                   PLOT_WIDTH + LIST_WIDTH, most > ZOOM ? 560 : 380, error);
}

/* ---- words ----------------------------------------------------------------------------------- */

static char *
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

static char *
shards_padding (double ratio)
{
  const double percent = 100 * ratio;
  const int    digits = percent >= 100 ? 0 : percent >= 10 ? 1 : 2;

  return g_strdup_printf ("%.*f %%", digits, percent);
}

static char *
shards_gathered (const ShardSize *size)
{
  g_autofree char *bytes = quantity_format (QUANTITY_BYTES, (double) size->largest_bytes, 4);
  g_autofree char *padding = shards_padding (shard_size_largest_padding (size));

  return g_strdup_printf ("%s (+%s)", bytes, padding);
}

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

static char *
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

/* ---- sizes ----------------------------------------------------------------------------------- */

typedef struct
{
  const Shards    *shards;
  const ShardSize *size;
} Row;

static const MeshOptions *
mesh_of (const Row *row)
{
  return workload_mesh (row->shards->options.workload);
}

static char *
show_padding (const Column *column, gconstpointer row)
{
  return shards_padding (column_number (column, row) / 100);
}

static char *
show_gathered (const Column *column, gconstpointer row)
{
  (void) column;
  return shards_gathered (((const Row *) row)->size);
}

static char *
show_misaligned (const Column *column, gconstpointer row)
{
  const ShardSize *size = ((const Row *) row)->size;

  (void) column;
  return g_strdup_printf ("%u of %u", size->n_misaligned, size->n_units);
}

static char *
show_copied (const Column *column, gconstpointer row)
{
  const ShardSize *size = ((const Row *) row)->size;

  (void) column;
  return size->copied_bytes > 0 ? document_bytes ((double) size->copied_bytes) : g_strdup ("none");
}

COLUMN_TEXT_OF (Row, model, workload_shape (p->shards->options.workload)->name)
COLUMN_TEXT_OF (Row, format, p->size->format->name)
COLUMN_TEXT_OF (Row, block, workload_training (p->shards->options.workload)->shard_block)
COLUMN_TEXT_OF (Row, order, ragged_order_names[p->shards->options.order])
COLUMN_TEXT_OF (Row, largest_unit, p->size->largest->name)
COLUMN_NUMBER_OF (Row, tp, mesh_of (p)->tp)
COLUMN_NUMBER_OF (Row, ep, mesh_of (p)->ep)
COLUMN_NUMBER_OF (Row, padding, 100 * shard_size_padding (p->size))
COLUMN_NUMBER_OF (Row, largest_elements, p->size->largest->elements)
COLUMN_NUMBER_OF (Row, largest_padding, 100 * shard_size_largest_padding (p->size))

static const Column size_columns[] = {
  { "model", NULL, COLUMN_WORD, 0, .text = model },
  { "format", "format", COLUMN_WORD, 0, .text = format, .about = "`rows`, `ragged`, ..." },
  { "ranks", "ranks", COLUMN_COUNT, 0, COLUMN_VIA (Row, size, ranks), .unit = "ranks",
    .about = "that share the parameters" },
  { "padding_percent", "padding", COLUMN_PERCENT, 0, .number = padding, .show = show_padding,
    .about = "what is added to all units, over their elements" },
  { "bytes_per_rank", "a rank", COLUMN_BYTES, 0, COLUMN_VIA (Row, size, rank_bytes),
    .about = "a rank's shards of all units" },
  { "largest_unit", "largest unit", COLUMN_WORD, 0, .text = largest_unit,
    .about = "of which most is gathered at once: `block 0 to 35`" },
  { "gathered_bytes", "gathered", COLUMN_BYTES, 0, COLUMN_VIA (Row, size, largest_bytes),
    .show = show_gathered, .about = "of it, padding included" },
  { "gathered_padding_percent", NULL, COLUMN_PERCENT, 0, .number = largest_padding,
    .about = "of it" },
  { "units", NULL, COLUMN_COUNT, 0, COLUMN_VIA (Row, size, n_units) },
  { "misaligned_units", "misaligned", COLUMN_COUNT, 0, COLUMN_VIA (Row, size, n_misaligned),
    .show = show_misaligned, .about = "of them, whose bytes a rank are no multiple of 16" },
  { "copied_bytes_per_step", "copies", COLUMN_BYTES, 0, COLUMN_VIA (Row, size, copied_bytes),
    .show = show_copied,
    .about = "read and written to have tensors in order; 0: collectives work in place" },
  { "elements", NULL, COLUMN_NUMBER, 0, COLUMN_VIA (Row, size, elements), .about = "of all units" },
  { "padded_elements", NULL, COLUMN_NUMBER, 0, COLUMN_VIA (Row, size, padded),
    .about = "the same with padding" },
  { "largest_unit_elements", NULL, COLUMN_NUMBER, 0, .number = largest_elements,
    .about = "without padding" },
  { "block", NULL, COLUMN_WORD, 0, .text = block, .about = "as given; empty: a row" },
  { "order", NULL, COLUMN_WORD, 0, .text = order, .about = "of tensors in `ragged` buffers" },
  { "experts_apart", NULL, COLUMN_BOOL, 0, COLUMN_VIA (Row, shards, options.experts_apart) },
  { "tp", NULL, COLUMN_NUMBER, 0, .number = tp, .unit = "ranks" },
  { "ep", NULL, COLUMN_NUMBER, 0, .number = ep, .unit = "ranks" },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- layout ---------------------------------------------------------------------------------- */

static const char *
layout_note (const Shards *self)
{
  return shards_have_buffers (self)
             ? "Elements of a unit's buffer, which the ranks share in equal stretches; padding "
               "stands before its tensor."
             : "Elements of a rank's shard, in which its parts of all tensors follow each other; "
               "padding is what is added to the tensor, over all ranks.";
}

/* "4096 x 1024". */
static const char *
tensor_shape (const Column *column, gconstpointer row)
{
  const TensorDesc   *tensor = ((const ShardPlace *) row)->tensor;
  g_autoptr (GString) out = g_string_new (NULL);

  (void) column;
  if (tensor == NULL)
    return NULL;
  for (guint d = 0; d < tensor->n_dims; d++)
    g_string_append_printf (out, "%s%" G_GUINT64_FORMAT, d > 0 ? " x " : "", tensor->shape[d]);
  return intern_text (out->str);
}

static char *
show_tensor (const Column *column, gconstpointer row)
{
  const char *name = column_text (column, row);

  return g_strdup (name != NULL ? name : "(padding)");
}

static char *
show_ranks (const Column *column, gconstpointer row)
{
  const ShardPlace *place = row;

  (void) column;
  return place->last_rank > place->first_rank
             ? g_strdup_printf ("%u - %u", place->first_rank, place->last_rank)
             : g_strdup_printf ("%u", place->first_rank);
}

static char *
show_block (const Column *column, gconstpointer row)
{
  const ShardPlace *place = row;

  (void) column;
  return place->block > 0 ? g_strdup_printf ("%" G_GUINT64_FORMAT, place->block) : g_strdup ("");
}

COLUMN_TEXT_OF (ShardPlace, tensor_name, p->tensor != NULL ? p->tensor->name : NULL)

static const Column place_columns[] = {
  { "unit", "unit", COLUMN_WORD, 0, COLUMN_VIA (ShardPlace, unit, name) },
  { "units", NULL, COLUMN_COUNT, 0, COLUMN_VIA (ShardPlace, unit, n) },
  { "tensor", "tensor", COLUMN_WORD, 0, .text = tensor_name, .show = show_tensor },
  { "shape", "shape", COLUMN_WORD, 0, .text = tensor_shape },
  { "block", "block", COLUMN_COUNT, 0, COLUMN_MEMBER (ShardPlace, block), .show = show_block },
  { "start", "start", COLUMN_COUNT, 0, COLUMN_MEMBER (ShardPlace, start) },
  { "end", "end", COLUMN_COUNT, 0, COLUMN_MEMBER (ShardPlace, end) },
  { "first_rank", "ranks", COLUMN_COUNT, 0, COLUMN_MEMBER (ShardPlace, first_rank),
    .show = show_ranks },
  { "last_rank", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (ShardPlace, last_rank) },
  { "rank_elements", "on one", COLUMN_COUNT, 0, COLUMN_MEMBER (ShardPlace, rank_elements) },
  { "padding", "padding", COLUMN_COUNT, 0, COLUMN_MEMBER (ShardPlace, padding) },
  { 0 },
};

/* ---- the answer ------------------------------------------------------------------------------ */

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

static void
add_json (struct json_object *root, const Shards *self)
{
  struct json_object *advice = json_object_new_array ();

  json_object_object_add (root, "layout",
                          column_list (place_columns, rows_of_array (self->places)));
  for (guint i = 0; i < self->advice->len; i++)
    json_object_array_add (advice, advice_json (&g_array_index (self->advice, ShardAdvice, i)));
  json_object_object_add (root, "advice", advice);
}

static void
describe_advice (Document *document, const Shards *self)
{
  const guint most = document_page (document) != NULL ? self->advice->len : MOST_ADVICE;

  document_section (document, "What to do where much is padded");
  for (guint i = 0; i < MIN (self->advice->len, most); i++)
    {
      g_autofree char *words = shards_advice (&g_array_index (self->advice, ShardAdvice, i));

      document_line (document, "%s.", words);
    }
  if (self->advice->len > most)
    document_line (document, "%u more: --format json has them all.", self->advice->len - most);
}

static void
describe (Document *document, gconstpointer answer)
{
  const Shards        *self = answer;
  const guint          n = self->sizes->len;
  g_autofree char     *summary = n > 0 ? shards_summary (self) : NULL;
  g_autofree Row      *rows = g_new (Row, n);
  g_autofree HtmlTone *tones = g_new (HtmlTone, n);
  const TableBlock     block = { size_columns, { rows, n, sizeof (Row) }, NULL };

  for (guint i = 0; i < n; i++)
    {
      const double share = shard_size_padding (size_at (self, i));

      rows[i] = (Row){ self, size_at (self, i) };
      tones[i] = share > SHARDS_MUCH ? HTML_BAD : share < SHARDS_LITTLE ? HTML_GOOD : HTML_PLAIN;
    }
  if (n > 0)
    {
      document_title (document, "Shards of %s", workload_shape (self->options.workload)->name);
      document_lines (document, summary);
    }
  document_section (document, "Padding");
  document_picture (document, PICTURE_PADDING);
  document_blocks (document, &block, 1, tones);
  document_line (document, "Gathered: the largest unit with its padding. Misaligned: units whose "
                           "bytes a rank are no multiple of NCCL's 16. Copies: read and written a "
                           "step.");
  for (guint f = 0; f < self->options.n_formats; f++)
    document_fact (document, self->options.formats[f]->name,
                   g_strdup (self->options.formats[f]->title), NULL);
  if (self->advice->len > 0)
    describe_advice (document, self);
  if (self->places->len > 0)
    {
      document_section (document, "Layout");
      document_line (document, "%s", layout_note (self));
      document_table (document, place_columns, rows_of_array (self->places));
    }
  document_results (document, "results", size_columns, block.rows);
  if (document_json (document) != NULL)
    add_json (document_json (document), self);
}

const PageKind shards_page = { .draw = draw, .describe = describe, .columns = size_columns };
