/*
 * What may be set otherwise in a scenario: the one table of options behind searches (what is best),
 * remedies (what fits), advice (what is faster) and maxima (the largest value that fits).
 * Whatever a search tries, remedies try: it may take less memory. None of them changes what is
 * trained: not the model, its precision, its optimizer or, but where it is said, the global batch.
 */
#pragma once

#include "scenario/scenario.h"

typedef enum
{
  LEVER_ADVICE = 1 << 0,  /* may take less time */
  LEVER_AXIS = 1 << 1,    /* an axis of a search's space sets it */
  LEVER_VARIANT = 1 << 2, /* its values are variants of a search's space */
  LEVER_FREE = 1 << 3,    /* a search tries it around the best: nothing else has to follow */
  LEVER_KERNELS = 1 << 4, /* a search settles it before all else: which kernels run, on any mesh */
  LEVER_REMEDY = LEVER_AXIS | LEVER_VARIANT | LEVER_FREE | LEVER_KERNELS,
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

/* The lever of KEY ("mesh.tp"); NULL: it is none. */
const Lever *lever_find (const char *key);

/*
 * What is tried of SPEC, but NOW (NULL: all): of a switch both values, of words all but, unless
 * NUMBERED, those that end with a number of the user's. Newly allocated; empty for other types.
 */
GStrv lever_values (const OptionSpec *spec, const char *now, gboolean numbered);

/* One value of one lever. */
typedef struct
{
  guint       lever;
  const char *key, *value, *also_key, *also_value; /* interned; the second pair may be NULL */
  const char *needs; /* interned key of an axis that another move must give ranks; NULL: none */
  gint64      micro_steps; /* so many times more of them keep the global batch */
  gint64      fewer;       /* or they are divided by so many */
} Move;

/*
 * Every value of every lever for USE that SCENARIO, on N_GPUS, does not have: newly allocated array
 * of Move, lever by lever. What would have no effect as SCENARIO is left out, but for remedies:
 * there it may come with a move of what it needs. The option tables bound their number.
 * STRATEGIES: of scenario_load; NULL: those of the program.
 */
GArray *lever_moves (const Scenario *scenario, const StrategySet *strategies, guint n_gpus,
                     LeverUse use);
