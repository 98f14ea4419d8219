/*
 * What predictions leave for others, of any thread: parts that do not change from one to
 * the next are not made again. No prediction is another for it.
 */
#pragma once

#include "cost/collective/layout/layout-store.h"
#include "replay/bind/binding-store.h"
#include "schedule/sound-programs.h"

typedef struct _Leavings
{
  LayoutStore   *layouts;
  BindingStore  *bindings;
  SoundPrograms *sound;
} Leavings;

Leavings *leavings_new (void);
void      leavings_free (Leavings *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Leavings, leavings_free)
