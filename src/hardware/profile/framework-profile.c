/* What the profile of a training framework holds: hwprofiles/framework/. */
#include <string.h>

#include "hardware/profile/profile-tables-private.h"

#define FRAMEWORK(member) G_STRUCT_OFFSET (FrameworkProfile, member)
#define IMPLIED(member)   G_STRUCT_OFFSET (FrameworkImplied, member)

static const char *const losses[] = { "auto", "parallel", "gathered", "torch", NULL };

static const char *const logged[] = { "fullest", "first", NULL };

static const OptionSpec scalars[] = {
  { .key = "title", .type = OPTION_STRING, .offset = FRAMEWORK (title), .help = "what it is" },
  { .key = "names",
    .type = OPTION_STRING,
    .offset = FRAMEWORK (names),
    .optional = TRUE,
    .help = "what tables call it, separated by ';'" },
  { .key = "default_for",
    .type = OPTION_STRING,
    .offset = FRAMEWORK (default_for),
    .optional = TRUE,
    .help = "strategies that run on it where a scenario names no framework, with spaces between "
            "them; '*': those that no other profile names" },
  { 0 },
};

#define TRAIT(name, ...)                                           \
  {                                                                \
#name, FRAMEWORK(said.name), &(const OptionSpec)               \
    {                                                              \
      .key = #name, .offset = FRAMEWORK (traits.name), __VA_ARGS__ \
    }                                                              \
  }
#define SWITCH(name) TRAIT (name, .type = OPTION_BOOL)

static const FactSpec facts[] = {
  TRAIT (newest_flash, .type = OPTION_INT, .max = 3),
  SWITCH (fused_loss),
  SWITCH (compiled_loss),
  SWITCH (fused_adam),
  SWITCH (adam_lists),
  SWITCH (keeps_table),
  SWITCH (one_communicator),
  SWITCH (first_coordinator),
  SWITCH (loss_scaling),
  TRAIT (softmax_keys, .type = OPTION_INT, .max = 1 << 20),
  SWITCH (casts_scores),
  TRAIT (loss, .type = OPTION_ENUM, .choices = losses),
  SWITCH (loss_copies),
  TRAIT (held_outputs, .type = OPTION_INT, .max = 64),
  SWITCH (gpt_dropout),
  SWITCH (recomputes_all),
  SWITCH (keeps_rotary),
  SWITCH (copies_qkv),
  TRAIT (attention_prologue, .type = OPTION_INT, .max = 64),
  SWITCH (keeps_gathered),
  SWITCH (cats_sequence),
  SWITCH (holds_scattered),
  SWITCH (keeps_fp8),
  SWITCH (caches_fp8_weights),
  SWITCH (fp8_params),
  SWITCH (fused_gate),
  SWITCH (fused_rotary),
  TRAIT (logs_memory, .type = OPTION_ENUM, .choices = logged),
  { 0 },
};

static const FigureSpec figures[] = {
  { "issue_eager", QUANTITY_TIME, FRAMEWORK (issue_eager), 0, 1e-7, 1e-2 },
  { "issue_backward", QUANTITY_TIME, FRAMEWORK (issue_backward), 0, 1e-7, 1e-2 },
  { "issue_compiled", QUANTITY_TIME, FRAMEWORK (issue_compiled), 0, 1e-7, 1e-2 },
  { "issue_collective", QUANTITY_TIME, FRAMEWORK (issue_collective), 0, 1e-7, 1e-2 },
  { "issue_hook", QUANTITY_TIME, FRAMEWORK (issue_hook), 0, 1e-7, 1e-2 },
  { "issue_step", QUANTITY_TIME, FRAMEWORK (issue_step), 0, 1e-7, 10 },
  { 0 },
};

static const OptionSpec implied_keys[] = {
  { .key = "set", .type = OPTION_STRING, .offset = IMPLIED (set), .help = "section.key" },
  { .key = "to", .type = OPTION_STRING, .offset = IMPLIED (to), .help = "its value" },
  { .key = "instead_of",
    .type = OPTION_STRING,
    .offset = IMPLIED (instead_of),
    .optional = TRUE,
    .help = "a word that the framework uses in a sense of its own" },
  { .key = "strategy",
    .type = OPTION_STRING,
    .offset = IMPLIED (strategy),
    .optional = TRUE,
    .help = "under this one only" },
  { .key = "below",
    .type = OPTION_STRING,
    .offset = IMPLIED (below),
    .optional = TRUE,
    .help = "where a setting is a number below another only: 'model.d_ff 10000'" },
  { .key = "where",
    .type = OPTION_STRING,
    .offset = IMPLIED (where),
    .optional = TRUE,
    .help = "where settings are these only: 'training.peft: lora, mesh.cp: 1'" },
  { .key = "gpus",
    .type = OPTION_STRING,
    .offset = IMPLIED (gpus),
    .optional = TRUE,
    .help = "on GPUs of these architectures only, separated by spaces" },
  { .key = "called",
    .type = OPTION_STRING,
    .offset = IMPLIED (called),
    .optional = TRUE,
    .help = "where tables call it by this name only" },
  { .key = "source", .type = OPTION_STRING, .offset = IMPLIED (source), .help = "who says so" },
  { 0 },
};

static const RecordSpec records[] = {
  { "implies", FRAMEWORK (implies), sizeof (FrameworkImplied), IMPLIED (mark), implied_keys },
  { 0 },
};

const ProfileKind framework_profile_kind = { .name = "framework",
                                             .size = sizeof (FrameworkProfile),
                                             .scalars = scalars,
                                             .figures = figures,
                                             .facts = facts,
                                             .records = records };

const char *
framework_profile_fact (const FrameworkProfile *framework, guint i, const Fact **fact)
{
  return profile_fact_at (facts, framework, i, fact);
}

gboolean
framework_implied_holds (const FrameworkImplied *setting, const char *strategy,
                         const char *architecture)
{
  return (setting->strategy == NULL || strcmp (setting->strategy, strategy) == 0)
         && (setting->gpus == NULL || profile_words_have (setting->gpus, architecture));
}
