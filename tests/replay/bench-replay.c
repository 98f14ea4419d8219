/*
 * What a replay costs: wall seconds and peak memory of whole replays, each in a process of its own,
 * with the work done (ops, events), so that a slower machine can be told from slower code.
 */
#include "replay/run/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct
{
  const char *title;
  const char *cluster, *model, *strategy;
  gboolean    unfolded;
  double      goal_seconds, goal_mib;
} Case;

static const Case cases[] = {
  { "llama-3.1-405b on 16384 H100, folded", "2048 x dgx-h100", "llama-3.1-405b", "fsdp2", FALSE, 1,
    200 },
  { "llama-3.1-405b on 16384 H100, HSDP, folded", "2048 x dgx-h100", "llama-3.1-405b", "hsdp",
    FALSE, 1, 200 },
  { "llama-3.1-405b on 256 H100, unfolded", "32 x dgx-h100", "llama-3.1-405b", "fsdp2", TRUE, 20,
    0 },
};

static int
run_case (const Case *c)
{
  const ScenarioOverride overrides[] = {
    { "cluster.name", c->cluster, "bench" },
    { "model.config", c->model, "bench" },
    { "strategy.name", c->strategy, "bench" },
    { "training.seq_len", "8192", "bench" },
    { "training.micro_batch", "1", "bench" },
    { "training.activation_checkpointing", "full", "bench" },
  };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GError)     error = NULL;
  gint64                 start = g_get_monotonic_time ();
  g_autoptr (GPtrArray)  all =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);
  g_autoptr (ReplayPlan) plan =
      all != NULL ? replay_plan_scenario (g_ptr_array_index (all, 0), profiles, diags) : NULL;
  g_autoptr (ReplayBound) bound = plan != NULL ? replay_bound_new (plan, c->unfolded) : NULL;
  g_autoptr (Replay)      replay = bound != NULL ? replay_new (bound, NULL, &error) : NULL;
  double                  seconds = (g_get_monotonic_time () - start) / 1e6;
  g_autofree char        *messages = diag_list_format (diags, FALSE);
  EngineCounters          counters;

  if (replay == NULL)
    {
      fprintf (stderr, "%s: %s%s\n", c->title, messages, error != NULL ? error->message : "");
      return 1;
    }
  counters = engine_counters (replay_engine (replay));
  printf ("%s: %.3f s wall (goal %g), %u ranks simulated, %u ops, %" G_GUINT64_FORMAT
          " events, step %.6f s, steady %d",
          c->title, seconds, c->goal_seconds, replay_n_ranks (replay),
          engine_n_ops (replay_engine (replay)), counters.events, replay_step_time (replay),
          replay_is_steady (replay));
  fflush (stdout);
  return 0;
}

int
main (int argc, char **argv)
{
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      struct rusage usage;
      int           status;
      pid_t         child;

      if (argc > 1 && atoi (argv[1]) != (int) i)
        continue;
      child = fork ();
      if (child == 0)
        {
          status = run_case (&cases[i]);
          fflush (stdout);
          _exit (status);
        }
      if (child < 0 || wait4 (child, &status, 0, &usage) < 0 || status != 0)
        return EXIT_FAILURE;
      printf (", peak %.0f MiB", usage.ru_maxrss / 1024.0);
      if (cases[i].goal_mib > 0)
        printf (" (goal %g)", cases[i].goal_mib);
      printf ("\n");
      fflush (stdout);
    }
  return EXIT_SUCCESS;
}
