/* Measured against predicted bus bandwidth, drawn by gnuplot. */
#include <string.h>

#include "report/plot/gnuplot-private.h"
#include "report/validation/validate.h"

#define GB       1e9
#define OVERVIEW "overview"

/* The rows of one run that could be simulated: pointers into the validation. */
typedef struct
{
  char      *name; /* of its files */
  GPtrArray *rows;
} Run;

static void
run_free (gpointer data)
{
  Run *self = data;

  g_free (self->name);
  g_ptr_array_unref (self->rows);
  g_free (self);
}

static gboolean
is_taken (const char *name, const GPtrArray *runs)
{
  for (guint i = 0; i < runs->len; i++)
    if (strcmp (((const Run *) g_ptr_array_index (runs, i))->name, name) == 0)
      return TRUE;
  return strcmp (name, OVERVIEW) == 0;
}

/* The run's id as a file name, unlike those of RUNS. */
static char *
file_name (const char *id, const GPtrArray *runs)
{
  GString *name = g_string_new (id);

  for (char *c = name->str; *c != '\0'; c++)
    if (!g_ascii_isalnum (*c) && strchr ("-_", *c) == NULL)
      *c = '_';
  while (is_taken (name->str, runs))
    g_string_append_c (name, '_');
  return g_string_free (name, FALSE);
}

static const char *
run_id (const Run *run)
{
  return ((const ValidatedRow *) g_ptr_array_index (run->rows, 0))->measured->id;
}

static void
add_to_run (GPtrArray *runs, const ValidatedRow *row)
{
  Run *run = NULL;

  for (guint i = 0; i < runs->len && run == NULL; i++)
    if (strcmp (run_id (g_ptr_array_index (runs, i)), row->measured->id) == 0)
      run = g_ptr_array_index (runs, i);
  if (run == NULL)
    {
      run = g_new0 (Run, 1);
      run->name = file_name (row->measured->id, runs);
      run->rows = g_ptr_array_new ();
      g_ptr_array_add (runs, run);
    }
  g_ptr_array_add (run->rows, (gpointer) row);
}

static GPtrArray *
runs_of (const CollectiveValidation *self)
{
  GPtrArray *runs = g_ptr_array_new_with_free_func (run_free);

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedRow *row = &g_array_index (self->rows, ValidatedRow, i);

      if (row->reason == NULL)
        add_to_run (runs, row);
    }
  return runs;
}

/* ---- data ------------------------------------------------------------------------------------ */

static void
append_numbers (GString *out, const double *numbers, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *text = number_format_exact (numbers[i]);

      g_string_append_printf (out, "%s%c", text, i + 1 < n ? ' ' : '\n');
    }
}

static char *
run_data (const Run *run)
{
  GString *out = g_string_new ("# bytes measured_gb_per_s predicted_gb_per_s error\n");

  for (guint i = 0; i < run->rows->len; i++)
    {
      const ValidatedRow *row = g_ptr_array_index (run->rows, i);

      const double numbers[] = { (double) row->measured->bytes,
                                 validation_bus_bandwidth (row, 1e-6 * row->measured->time_us) / GB,
                                 validation_bus_bandwidth (row, row->predicted) / GB, row->error };

      append_numbers (out, numbers, G_N_ELEMENTS (numbers));
    }
  return g_string_free (out, FALSE);
}

/* A block a size class, large ones first, so that each has its colour. */
static char *
overview_data (const CollectiveValidation *self)
{
  static const double from[] = { 268435456, 1048576, 1024, 0 };
  GString            *out = g_string_new ("# measured_gb_per_s predicted_gb_per_s; healthy rows\n");

  for (guint c = 0; c < G_N_ELEMENTS (from); c++)
    {
      for (guint i = 0; i < self->rows->len; i++)
        {
          const ValidatedRow *row = &g_array_index (self->rows, ValidatedRow, i);
          const double        bytes = (double) row->measured->bytes;
          double              numbers[2];

          if (row->reason != NULL || row->measured->healthy != HEALTHY_YES || bytes < from[c]
              || (c > 0 && bytes >= from[c - 1]))
            continue;
          numbers[0] = validation_bus_bandwidth (row, 1e-6 * row->measured->time_us) / GB;
          numbers[1] = validation_bus_bandwidth (row, row->predicted) / GB;
          append_numbers (out, numbers, G_N_ELEMENTS (numbers));
        }
      g_string_append (out, "nan nan\n\n\n"); /* an empty block is none */
    }
  return g_string_free (out, FALSE);
}

/* ---- scripts --------------------------------------------------------------------------------- */

static const char run_plot[] =
    "set multiplot layout 2,1\n"
    "set title heading font ',12'\n"
    "set ylabel 'bus bandwidth, GB/s'\nset yrange [0:*]\nset format y '%g'\n"
    "set key inside left top\n"
    "plot data using 1:2 with points ls 1 pt 7 ps 0.8 title 'measured', \\\n"
    "  data using 1:3 with lines ls 4 lw 2 title 'predicted'\n"
    "unset title\nset key off\nset ylabel 'error of the time, %'\nset yrange [*:*]\n"
    "set xlabel 'size S, as nccl-tests counts it'\n"
    "plot 0 with lines ls 20 notitle, data using 1:(100 * column(4)) with linespoints ls 4 pt 7 ps "
    "0.6 notitle\n"
    "unset multiplot\nunset xlabel\n";

static const char overview_plot[] =
    "plot x with lines ls 20 title 'equal', \\\n"
    "  data index 0 using 1:2 with points ls 1 pt 7 ps 0.6 title '256 MiB and more', \\\n"
    "  data index 1 using 1:2 with points ls 3 pt 7 ps 0.6 title '1 MiB to 256 MiB', \\\n"
    "  data index 2 using 1:2 with points ls 4 pt 7 ps 0.6 title '1 KiB to 1 MiB', \\\n"
    "  data index 3 using 1:2 with points ls 5 pt 7 ps 0.6 title 'below 1 KiB'\n";

/* HEAD, then PLOT for both files. */
static char *
script_text (const char *name, const char *style, const char *head, const char *plot)
{
  return g_strdup_printf (
      "# Draws %s.png and %s.svg from %s.dat: gnuplot %s.gp\n%s\ndata = '%s.dat'\n%s\n"
      "set terminal pngcairo noenhanced font 'Liberation Sans,12' fontscale 1.2 size 1100,900\n"
      "set output '%s.png'\n%s\n"
      "set terminal svg noenhanced font 'Liberation Sans,12' size 800,650 background '#ffffff'\n"
      "set output '%s.svg'\n%s",
      name, name, name, name, style, name, head, name, plot, name, plot);
}

/* "8 B", "32 KiB": every third power of two. */
static void
append_size_tics (GString *out)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
  gboolean                 first = TRUE;

  g_string_append (out, "set xtics (");
  for (guint power = 3; power < 50; power += 3)
    {
      g_string_append_printf (out, "%s'%u %s' 2.0**%u", first ? "" : ", ", 1u << power % 10,
                              units[power / 10], power);
      first = FALSE;
    }
  g_string_append (out, ")\n");
}

static GnuplotPicture
run_picture (const Run *run, const char *style)
{
  const ValidatedRow *row = g_ptr_array_index (run->rows, 0);
  g_autoptr (GString) head = g_string_new ("heading = ");

  g_autofree char *title = g_strdup_printf (
      "%s: %s on %s", row->measured->id, collective_kind_name (row->measured->kind), row->hardware);

  gnuplot_append_quoted (head, title);
  g_string_append (head, "\nset logscale x 2\n");
  append_size_tics (head);
  return (GnuplotPicture){ g_strdup (run->name), run_data (run),
                           script_text (run->name, style, head->str, run_plot) };
}

static GnuplotPicture
overview_picture (const CollectiveValidation *self, const char *style)
{
  static const char head[] = "set logscale xy\nset xlabel 'measured bus bandwidth, GB/s'\n"
                             "set ylabel 'predicted bus bandwidth, GB/s'\nset format '%g'\n"
                             "set key inside left top\nset grid xtics ytics\n";

  return (GnuplotPicture){ g_strdup (OVERVIEW), overview_data (self),
                           script_text (OVERVIEW, style, head, overview_plot) };
}

gboolean
report_validation_plot (const CollectiveValidation *self, const char *dir, const char *style_file,
                        GError **error)
{
  g_autoptr (GPtrArray)      runs = runs_of (self);
  g_autofree char           *style = NULL;
  g_autofree GnuplotPicture *pictures = g_new0 (GnuplotPicture, runs->len + 1);
  gboolean                   drawn;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  for (guint i = 0; i < runs->len; i++)
    pictures[i] = run_picture (g_ptr_array_index (runs, i), style);
  pictures[runs->len] = overview_picture (self, style);
  drawn = gnuplot_draw (pictures, runs->len + 1, dir, error);
  for (guint i = 0; i <= runs->len; i++)
    {
      g_free (pictures[i].name);
      g_free (pictures[i].data);
      g_free (pictures[i].script);
    }
  return drawn;
}
