/*
 * --emit: scenarios as the settings of the frameworks that run them, of every command that has
 * one scenario as its answer.
 */
#pragma once

#include "cli/argument/common.h"
#include "cli/help/page-values.h"
#include "report/export/emit.h"

/* The option, which fills a strv of the settings. */
#define OPTION_EMIT(member)                                                                      \
  OPTION ("emit", VALUE_TEXTS, member, "FRAMEWORK[:FILE]",                                       \
          "write the scenario as settings of a framework, into FILE or, without one, to stdout " \
          "in the place of a result; may be repeated"),                                          \
      .words = &words_frameworks, .check = emit_argument_check

/* Of a CommandOption: whether the file in WORD, if there is one, can be written. */
ExitStatus emit_argument_check (const char *option, const char *word);

typedef struct _EmitArguments EmitArguments;

/* WORDS: "torchtitan:file", "scenario:file", "deepspeed"; NULL: none. NULL after diagnostics. */
EmitArguments *emit_arguments_new (char *const *words, DiagList *diags);
void           emit_arguments_free (EmitArguments *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EmitArguments, emit_arguments_free)

/* Whether a framework stands without a file: settings are printed, nothing else. */
gboolean emit_arguments_prints (const EmitArguments *self);

/* Whether the frameworks have all that SCENARIO asks for; says nothing. */
gboolean emit_arguments_can (const EmitArguments *self, const Common *common,
                             const Scenario *scenario);

/*
 * Settings of SCENARIO for all frameworks; EXIT_USAGE after diagnostics, before anything is
 * simulated. What stands without a file is printed.
 */
ExitStatus emit_arguments_make (EmitArguments *self, const Common *common,
                                const Scenario *scenario);

/* Behind the result: writes the files. STATUS, or EXIT_RUNTIME after a message. */
ExitStatus emit_arguments_write (const EmitArguments *self, ExitStatus status);
