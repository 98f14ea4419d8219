/* Compressors, and their closed forms, which share nothing with what they emit. */
#pragma once

#include "strategy/compression/compression.h"

#define SUM_BYTES 4 /* of L-GreCo's sums of gradients */

extern const Compressor compressor_powersgd, compressor_top_k;

void powersgd_form (const PlanInput *in, const UnitPolicy *policy, guint kind, double bucket,
                    double times, IssueForm *form);
void top_k_form (const PlanInput *in, const UnitPolicy *policy, guint kind, double bucket,
                 double times, IssueForm *form);
