#include "workload/shard-block.h"

#include <fnmatch.h>
#include <string.h>

typedef struct
{
  guint64 rows, columns; /* columns 0: whole rows */
} Block;

static const Block one_row = { 1, 0 };

/* "16rows", "1row", "32x32". */
static gboolean
read_block (const char *text, Block *block)
{
  char *end = NULL;

  *block = (Block){ 0, 0 };
  if (!g_ascii_isdigit (*text))
    return FALSE;
  block->rows = g_ascii_strtoull (text, &end, 10);
  if (*end == 'x' && g_ascii_isdigit (end[1]))
    {
      block->columns = g_ascii_strtoull (end + 1, &end, 10);
      return block->rows > 0 && block->columns > 0 && *end == '\0';
    }
  return block->rows > 0 && (strcmp (end, "row") == 0 || strcmp (end, "rows") == 0);
}

/* RULE, "PATTERN=BLOCK" or "BLOCK": its pattern, and its block (NULL: it is none). */
static const char *
split_rule (char *rule, Block *block)
{
  char *text = strrchr (rule, '=');

  g_strstrip (rule);
  if (text != NULL)
    *text++ = '\0';
  if (!read_block (g_strstrip (text != NULL ? text : rule), block))
    *block = (Block){ 0, 0 };
  return text != NULL ? g_strstrip (rule) : "*";
}

/* The block of the first rule that takes TENSOR. */
static Block
find_block (const char *spec, const TensorDesc *tensor)
{
  g_auto (GStrv) rules = g_strsplit (spec, ",", -1);

  for (guint i = 0; rules[i] != NULL; i++)
    {
      Block       block;
      const char *pattern = split_rule (rules[i], &block);

      if (block.rows > 0 && fnmatch (pattern, tensor->name, 0) == 0)
        return block;
    }
  return one_row;
}

static guint64
row_of (const TensorDesc *tensor)
{
  return tensor->n_dims > 1 ? tensor->shape[tensor->n_dims - 1] : 1;
}

guint64
shard_block_of (const char *spec, const TensorDesc *tensor)
{
  Block block = spec != NULL && tensor->n_dims > 1 ? find_block (spec, tensor) : one_row;

  return MIN (block.rows * row_of (tensor), MAX (tensor->elements, 1));
}

/* ---- check ----------------------------------------------------------------------------------- */

gboolean
shard_block_check (const char *spec, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) rules = g_strsplit (spec, ",", -1);

  for (guint i = 0; rules[i] != NULL; i++)
    {
      g_autofree char *said = g_strstrip (g_strdup (rules[i]));
      Block            block;

      split_rule (rules[i], &block);
      if (block.rows > 0)
        continue;
      diag_error (diags, mark, "such as '16rows', '32x32', or '*experts*=128rows, 1row'",
                  "'shard_block' has no block in '%s'", said);
      return FALSE;
    }
  return TRUE;
}

gboolean
shard_block_check_tensor (const char *spec, const TensorDesc *tensor, const SourceMark *mark,
                          DiagList *diags)
{
  const guint64    row = row_of (tensor), rows = tensor->elements / row;
  Block            block = find_block (spec, tensor);
  g_autofree char *said = NULL, *hint = NULL;

  if (tensor->n_dims < 2
      || (rows % block.rows == 0 && (block.columns == 0 || row % block.columns == 0)))
    return TRUE;
  said = block.columns > 0 ? g_strdup_printf ("%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT,
                                              block.rows, block.columns)
                           : g_strdup_printf ("%" G_GUINT64_FORMAT " rows", block.rows);
  hint = g_strdup_printf ("give it another one, before the others: '%s=1row, ...'", tensor->name);
  diag_error (diags, mark, hint,
              "a block of %s %s '%s' of %" G_GUINT64_FORMAT " rows of %" G_GUINT64_FORMAT, said,
              block.rows > rows || block.columns > row ? "is larger than" : "does not divide",
              tensor->name, rows, row);
  return FALSE;
}
