/* Groups that options name: who shares what. */
#pragma once

#include "driver/policy/strategy.h"

/* The shard group and the group of its replicas. */
typedef struct
{
  MeshGroup shard_group, replica;
} ShardGroups;

/* What messages call an option and the groups that it makes. */
typedef struct
{
  const char *key, *noun; /* "shard", "shard group" */
} GroupNames;

/*
 * OPTION is "all", "node" or a number of ranks. Diagnoses what does not tile the mesh (DIAGS may be
 * NULL when the check has been made before).
 */
gboolean named_groups (const Mesh *mesh, const char *option, const GroupNames *names,
                       ShardGroups *groups, DiagList *diags);

/* The same of the option 'shard'. */
gboolean shard_groups (const Mesh *mesh, const char *shard_option, ShardGroups *groups,
                       DiagList *diags);

/*
 * The same for the two kinds of units, indexed by PlanUnit.expert: experts that are spread over ep
 * ranks of a shard group are sharded over the ranks of the group that hold the same ones. Without
 * expert parallelism both are equal.
 */
gboolean unit_groups (const Mesh *mesh, const char *shard_option, ShardGroups groups[2],
                      DiagList *diags);

/* Whether the strategy's option 'shard' makes such groups: diagnoses at that option. */
gboolean check_unit_groups (const Mesh *mesh, const char *shard_option, DiagList *diags);
