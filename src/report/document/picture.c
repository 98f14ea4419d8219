/* Pictures in a page: what stands below each, by its name. */
#include "report/document/html-private.h"

static const struct
{
  const char *name, *caption;
} captions[] = {
  { PICTURE_TIME_SPLIT, "Where the time of a step goes, along the critical path, whole." },
  { PICTURE_STREAM_TIMELINE, "What the streams do in a period." },
  { PICTURE_LAYER_FORWARD, "One layer in the middle, forward." },
  { PICTURE_LAYER_BACKWARD, "The same, backward." },
  { PICTURE_MEMORY_TIMELINE,
    "What fills the GPU's memory, in the order in which the host asks for it; "
    "without what the allocator caches for nobody." },
  { PICTURE_ROOFLINE,
    "Kernels by what they compute for a byte of GPU memory: each alone on its GPU, "
    "larger points take more of the time. Numbers: those that take longest, with "
    "their share of the kernels' time." },
  { PICTURE_SCALING, "Throughput over the number of GPUs." },
  { PICTURE_PARETO,
    "Throughput against memory: the front, of which nothing else has more throughput in "
    "no more memory." },
  { PICTURE_BATCHES,
    "What batches give and cost: the front, of which no other gives more in no more time." },
  { PICTURE_DAYS, "Days of the run over nodes; the band: eight sampled runs in ten." },
  { PICTURE_MONEY, "What the run costs over nodes, in nine sampled runs of ten no more." },
  { PICTURE_HEAT_MAP, "The grid at a glance; grey: does not fit." },
  { PICTURE_PADDING, "What each format adds to the parameters, over the ranks that share them." },
};

void
page_add_picture (HtmlPage *page, const PagePictures *pictures, const char *name)
{
  for (guint i = 0; i < pictures->pictures->len; i++)
    for (guint c = 0; c < G_N_ELEMENTS (captions); c++)
      if (g_str_equal (g_array_index (pictures->pictures, GnuplotPicture, i).name, name)
          && g_str_equal (captions[c].name, name))
        html_page_add_svg (page, pictures->svgs[i], captions[c].caption);
}
