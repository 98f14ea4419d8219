/* Scenarios of the tests: from keys and values, and random ones. */
#pragma once

#include <check.h>

#include "replay/run/replay.h"

/* Keys and values, ended by NULL. Fails the test on any diagnostic. */
Scenario *fixture_scenario (const char *key, ...) G_GNUC_NULL_TERMINATED;

/*
 * One layer of a small Llama on one NODE under STRATEGY, which is none of the registry, with
 * OPTIONS (newly allocated, taken).
 */
Scenario *fixture_toy_scenario (const char *node, const Strategy *strategy, gpointer options);

/* The profiles of round numbers, tests/replay/profiles. */
ProfileSet *fixture_toy_profiles (void);

/* Runs it; fails the test on any diagnostic or error. PROFILES must outlive the replay. */
Replay *fixture_replay (const Scenario *scenario, ProfileSet *profiles, gboolean unfolded,
                        guint min_periods);

/* The same of a plan bound as HOW says. */
Replay *fixture_replay_bound (const Scenario *scenario, ProfileSet *profiles,
                              const BoundOptions *how, guint min_periods);

/*
 * A random small scenario: cluster by parts or by node, fabric, slow GPUs, model, training and
 * strategy.
 */
Scenario *fixture_random (GRand *rand, ProfileSet *profiles);

/*
 * The same on a mesh: tensor, sequence, context, expert and data ranks, every pipeline in turn of
 * CASE_, chunks and messages. Small, and one that a replay takes.
 */
Scenario *fixture_random_mesh (GRand *rand, guint case_, ProfileSet *profiles);

/* The one or the other, by CASE_ in turn: case CASE_ of a property whose first seed is SEED. */
Scenario *fixture_random_case (guint32 seed, guint case_, ProfileSet *profiles);

/* Runs SUITE; the value of main. */
int fixture_main (Suite *suite);

/* Everything that the engine recorded, as bytes. */
GBytes *fixture_record (const Replay *replay);
