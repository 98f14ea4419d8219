/* Reports of validations of reinforcement learning: formatting only. */
#pragma once

#include "evidence/tables/validate-rl.h"
#include "report/document/page.h"

/*
 * The answer is RlValidation. The summary is text; of the rows text has a line each, CSV a row and
 * JSON {"rows": [...], "summary": {...}}.
 */
extern const PageKind rl_summary, rl_rows;
