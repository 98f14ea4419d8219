/*
 * What may be set otherwise in a scenario: the one table of options behind remedies (what fits),
 * advice (what is faster) and maxima (the largest value that fits). None of them changes what is
 * trained: not the model, its precision, its optimizer or, but where it is said, the global batch.
 */
#pragma once

#include "scenario/scenario.h"

typedef enum
{
  LEVER_REMEDY = 1 << 0, /* may take less memory */
  LEVER_ADVICE = 1 << 1, /* may take less time */
  LEVER_FREE = 1 << 2,   /* a search tries it unasked: nothing else has to follow */
  LEVER_KERNELS = 1 << 3 /* a search settles it before all else: which kernels run, on any mesh */
} LeverUse;

typedef struct _LeverMoves LeverMoves;
typedef struct _Lever      Lever;

/* An option with the values that it can take; the list ends with a NULL section. */
struct _Lever
{
  const char *section; /* "strategy": of the innermost, which shards */
  const char *key;     /* NULL: all of the strategy's own */
  guint       uses;    /* LeverUse */
  void (*add) (LeverMoves *moves, const Lever *lever); /* may be NULL: it has a maximum only */
  const char *needs; /* an axis of the mesh that must have ranks: "pp"; NULL: none */
  gint64      most;  /* that is tried as its largest value; 0: nobody asks for that */
};

extern const Lever levers[];

/* One value of one lever. */
typedef struct
{
  guint       lever;
  const char *key, *value, *also_key, *also_value; /* interned; the second pair may be NULL */
  gint64      micro_steps; /* so many times more of them keep the global batch */
  gint64      fewer;       /* or they are divided by so many */
} Move;

/*
 * Every value of every lever for USE that SCENARIO, on N_GPUS, does not have: newly allocated array
 * of Move, lever by lever. The option tables bound their number. STRATEGIES: of scenario_load;
 * NULL: those of the program.
 */
GArray *lever_moves (const Scenario *scenario, const StrategySet *strategies, guint n_gpus,
                     LeverUse use);
