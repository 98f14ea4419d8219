/*
 * "${...}" in values of YAML: OmegaConf's and Hydra's names of other keys, absolute or with dots in
 * front relative to the key, and variables of the environment with what stands for them where they
 * are not set ("${PRIMUS_TP:1}", "${oc.env:TP,1}"). A variable without one stays as it is spelled,
 * as do resolvers that work something out.
 */
#pragma once

#include "import/job/job-source.h"

/* Of all SETTINGS (JobSetting*). */
void job_interpolate (GPtrArray *settings);
