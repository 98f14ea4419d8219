#include "decide/plan/membership.h"

#include <math.h>
#include <string.h>

#include "base/config/units.h"

#define MOST_NODES 1000000

/* ---- the trace ------------------------------------------------------------------------------- */

static void
row_clear (gpointer data)
{
  g_free (((MembershipRow *) data)->nodes);
}

void
membership_free (Membership *self)
{
  if (self == NULL)
    return;
  g_strfreev (self->places);
  g_array_unref (self->rows);
  g_free (self);
}

const MembershipRow *
membership_row (const Membership *self, guint i)
{
  return &g_array_index (self->rows, MembershipRow, i);
}

/* Columns: the time, then "nodes" or all of SITES in any order. NULL after diagnostics. */
static Membership *
read_header (const CsvReader *reader, const char *const *sites, DiagList *diags)
{
  static const char *const plain[] = { "nodes", NULL };
  const guint              errors = diag_list_n_errors (diags), n = csv_reader_n_columns (reader);
  const char *const       *places = sites != NULL ? sites : plain;
  g_autofree char         *names = g_strjoinv (",", (char **) places);
  g_autofree char         *hint = g_strdup_printf ("a header 'time,%s'", names);
  Membership              *self;

  if (csv_reader_find (reader, "time") > 0)
    {
      const SourceMark mark = csv_reader_mark (reader, (guint) csv_reader_find (reader, "time"));

      diag_error (diags, &mark, hint, "columns in the wrong order: 'time' is the first");
      return NULL;
    }
  if (strcmp (csv_reader_column (reader, 0), "time") != 0)
    csv_reader_missing (reader, "time", hint, diags);
  for (guint i = 1; i < n; i++)
    if (!g_strv_contains (places, csv_reader_column (reader, i)))
      csv_reader_unknown (reader, i, places, diags);
  for (guint i = 0; places[i] != NULL; i++)
    if (csv_reader_find (reader, places[i]) < 0)
      csv_reader_missing (reader, places[i], hint, diags);
  if (diag_list_n_errors (diags) > errors)
    return NULL;
  self = g_new0 (Membership, 1);
  self->n_places = n - 1;
  self->places = g_new0 (char *, n);
  for (guint i = 1; i < n; i++)
    self->places[i - 1] = g_strdup (csv_reader_column (reader, i));
  self->rows = g_array_new (FALSE, TRUE, sizeof (MembershipRow));
  g_array_set_clear_func (self->rows, row_clear);
  return self;
}

static void
read_row (Membership *self, const CsvReader *reader, DiagList *diags)
{
  MembershipRow    row = { .nodes = g_new0 (guint, self->n_places) };
  const SourceMark first = csv_reader_mark (reader, 0);
  const guint      before = self->rows->len;
  g_autofree char *why = NULL;

  if (!quantity_parse (QUANTITY_TIME, csv_reader_field (reader, 0), &row.from_s, &why))
    diag_error (diags, &first, "time since the start, as in '36 h'", "%s", why);
  else if (before == 0 && row.from_s > 0)
    diag_error (diags, &first, "'0 h': who is there at the start", "the first time is not 0");
  else if (before > 0 && row.from_s <= membership_row (self, before - 1)->from_s)
    diag_error (diags, &first, "rows in the order of their times",
                "a time that is not later than that of the row before");
  for (guint i = 0; i < self->n_places; i++)
    {
      const SourceMark mark = csv_reader_mark (reader, i + 1);
      g_autofree char *text = g_strstrip (g_strdup (csv_reader_field (reader, i + 1)));
      guint64          n = 0;

      if (!g_ascii_string_to_unsigned (text, 10, 0, MOST_NODES, &n, NULL))
        diag_error (diags, &mark, "a whole number, 0 where none is there",
                    "'%s' is no number of nodes", text);
      row.nodes[i] = (guint) n;
      row.n_nodes += (guint) n;
    }
  g_array_append_val (self->rows, row);
}

Membership *
membership_read (const char *file, const char *const *sites, DiagList *diags)
{
  const guint           errors = diag_list_n_errors (diags);
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  Membership           *self = reader != NULL ? read_header (reader, sites, diags) : NULL;

  while (self != NULL && csv_reader_next (reader, diags))
    read_row (self, reader, diags);
  if (self != NULL && self->rows->len == 0 && diag_list_n_errors (diags) == errors)
    diag_error (diags, &(SourceMark){ .file = csv_reader_mark (reader, 0).file },
                "a row a change, the first of '0 h'", "no row says who is there");
  if (self != NULL && diag_list_n_errors (diags) > errors)
    g_clear_pointer (&self, membership_free);
  return self;
}

char *
membership_site_nodes (const Membership *self, guint row)
{
  GString *text;

  if (self->n_places == 1 && strcmp (self->places[0], "nodes") == 0)
    return NULL;
  text = g_string_new (NULL);
  for (guint i = 0; i < self->n_places; i++)
    if (membership_row (self, row)->nodes[i] > 0)
      g_string_append_printf (text, "%s%s:%u", text->len > 0 ? "," : "", self->places[i],
                              membership_row (self, row)->nodes[i]);
  return g_string_free (text, FALSE);
}

/* ---- the run --------------------------------------------------------------------------------- */

typedef struct
{
  const Membership *membership;
  double            goal, notice_s, join_s;
  double            now, tokens;
} Walk;

/* Nodes of row FROM that are gone in one of the next ones, up to TO. */
static guint
count_gone (const Membership *self, guint from, guint to)
{
  guint gone = 0;

  for (guint place = 0; place < self->n_places; place++)
    {
      const guint had = membership_row (self, from)->nodes[place];
      guint       least = had;

      for (guint row = from + 1; row <= to; row++)
        least = MIN (least, membership_row (self, row)->nodes[place]);
      gone += had - least;
    }
  return gone;
}

/* The row that counts at END, where ROW did before. */
static guint
row_at (const Membership *self, guint row, double end)
{
  while (row + 1 < self->rows->len && membership_row (self, row + 1)->from_s <= end)
    row++;
  return row;
}

static double
next_change (const Walk *self, guint row)
{
  const Membership *membership = self->membership;

  return row + 1 < membership->rows->len ? membership_row (membership, row + 1)->from_s : INFINITY;
}

/* Rounds of SPAN that end before the next change, up to the goal. */
static void
go_on (Walk *self, const MembershipPace *pace, MembershipSpan *span)
{
  const double round_s = pace->step_s * pace->round_steps;
  const double each = pace->tokens_per_step * pace->round_steps;
  const double before = ceil ((next_change (self, span->row) - self->now) / round_s) - 1;
  const double n = MAX (MIN (before, ceil ((self->goal - self->tokens) / each)), 0);

  span->n_rounds += (guint64) n;
  span->tokens += n * each;
  self->tokens += n * each;
  self->now += n * round_s;
}

/* The round of SPAN that a change falls in, and what comes of it; the row from then on. */
static guint
pass_change (Walk *self, const MembershipPace *pace, MembershipSpan *span)
{
  const Membership    *membership = self->membership;
  const MembershipRow *row = membership_row (membership, span->row);
  const double         round_s = pace->step_s * pace->round_steps;
  const double         each = pace->tokens_per_step * pace->round_steps;
  const guint          next = row_at (membership, span->row, self->now + round_s);
  double               lost;

  span->n_left = count_gone (membership, span->row, next);
  span->n_joined = membership_row (membership, next)->n_nodes - (row->n_nodes - span->n_left);
  lost = each * span->n_left / row->n_nodes;
  span->n_rounds++;
  span->lost_tokens += lost;
  span->tokens += each - lost;
  self->tokens += each - lost;
  self->now +=
      round_s + (span->n_left > 0 ? self->notice_s : 0) + (span->n_joined > 0 ? self->join_s : 0);
  return next;
}

/* Nobody is there until somebody joins; FALSE: nobody does. */
static gboolean
stand_still (Walk *self, MembershipSpan *span, guint *row)
{
  const Membership *membership = self->membership;

  if (*row + 1 == membership->rows->len)
    return FALSE;
  self->now = MAX (self->now, next_change (self, *row));
  *row = row_at (membership, *row, self->now);
  span->n_joined = membership_row (membership, *row)->n_nodes;
  self->now += span->n_joined > 0 ? self->join_s : 0;
  return TRUE;
}

gboolean
membership_walk (const Membership *membership, double tokens, double notice_s, double join_s,
                 MembershipPredict predict, gpointer who, GArray *spans, gboolean *stuck)
{
  Walk  self = { membership, tokens, notice_s, join_s, 0, 0 };
  guint row = 0;

  *stuck = FALSE;
  while (self.tokens < tokens)
    {
      MembershipSpan span = { .row = row, .from_s = self.now };
      MembershipPace pace = { 0 };

      if (membership_row (membership, row)->n_nodes == 0)
        {
          *stuck = !stand_still (&self, &span, &row);
          if (*stuck)
            return FALSE;
        }
      else if (!predict (row, who, &pace))
        return FALSE;
      else
        {
          go_on (&self, &pace, &span);
          if (self.tokens < tokens)
            row = pass_change (&self, &pace, &span);
        }
      span.to_s = self.now;
      g_array_append_val (spans, span);
    }
  return TRUE;
}
