#include "decide/explore/sensitivity-options.h"

#define OPTION(member_) .offset = G_STRUCT_OFFSET (SensitivityWords, member_)

static const char *const parts[] = { "both", "figures", "options", NULL };

const OptionSpec sensitivity_options[] = {
  { .key = "factor",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_COUNT,
    OPTION (factor),
    .fallback = "1.25",
    .min = 1.001,
    .max = 100,
    .help = "what figures are multiplied and divided by" },
  { .key = "only",
    .type = OPTION_ENUM,
    .choices = parts,
    OPTION (only),
    .fallback = "both",
    .help = "figures of the hardware, or options of the scenario; in CSV both is figures" },
  { .key = "no_break_even",
    .type = OPTION_BOOL,
    OPTION (no_break_even),
    .fallback = "false",
    .help = "do not look for the values above which rates no longer matter" },
  { 0 },
};

void
sensitivity_words_clear (SensitivityWords *self)
{
  g_strfreev (self->figures);
  g_strfreev (self->map);
}

static gboolean
check_map (const SensitivityWords *self, DiagList *diags)
{
  if (self->map == NULL)
    return TRUE;
  if (g_strv_length (self->map) != 2)
    diag_error (diags, NULL, NULL, "--map is wanted twice: to the right, and down");
  else if (self->figures != NULL
           || !option_is_default (option_table_find (sensitivity_options, "factor"), self)
           || self->only != SENSITIVITY_BOTH || self->no_break_even)
    diag_error (diags, NULL, NULL,
                "--map takes neither --figure, --only, --factor nor --no-break-even");
  else
    return TRUE;
  return FALSE;
}

gboolean
sensitivity_words_apply (const SensitivityWords *self, gboolean one_table,
                         SensitivityOptions *options, DiagList *diags)
{
  *options = (SensitivityOptions){
    .factor = self->factor,
    .figures = (const char *const *) self->figures,
    .no_figures = self->only == SENSITIVITY_OPTIONS,
    .break_even = !self->no_break_even,
    .options = self->only == SENSITIVITY_OPTIONS
               || (self->only == SENSITIVITY_BOTH && self->figures == NULL && !one_table),
  };
  if (!options->no_figures || self->figures == NULL)
    return check_map (self, diags);
  diag_error (diags, NULL, NULL, "--figure asks about figures, --only options about none");
  return FALSE;
}
