/*
 * What may be set otherwise in a scenario: the one table of options behind searches (what is best),
 * remedies (what fits), advice (what is faster) and maxima (the largest value that fits). Each row
 * says which values its option takes in a search, and which a scenario moves to from its own.
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
  LEVER_MEMORY = 1 << 5,  /* may take less memory: nothing but a remedy tries it */
  LEVER_REMEDY = LEVER_AXIS | LEVER_VARIANT | LEVER_FREE | LEVER_KERNELS | LEVER_MEMORY,
} LeverUse;

/* The job that a search tries values for. */
typedef struct
{
  guint  n_gpus, gpus_per_node;
  gint64 n_layers, n_experts;
} SearchRoom;

/* What bounds the numbers that a search tries of an option. */
typedef enum
{
  LIMIT_NONE,
  LIMIT_NODE,    /* tensor ranks stay inside a node */
  LIMIT_GPUS,    /* no more ranks than there are */
  LIMIT_EXPERTS, /* ranks that divide experts and GPUs */
  LIMIT_MOE,     /* nothing where there are no experts */
  LIMIT_LAYERS,  /* stages that divide the layers, or these with embedding and head (126 over 16) */
  LIMIT_CHUNKS,  /* of each stage, that divide them */
  LIMIT_INNER,   /* ranks of groups in an axis: neither single ones nor all */
  LIMIT_ALIKE,   /* nothing where a file of lengths says what a micro-batch is */
} LeverLimit;

#define LEVER_WORDS 6 /* and the NULL that ends them */

typedef struct _LeverMoves LeverMoves;
typedef struct _Lever      Lever;

/* An option with the values that it can take; the table ends with a NULL section. */
struct _Lever
{
  const char *section; /* "strategy": of the innermost, which shards */
  const char *key;     /* NULL: all of the strategy's own */
  guint       uses;    /* LeverUse */
  gboolean    apart; /* a value is tried with values of `with` alone, where these are open: each is
                          a kind of its own */
  void (*add) (LeverMoves *moves, const Lever *lever); /* may be NULL: it has a maximum only */
  const char *words[LEVER_WORDS]; /* that it moves to, or NULL: all of its option's, */
  const char *only_from;          /* of the value that it then has alone; NULL: of any */
  const char
        *values_need; /* an axis of the mesh without which the values that are tried do the same,
                              where the option itself does not need it ("order": "pp"); or NULL */
  gint64 most;        /* that is tried as its largest value; 0: nobody asks for that */

  /* in the space of a search */
  gboolean    divides;            /* its ranks divide the data ranks */
  gboolean    stages;             /* it sets nothing but how layers lie on stages */
  gint64      most_tried;         /* of numbers from 1 on, each of them ... */
  gboolean    doubles;            /* ... or 1, 2, 4, ...; */
  LeverLimit  limit;              /* which of them may be */
  const char *usual[LEVER_WORDS]; /* words that a search has without it */
  const char *with[LEVER_WORDS];  /* keys that are tried with each of its values but the default */
  const char *only_with;          /* of the option above it: the word that it is tried with; NULL:
                                     any */
  const char *of;                 /* the axis of the mesh whose ranks it is a kind of, or NULL */
};

extern const Lever levers[];

/* The lever of KEY ("mesh.tp"); NULL: it is none. */
const Lever *lever_find (const char *key);
gboolean     lever_sets (const Lever *self, const char *key);

/* The ranks that SCENARIO has of AXIS of the mesh, "tp"; at least 1. */
gint64 lever_degree (const Scenario *scenario, const char *axis);

/*
 * What a search tries of SELF around SCENARIO, ABOVE of what it is tried with (1: nothing). Newly
 * allocated.
 */
GStrv lever_choices (const Lever *self, const Scenario *scenario, const SearchRoom *room,
                     gint64 above);

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
