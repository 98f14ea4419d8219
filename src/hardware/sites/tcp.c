#include "hardware/sites/tcp.h"

#include <glib.h>
#include <math.h>

double
tcp_connection_rate (double rtt, double loss, double window)
{
  double rate = G_MAXDOUBLE;

  if (rtt <= 0)
    return 0;
  if (window > 0)
    rate = MIN (rate, window / rtt);
  if (loss > 0)
    rate = MIN (rate, TCP_MSS / rtt * sqrt (1.5 / loss));
  return rate < G_MAXDOUBLE ? rate : 0;
}
