#include "decide/parts/shard-ranks.h"

#include <string.h>

#define MOST_RANKS 65536
#define MOST_SIZES 4096

/* A, B and how it goes on from one to the next: by a step if PLUS, else by a ratio. */
typedef struct
{
  guint64  first, last, by;
  gboolean plus;
} Range;

/* "96", "8..1024", "8..64+8", "3..81*3" */
static gboolean
read_range (const char *text, Range *range)
{
  char    *end;
  gboolean good = g_ascii_isdigit (*text);

  *range = (Range){ .by = 2 };
  range->first = range->last = g_ascii_strtoull (text, &end, 10);
  if (good && g_str_has_prefix (end, ".."))
    {
      good = g_ascii_isdigit (end[2]);
      range->last = g_ascii_strtoull (end + 2, &end, 10);
      if (good && (*end == '+' || *end == '*'))
        {
          range->plus = *end == '+';
          good = g_ascii_isdigit (end[1]);
          range->by = MIN (g_ascii_strtoull (end + 1, NULL, 10), MOST_RANKS);
          end += 1 + strspn (end + 1, G_CSET_DIGITS);
        }
    }
  return good && *end == '\0';
}

/* Appends the numbers of RANGE, said as TEXT. */
static void
add_range (const Range *range, const char *text, const SourceMark *mark, GArray *ranks,
           DiagList *diags)
{
  if (range->first < 1 || range->last < 1 || MAX (range->first, range->last) > MOST_RANKS)
    diag_error (diags, mark, NULL, "a number of ranks must lie between 1 and %u, got '%s'",
                MOST_RANKS, text);
  else if (range->last < range->first)
    diag_error (diags, mark, "a range goes from the smaller number to the larger one",
                "the range '%s' is empty", text);
  else if (range->by < (range->plus ? 1 : 2))
    diag_error (diags, mark, "a step is 1 or more, a ratio 2 or more", "the range '%s' never ends",
                text);
  else
    for (guint64 n = range->first; n <= range->last && ranks->len <= MOST_SIZES;
         n = range->plus ? n + range->by : n * range->by)
      {
        const guint one = (guint) n;

        g_array_append_val (ranks, one);
      }
}

static int
fewer_first (gconstpointer a, gconstpointer b)
{
  const guint one = *(const guint *) a, other = *(const guint *) b;

  return (one > other) - (one < other);
}

GArray *
shard_ranks_parse (const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);
  GArray        *ranks = g_array_new (FALSE, FALSE, sizeof (guint));
  guint          n = 0;

  for (guint i = 0; parts[i] != NULL || i == 0; i++)
    {
      const char *part = parts[i] != NULL ? g_strstrip (parts[i]) : "";
      Range       range;

      if (read_range (part, &range))
        add_range (&range, part, mark, ranks, diags);
      else
        diag_error (diags, mark, "8..1024 for 8, 16, 32, ...; 8,16,96; 8..64+8; 3..81*3",
                    "expected numbers of ranks, got '%s'", part);
      if (parts[i] == NULL)
        break;
    }
  if (ranks->len > MOST_SIZES)
    diag_error (diags, mark, NULL, "more than %u numbers of ranks", MOST_SIZES);
  g_array_sort (ranks, fewer_first);
  for (guint i = 0; i < ranks->len; i++)
    if (i == 0 || g_array_index (ranks, guint, i) != g_array_index (ranks, guint, n - 1))
      g_array_index (ranks, guint, n++) = g_array_index (ranks, guint, i);
  return g_array_set_size (ranks, n);
}
