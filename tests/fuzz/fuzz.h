/*
 * What the fuzz targets share: files for loaders that read files, the shipped profiles, and checks
 * of what was read.
 */
#pragma once

#include "predict/prediction.h"

/*
 * Every target's first call: forgets the names that the last execution interned, and makes GLib's
 * warnings crashes whose input a fuzzer keeps.
 */
void fuzz_begin (void);

/* The shipped profiles, read once for many executions. Valid until this one ends. */
ProfileSet *fuzz_profiles (void);

/* A folder of this process, removed at its end. */
const char *fuzz_folder (void);

/*
 * Path of a file NAME in that folder with these bytes, for loaders that read files. Newly
 * allocated.
 */
char *fuzz_file (const char *name, gconstpointer data, gsize size);

/* Removes a folder NAME of that folder, with all that is in it. */
void fuzz_remove (const char *name);

/* Up to N parts of an input, divided by lines "%%": their number. */
typedef struct
{
  const char *data;
  gsize       size;
} FuzzPart;

guint fuzz_split (const guint8 *data, gsize size, FuzzPart *parts, guint n);

/* Errors if and only if FAILED, all printable. */
void fuzz_check_diags (const DiagList *diags, gboolean failed);

/* Whether SCENARIO may be replayed thousands of times: few GPUs, layers and micro-steps. */
gboolean fuzz_is_small (const Scenario *scenario);

gboolean fuzz_is_small_cluster (const ClusterOptions *options);

/* Replays a small SCENARIO: diagnostics, an error, or a prediction that adds up. */
void fuzz_check_prediction (const Scenario *scenario, ProfileSet *profiles);

/* SCENARIO prints as what reads back to the same. */
void fuzz_check_round_trip (const Scenario *scenario);

/* Routes, distances and a collective on every small cluster that OPTIONS make. */
void fuzz_check_cluster (const ClusterOptions *options, ProfileSet *profiles, gboolean must_be);
