/* What the tests of the workload layer share. */
#pragma once

#include <check.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "model/step/workload.h"

/* The shape of a shipped model; clear it with model_shape_clear. */
static inline ModelShape
shipped (const char *name)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         options = { .config = (char *) name };
  ModelShape           shape;
  gboolean             ok = model_resolve (&options, NULL, NULL, &shape, NULL, diags);

  ck_assert_msg (ok, "%s: %s", name, diag_list_first_message (diags));
  return shape;
}

/* A shape by architecture, every head with its own keys. */
static inline ModelShape
arch (const char *name, gint64 n_layers, gint64 d_model, gint64 n_heads, gint64 d_ff, gint64 vocab)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         options = { .arch = (char *) name,
                                   .n_layers = n_layers,
                                   .d_model = d_model,
                                   .n_heads = n_heads,
                                   .d_ff = d_ff,
                                   .vocab = vocab };
  ModelShape           shape;
  gboolean             ok = model_resolve (&options, NULL, NULL, &shape, NULL, diags);

  ck_assert_msg (ok, "%s: %s", name, diag_list_first_message (diags));
  return shape;
}

static inline TrainingOptions
training (gint64 seq_len, gint64 micro_batch)
{
  return (TrainingOptions){ .seq_len = seq_len,
                            .micro_batch = micro_batch,
                            .grad_accum = 1,
                            .causal = TRUE,
                            .fully_sharded_loras = TRUE };
}

/* The kernel called NAME, which must be there. */
static inline const KernelDesc *
find_kernel (const KernelDesc *kernels, guint n, const char *name)
{
  for (guint i = 0; i < n; i++)
    if (strcmp (kernels[i].name, name) == 0)
      return &kernels[i];
  ck_abort_msg ("no kernel '%s'", name);
}

static inline void
assert_close (double value, double expected, double relative)
{
  ck_assert_msg (fabs (value - expected) <= relative * fabs (expected), "%.17g is not %.17g", value,
                 expected);
}

/* Runs one suite of one case; the program's exit status. */
static inline int
run_case (const char *name, TCase *tcase)
{
  Suite *suite = suite_create (name);

  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
