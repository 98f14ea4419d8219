#include "model/shape/peft.h"

#include <string.h>

#define SEPARATORS ", "

gboolean
peft_is_target (const char *name, const char *target)
{
  gsize all = strlen (name), end = strlen (target);

  return end > 0 && all >= end && g_str_equal (name + (all - end), target)
         && (all == end || name[all - end - 1] == '.');
}

char **
peft_targets (const TrainingOptions *training)
{
  return g_strsplit_set (training->lora_target_modules, SEPARATORS, -1);
}

gboolean
peft_adapts (const TrainingOptions *training, const char *name)
{
  g_auto (GStrv) targets = NULL;

  if (training->peft == PEFT_NONE)
    return FALSE;
  targets = peft_targets (training);
  for (char **target = targets; *target != NULL; target++)
    if (g_str_equal (*target, PEFT_ALL_LINEAR) || peft_is_target (name, *target))
      return TRUE;
  return FALSE;
}
