/* What planned runs and those whose nodes come and go share. Strings are newly allocated. */
#pragma once

#include "report/answer/run-plan.h"
#include "report/document/document.h"
#include "report/plot/plot-private.h"

#define HOUR 3600.0
#define DAY  86400.0

char *run_plan_days (double seconds);       /* "0.0123", "1.23", "12.3", "123.4" */
char *run_plan_amount (double value);       /* "1234567", to three digits or more; "": not known */
char *run_plan_title (const RunPlan *plan); /* type of node, and scenario of several */

/* A row an assumption, a column a type of node: scenarios on the same nodes assume the same. */
void run_plan_describe_assumptions (Document *document, const RunPlanAnswer *self);

/* Days and money over nodes: the draw of run_plan_page. */
gboolean run_plan_draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer,
                        GError **error);
