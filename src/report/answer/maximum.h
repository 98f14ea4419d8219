/*
 * `simulate --max`: the largest value that fits, what ends it, and the prediction of it. The answer
 * is Maximum; JSON is {"maximum": {...}, "results": [the prediction of the value]}.
 */
#pragma once

#include "decide/explore/maximum.h"
#include "report/document/page.h"

extern const PageKind maximum_answer;
