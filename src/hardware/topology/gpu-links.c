#include "hardware/topology/gpu-links.h"

#include <string.h>

#include "base/config/units.h"
#include "base/intern.h"

static const char *const families[] = { "nvlink", "xgmi", NULL };

/* Splits "nvlink3"; FALSE where it is of no known family. */
static gboolean
split_technology (const char *text, guint *family, guint64 *generation)
{
  for (*family = 0; families[*family] != NULL; (*family)++)
    if (g_str_has_prefix (text, families[*family]))
      return g_ascii_string_to_unsigned (text + strlen (families[*family]), 10, 1, 99, generation,
                                         NULL);
  return FALSE;
}

TechnologyOrder
technology_order (const char *link, const char *own)
{
  guint   family, own_family;
  guint64 generation, own_generation;
  if (!split_technology (link, &family, &generation)
      || !split_technology (own, &own_family, &own_generation))
    return TECHNOLOGY_SAME;
  if (family != own_family)
    return TECHNOLOGY_OTHER;
  if (generation == own_generation)
    return TECHNOLOGY_SAME;
  return generation > own_generation ? TECHNOLOGY_NEWER : TECHNOLOGY_OLDER;
}

/* "12 x nvlink3" */
static gboolean
parse_count (GpuLinks *self, const char *text)
{
  g_auto (GStrv) words = g_strsplit (text, " x ", -1);
  guint          family;
  guint64        count, generation;
  if (g_strv_length (words) != 2
      || !g_ascii_string_to_unsigned (g_strstrip (words[0]), 10, 1, 1024, &count, NULL)
      || !split_technology (g_strstrip (words[1]), &family, &generation))
    return FALSE;
  self->count = (guint) count;
  self->technology = intern_text (words[1]);
  return TRUE;
}

/* Boards that "bridges" or "bridges of 4" join; 0: neither. */
static guint
parse_bridges (const char *text)
{
  static const char of[] = "bridges of ";
  guint64           boards;

  if (strcmp (text, "bridges") == 0)
    return 2;
  return g_str_has_prefix (text, of)
                 && g_ascii_string_to_unsigned (text + strlen (of), 10, 2, 16, &boards, NULL)
             ? (guint) boards
             : 0;
}

gboolean
gpu_links_parse (GpuLinks *self, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv)   parts = g_strsplit (text, ",", -1);
  g_autofree char *why = NULL;
  const guint      n = g_strv_length (parts);
  *self = (GpuLinks){ .said = TRUE };
  if (strcmp (text, "none") == 0)
    return TRUE;
  for (guint i = 0; i < n; i++)
    g_strstrip (parts[i]);
  self->bridges = n == 3 ? parse_bridges (parts[2]) : 0;
  if ((n == 2 || self->bridges > 0) && parse_count (self, parts[0])
      && quantity_parse (QUANTITY_BANDWIDTH, parts[1], &self->rate, &why) && self->rate > 0)
    return TRUE;
  diag_error (
      diags, mark,
      "write 'none', '12 x nvlink3, 25 GB/s', '4 x nvlink3, 14 GB/s, bridges' or '3 x xgmi2, "
      "46 GB/s, bridges of 4'; "
      "nvlink1 and on, xgmi2 and on",
      "'%s' does not say which links a GPU has", text);
  *self = (GpuLinks){ 0 };
  return FALSE;
}
