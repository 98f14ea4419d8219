#include "vocabulary/dispatch.h"

double
dispatch_parts (const Dispatch *self, guint parts)
{
  const double experts = self->experts, others = experts - experts / parts;
  double       missed = 1;

  for (guint i = 0; i < self->chosen; i++)
    missed *= MAX (others - i, 0) / (experts - i);
  return parts * (1 - missed);
}

double
dispatch_nodes (const Dispatch *self, guint nodes)
{
  const double reached = dispatch_parts (self, nodes);

  return self->most_nodes > 0 ? MIN (reached, self->most_nodes) : reached;
}
