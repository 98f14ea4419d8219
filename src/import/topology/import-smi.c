#include "import/topology/import-smi.h"

#include <string.h>

#include "base/intern.h"
#include "import/topology/import-private.h"
#include "import/topology/import-smi-private.h"

#define RCCL_DUMP                                                           \
  "take RCCL's own, which an RCCL job on all GPUs of the node writes with " \
  "NCCL_TOPO_DUMP_FILE=box.xml"
#define SMI_MATRIX "take what 'nvidia-smi topo -m' prints"
#define CELLS      "write X, NV#, PIX, PXB, PHB, NODE or SYS, as 'nvidia-smi topo -m' does"
#define WHOLE      "the text was cut: take whole lines, as in 'nvidia-smi topo -m > box.txt'"

struct _SmiTable
{
  const char *name;   /* interned */
  GPtrArray  *lines;  /* char *, without escape sequences */
  guint       header; /* its line, from 0 */
  GArray     *devices;
  GHashTable *indices; /* name in the header -> device + 1; looked up only */
  gboolean    numa;    /* the header has "NUMA Affinity" */
  SmiCell    *cells;   /* [devices x devices] */
};

/* ---- lines ----------------------------------------------------------------------------------- */

/* Behind the sequence at P ("\033[4m", or as pasted "^[[4m" or "[4m"); NULL where there is none. */
static const char *
skip_escape (const char *p)
{
  const gboolean escape = *p == '\033';
  const char    *q = escape ? p + 1 : g_str_has_prefix (p, "^[[") ? p + 2 : p;
  if (*q != '[')
    return escape ? q : NULL;
  q++;
  q += strspn (q, "0123456789;");
  return *q == 'm' || (escape && g_ascii_isalpha (*q)) ? q + 1 : escape ? q : NULL;
}

/* Behind what makes a line a comment, a quotation or a table's: "#", "// ", "> ", "| ". */
static const char *
skip_comment (const char *line)
{
  const char *p = line + strspn (line, SMI_BLANKS);
  return *p != '\0' && strchr ("#>|/*;%", *p) != NULL ? p + strspn (p, "#>|/*;% \t") : line;
}

/* Without escape sequences and comment signs; rules between a table's columns are blanks. */
static char *
clean_line (const char *line)
{
  GString *out = g_string_new (NULL);
  line = skip_comment (line);
  while (*line != '\0')
    {
      const char *behind = skip_escape (line);
      if (behind == NULL && (!g_ascii_iscntrl (*line) || *line == '\t'))
        g_string_append_c (out, *line == '|' ? ' ' : *line);
      line = behind != NULL ? behind : line + 1;
    }
  return g_string_free (out, FALSE);
}

static const char *
line_at (const SmiTable *self, guint line)
{
  return g_ptr_array_index (self->lines, line);
}

static SourceMark
mark_word (const SmiTable *self, guint line, const SmiWord *word)
{
  const char *text = line_at (self, line);
  return (SourceMark){ self->name, line + 1, (guint) g_utf8_strlen (text, word->at - text) + 1,
                       (guint) g_utf8_strlen (word->at, (gssize) word->length), text };
}

static SourceMark
mark_nth (const SmiTable *self, guint line, guint i)
{
  const SmiWord word = smi_word_of (line_at (self, line), i);
  return mark_word (self, line, &word);
}

/* ---- the header ------------------------------------------------------------------------------ */

/* The first line that starts with a GPU; FALSE where there is none. */
static gboolean
find_header (SmiTable *self)
{
  for (self->header = 0; self->header < self->lines->len; self->header++)
    {
      const SmiWord word = smi_word_of (line_at (self, self->header), 0);
      if (smi_is_gpu (&word))
        return TRUE;
    }
  return FALSE;
}

static gboolean
add_device (SmiTable *self, const SmiWord *word, DiagList *diags)
{
  g_autofree char *name = g_strndup (word->at, word->length);
  const SmiDevice  device = { .name = g_strdup (name), .gpu = smi_is_gpu (word) };
  g_array_append_val (self->devices, device);
  if (g_hash_table_insert (self->indices, g_strdup (name), GUINT_TO_POINTER (self->devices->len)))
    return TRUE;
  const SourceMark mark = mark_word (self, self->header, word);
  diag_error (diags, &mark, NULL, "two columns of '%s'", name);
  return FALSE;
}

static gboolean
read_header (SmiTable *self, DiagList *diags)
{
  const char *p = line_at (self, self->header);
  SmiWord     word;
  while (smi_next_word (&p, &word) && !smi_word_is (&word, "CPU") && !smi_word_is (&word, "NUMA"))
    {
      if (smi_word_is (&word, "X"))
        {
          const SourceMark mark = smi_table_mark (self);
          diag_error (diags, &mark, "copy what 'nvidia-smi topo -m' prints from its first line on",
                      "the line of the columns' names is missing");
          return FALSE;
        }
      if (self->devices->len == MACHINE_MAX_GPUS + MACHINE_MAX_OTHER)
        {
          const SourceMark mark = mark_word (self, self->header, &word);
          diag_error (diags, &mark, NULL, "more than %u GPUs and cards",
                      MACHINE_MAX_GPUS + MACHINE_MAX_OTHER);
          return FALSE;
        }
      if (!add_device (self, &word, diags))
        return FALSE;
    }
  self->numa = strstr (word.at, "NUMA Affinity") != NULL;
  return TRUE;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* As it is written: "NV12". Newly allocated. */
static char *
format_cell (const SmiCell *cell)
{
  return cell->near == SMI_NVLINK ? g_strdup_printf ("NV%u", cell->links)
                                  : g_strdup (smi_near_name (cell->near));
}

/* What is wrong with CELL, WORD as read, and a hint, which may be NULL; NULL where it is good. */
static char *
judge_cell (const SmiTable *self, guint a, guint b, const SmiWord *word, const SmiCell *cell,
            const char **hint)
{
  const SmiDevice *row = smi_table_device (self, a), *column = smi_table_device (self, b);
  *hint = NULL;
  if (cell == NULL)
    {
      *hint = smi_is_peer (word) ? "that is 'nvidia-smi topo -p2p', which says who may read whom: "
                                   "take 'nvidia-smi topo -m'"
                                 : CELLS;
      return g_strdup_printf ("'%.*s' is no distance", (int) MIN (word->length, 64), word->at);
    }
  if ((cell->near == SMI_SELF) != (a == b))
    {
      *hint = "X marks a device's own column, and nothing else";
      return g_strdup_printf ("'%s' in the column of '%s'", smi_near_name (cell->near),
                              column->name);
    }
  if (cell->near == SMI_NVLINK && (!row->gpu || !column->gpu))
    return g_strdup ("a card with NVLinks");
  return NULL;
}

/* FALSE after a diagnostic. */
static gboolean
read_cell (SmiTable *self, guint a, guint b, const SmiWord *word, DiagList *diags)
{
  SmiCell         *cell = &self->cells[(gsize) a * self->devices->len + b];
  const char      *hint;
  g_autofree char *why =
      judge_cell (self, a, b, word, smi_parse_cell (word, cell) ? cell : NULL, &hint);
  if (why == NULL)
    return TRUE;
  const SourceMark mark = mark_word (self, smi_table_device (self, a)->row, word);
  diag_error (diags, &mark, hint, "%s", why);
  return FALSE;
}

/*
 * "N/A" is as good as nothing, and so is nothing between two tabs, which part the columns where the
 * text has some.
 */
static char *
take_affinity (const char **p)
{
  const gboolean tabs = strchr (*p, '\t') != NULL;
  SmiWord        word;
  if (tabs)
    {
      *p += strspn (*p, " ");
      *p += **p == '\t';
      word = (SmiWord){ *p, strcspn (*p, "\t") };
      *p += word.length;
      while (word.length > 0 && word.at[word.length - 1] == ' ')
        word.length--;
    }
  else if (!smi_next_word (p, &word))
    return NULL;
  return word.length > 0 && !smi_word_is (&word, "N/A") ? g_strndup (word.at, word.length) : NULL;
}

static gboolean
read_row (SmiTable *self, guint line, guint index, DiagList *diags)
{
  SmiDevice       *device = &g_array_index (self->devices, SmiDevice, index);
  const char      *p = line_at (self, line);
  SmiWord          word;
  const SourceMark mark = mark_nth (self, line, 0);
  if (device->row > 0)
    {
      diag_error (diags, &mark, NULL, "two rows of '%s'", device->name);
      return FALSE;
    }
  device->row = line;
  smi_next_word (&p, &word);
  for (guint b = 0; b < self->devices->len; b++)
    if (!smi_next_word (&p, &word))
      {
        diag_error (diags, &mark, WHOLE, "the row of '%s' ends after %u of %u columns",
                    device->name, b, self->devices->len);
        return FALSE;
      }
    else if (!read_cell (self, index, b, &word, diags))
      return FALSE;
  const char *behind = p;
  if (smi_next_word (&behind, &word) && smi_is_distance (&word))
    {
      const SourceMark extra = mark_word (self, line, &word);
      diag_error (diags, &extra, WHOLE, "the row of '%s' goes on after %u of %u columns",
                  device->name, self->devices->len, self->devices->len);
      return FALSE;
    }
  device->cpus = take_affinity (&p);
  device->numa = self->numa ? take_affinity (&p) : NULL;
  return TRUE;
}

/* "NIC0: mlx5_0" */
static void
read_legend (SmiTable *self, const char *line)
{
  const SmiWord    first = smi_word_of (line, 0), second = smi_word_of (line, 1);
  g_autofree char *name = g_strndup (first.at, first.length > 0 ? first.length - 1 : 0);
  const guint      index = GPOINTER_TO_UINT (g_hash_table_lookup (self->indices, name));
  if (index == 0 || first.at[first.length - 1] != ':' || second.length == 0
      || g_array_index (self->devices, SmiDevice, index - 1).gpu)
    return;
  g_free (g_array_index (self->devices, SmiDevice, index - 1).name);
  g_array_index (self->devices, SmiDevice, index - 1).name = g_strndup (second.at, second.length);
}

/* Cells, or a device and cells; not the legend, "PIX  = Connection ..." */
static gboolean
is_loose (const SmiWord *first, const SmiWord *second)
{
  if (first->length == 0 || smi_is_distance (first))
    return first->length > 0 && !smi_word_is (second, "=");
  return g_ascii_isdigit (first->at[first->length - 1]) && smi_is_distance (second);
}

/* A LINE that is part of the matrix, but no row of a column. */
static void
refuse_loose (const SmiTable *self, guint line, DiagList *diags)
{
  const char      *text = line_at (self, line);
  const SmiWord    first = smi_word_of (text, 0), second = smi_word_of (text, 1);
  const SourceMark mark = mark_word (self, line, &first);
  if (smi_is_distance (&first))
    diag_error (diags, &mark, WHOLE, "cells that belong to no row");
  else if (is_loose (&first, &second))
    diag_error (diags, &mark, WHOLE, "'%.*s' has a row, but no column",
                (int) MIN (first.length, 64), first.at);
  else
    diag_error (diags, &mark, WHOLE, "a line amid the matrix that is no row of it");
}

/*
 * From the names of the columns to the last row all lines are rows. Behind it stands what does no
 * harm, unless it looks like a part of the matrix. FALSE after the diagnostic of a line.
 */
static gboolean
read_lines (SmiTable *self, DiagList *diags)
{
  guint odd = 0; /* the first line that is no row; 0: none */
  for (guint line = self->header + 1; line < self->lines->len; line++)
    {
      const char      *text = line_at (self, line);
      const SmiWord    word = smi_word_of (text, 0), second = smi_word_of (text, 1);
      g_autofree char *name = g_strndup (word.at, word.length);
      const guint      index = GPOINTER_TO_UINT (g_hash_table_lookup (self->indices, name));
      if (index > 0 ? odd > 0 : is_loose (&word, &second))
        {
          refuse_loose (self, odd > 0 ? odd : line, diags);
          return FALSE;
        }
      if (index > 0)
        read_row (self, line, index - 1, diags);
      else
        read_legend (self, text);
      if (index == 0 && word.length > 0 && odd == 0)
        odd = line;
    }
  return TRUE;
}

static gboolean
read_rows (SmiTable *self, DiagList *diags)
{
  const guint errors = diag_list_n_errors (diags);
  self->cells = g_new0 (SmiCell, (gsize) self->devices->len * self->devices->len);
  if (!read_lines (self, diags))
    return FALSE;
  for (guint i = 0; i < self->devices->len; i++)
    if (smi_table_device (self, i)->row == 0)
      {
        const SourceMark mark = mark_nth (self, self->header, i);
        diag_error (diags, &mark, WHOLE, "no row of '%s'", smi_table_device (self, i)->name);
      }
  return diag_list_n_errors (diags) == errors;
}

/* Two distances of one pair are an error; two numbers of its links a warning: one may be down. */
static gboolean
check_symmetry (const SmiTable *self, DiagList *diags)
{
  gboolean warned = FALSE;
  for (guint a = 0; a < self->devices->len; a++)
    for (guint b = 0; b < a; b++)
      {
        const SmiCell *here = smi_table_cell (self, a, b), *there = smi_table_cell (self, b, a);
        const gboolean same = here->near == there->near;
        if (same && (here->links == there->links || warned))
          continue;
        const SourceMark mark = smi_table_cell_mark (self, a, b);
        g_autofree char *one = format_cell (here), *other = format_cell (there);
        g_autofree char *what = g_strdup_printf ("'%s' has '%s' to '%s', which has '%s' to it",
                                                 smi_table_device (self, a)->name, one,
                                                 smi_table_device (self, b)->name, other);
        if (!same)
          {
            diag_error (diags, &mark, NULL, "%s", what);
            return FALSE;
          }
        diag_warning (diags, &mark, "a link may be down, or the text was changed", "%s", what);
        warned = TRUE;
      }
  return TRUE;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void
device_clear (gpointer data)
{
  SmiDevice *self = data;
  g_free (self->name);
  g_free (self->cpus);
  g_free (self->numa);
}

static SmiTable *
table_new (const char *name, const char *text, gsize length)
{
  SmiTable        *self = g_new0 (SmiTable, 1);
  g_autofree char *whole = g_strndup (text, length);
  char            *start = whole;
  self->name = intern_text (name);
  self->lines = g_ptr_array_new_with_free_func (g_free);
  self->devices = g_array_new (FALSE, FALSE, sizeof (SmiDevice));
  self->indices = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_array_set_clear_func (self->devices, device_clear);
  while (start != NULL)
    {
      char *end = strchr (start, '\n');
      if (end != NULL)
        *end++ = '\0';
      g_ptr_array_add (self->lines, clean_line (start));
      start = end;
    }
  return self;
}

/* What other commands print, and which prints a topology instead. */
static const struct
{
  const char *sign, *what, *instead;
  gboolean    alike; /* with a line that starts as the matrix does */
} others[] = {
  { "between two GPUs", "that is 'rocm-smi --showtopo'", RCCL_DUMP, TRUE },
  { "ROCm System Management Interface", "that is rocm-smi's", RCCL_DUMP, TRUE },
  { "GPU BDF", "that is amd-smi's", RCCL_DUMP, FALSE },
  { "ACCESS TABLE", "that is 'amd-smi topology'", RCCL_DUMP, TRUE },
  { "| NVIDIA-SMI", "that is nvidia-smi's list of GPUs", SMI_MATRIX, FALSE },
  { "==NVSMI LOG==", "that is 'nvidia-smi -q'", SMI_MATRIX, FALSE },
  { "(UUID: GPU-", "that is 'nvidia-smi -L' or 'nvidia-smi nvlink'", SMI_MATRIX, FALSE },
  { "Machine (", "that is lstopo's text", "take its XML: 'lstopo box.xml'", FALSE },
  { " controller: ", "that is lspci's", SMI_MATRIX, FALSE },
  { "VGA compatible", "that is lspci's", SMI_MATRIX, FALSE },
  { "NUMA node0", "that is lscpu's", SMI_MATRIX, FALSE },
  { "available: ", "that is numactl's", SMI_MATRIX, FALSE },
};

/*
 * FALSE, and a diagnostic, where TEXT is another command's; ALIKE: one that starts as the matrix.
 */
static gboolean
check_other (const SmiTable *self, const char *text, gsize length, gboolean alike, DiagList *diags)
{
  const SourceMark mark = { self->name, 0, 0, 0, NULL };
  for (guint i = 0; i < G_N_ELEMENTS (others); i++)
    if (others[i].alike == alike && g_strstr_len (text, (gssize) length, others[i].sign) != NULL)
      {
        g_autofree char *hint = g_strdup_printf ("%s: %s", others[i].what, others[i].instead);
        diag_error (diags, &mark, hint, "the file is no topology");
        return FALSE;
      }
  return TRUE;
}

SmiTable *
smi_table_load_text (const char *name, const char *text, gsize length, DiagList *diags)
{
  if (!xml_check_text (name, &text, &length, diags))
    return NULL;
  g_autoptr (SmiTable) self = table_new (name, text, length);
  if (!check_other (self, text, length, TRUE, diags))
    return NULL;
  if (!find_header (self))
    {
      const SourceMark mark = { self->name, 0, 0, 0, NULL };
      if (check_other (self, text, length, FALSE, diags))
        diag_error (diags, &mark,
                    "take NCCL_TOPO_DUMP_FILE's XML, lstopo's, or what 'nvidia-smi topo -m' prints",
                    "the file is no topology");
      return NULL;
    }
  smi_unfold (self->lines, self->header, self->name, diags);
  if (!read_header (self, diags) || !read_rows (self, diags) || !check_symmetry (self, diags))
    return NULL;
  return g_steal_pointer (&self);
}

void
smi_table_free (SmiTable *self)
{
  g_ptr_array_unref (self->lines);
  g_array_unref (self->devices);
  g_hash_table_unref (self->indices);
  g_free (self->cells);
  g_free (self);
}

guint
smi_table_length (const SmiTable *self)
{
  return self->devices->len;
}

const SmiDevice *
smi_table_device (const SmiTable *self, guint i)
{
  return &g_array_index (self->devices, SmiDevice, i);
}

const SmiCell *
smi_table_cell (const SmiTable *self, guint a, guint b)
{
  g_assert (a < self->devices->len && b < self->devices->len);
  return &self->cells[(gsize) a * self->devices->len + b];
}

SourceMark
smi_table_mark (const SmiTable *self)
{
  return mark_nth (self, self->header, 0);
}

SourceMark
smi_table_row_mark (const SmiTable *self, guint device)
{
  return mark_nth (self, smi_table_device (self, device)->row, 0);
}

SourceMark
smi_table_cell_mark (const SmiTable *self, guint a, guint b)
{
  return mark_nth (self, smi_table_device (self, a)->row, b + 1);
}
