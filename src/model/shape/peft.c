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

/* Whether one of the modules that TARGET joins is NAME. */
static gboolean
means (const char *target, const char *name)
{
  g_auto (GStrv) parts = g_strsplit (target, PEFT_JOIN, -1);

  for (char **part = parts; *part != NULL; part++)
    if (peft_is_target (name, *part))
      return TRUE;
  return FALSE;
}

/* Number from 1 of the first target that means module NAME, and whether it JOINS some; 0: none. */
static guint
target_of (const TrainingOptions *training, const char *name, gboolean *joins)
{
  g_auto (GStrv) targets = NULL;

  if (joins != NULL)
    *joins = FALSE;
  if (training->peft == PEFT_NONE)
    return 0;
  targets = peft_targets (training);
  for (guint i = 0; targets[i] != NULL; i++)
    if (g_str_equal (targets[i], PEFT_ALL_LINEAR) || means (targets[i], name))
      {
        if (joins != NULL)
          *joins = strstr (targets[i], PEFT_JOIN) != NULL;
        return i + 1;
      }
  return 0;
}

gboolean
peft_adapts (const TrainingOptions *training, const char *name)
{
  return target_of (training, name, NULL) > 0;
}

guint
peft_joined (const TrainingOptions *training, const char *name)
{
  gboolean joins;
  guint    target = target_of (training, name, &joins);

  return joins ? target : 0;
}
