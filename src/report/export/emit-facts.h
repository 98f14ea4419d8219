/*
 * What a mapping to a framework's options reads: the settings of a scenario, and what follows from
 * them ("fact.global_batch").
 */
#pragma once

#include "scenario/resolved.h"

typedef struct
{
  char             *name;  /* "training.seq_len", "strategy.inner.name", "fact.world" */
  char             *value; /* as text */
  const OptionSpec *spec;  /* NULL: of a fact */
  const SourceMark *mark;  /* where it was set; NULL: nowhere */
} EmitSetting;

/*
 * Array of EmitSetting, in the order of scenario_settings, then the facts; frees what it holds.
 * Facts that do not exist (the GPUs a node of unequal nodes) are left out. RESOLVED must outlive
 * it.
 */
GArray *emit_facts (const ResolvedScenario *resolved);

/* NULL when there is none. */
const EmitSetting *emit_facts_find (const GArray *facts, const char *name);
