/* For strategies of tests that are not about data. */
#pragma once

#include "driver/policy/strategy.h"

/* In init: all data of units has been there from the start, without memory. */
static inline void
data_anywhere (StrategyRun *run)
{
  BufferRef data = schedule_data (run->b, "data");

  schedule_touches (run->b, SCHEDULE_COMPUTE, data, SCHEDULE_WHOLE, ACCESS_WRITE);
  for (guint what = 0; what < UNIT_DATA_N; what++)
    strategy_data (run, SCHEDULE_NONE, (UnitData) what, SCHEDULE_NONE, data);
}
