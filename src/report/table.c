/* `compare`: one table, and why its rows differ. */
#include "base/printable.h"
#include "report/comparison-private.h"
#include "report/differences-private.h"
#include "report/report.h"
#include "report/terminal-private.h"

static char *
gib (double bytes)
{
  return g_strdup_printf ("%.1f GiB", bytes / 1073741824.0);
}

static char *
cell_step (const Prediction *p)
{
  return quantity_format (QUANTITY_TIME, p->step_time_s, 4);
}

static char *
cell_tokens (const Prediction *p)
{
  return g_strdup_printf ("%.1f", p->tokens_per_s_per_gpu);
}

static char *
cell_mfu (const Prediction *p)
{
  return g_strdup_printf ("%.1f %%", p->mfu_percent);
}

static char *
cell_hbm (const Prediction *p)
{
  g_autofree char *text = gib ((double) p->hbm.device);

  return g_strdup_printf ("%s%s", text, p->hbm.fits ? "" : " !");
}

static char *
cell_host (const Prediction *p)
{
  g_autofree char *text = gib ((double) p->host.device);

  return g_strdup_printf ("%s%s", text, p->host.fits ? "" : " !");
}

static char *
cell_inter (const Prediction *p)
{
  return quantity_format (QUANTITY_BYTES, p->inter_node_bytes_per_gpu, 4);
}

static char *
cell_exposed (const Prediction *p)
{
  return quantity_format (QUANTITY_TIME, p->exposed_comm_s, 4);
}

static char *
cell_binding (const Prediction *p)
{
  return g_strdup (p->binding_resource);
}

static char *
cell_low (const Prediction *p)
{
  return quantity_format (QUANTITY_TIME, p->step_time_low_s, 4);
}

static char *
cell_high (const Prediction *p)
{
  return quantity_format (QUANTITY_TIME, p->step_time_high_s, 4);
}

static gboolean
has_interval (const Prediction *p)
{
  return p->step_time_high_s > 0;
}

static gboolean
uses_host_memory (const Prediction *p)
{
  return p->host.device > 0;
}

#define VALUE(name, expression) FIELD_NUMBER_OF (Prediction, value_##name, expression)

VALUE (step, p->step_time_s)
VALUE (low, p->step_time_low_s)
VALUE (high, p->step_time_high_s)
VALUE (tokens, p->tokens_per_s_per_gpu)
VALUE (mfu, p->mfu_percent)
VALUE (hbm, p->hbm.device)
VALUE (host, p->host.device)
VALUE (inter, p->inter_node_bytes_per_gpu)
VALUE (exposed, p->exposed_comm_s)

static const ComparisonColumn columns[] = {
  { "STEP", cell_step, value_step, NULL },
  { "LOW", cell_low, value_low, has_interval },
  { "HIGH", cell_high, value_high, has_interval },
  { "TOKENS/S/GPU", cell_tokens, value_tokens, NULL },
  { "MFU", cell_mfu, value_mfu, NULL },
  { "PEAK HBM", cell_hbm, value_hbm, NULL },
  { "PEAK HOST", cell_host, value_host, uses_host_memory },
  { "INTER-NODE/GPU", cell_inter, value_inter, NULL },
  { "EXPOSED COMM", cell_exposed, value_exposed, NULL },
  { "BINDS", cell_binding, NULL, NULL },
};

static gboolean
any_has (const GPtrArray *predictions, gboolean (*has) (const Prediction *p))
{
  for (guint i = 0; i < predictions->len; i++)
    if (has (g_ptr_array_index (predictions, i)))
      return TRUE;
  return FALSE;
}

gboolean *
comparison_best (const GPtrArray *predictions)
{
  gboolean              *best = g_new0 (gboolean, predictions->len);
  g_autoptr (GHashTable) counts = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) winners = g_hash_table_new (g_str_hash, g_str_equal); /* index + 1 */

  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      guint             winner = GPOINTER_TO_UINT (g_hash_table_lookup (winners, p->model));
      guint             count = GPOINTER_TO_UINT (g_hash_table_lookup (counts, p->model));

      g_hash_table_insert (counts, p->model, GUINT_TO_POINTER (count + 1));
      if (p->fits
          && (winner == 0
              || ((const Prediction *) g_ptr_array_index (predictions, winner - 1))
                         ->tokens_per_s_per_gpu
                     < p->tokens_per_s_per_gpu))
        g_hash_table_insert (winners, p->model, GUINT_TO_POINTER (i + 1));
    }
  for (guint i = 0; i < predictions->len; i++)
    {
      const char *model = ((const Prediction *) g_ptr_array_index (predictions, i))->model;

      best[i] = GPOINTER_TO_UINT (g_hash_table_lookup (counts, model)) > 1
                && GPOINTER_TO_UINT (g_hash_table_lookup (winners, model)) == i + 1;
    }
  return best;
}

GPtrArray *
comparison_columns (const GPtrArray *predictions)
{
  GPtrArray *shown = g_ptr_array_new ();

  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    if (columns[c].has == NULL || any_has (predictions, columns[c].has))
      g_ptr_array_add (shown, (gpointer) &columns[c]);
  return shown;
}

static const ComparisonColumn *
result_at (const GPtrArray *results, guint i)
{
  return g_ptr_array_index (results, i);
}

static const DifferenceColumn *
difference_at (const GPtrArray *differences, guint i)
{
  return g_ptr_array_index (differences, i);
}

static void
append_table (const GPtrArray *predictions, const gboolean *best, GString *out)
{
  g_autoptr (GPtrArray)      differences = differences_find (predictions);
  g_autoptr (GPtrArray)      results = comparison_columns (predictions);
  guint                      n = 2 + differences->len + results->len, at = 0;
  g_autofree TerminalColumn *titles = g_new0 (TerminalColumn, n);
  struct libscols_table     *table;

  titles[at++].title = ""; /* marks the best */
  titles[at++].title = "SCENARIO";
  for (guint d = 0; d < differences->len; d++)
    titles[at++] = (TerminalColumn){ difference_at (differences, d)->title,
                                     difference_at (differences, d)->right };
  for (guint r = 0; r < results->len; r++)
    titles[at++] =
        (TerminalColumn){ result_at (results, r)->title, result_at (results, r)->value != NULL };
  table = terminal_table_new (titles, n);
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      g_autofree char **cells = g_new0 (char *, n + 1);

      at = 0;
      cells[at++] = g_strdup (best[i] ? "*" : "");
      cells[at++] = g_strdup (p->scenario);
      for (guint d = 0; d < differences->len; d++)
        cells[at++] = g_strdup (difference_at (differences, d)->cells[i]);
      for (guint r = 0; r < results->len; r++)
        cells[at++] = result_at (results, r)->cell (p);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

/* What the marks of the table mean, each where it is there. */
static void
append_legend (const GPtrArray *predictions, const gboolean *best, gboolean explained, GString *out)
{
  gboolean any = FALSE, misfit = FALSE, several_models = FALSE;

  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);

      any |= best[i];
      misfit |= !p->fits;
      several_models |=
          !g_str_equal (p->model, ((const Prediction *) g_ptr_array_index (predictions, 0))->model);
    }
  if (any || misfit || (predictions->len > 1 && !explained))
    g_string_append_c (out, '\n');
  if (any)
    g_string_append_printf (out, "* the most tokens/s/GPU of what fits%s\n",
                            several_models ? ", of each model" : "");
  if (misfit && !explained)
    g_string_append (out, "! does not fit\n");
  if (predictions->len > 1 && !explained)
    g_string_append_printf (out, "--explain says %swhy each row differs from the first%s\n",
                            misfit ? "by how much, and " : "",
                            several_models ? " of its model" : "");
}

/* Tokens of such rows are worth another amount than those of synchronous training. */
void
comparison_append_caveats (const GPtrArray *predictions, GString *out)
{
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      g_autofree char  *name = printable_name (p->scenario);

      if (p->caveats != NULL)
        g_string_append_printf (out, "~ %s: %s\n", name, p->caveats);
    }
}

void
comparison_append_misfits (const GPtrArray *predictions, GString *out)
{
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      const struct
      {
        const char      *tier;
        const MemoryUse *use;
      } tiers[] = { { "GPU memory", &p->hbm },
                    { "host memory", &p->host },
                    { "NVMe drives", &p->drives } };

      for (guint t = 0; t < G_N_ELEMENTS (tiers); t++)
        if (!tiers[t].use->fits)
          {
            g_autofree char *excess =
                quantity_format (QUANTITY_BYTES, (double) tiers[t].use->excess, 3);
            g_autofree char *name = printable_name (p->scenario);

            g_string_append_printf (out, "! %s does not fit: %s too much in the %s of %s at '%s'\n",
                                    name, excess, tiers[t].tier, tiers[t].use->place,
                                    tiers[t].use->peak_op);
          }
    }
}

/* The first prediction of the model of number I. */
static const Prediction *
reference_of (const GPtrArray *predictions, guint i)
{
  const Prediction *p = g_ptr_array_index (predictions, i), *first;
  guint             at = 0;

  do
    first = g_ptr_array_index (predictions, at++);
  while (!g_str_equal (first->model, p->model));
  return first;
}

void
comparison_append_reasons (const GPtrArray *predictions, GString *out)
{
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      const Prediction *reference = reference_of (predictions, i);
      g_autofree char  *name = printable_name (p->scenario);
      g_autofree char  *first = printable_name (reference->scenario);
      g_auto (GStrv)    reasons = NULL;

      if (p == reference)
        continue;
      reasons = compare_explain (reference, p);
      g_string_append_printf (out, "\n%s against %s\n", name, first);
      for (guint r = 0; reasons[r] != NULL; r++)
        g_string_append_printf (out, "  - %s\n", reasons[r]);
    }
}

static void
append_comparison (const GPtrArray *predictions, gboolean explained, GString *out)
{
  g_autofree gboolean *best = comparison_best (predictions);

  differences_append_common (predictions, out);
  append_table (predictions, best, out);
  append_legend (predictions, best, explained, out);
  comparison_append_caveats (predictions, out);
  if (explained)
    {
      comparison_append_misfits (predictions, out);
      comparison_append_reasons (predictions, out);
    }
  g_string_append (
      out,
      "\nMFU counts model FLOPs; peaks are what the driver reports; inter-node bytes are payload "
      "sent.\n");
}

void
report_comparison_text (const GPtrArray *predictions, GString *out)
{
  append_comparison (predictions, FALSE, out);
}

void
report_comparison_explained (const GPtrArray *predictions, GString *out)
{
  append_comparison (predictions, TRUE, out);
}
