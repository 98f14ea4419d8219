/*
 * The screen of a search: bounds of a configuration by arithmetic, without its schedule.
 *
 * Time: a step is no shorter than what its kernels take one after another on a stage of its
 * pipeline, with the collectives that they wait for and the passes that stand before and behind
 * them; nor than what one of its communicators needs for the bytes that the closed form of the
 * strategy says. Kernels and collectives take what they take alone (KernelCost.alone, the analytic
 * fidelity), which contention only lengthens. Memory: the closed form's lower bound. So what a
 * bound rules out, a simulation does too.
 */
#pragma once

#include "driver/oracle/expect-sums.h"
#include "replay/bind/plan.h"

typedef struct _SearchScreen SearchScreen;

SearchScreen *search_screen_new (void);
void          search_screen_free (SearchScreen *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SearchScreen, search_screen_free)

/* What a stage of RESOLVED computes, and its pipeline around it. Thread-safe, as all below. */
typedef struct
{
  double      work; /* s: all kernels of a micro-batch, of all stages, with what they wait for, */
  double      both; /* and at least so many where two directions of a pipeline compute at once */
  double      compute;  /* s: a step is no shorter than that */
  const char *hardware; /* what collectives run on and how, interned */
} ScreenedCompute;

ScreenedCompute search_screen_compute (SearchScreen *self, const ResolvedScenario *resolved);

/*
 * Bytes that activations of RESOLVED's first stage take at least, whatever the strategy. SUMS: of
 * its workload (expect_sums_begin), kept from one call to the next.
 */
double search_screen_activations (const ResolvedScenario *resolved, ExpectSums *sums);

typedef struct
{
  double  seconds;        /* a step is no shorter */
  guint64 bytes[PLACE_N]; /* a rank of the first stage takes no less; pinned and pageable: no less
                             in sum */
} ScreenedBound;

/*
 * CHOICE in the place of RESOLVED's strategy. FALSE when it does not take the model and mesh, or
 * has no closed form (then the bound is that of COMPUTE alone); what it says about that into
 * DIAGS.
 */
gboolean search_screen_bound (SearchScreen *self, const ResolvedScenario *resolved,
                              const ScreenedCompute *compute, const StrategyChoice *choice,
                              ExpectSums *sums, ScreenedBound *bound, DiagList *diags);
