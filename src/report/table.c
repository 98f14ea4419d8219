/* `compare`: one table a model, and why each row differs from the first. */
#include <libsmartcols.h>

#include "report/report.h"

static char *
gib (double bytes)
{
  return g_strdup_printf ("%.1f GiB", bytes / 1073741824.0);
}

static char *
cell_strategy (const Prediction *p)
{
  return g_strdup (p->strategy);
}

static char *
cell_scenario (const Prediction *p)
{
  return g_strdup (p->scenario);
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

static const struct
{
  const char *title;
  char *(*cell) (const Prediction *p);
  gboolean right;
} columns[] = {
  { "STRATEGY", cell_strategy, FALSE },   { "STEP", cell_step, TRUE },
  { "TOKENS/S/GPU", cell_tokens, TRUE },  { "MFU", cell_mfu, TRUE },
  { "PEAK HBM", cell_hbm, TRUE },         { "PEAK HOST", cell_host, TRUE },
  { "INTER-NODE/GPU", cell_inter, TRUE }, { "EXPOSED COMM", cell_exposed, TRUE },
  { "BINDS", cell_binding, FALSE },
};

/* Rows are told apart by their strategies where these differ, otherwise by the scenarios' names. */
static gboolean
strategies_differ (const GPtrArray *predictions, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    for (guint j = first; j < i; j++)
      if (g_str_equal (((const Prediction *) g_ptr_array_index (predictions, i))->strategy,
                       ((const Prediction *) g_ptr_array_index (predictions, j))->strategy))
        return FALSE;
  return TRUE;
}

static void
append_table (const GPtrArray *predictions, guint first, guint end, GString *out)
{
  struct libscols_table *table = scols_new_table ();
  gboolean               by_strategy = strategies_differ (predictions, first, end);
  char                  *text = NULL;

  g_assert (table != NULL);
  scols_table_enable_noencoding (table, TRUE);
  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    scols_table_new_column (table, c == 0 && !by_strategy ? "SCENARIO" : columns[c].title, 0,
                            columns[c].right ? SCOLS_FL_RIGHT : 0);
  for (guint i = first; i < end; i++)
    {
      struct libscols_line *line = scols_table_new_line (table, NULL);

      for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
        {
          const Prediction *p = g_ptr_array_index (predictions, i);
          g_autofree char  *cell = c == 0 && !by_strategy ? cell_scenario (p) : columns[c].cell (p);

          scols_line_set_data (line, c, cell);
        }
    }
  if (scols_print_table_to_string (table, &text) == 0)
    g_string_append (out, text);
  if (out->len > 0 && out->str[out->len - 1] != '\n')
    g_string_append_c (out, '\n');
  free (text);
  scols_unref_table (table);
}

static void
append_misfits (const GPtrArray *predictions, guint first, guint end, GString *out)
{
  for (guint i = first; i < end; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      const struct
      {
        const char      *tier;
        const MemoryUse *use;
      } tiers[] = { { "GPU memory", &p->hbm }, { "host memory", &p->host } };

      for (guint t = 0; t < G_N_ELEMENTS (tiers); t++)
        if (!tiers[t].use->fits)
          {
            g_autofree char *excess =
                quantity_format (QUANTITY_BYTES, (double) tiers[t].use->excess, 3);

            g_string_append_printf (out, "! %s does not fit: %s too much in the %s of %s at '%s'\n",
                                    p->scenario, excess, tiers[t].tier, tiers[t].use->place,
                                    tiers[t].use->peak_op);
          }
    }
}

/* --interval: what the ranges of the hardware figures imply for each row. */
static void
append_intervals (const GPtrArray *predictions, guint first, guint end, GString *out)
{
  for (guint i = first; i < end; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      g_autofree char  *low = quantity_format (QUANTITY_TIME, p->step_time_low_s, 4);
      g_autofree char  *high = quantity_format (QUANTITY_TIME, p->step_time_high_s, 4);

      if (p->step_time_high_s > 0)
        g_string_append_printf (out, "~ %s: %s to %s over the ranges of the hardware figures\n",
                                p->scenario, low, high);
    }
}

static void
append_reasons (const GPtrArray *predictions, guint first, guint end, GString *out)
{
  const Prediction *reference = g_ptr_array_index (predictions, first);

  for (guint i = first + 1; i < end; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);
      g_auto (GStrv)    reasons = compare_explain (reference, p);

      g_string_append_printf (out, "\n%s against %s\n", p->scenario, reference->scenario);
      for (guint r = 0; reasons[r] != NULL; r++)
        g_string_append_printf (out, "  - %s\n", reasons[r]);
    }
}

static gboolean
same_group (const Prediction *a, const Prediction *b)
{
  return g_str_equal (a->model, b->model) && g_str_equal (a->cluster, b->cluster);
}

void
report_comparison_text (const GPtrArray *predictions, GString *out)
{
  guint end;

  for (guint first = 0; first < predictions->len; first = end)
    {
      const Prediction *p = g_ptr_array_index (predictions, first);

      for (end = first + 1; end < predictions->len; end++)
        if (!same_group (p, g_ptr_array_index (predictions, end)))
          break;
      g_string_append_printf (out, "%s%s on %s\n\n", first > 0 ? "\n\n" : "", p->model, p->cluster);
      append_table (predictions, first, end, out);
      append_misfits (predictions, first, end, out);
      append_intervals (predictions, first, end, out);
      append_reasons (predictions, first, end, out);
    }
  g_string_append (
      out,
      "\nMFU counts model FLOPs; peaks are what the driver reports; inter-node bytes are payload sent.\n");
}
