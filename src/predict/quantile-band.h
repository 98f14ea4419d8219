/* What a share of many draws stays below. */
#pragma once

#include "base/quantile.h"

typedef struct
{
  double p10, p50, p90;
} QuantileBand;
