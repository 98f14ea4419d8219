/* What the profile of a network plug-in's tuner holds: hwprofiles/tuner/. */
#include "hardware/profile/tuner-profile.h"

#include <math.h>
#include <string.h>

#include "base/compare.h"
#include "base/version.h"
#include "hardware/profile/profile-tables-private.h"

#define TUNER(member)  G_STRUCT_OFFSET (TunerProfile, member)
#define REGION(member) G_STRUCT_OFFSET (TunerRegion, member)
#define LEAST_CORNERS  3
#define ON_BORDER      1e-9 /* doublings */
#define MOST_BYTES     (G_GUINT64_CONSTANT (1) << 50)
#define MOST_RANKS     (1 << 24)
#define CORNERS_HINT   "bytes:ranks of each corner in turn: \"0:16 196608:16 196608:1024\""

static const OptionSpec scalars[] = {
  { .key = "title", .type = OPTION_STRING, .offset = TUNER (title), .help = "what it is" },
  { .key = "gpus",
    .type = OPTION_STRING,
    .offset = TUNER (gpus),
    .help = "ids of the GPUs that it is for" },
  { .key = "nics",
    .type = OPTION_STRING,
    .offset = TUNER (nics),
    .help = "ids of the cards that it is for" },
  { .key = "since",
    .type = OPTION_STRING,
    .offset = TUNER (since),
    .help = "the first release of the library that asks it" },
  { .key = "nodes_from",
    .type = OPTION_INT,
    .offset = TUNER (nodes_from),
    .min = 1,
    .max = MOST_RANKS,
    .fallback = "1",
    .help = "on fewer nodes the library chooses" },
  { .key = "source", .type = OPTION_STRING, .offset = TUNER (source), .help = "who says so" },
  { .key = "confidence",
    .type = OPTION_ENUM,
    .choices = profile_confidences,
    .offset = TUNER (confidence) },
  { 0 },
};

static const FigureSpec figures[] = { { 0 } };

static const OptionSpec region_keys[] = {
  { .key = "collective",
    .type = OPTION_ENUM,
    .choices = collective_kind_names,
    .offset = REGION (kind) },
  { .key = "ranks_per_node",
    .type = OPTION_INT,
    .offset = REGION (ranks_per_node),
    .min = 1,
    .max = 1024,
    .help = "of the communicators that it is for" },
  { .key = "algorithm",
    .type = OPTION_ENUM,
    .choices = COLLECTIVE_ALGORITHM_NAMES,
    .offset = REGION (algorithm) },
  { .key = "protocol",
    .type = OPTION_ENUM,
    .choices = COLLECTIVE_PROTOCOL_NAMES,
    .offset = REGION (protocol) },
  { .key = "corners", .type = OPTION_STRING, .offset = REGION (said), .help = CORNERS_HINT },
  { 0 },
};

static const RecordSpec records[] = {
  { "regions", TUNER (regions), sizeof (TunerRegion), REGION (mark), region_keys },
  { 0 },
};

/* ---- reading --------------------------------------------------------------------------------- */

/* "196608:16"; sizes below one byte count as one. */
static gboolean
parse_corner (const char *text, TunerCorner *corner)
{
  char   *end;
  guint64 bytes, ranks;

  if (!g_ascii_isdigit (text[0]))
    return FALSE;
  bytes = g_ascii_strtoull (text, &end, 10);
  if (*end != ':' || !g_ascii_isdigit (end[1]))
    return FALSE;
  ranks = g_ascii_strtoull (end + 1, &end, 10);
  if (*end != '\0' || bytes > MOST_BYTES || ranks == 0 || ranks > MOST_RANKS)
    return FALSE;
  *corner = (TunerCorner){ log2 ((double) MAX (bytes, 1)), log2 ((double) ranks) };
  return TRUE;
}

static void
read_corners (TunerRegion *self, DiagList *diags)
{
  g_auto (GStrv) words = g_strsplit (self->said, " ", -1);
  guint          n = 0;

  for (guint i = 0; words[i] != NULL; i++)
    {
      if (*words[i] == '\0')
        continue;
      if (n == TUNER_MOST_CORNERS || !parse_corner (words[i], &self->corners[n]))
        {
          diag_error (diags, &self->mark, CORNERS_HINT, "'%s' of 'corners' is %s", words[i],
                      n == TUNER_MOST_CORNERS ? "one corner too many" : "no corner");
          return;
        }
      n++;
    }
  if (n < LEAST_CORNERS)
    diag_error (diags, &self->mark, CORNERS_HINT, "'corners' has %u corners, expected at least %d",
                n, LEAST_CORNERS);
  self->n_corners = n;
}

static void
tuner_check (gpointer profile, const ConfigNode *root, DiagList *diags)
{
  TunerProfile *self = profile;

  if (self->since != NULL && !version_is_valid (self->since))
    diag_error (diags, config_node_mark (config_node_get (root, "since")),
                "numbers and dots, such as \"2.19\"", "'%s' is no version", self->since);
  if (self->regions == NULL || self->regions->len == 0)
    diag_error (diags, config_node_mark (root), "a list of 'regions': docs/hardware.md",
                "a tuner without regions");
  for (guint i = 0; self->regions != NULL && i < self->regions->len; i++)
    {
      TunerRegion *region = &g_array_index (self->regions, TunerRegion, i);

      if (region->said != NULL)
        read_corners (region, diags);
    }
}

const ProfileKind tuner_profile_kind = { .name = "tuner",
                                         .size = sizeof (TunerProfile),
                                         .scalars = scalars,
                                         .figures = figures,
                                         .check = tuner_check,
                                         .records = records,
                                         .shipped_too = TRUE };

/* ---- use ------------------------------------------------------------------------------------- */

const TunerProfile *
profile_set_tuner (ProfileSet *self, const char *id, DiagList *diags)
{
  return profile_set_get (self, &tuner_profile_kind, id, NULL, diags);
}

/* The ids of tuners that may be for one of USES, in order. Of texts that the set owns. */
static GPtrArray *
ids_for (ProfileSet *self, const TunerUse *uses, guint n)
{
  GPtrArray *found = g_ptr_array_new ();

  for (guint i = 0; i < n; i++)
    {
      const char *const  words[] = { uses[i].gpu, uses[i].nic, NULL };
      const char *const *ids = profile_set_mentioning (self, tuner_profile_kind.name, words);

      for (guint j = 0; ids[j] != NULL; j++)
        if (!g_ptr_array_find_with_equal_func (found, ids[j], g_str_equal, NULL))
          g_ptr_array_add (found, (gpointer) ids[j]);
    }
  g_ptr_array_sort (found, compare_texts);
  return found;
}

GPtrArray *
profile_set_tuners (ProfileSet *self, const TunerUse *uses, guint n, DiagList *diags)
{
  g_autoptr (GPtrArray) ids = ids_for (self, uses, n);
  g_autoptr (GPtrArray) tuners = g_ptr_array_new ();
  gboolean              ok = TRUE;

  for (guint i = 0; i < ids->len; i++)
    {
      const TunerProfile *one = profile_set_tuner (self, ids->pdata[i], diags);

      ok = ok && one != NULL;
      if (one != NULL)
        g_ptr_array_add (tuners, (gpointer) one);
    }
  return ok ? g_steal_pointer (&tuners) : NULL;
}

static gboolean
names (const char *ids, const char *id)
{
  g_auto (GStrv) words = g_strsplit (ids, " ", -1);

  return g_strv_contains ((const char *const *) words, id);
}

const TunerProfile *
tuner_profile_find (const GPtrArray *tuners, const GpuProfile *gpu, const LinkProfile *nic,
                    const char *version)
{
  const gboolean known = version != NULL && version_is_valid (version);

  for (guint i = 0; i < tuners->len; i++)
    {
      const TunerProfile *one = g_ptr_array_index (tuners, i);

      if (names (one->gpus, gpu->id) && names (one->nics, nic->id)
          && !(known && version_compare (version, one->since) < 0))
        return one;
    }
  return NULL;
}

static gboolean
is_on_side (const TunerCorner *at, const TunerCorner *a, const TunerCorner *b)
{
  const double x = b->bytes - a->bytes, y = b->ranks - a->ranks, length = hypot (x, y);
  const double u = at->bytes - a->bytes, v = at->ranks - a->ranks;
  const double along = u * x + v * y;

  if (length < ON_BORDER)
    return hypot (u, v) < ON_BORDER;
  return fabs (u * y - v * x) < ON_BORDER * length && along >= -ON_BORDER * length
         && along <= length * (length + ON_BORDER);
}

/* Whether the way from AT to more ranks crosses the side. */
static gboolean
crosses (const TunerCorner *at, const TunerCorner *a, const TunerCorner *b)
{
  if ((a->bytes > at->bytes) == (b->bytes > at->bytes))
    return FALSE;
  return a->ranks + (at->bytes - a->bytes) / (b->bytes - a->bytes) * (b->ranks - a->ranks)
         > at->ranks;
}

gboolean
tuner_region_holds (const TunerRegion *region, CollectiveKind kind, double bytes, guint n_ranks,
                    guint n_nodes)
{
  const TunerCorner at = { log2 (MAX (bytes, 1)), log2 (n_ranks) };
  gboolean          inside = FALSE;

  if ((gint) kind != region->kind || n_ranks != (guint64) region->ranks_per_node * n_nodes)
    return FALSE;
  for (guint i = 0; i < region->n_corners; i++)
    {
      const TunerCorner *a = &region->corners[i];
      const TunerCorner *b = &region->corners[(i + 1) % region->n_corners];

      if (is_on_side (&at, a, b))
        return TRUE;
      inside = inside != crosses (&at, a, b);
    }
  return inside;
}
