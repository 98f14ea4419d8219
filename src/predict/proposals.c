#include "predict/proposals.h"

void
advice_free (Advice *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->options);
  g_array_unref (self->figures);
  g_free (self);
}

void
remedies_free (Remedies *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->found);
  g_free (self->nearest);
  g_free (self->sequence);
  g_free (self);
}
