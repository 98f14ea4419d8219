#include <signal.h>

#include "api/request-private.h"

ShardsimStop *
shardsim_stop_new (void)
{
  return g_new0 (ShardsimStop, 1);
}

void
shardsim_stop_now (ShardsimStop *stop)
{
  stop_by_signal (&stop->stop, SIGINT);
}

void
shardsim_stop_free (ShardsimStop *stop)
{
  g_free (stop);
}
