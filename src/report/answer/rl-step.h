/* The answer of `shardsim simulate` on a scenario of reinforcement learning: an RlStep. */
#pragma once

#include "posttrain/rl-step.h"
#include "report/document/document.h"
#include "report/document/page.h"

/* CSV has one row; JSON {"rl": {...}}. */
extern const PageKind rl_step_answer;

/* Which phase of STEP takes how long, as a section of DOCUMENT. */
void describe_rl_phases (Document *document, const RlStep *step);
