/* What both ways of goodput.h read their input as. Rates are per second. */
#pragma once

#include "decide/plan/goodput.h"

/* Of N parts that fail every MTBF_S each; 0: never. */
double goodput_rate (double mtbf_s, double n);

/* Others go on without a site that is lost. */
gboolean goodput_is_elastic (const GoodputInput *in);

/* Failures that take a node, or a site, from the whole job and so stop it. */
double goodput_hard_rate (const GoodputInput *in);
double goodput_outage_rate (const GoodputInput *in);

/* Of one site that others go on without: that its place fails, that a node of it does. */
typedef struct
{
  double place, node;
} SiteRates;

SiteRates goodput_site_rates (const GoodputInput *in);

/* Mean time until such a site is ready to join of which a node failed. */
double goodput_node_absence (const GoodputInput *in);

/*
 * A job goes at the pace of its slowest part: what a node that is slow for a while makes of a step,
 * where a step of the run takes STEP_S.
 */
double goodput_straggler_slowdown (const GoodputInput *in, double step_s);
