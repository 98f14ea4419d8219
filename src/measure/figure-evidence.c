#include "measure/figure-evidence.h"

#include <math.h>

/* Takes ROW. Without a published number it is no evidence; without a prediction LOW is NAN. */
static void
add (GArray *evidence, char *row, const char *metric, double published, double low, double high)
{
  const FigureEvidence one = { row, metric, published, published, low, high, TRUE };

  if (published > 0)
    g_array_append_val (evidence, one);
  else
    g_free (row);
}

GArray *
figures_evidence (const Figures *self)
{
  GArray *evidence = figure_evidence_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const FigureRow     *row = &g_array_index (self->rows, FigureRow, i);
      const FigureEvidence one = { .row = g_strdup (row->row),
                                   .metric = row->title,
                                   .published = row->published,
                                   .published_high = row->published_high,
                                   .low = row->n_used > 0 ? row->low : NAN,
                                   .high = row->high,
                                   .fits = !row->misfits };

      if (!isnan (row->published))
        g_array_append_val (evidence, one);
      else
        g_free (one.row);
    }
  return evidence;
}

GArray *
figure_region_evidence (const FigureRegion *self)
{
  return figures_evidence (self->figures);
}

GArray *
figure_curves_evidence (const FigureCurves *self)
{
  GArray *evidence = figure_evidence_new ();

  for (guint i = 0; i < self->panels->len; i++)
    {
      const CurvePanel *panel = &g_array_index (self->panels, CurvePanel, i);
      double            low, high;

      curve_range (panel, &low, &high);
      add (evidence, g_strdup (panel->figure), panel->metric, panel->published,
           low <= high ? low : NAN, high);
    }
  return evidence;
}

GArray *
figure_memband_evidence (const FigureMemband *self)
{
  GArray *evidence = figure_evidence_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = &g_array_index (self->rows, MembandRow, i);

      if (row->part == MEMBAND_MEASURED)
        add (evidence, g_strdup_printf ("%s, %.0f GPUs", row->name, row->cluster.n_ranks),
             "step_time_s", row->measured, row->simulated, row->simulated);
    }
  return evidence;
}

/* How far the worst number of a statement is from what was said. */
GArray *
figure_padding_evidence (const FigurePadding *self)
{
  GArray *evidence = figure_evidence_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const PaddingRow *row = &g_array_index (self->rows, PaddingRow, i);
      const double      published = row->published > 0 ? row->published : 1;
      const double      met = row->holds ? published : published * (1 + row->error);

      if (!isnan (row->error))
        add (evidence, g_strdup (row->row), row->quantity, published, met, met);
    }
  return evidence;
}

GArray *
figure_scaling_evidence (const FigureScaling *self)
{
  GArray *evidence = figure_evidence_new ();

  for (guint i = 0; i < self->points->len; i++)
    {
      const ScalingPoint *point = &g_array_index (self->points, ScalingPoint, i);

      add (evidence, g_strdup (point->id), scaling_part_name (point->part), point->measured,
           point->predicted, point->predicted);
    }
  return evidence;
}

GArray *
figure_utilisation_evidence (const FigureUtilisation *self)
{
  GArray *evidence = figure_evidence_new ();

  for (guint i = 0; i < self->rows->len; i++)
    for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
      {
        const UtilisationRow *row = &g_array_index (self->rows, UtilisationRow, i);
        const guint           rate = row->predicted[t];
        const double          met = rate < UTILISATION_N_RATES ? utilisation_rate (rate) : NAN;

        add (evidence,
             g_strdup_printf ("%s, %s, %.0f %%", row->model, row->method,
                              100 * utilisation_targets[t]),
             "gbit_per_s", row->published[t] / 1e9, met / 1e9, met / 1e9);
      }
  return evidence;
}
