#include "model/optimizer/shard-block.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

typedef struct
{
  guint64 rows, columns; /* columns 0: whole rows */
} Block;

static const Block one_row = { 1, 0 };

/* Decimal digits at *TEXT, which is moved behind them. 0: there are none, or more than 64 bits. */
static guint64
read_number (const char **text, gboolean *too_large)
{
  char   *end = NULL;
  guint64 value;

  if (!g_ascii_isdigit (**text))
    return 0;
  errno = 0;
  value = g_ascii_strtoull (*text, &end, 10);
  *text = end;
  if (errno != ERANGE)
    return value;
  *too_large = TRUE;
  return 0;
}

/* "16rows", "1row", "32x32"; of anything else, or numbers that are *TOO_LARGE, 0 rows. */
static Block
read_block (const char *text, gboolean *too_large)
{
  Block    block = { 0 };
  gboolean tile, ok;

  *too_large = FALSE;
  block.rows = read_number (&text, too_large);
  tile = *text == 'x';
  if (tile)
    {
      text++;
      block.columns = read_number (&text, too_large);
    }
  ok = tile ? block.columns > 0 && *text == '\0'
            : strcmp (text, "row") == 0 || strcmp (text, "rows") == 0;
  return ok ? block : (Block){ 0 };
}

typedef struct
{
  const char *pattern;
  Block       block; /* of 0 rows: it is none */
  gboolean    too_large;
} Rule;

/* RULE, "PATTERN=BLOCK" or "BLOCK", is cut into the two. */
static Rule
split_rule (char *rule)
{
  char *text = strrchr (rule, '=');
  Rule  result = { .pattern = "*" };

  if (text != NULL)
    *text++ = '\0';
  result.block = read_block (g_strstrip (text != NULL ? text : rule), &result.too_large);
  if (text != NULL)
    result.pattern = g_strstrip (rule);
  return result;
}

/* The block of the first rule that takes TENSOR. */
static Block
find_block (const char *spec, const TensorDesc *tensor)
{
  g_auto (GStrv) rules = g_strsplit (spec, ",", -1);

  for (guint i = 0; rules[i] != NULL; i++)
    {
      Rule rule = split_rule (rules[i]);

      if (rule.block.rows > 0 && fnmatch (rule.pattern, tensor->name, 0) == 0)
        return rule.block;
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

#define EXAMPLES "such as '16rows', '32x32', or '*experts*=128rows, 1row'"

gboolean
shard_block_check (const char *spec, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) rules = g_strsplit (spec, ",", -1);

  if (spec[strspn (spec, ", \t")] == '\0')
    {
      diag_error (diags, mark, EXAMPLES, "'shard_block' is an empty list: '%s'", spec);
      return FALSE;
    }
  for (guint i = 0; rules[i] != NULL; i++)
    {
      g_autofree char *said = g_strstrip (g_strdup (rules[i]));
      Rule             rule = split_rule (rules[i]);

      if (rule.block.rows > 0)
        continue;
      if (rule.too_large)
        diag_error (diags, mark, "a block is no larger than its tensor",
                    "'shard_block' has a number that is too large in '%s'", said);
      else
        diag_error (diags, mark, EXAMPLES, "'shard_block' has no block in '%s'", said);
      return FALSE;
    }
  return TRUE;
}

GStrv
shard_block_patterns (const char *spec)
{
  g_auto (GStrv) rules = g_strsplit (spec, ",", -1);

  for (guint i = 0; rules[i] != NULL; i++)
    {
      char *pattern = g_strdup (split_rule (rules[i]).pattern);

      g_free (rules[i]);
      rules[i] = pattern;
    }
  return g_steal_pointer (&rules);
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
