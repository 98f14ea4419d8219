/* Reports of validations of kernels: formatting only. Every writer appends to a string. */
#pragma once

#include "evidence/tables/validate-kernels.h"
#include "report/document/page.h"

/*
 * The answer is KernelValidation. The summary is text; of the rows text has a line each, CSV a row
 * and JSON {"rows": [...], "summary": {...}}.
 */
extern const PageKind kernel_summary, kernel_rows;
