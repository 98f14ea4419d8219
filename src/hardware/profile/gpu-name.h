/*
 * What drivers and libraries call a GPU ("NVIDIA H100 80GB HBM3") against the ids of profiles
 * ("h100-sxm-80"): model, board and memory, as far as the name says them.
 */
#pragma once

#include "hardware/profile/profile.h"

/* NAME has the model of ID; also what it says of board and memory agrees. */
gboolean gpu_name_is_model (const char *name, const char *id);
gboolean gpu_name_fits (const char *name, const char *id);

/* Profiles that NAME fits: newly allocated "a, b", NULL for none. */
char *gpu_name_ids (const char *name, ProfileSet *profiles);
