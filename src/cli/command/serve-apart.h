/* `shardsim serve --experts-apart`. */
#pragma once

#include "cli/argument/common.h"
#include "serve/apart.h"

#define SERVE_APART_LIMIT 0.15 /* s between tokens, where nothing is said (arXiv:2504.02263) */

/* What was asked, and what was read for it: all the caller's. */
typedef struct
{
  const ModelShape        *shape;
  const GenerationOptions *generation;
  const ApartOptions      *options;
  ApartLoad                load;
  const Cluster           *cluster;
  ProfileSet              *profiles;
  const CollectiveOptions *library;
} ServeApart;

ExitStatus serve_apart (Common *common, const ServeApart *asked);
