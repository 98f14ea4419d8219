/* The forms in which frameworks read their settings. */
#pragma once

#include "scenario/framework.h"

/* A key with its value, which framework_option_accepts has taken. */
typedef struct
{
  const FrameworkOption *option;
  char                  *text;
} EmitValue;

typedef struct
{
  const char *name; /* "toml" */
  /* NULL: it has no comments */
  void (*comment) (const char *line, GString *out);
  /* VALUES: array of EmitValue in the order of the framework's options */
  void (*write) (const GArray *values, GString *out);
} EmitFormat;

/* NULL after a diagnostic. */
const EmitFormat *emit_format_find (const char *name, DiagList *diags);
