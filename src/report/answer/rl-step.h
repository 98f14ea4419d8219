/* The answer of `shardsim simulate` on a scenario of reinforcement learning: an RlStep. */
#pragma once

#include "posttrain/rl-step.h"
#include "report/document/page.h"

/* CSV has one row; JSON {"rl": {...}}. */
extern const PageKind rl_step_answer;
