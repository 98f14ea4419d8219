/* The kernels of a step under their GPU's roofline. */
#include <math.h>

#include "report/plot/plot-private.h"

#define N_NAMED     8      /* of those that take longest */
#define LEAST_SHARE 0.0005 /* of the time of all: what takes less is left out */
/* Of the axes, about: for the slope of what is written along the roof. */
#define ROOF_PIXELS 720
#define LIST_PIXELS 200
#define LIST_STEP   0.05 /* of the height: a line of the list */
#define WIDTH       640.0
#define HEIGHT      420.0
#define NEAR        1.2 /* times as much, in both directions: their numbers would meet */

static double
flops_of (const RooflineKernel *kernel)
{
  return kernel->flops / kernel->seconds;
}

static double
intensity_of (const RooflineKernel *kernel)
{
  return kernel->flops / kernel->bytes;
}

/* ALL: seconds of all kernels. */
static gboolean
is_shown (const RooflineKernel *kernel, double all)
{
  return kernel->flops > 0 && kernel->bytes > 0 && kernel->seconds > LEAST_SHARE * all;
}

static gboolean
is_product (const RooflineKernel *kernel)
{
  return kernel->kind == KERNEL_MATMUL || kernel->kind == KERNEL_ATTENTION
         || kernel->kind == KERNEL_ATTENTION_BACKWARD || kernel->kind == KERNEL_DECODE;
}

/* Block 0 are products, block 1 others. */
static void
append_points (const GArray *kernels, double all, GString *data)
{
  for (guint block = 0; block < 2; block++)
    {
      gboolean any = FALSE;

      for (guint i = 0; i < kernels->len; i++)
        {
          const RooflineKernel *kernel = &g_array_index (kernels, RooflineKernel, i);

          if (!is_shown (kernel, all) || is_product (kernel) != (block == 0))
            continue;
          plot_append_number (data, intensity_of (kernel));
          plot_append_number (data, flops_of (kernel));
          plot_append_number (data, kernel->seconds / all);
          plot_append_text (data, kernel->name);
          g_string_append_c (data, '\n');
          any = TRUE;
        }
      g_string_append (data, any ? "\n\n" : "1e-99 1e-99 0 \"\"\n\n\n");
    }
}

/* Numbered kernels before kernel I that lie where it does, so that their numbers stand beside. */
static guint
count_near (const GArray *kernels, guint i, double all)
{
  const RooflineKernel *kernel = &g_array_index (kernels, RooflineKernel, i);
  guint                 n = 0;

  for (guint j = 0; j < i; j++)
    {
      const RooflineKernel *other = &g_array_index (kernels, RooflineKernel, j);

      n += is_shown (other, all)
           && fabs (log (intensity_of (other) / intensity_of (kernel))) < log (NEAR)
           && fabs (log (flops_of (other) / flops_of (kernel))) < log (NEAR);
    }
  return n;
}

/* Block 2: place, number and name of those that take longest, which a list at the right has. */
static void
append_names (const GArray *kernels, double all, double step, GString *settings, GString *data)
{
  guint n = 0;

  for (guint i = 0; i < kernels->len && n < N_NAMED; i++)
    {
      const RooflineKernel *kernel = &g_array_index (kernels, RooflineKernel, i);
      g_autofree char      *text = NULL;

      if (!is_shown (kernel, all))
        continue;
      text = g_strdup_printf ("%u  %s, %.1f %%", ++n, kernel->name, 100 * kernel->seconds / all);
      plot_append_number (data, intensity_of (kernel) * pow (step, count_near (kernels, i, all)));
      plot_append_number (data, flops_of (kernel));
      g_string_append_printf (data, "%u ", n);
      plot_append_text (data, kernel->name);
      plot_append_list_label (settings, n, text, 0.97 - LIST_STEP * (n - 1));
      g_string_append_c (data, '\n');
    }
}

gboolean
plot_add_roofline (GArray *pictures, const PlotScripts *scripts, const Roofline *self,
                   const char *title, GError **error)
{
  GString         *settings, *data;
  g_autofree char *flops = quantity_format (QUANTITY_COMPUTE, self->flops, 4);
  g_autofree char *bandwidth = quantity_format (QUANTITY_BANDWIDTH, self->bandwidth, 4);
  g_autofree char *peak = g_strdup_printf ("%s: %s of 16-bit products", self->gpu, flops);
  g_autofree char *memory = g_strdup_printf ("%s of memory", bandwidth);
  double           all = 0, x_least = 0.1, x_most = 2 * self->flops / self->bandwidth, least = 0;

  for (guint i = 0; i < self->kernels->len; i++)
    all += g_array_index (self->kernels, RooflineKernel, i).seconds;
  for (guint i = 0; i < self->kernels->len; i++)
    {
      const RooflineKernel *kernel = &g_array_index (self->kernels, RooflineKernel, i);

      if (!is_shown (kernel, all))
        continue;
      x_least = MIN (x_least, intensity_of (kernel) / 2);
      x_most = MAX (x_most, intensity_of (kernel) * 4);
      least = least > 0 ? MIN (least, flops_of (kernel)) : flops_of (kernel);
    }
  if (least <= 0 || self->flops <= 0 || self->bandwidth <= 0)
    return TRUE;
  settings = g_string_new (NULL);
  data = g_string_new ("# FLOP/byte FLOP/s share name\n");
  plot_set_text (settings, "title_text", title);
  plot_set_text (settings, "peak_text", peak);
  plot_set_text (settings, "memory_text", memory);
  plot_set_number (settings, "peak", self->flops);
  plot_set_number (settings, "fp8_peak", self->fp8_flops);
  plot_set_number (settings, "bandwidth", self->bandwidth);
  plot_set_number (settings, "x_least", x_least);
  plot_set_number (settings, "x_most", x_most);
  plot_set_number (settings, "y_least", least / 2e12);
  plot_set_number (settings, "y_most", 2 * MAX (self->flops, self->fp8_flops) / 1e12);
  plot_set_number (settings, "slope",
                   atan (HEIGHT / WIDTH * log (x_most / x_least)
                         / log (4 * MAX (self->flops, self->fp8_flops) / least))
                       * 180 / G_PI);
  append_points (self->kernels, all, data);
  append_names (self->kernels, all, pow (x_most / x_least, 0.022), settings, data);
  plot_set_number (settings, "list_share", (double) LIST_PIXELS / (ROOF_PIXELS + LIST_PIXELS));
  return plot_add (pictures, scripts, PICTURE_ROOFLINE, "roofline", settings, data,
                   ROOF_PIXELS + LIST_PIXELS, 560, error);
}
