/*
 * What a long pipeline costs: 64 stages with 1 600 micro-batches, which are multiplied: seconds of
 * CPU, how many micro-batches were replayed, and how much longer it takes than half as many
 * micro-batches. Fails where that ratio says that the cost grows with them.
 */
#include "predict/prediction.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GOAL 5.0 /* s, on an idle core */
#define RATIO \
  1.5 /* of the CPU time of 1 600 micro-batches to that of 832: noise; 2 where all are replayed */

static const struct
{
  const char *title, *chunks, *layers, *sequence;
} cases[] = {
  { "64 stages, 1F1B", "1", "128", "0" },
  { "64 stages, 1F1B, sequence parallel", "1", "128", "1" },
  { "64 stages, interleaved by 2", "2", "128", "0" },
};

static Prediction *
run_case (guint i, const char *micro_batches, double *seconds)
{
  const ScenarioOverride overrides[] = {
    { "cluster.node", "dgx-a100", "bench" },
    { "cluster.nodes", "64", "bench" },
    { "model.arch", "gpt", "bench" },
    { "model.n_layers", cases[i].layers, "bench" },
    { "model.d_model", "8192", "bench" },
    { "model.n_heads", "64", "bench" },
    { "model.vocab", "51200", "bench" },
    { "training.seq_len", "2048", "bench" },
    { "training.micro_batch", "1", "bench" },
    { "training.grad_accum", micro_batches, "bench" },
    { "mesh.tp", "8", "bench" },
    { "mesh.sp", cases[i].sequence, "bench" },
    { "mesh.pp", "64", "bench" },
    { "mesh.vp", cases[i].chunks, "bench" },
    { "strategy.name", "zero1", "bench" },
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GError)    error = NULL;
  g_autoptr (GPtrArray) all =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);
  const PredictOptions options = { 0 };
  clock_t              start = clock ();
  Prediction          *self =
      all != NULL ? predict (g_ptr_array_index (all, 0), &options, diags, &error) : NULL;
  g_autofree char *messages = diag_list_format (diags, FALSE);

  *seconds = (double) (clock () - start) / CLOCKS_PER_SEC;
  if (self == NULL)
    fprintf (stderr, "%s: %s%s\n", cases[i].title, messages, error != NULL ? error->message : "");
  return self;
}

int
main (void)
{
  int status = EXIT_SUCCESS;

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      double                 seconds, half_seconds;
      g_autoptr (Prediction) half = run_case (i, "832", &half_seconds);
      g_autoptr (Prediction) self = run_case (i, "1600", &seconds);

      if (self == NULL || half == NULL)
        return EXIT_FAILURE;
      printf ("%s, 1600 micro-batches: %.2f s of CPU (goal %g), %.2f times that of 832; up to %u "
              "replayed, step %.3f s\n",
              cases[i].title, seconds, GOAL, seconds / half_seconds, self->n_replayed,
              self->step_time_s);
      if (self->n_replayed == 0 || seconds > RATIO * half_seconds)
        status = EXIT_FAILURE;
    }
  return status;
}
