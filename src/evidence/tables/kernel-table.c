#include "evidence/tables/kernel-table.h"

#include <math.h>
#include <string.h>

#include "base/config/csv-values.h"
#include "base/file/same-file.h"
#include "base/intern.h"

/* Above it a size or a time is a slip: no kernel of a GPU's memory is larger, or runs longer. */
#define MOST_SIZE    1000000000
#define MOST_SECONDS 100

typedef struct
{
  const char *column, *word; /* as a shape is written */
  gboolean    may_be_zero;
} SizeColumn;

static const struct
{
  const char *name, *dtype, *variant;
  SizeColumn  sizes[KERNEL_TABLE_MOST_SIZES + 1];
} kinds[KERNEL_TABLE_N_KINDS] = {
  [KERNEL_TABLE_PRODUCTS] = { "products",
                              "gemm_dtype",
                              NULL,
                              { { "m", "m", FALSE }, { "n", "n", FALSE }, { "k", "k", FALSE } } },
  [KERNEL_TABLE_PREFILL] = { "attention forward",
                             "attn_dtype",
                             "kv_cache_dtype",
                             { { "batch_size", "batch", FALSE },
                               { "isl", "length", FALSE },
                               { "num_heads", "heads", FALSE },
                               { "num_key_value_heads", "kv heads", FALSE },
                               { "head_dim", "head size", FALSE },
                               { "window_size", "window", TRUE } } },
  [KERNEL_TABLE_DECODE] = { "attention decode",
                            "attn_dtype",
                            "kv_cache_dtype",
                            { { "batch_size", "batch", FALSE },
                              { "step", "cache", TRUE },
                              { "num_heads", "heads", FALSE },
                              { "num_key_value_heads", "kv heads", FALSE },
                              { "head_dim", "head size", FALSE },
                              { "window_size", "window", TRUE } } },
  [KERNEL_TABLE_EXPERTS] = { "experts",
                             "moe_dtype",
                             "distribution",
                             { { "num_tokens", "tokens", FALSE },
                               { "hidden_size", "hidden", FALSE },
                               { "inter_size", "inner", FALSE },
                               { "topk", "top", FALSE },
                               { "num_experts", "experts", FALSE },
                               { "moe_tp_size", "tensor ranks", FALSE },
                               { "moe_ep_size", "expert ranks", FALSE } } },
};

const char *
kernel_table_kind_name (KernelTableKind kind)
{
  g_assert ((guint) kind < KERNEL_TABLE_N_KINDS);
  return kinds[kind].name;
}

char *
kernel_row_shape (const KernelRow *self)
{
  const SizeColumn *sizes = kinds[self->kind].sizes;
  GString          *out = g_string_new (NULL);

  for (guint i = 0; sizes[i].column != NULL; i++)
    g_string_append_printf (out, "%s%s %" G_GUINT64_FORMAT, i == 0 ? "" : ", ", sizes[i].word,
                            self->size[i]);
  if (*self->variant != '\0')
    g_string_append_printf (out, ", %s", self->variant);
  return g_string_free (out, FALSE);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Places of the columns of one table. */
typedef struct
{
  KernelTableKind kind;
  gint            gpu, dtype, variant, source, time, sizes[KERNEL_TABLE_MOST_SIZES];
} Places;

/* Times in microseconds: another unit is in another column. */
static gint
find_time (const CsvReader *reader, DiagList *diags)
{
  static const char *const others[] = { "time_ms", "time_s", "time_ns", "latency", "latency_ms" };
  const gint               place = csv_reader_find (reader, "time_us");

  for (guint i = 0; place < 0 && i < G_N_ELEMENTS (others); i++)
    if (csv_reader_find (reader, others[i]) >= 0)
      {
        g_autofree char *hint = g_strdup_printf ("it has '%s': convert it", others[i]);

        csv_reader_missing (reader, "time_us", hint, diags);
        return -1;
      }
  return place >= 0 ? place : csv_reader_require (reader, "time_us", NULL, diags);
}

/* FALSE after a diagnostic. Decode and prefill share a type's column: a size tells them apart. */
static gboolean
find_kind (const CsvReader *reader, KernelTableKind *kind, DiagList *diags)
{
  const SourceMark mark = csv_reader_mark (reader, 0);

  for (guint k = 0; k < KERNEL_TABLE_N_KINDS; k++)
    if (csv_reader_find (reader, kinds[k].dtype) >= 0
        && (k != KERNEL_TABLE_PREFILL || csv_reader_find (reader, "step") < 0))
      {
        *kind = (KernelTableKind) k;
        return TRUE;
      }
  diag_error (diags, &mark, "see 'shardsim validate kernels --help'",
              "no table of measured kernels: it has none of the columns 'gemm_dtype', "
              "'attn_dtype', 'moe_dtype'");
  return FALSE;
}

static gboolean
find_places (const CsvReader *reader, Places *self, DiagList *diags)
{
  const guint n_errors = diag_list_n_errors (diags);

  if (!find_kind (reader, &self->kind, diags))
    return FALSE;
  self->gpu = csv_reader_require (reader, "gpu", NULL, diags);
  self->dtype = csv_reader_find (reader, kinds[self->kind].dtype);
  self->variant = kinds[self->kind].variant != NULL
                      ? csv_reader_require (reader, kinds[self->kind].variant, NULL, diags)
                      : -1;
  self->source = csv_reader_find (reader, "kernel_source");
  self->time = find_time (reader, diags);
  for (guint i = 0; kinds[self->kind].sizes[i].column != NULL; i++)
    self->sizes[i] = csv_reader_require (reader, kinds[self->kind].sizes[i].column, NULL, diags);
  return diag_list_n_errors (diags) == n_errors;
}

static const char *
read_word (const CsvReader *reader, gint place, DiagList *diags)
{
  const char *text = csv_reader_field (reader, (guint) place);
  SourceMark  mark = csv_reader_mark (reader, (guint) place);

  if (*text == '\0')
    diag_error (diags, &mark, NULL, "column '%s' is empty",
                csv_reader_column (reader, (guint) place));
  return intern_text (text);
}

/* What the measured rank's experts get, of a row that is otherwise read. */
static ExpertLoads
loads_of (const KernelRow *row)
{
  const ExpertRouting routing = { .tokens = (double) row->size[EXPERTS_TOKENS],
                                  .topk = (double) row->size[EXPERTS_TOPK],
                                  .experts = (double) row->size[EXPERTS_EXPERTS],
                                  .ranks = (double) row->size[EXPERTS_RANKS] };
  ExpertLoads         loads = { 0 };

  return expert_loads (&routing, row->variant, &loads) ? loads : (ExpertLoads){ 0 };
}

static void
read_row (const CsvReader *reader, const Places *places, GArray *rows, DiagList *diags)
{
  const guint       n_errors = diag_list_n_errors (diags);
  const SizeColumn *sizes = kinds[places->kind].sizes;
  KernelRow         row = { .kind = places->kind, .variant = "" };

  row.gpu = read_word (reader, places->gpu, diags);
  row.dtype = read_word (reader, places->dtype, diags);
  if (places->variant >= 0)
    row.variant = read_word (reader, places->variant, diags);
  for (guint i = 0; sizes[i].column != NULL; i++)
    {
      const double value = csv_reader_number (reader, places->sizes[i],
                                              sizes[i].may_be_zero ? 0 : 1, MOST_SIZE, TRUE, diags);

      row.size[i] = isnan (value) ? 0 : (guint64) value;
    }
  row.ungated = places->source >= 0
                && strstr (csv_reader_field (reader, (guint) places->source), "nongated") != NULL;
  row.seconds =
      1e-6 * csv_reader_number (reader, places->time, 1e-3, 1e6 * MOST_SECONDS, FALSE, diags);
  if (diag_list_n_errors (diags) != n_errors)
    return;
  if (row.kind == KERNEL_TABLE_EXPERTS)
    row.loads = loads_of (&row);
  g_array_append_val (rows, row);
}

static void
load_file (const char *file, GArray *rows, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  const guint           before = rows->len, n_errors = diag_list_n_errors (diags);
  Places                places = { 0 };

  if (reader == NULL || !find_places (reader, &places, diags))
    return;
  while (csv_reader_next (reader, diags))
    read_row (reader, &places, rows, diags);
  if (rows->len == before && diag_list_n_errors (diags) == n_errors)
    {
      SourceMark mark = csv_reader_mark (reader, 0);

      mark.column = mark.length = 0;
      diag_error (diags, &mark, NULL, "no kernels under the header");
    }
}

GArray *
kernel_tables_load (char *const *files, DiagList *diags)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (KernelRow));
  const guint        n_errors = diag_list_n_errors (diags);

  for (guint i = 0; files[i] != NULL; i++)
    if (file_is_repeated ((const char *const *) files, i))
      diag_error (diags, NULL, NULL, "'%s' is given twice", files[i]);
    else
      load_file (files[i], rows, diags);
  return diag_list_n_errors (diags) == n_errors ? g_steal_pointer (&rows) : NULL;
}
