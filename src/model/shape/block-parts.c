#include "model/shape/block-parts.h"

#include <string.h>

#include "base/config/suggest.h"
#include "model/shape/family-private.h"

#define SEPARATORS ", "

/* Names, NULL at the end, and of each the part. */
static const char *const names[] = { "core_attn",      "mlp",       "moe",
                                     "shared_experts", "layernorm", "qk_layernorm",
                                     "mla_up_proj",    "moe_act",   NULL };

static guint
part_of (const char *name)
{
  for (guint i = 0; names[i] != NULL; i++)
    if (g_str_equal (names[i], name))
      return 1U << i;
  return 0;
}

guint
block_parts_within (guint whole)
{
  return whole & PART_MOE ? PART_SHARED_EXPERTS | PART_MOE_ACT : 0;
}

guint
block_parts_recomputed (const TrainingOptions *training)
{
  g_auto (GStrv) words = NULL;
  guint          parts = 0;

  if (training->recompute_modules == NULL)
    return PART_CORE_ATTN;
  words = g_strsplit_set (training->recompute_modules, SEPARATORS, -1);
  for (char **word = words; *word != NULL; word++)
    parts |= part_of (*word);
  return parts;
}

/* Parts that some block of SHAPE has. */
static guint
parts_of (const ModelShape *shape)
{
  guint parts = PART_CORE_ATTN | PART_LAYERNORM;

  if (shape->n_experts > 0)
    parts |= PART_MOE | PART_MOE_ACT;
  if (shape->n_experts > 0 && shape->n_shared_experts > 0)
    parts |= PART_SHARED_EXPERTS;
  if (model_has_feed (shape, MODEL_FEED_DENSE))
    parts |= PART_MLP;
  if (shape->kv_lora_rank > 0)
    parts |= PART_MLA_UP_PROJ;
  if (shape->kv_lora_rank > 0 || shape->qk_norm)
    parts |= PART_QK_LAYERNORM;
  return parts;
}

static char *
list_parts (guint parts)
{
  GString *text = g_string_new ("parts of its blocks: ");
  gsize    start = text->len;

  for (guint i = 0; names[i] != NULL; i++)
    if (parts & 1U << i)
      g_string_append_printf (text, "%s%s", text->len > start ? ", " : "", names[i]);
  return g_string_free (text, FALSE);
}

/* FALSE when WORD names no part, or one that SHAPE has not. */
static gboolean
check_word (const ModelShape *shape, const char *word, const SourceMark *mark, DiagList *diags)
{
  const guint      part = part_of (word);
  g_autofree char *near = suggest_hint (word, names);
  g_autofree char *list = list_parts (parts_of (shape));

  if (part == 0)
    diag_error (diags, mark, near != NULL ? near : list,
                "'recompute_modules' names '%s', which is no part of a block", word);
  else if ((part & parts_of (shape)) == 0)
    diag_error (diags, mark, list, "'recompute_modules' names '%s', which '%s' does not have", word,
                shape->name);
  else
    return TRUE;
  return FALSE;
}

gboolean
block_parts_check (const ModelShape *shape, const TrainingOptions *training,
                   const OptionMarks *marks, DiagList *diags)
{
  const SourceMark *mark = option_mark (marks, "recompute_modules", NULL);
  g_auto (GStrv)    words = NULL;
  gboolean          ok = TRUE;

  if (training->recompute_modules == NULL || training->checkpointing != CHECKPOINT_SELECTIVE)
    return TRUE;
  if (block_parts_recomputed (training) == 0
      && strspn (training->recompute_modules, SEPARATORS) == strlen (training->recompute_modules))
    {
      g_autofree char *list = list_parts (parts_of (shape));

      diag_error (diags, mark, list, "'recompute_modules' names no part");
      return FALSE;
    }
  words = g_strsplit_set (training->recompute_modules, SEPARATORS, -1);
  for (char **word = words; *word != NULL; word++)
    ok = (**word == '\0' || check_word (shape, *word, mark, diags)) && ok;
  return ok;
}
