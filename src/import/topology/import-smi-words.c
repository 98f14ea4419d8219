#include <string.h>

#include "import/topology/import-smi-private.h"

/* ---- words ----------------------------------------------------------------------------------- */

gboolean
smi_next_word (const char **p, SmiWord *word)
{
  *p += strspn (*p, SMI_BLANKS);
  *word = (SmiWord){ *p, strcspn (*p, SMI_BLANKS) };
  *p += word->length;
  return word->length > 0;
}

SmiWord
smi_word_of (const char *line, guint i)
{
  SmiWord word;
  for (guint k = 0; smi_next_word (&line, &word) && k < i; k++)
    ;
  return word;
}

gboolean
smi_word_is (const SmiWord *word, const char *text)
{
  return strlen (text) == word->length && strncmp (word->at, text, word->length) == 0;
}

gboolean
smi_is_gpu (const SmiWord *word)
{
  return word->length > 3 && g_str_has_prefix (word->at, "GPU") && g_ascii_isdigit (word->at[3]);
}

static const struct
{
  const char *word;
  SmiNear     near;
} nears[] = {
  { "PIX", SMI_PIX },   { "PXB", SMI_PXB }, { "PHB", SMI_PHB },
  { "NODE", SMI_NODE }, { "SYS", SMI_SYS }, { "SOC", SMI_SYS }, /* its name before 2017 */
};

const char *
smi_near_name (guint near)
{
  for (guint i = 0; i < G_N_ELEMENTS (nears); i++)
    if (nears[i].near == near)
      return nears[i].word;
  return near == SMI_SELF ? "X" : "NV#";
}

gboolean
smi_parse_cell (const SmiWord *word, SmiCell *cell)
{
  g_autofree char *text = g_strndup (word->at, word->length);
  guint64          links;
  for (guint i = 0; i < G_N_ELEMENTS (nears); i++)
    if (strcmp (nears[i].word, text) == 0)
      {
        cell->near = (guint8) nears[i].near;
        return TRUE;
      }
  if (strcmp (text, "X") == 0)
    cell->near = SMI_SELF;
  else if (g_str_has_prefix (text, "NV")
           && g_ascii_string_to_unsigned (text + 2, 10, 1, 1000, &links, NULL))
    *cell = (SmiCell){ SMI_NVLINK, (guint16) links };
  else
    return FALSE;
  return TRUE;
}

gboolean
smi_is_distance (const SmiWord *word)
{
  SmiCell cell;
  return word->length <= 8 && smi_parse_cell (word, &cell);
}

gboolean
smi_is_peer (const SmiWord *word)
{
  static const char *const words[] = { "OK", "CNS", "GNS", "TNS", "NS", "DR", "U" };
  for (guint i = 0; i < G_N_ELEMENTS (words); i++)
    if (smi_word_is (word, words[i]))
      return TRUE;
  return FALSE;
}

/* ---- lines that were wrapped ----------------------------------------------------------------- */

typedef struct
{
  GPtrArray  *lines;
  GHashTable *names; /* of the columns; a set */
  const char *name;  /* of the file */
  DiagList   *diags;
  gboolean    warned;
} Folded;

static char *
line_at (const Folded *self, guint line)
{
  return g_ptr_array_index (self->lines, line);
}

static gboolean
is_name (const Folded *self, const SmiWord *word)
{
  g_autofree char *text = g_strndup (word->at, word->length);
  return g_hash_table_contains (self->names, text);
}

/* The names of LINE's columns, up to those of the affinities; FALSE where it has the latter. */
static gboolean
take_names (Folded *self, const char *line)
{
  SmiWord word;
  while (smi_next_word (&line, &word))
    {
      if (smi_word_is (&word, "CPU") || smi_word_is (&word, "NUMA"))
        return FALSE;
      g_hash_table_add (self->names, g_strndup (word.at, word.length));
    }
  return TRUE;
}

/* Takes the text of LINE away, newly allocated. */
static char *
take_line (Folded *self, guint line)
{
  char *text = line_at (self, line);
  self->lines->pdata[line] = g_strdup ("");
  return text;
}

/* Bytes of the distance that TEXT begins with; 0: none. */
static gsize
distance_length (const char *text, gsize length)
{
  const gsize digits = g_str_has_prefix (text, "NV") ? strspn (text + 2, "0123456789") : 0;
  for (guint i = 0; i < G_N_ELEMENTS (nears); i++)
    if (g_str_has_prefix (text, nears[i].word) && strlen (nears[i].word) <= length)
      return strlen (nears[i].word);
  return digits > 0 && digits + 2 <= length ? digits + 2 : text[0] == 'X';
}

/* WORD is distances and nothing else, "PXBNODE": more than one. */
static gboolean
is_run_together (const SmiWord *word)
{
  gsize at = 0, n = 0;
  while (at < word->length)
    {
      const gsize own = distance_length (word->at + at, word->length - at);
      if (own == 0)
        return FALSE;
      at += own;
      n++;
    }
  return n > 1;
}

/* A wide matrix lacks some of the blanks between its columns. */
static void
part_cells (GString *row)
{
  g_autoptr (GString) out = g_string_new (NULL);
  const char         *p = row->str, *from = row->str;
  SmiWord             word;
  while (smi_next_word (&p, &word))
    {
      if (!is_run_together (&word))
        continue;
      g_string_append_len (out, from, word.at - from);
      for (gsize at = 0, own; at < word.length; at += own)
        {
          own = distance_length (word.at + at, word.length - at);
          g_string_append_printf (out, "%s%.*s", at > 0 ? " " : "", (int) own, word.at + at);
        }
      from = p;
    }
  if (from == row->str)
    return;
  g_string_append (out, from);
  g_string_assign (row, out->str);
}

/* A row as far as it is put together. */
typedef struct
{
  GString *text;
  gsize    at;    /* where its last word starts, which may go on */
  guint    cells; /* distances before that, behind the name */
} Row;

/* Goes on to the last word. */
static void
row_scan (Row *self)
{
  const char *start = self->text->str + self->at, *p = start;
  SmiWord     word, next;
  if (!smi_next_word (&p, &word))
    return;
  while (smi_next_word (&p, &next))
    {
      self->cells += word.at > self->text->str && smi_is_distance (&word);
      word = next;
    }
  self->at = (gsize) (word.at - self->text->str);
}

static guint
row_cells (const Row *self)
{
  const SmiWord last = { self->text->str + self->at,
                         strcspn (self->text->str + self->at, SMI_BLANKS) };
  return self->cells + (self->at > 0 && smi_is_distance (&last));
}

/* No blank on either side of the cut between ROW and NEXT: the word may go on. */
static gboolean
is_tight (const Row *row, const char *next)
{
  const gsize length = row->text->len;
  return length > 0 && strchr (SMI_BLANKS, row->text->str[length - 1]) == NULL && *next != '\0'
         && strchr (SMI_BLANKS, *next) == NULL;
}

/* The last word of ROW and the first of NEXT are one distance. */
static gboolean
makes_distance (const Row *row, const char *next)
{
  const SmiWord    first = smi_word_of (next, 0);
  const gsize      length = row->text->len - row->at;
  g_autofree char *both =
      g_strdup_printf ("%.*s%.*s", (int) MIN (length, 8), row->text->str + row->at,
                       (int) MIN (first.length, 8), first.at);
  const SmiWord word = { both, strlen (both) };
  return length + first.length <= 8 && smi_is_distance (&word);
}

static gboolean
starts_row (const Folded *self, guint line)
{
  const SmiWord word = smi_word_of (line_at (self, line), 0);
  return word.length > 0 && is_name (self, &word);
}

/* Lists of CPUs and NUMA nodes. */
static gboolean
is_affinity (const SmiWord *word)
{
  return word->length > 0
         && (strspn (word->at, "0123456789,-") >= word->length || smi_word_is (word, "N/A"));
}

/* The line behind the names, which are one line then. */
static guint
unfold_header (Folded *self, guint header)
{
  GString *whole = g_string_new (line_at (self, header));
  gboolean names = take_names (self, whole->str);
  guint    line = header + 1;
  for (; line < self->lines->len && !starts_row (self, line); line++)
    {
      const SmiWord first = smi_word_of (line_at (self, line), 0);
      if (first.length == 0 || smi_is_distance (&first))
        break;
      names = names && take_names (self, line_at (self, line));
      g_autofree char *own = take_line (self, line);
      g_string_append_printf (whole, " %s", own);
    }
  g_free (line_at (self, header));
  self->lines->pdata[header] = g_string_free (whole, FALSE);
  return line;
}

/* What stands behind N cells of ROW is dropped: where a word was cut cannot be known. */
static void
drop_affinity (Folded *self, Row *row, guint line, guint n)
{
  const SourceMark mark = { self->name, line + 1, 1, 1, NULL };
  const char      *end = row->text->str;
  SmiWord          word;
  for (guint i = 0; i <= n && smi_next_word (&end, &word); i++)
    ;
  g_string_truncate (row->text, (gsize) (end - row->text->str));
  if (!self->warned)
    diag_warning (self->diags, &mark, "take whole lines, as in 'nvidia-smi topo -m > box.txt'",
                  "the text is wrapped inside of the columns behind the cells: CPUs and NUMA nodes "
                  "of such rows are not read");
  self->warned = TRUE;
}

/* Puts the pieces of the row at START together; the line behind them. */
static guint
unfold_row (Folded *self, guint start, guint n)
{
  Row      row = { g_string_new (line_at (self, start)), 0, 0 };
  gboolean dropped = FALSE;
  guint    line = start + 1;
  part_cells (row.text);
  row_scan (&row);
  for (; line < self->lines->len && !starts_row (self, line); line++)
    {
      const char    *next = line_at (self, line);
      const SmiWord  first = smi_word_of (next, 0);
      const gboolean whole = row_cells (&row) >= n, tight = is_tight (&row, next);
      const gboolean glued = !whole && tight && makes_distance (&row, next);
      if (first.length == 0
          || (whole ? !is_affinity (&first) : !glued && !smi_is_distance (&first)))
        break;
      dropped |= whole && tight;
      g_autofree char    *own = take_line (self, line);
      g_autoptr (GString) piece = g_string_new (own);
      part_cells (piece);
      g_string_append_printf (row.text, "%s%s", glued ? "" : " ", piece->str);
      row_scan (&row);
    }
  if (dropped)
    drop_affinity (self, &row, start, n);
  g_free (line_at (self, start));
  self->lines->pdata[start] = g_string_free (row.text, FALSE);
  return line;
}

void
smi_unfold (GPtrArray *lines, guint header, const char *name, DiagList *diags)
{
  g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Folded                 self = { lines, names, name, diags, FALSE };
  guint                  line = unfold_header (&self, header);
  while (line < lines->len && starts_row (&self, line))
    line = unfold_row (&self, line, g_hash_table_size (names));
}
