/*
 * `plan --membership`: what runs come to whose nodes leave and join. The answer is MembershipRun*.
 * CSV has a row a span, JSON {"runs": [{"scenario": ..., "wall_s": ..., "spans": [...]}]}.
 */
#pragma once

#include "decide/plan/membership-run.h"
#include "report/document/page.h"

extern const PageKind membership_answer;
