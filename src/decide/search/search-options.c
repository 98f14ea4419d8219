#include "decide/search/search-options.h"

#include "base/intern.h"
#include "decide/sweep/vary.h"

#define MAX_VALUES      1000 /* of an axis: each is tried in every configuration */
#define OPTION(member_) .offset = G_STRUCT_OFFSET (SearchWords, member_)
#define GOAL(member_)   .offset = G_STRUCT_OFFSET (SearchGoal, member_)

const OptionSpec search_options[] = {
  { .key = "only",
    .type = OPTION_BOOL,
    OPTION (only),
    .fallback = "false",
    .help = "vary only what --vary names" },
  { .key = "max_memory",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    OPTION (max_memory),
    .optional = TRUE,
    .help = "memory of a GPU that may be taken, such as '70 GiB'" },
  { .key = "max_host_memory",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    OPTION (max_host_memory),
    .optional = TRUE,
    .help = "memory of a node that may be taken" },
  { .key = "within",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (within),
    .fallback = "2",
    .max = 99.9,
    .help = "the answer is the simplest that a framework runs of what is at most so much slower "
            "than the fastest, in percent; 0: the fastest" },
  { .key = "memory_margin",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (memory_margin),
    .fallback = "3",
    .max = 99.9,
    .help = "part of each GPU's memory that stays free, in percent" },
  { .key = "simulate",
    .type = OPTION_INT,
    OPTION (simulate),
    .optional = TRUE,
    .min = 1,
    .max = 1e9,
    .help = "configurations that are simulated at most; unset: 300" },
  { .key = "effort",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (effort),
    .optional = TRUE,
    .max = 1000,
    .help = "how long a search may look, as a multiple of the usual; unset: 1" },
  { .key = "no_refine",
    .type = OPTION_BOOL,
    OPTION (no_refine),
    .fallback = "false",
    .help = "do not try the other options of the best" },
  { 0 },
};

const OptionSpec search_goal_options[] = {
  { .key = "objective",
    .type = OPTION_ENUM,
    .choices = search_objective_names,
    GOAL (objective),
    .fallback = "throughput",
    .help = "what is wanted most: throughput, efficiency (a GPU) or cost" },
  { .key = "price",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    GOAL (price),
    .optional = TRUE,
    .max = 1e12,
    .help = "price of a GPU-hour" },
  { .key = "best",
    .type = OPTION_INT,
    GOAL (best),
    .fallback = "10",
    .min = 1,
    .max = 1e6,
    .help = "how many are listed" },
  { 0 },
};

gboolean
search_words_vary (SearchWords *self, const char *text, const char *origin, DiagList *diags)
{
  g_autoptr (Vary)      axis = vary_new ();
  g_autoptr (GPtrArray) values = g_ptr_array_new_with_free_func (g_free);
  g_autofree char      *place = g_strdup_printf ("%s %s", origin, text);
  const SourceMark      mark = { .file = intern_text (place) };

  if (!vary_add (axis, text, &mark, diags))
    return FALSE;
  if (vary_length (axis) > MAX_VALUES)
    {
      diag_error (diags, &mark, "a few values, or a step: 1,2,4..64",
                  "%" G_GUINT64_FORMAT " values are too many to search among (at most %d)",
                  vary_length (axis), MAX_VALUES);
      return FALSE;
    }
  for (guint64 i = 0; i < vary_length (axis); i++)
    g_ptr_array_add (values, vary_value (axis, i, 0));
  g_ptr_array_add (values, NULL);
  if (self->values == NULL)
    self->values = g_ptr_array_new_with_free_func ((GDestroyNotify) g_strfreev);
  self->varied = g_renew (SearchVary, self->varied, self->n_varied + 1);
  self->varied[self->n_varied++] = (SearchVary){ .key = intern_text (vary_key (axis, 0)),
                                                 .values = (const char *const *) values->pdata,
                                                 .mark = mark };
  g_ptr_array_add (self->values, g_ptr_array_steal (values, NULL));
  return TRUE;
}

void
search_words_apply (const SearchWords *self, SearchOptions *options)
{
  options->within = self->within / 100;
  options->memory_margin = self->memory_margin / 100;
  options->max_hbm = self->max_memory;
  options->max_host = self->max_host_memory;
  options->max_simulated = (guint) self->simulate;
  options->effort = self->effort;
  options->refine = !self->no_refine;
}

void
search_words_clear (SearchWords *self)
{
  g_free (self->varied);
  g_clear_pointer (&self->values, g_ptr_array_unref);
}

gboolean
search_goal_apply (const SearchGoal *self, SearchOptions *options, DiagList *diags)
{
  options->objective = (SearchObjective) self->objective;
  options->price_per_gpu_hour = self->price;
  options->n_best = (guint) self->best;
  if (options->objective != SEARCH_COST || options->price_per_gpu_hour > 0)
    return TRUE;
  diag_error (diags, NULL, "add --price 2.50 (a GPU-hour)", "--objective cost needs a price");
  return FALSE;
}
