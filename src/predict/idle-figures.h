/*
 * Figures of the hardware that a scenario sets and that play no part in it.
 *
 * Set: a figure x. It plays a part when with a tenth of x or ten times as much some op asks for
 * other amounts or waits another time, a link or memory that is used is another, or MFU is counted
 * against something else. Nothing is simulated for that: schedules are bound, of as few
 * micro-batches as hold all that a step does. In a collective it does when a size takes another
 * time.
 */
#pragma once

#include "predict/placement-band.h"
#include "scenario/resolved.h"

/*
 * Warns of those of SCENARIO, resolved under PROFILES; but of a framework's that is not run, which
 * resolved_new does.
 */
void idle_figures_warn (const Scenario *scenario, ProfileSet *profiles, DiagList *diags);

/* The same of figures that play no part in any of N SCENARIOS, all with the first one's figures. */
void idle_figures_warn_of_all (const Scenario *const *scenarios, guint n, ProfileSet *profiles,
                               DiagList *diags);

/* The same of a collective that is run as INPUT says, on CLUSTER; its figures were set at MARK. */
void idle_figures_warn_collective (const CollectiveBandInput *input, const Cluster *cluster,
                                   const SourceMark *mark, DiagList *diags);
