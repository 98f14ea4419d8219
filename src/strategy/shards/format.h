/*
 * Sharding formats: how the tensors of a unit are padded and cut into equal shards. A policy names
 * one; each states its padding twice, once for who emits and once, as a closed form, for the
 * oracle.
 */
#pragma once

#include "driver/policy/policy.h"
#include "strategy/shards/ragged.h"

extern const ShardFormat format_flat;        /* one buffer, padded at its tail */
extern const ShardFormat format_rows;        /* every tensor on its leading dimension */
extern const ShardFormat format_rows_inside; /* but stacked experts inside, where they are few */
extern const ShardFormat format_each;        /* every tensor on its own */
extern const ShardFormat format_lcm_rows;    /* one buffer in which no row is cut */
extern const ShardFormat format_ragged;      /* one buffer in which no block is cut */
extern const ShardFormat format_whole;       /* nothing is cut: every tensor has one owner */

/* Those that cut tensors, NULL-terminated. */
const ShardFormat *const *shard_format_list (void);

/* Of that list; NULL if there is no such NAME. */
const ShardFormat *shard_format_find (const char *name);

/*
 * The option of a strategy that takes its shards' format from CHOICES: all of them, those that are
 * in place, or those that copies put into order.
 */
extern const char *const shard_format_all[], *const shard_format_in_place[],
                                                 *const shard_format_copied[];

#define SHARD_FORMAT_OPTION(struct_, member_, choices_, default_)                             \
  {                                                                                           \
    .key = "shard_format", .type = OPTION_ENUM, .choices = choices_,                          \
    .offset = G_STRUCT_OFFSET (struct_, member_), .fallback = default_,                       \
    .help = "how the tensors of a unit are cut into shards; the default is the system's own", \
    .what_if = TRUE                                                                           \
  }
