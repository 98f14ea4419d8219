#include "predict/leavings.h"

Leavings *
leavings_new (void)
{
  Leavings *self = g_new (Leavings, 1);

  *self = (Leavings){ layout_store_new (), binding_store_new (), sound_programs_new () };
  return self;
}

void
leavings_free (Leavings *self)
{
  if (self == NULL)
    return;
  layout_store_free (self->layouts);
  binding_store_free (self->bindings);
  sound_programs_free (self->sound);
  g_free (self);
}
