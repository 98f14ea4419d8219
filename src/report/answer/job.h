/* What a job's file says, does not say, and what became of each of its keys. */
#pragma once

#include "import/job/job.h"

/* A line of counts, what was filled in, what is not followed, and what is the user's to give. */
void report_job (const JobAccount *account, GString *out);

/* The same, and every key. */
void report_job_keys (const JobAccount *account, GString *out);
