/*
 * Which ranks work on which sequence where each sequence has as many ranks as it needs: Megatron-LM
 * --hybrid-context-parallel (core/pipeline_parallel/hybrid_cp_schedule.py, BalancedCPScheduler).
 *
 * A sequence of s tokens needs the least power of two of ranks that holds it, need (s), and is work
 * s^2 / need (s) for each. The longest first, sequences are dealt to sets of ranks of exactly that
 * size until all ranks have as much work as the others to 5 %: a group, inside which no rank waits
 * for any but its set's. Ranks that are left idle are given to the smallest sets. What is left over
 * makes the next groups; all ranks wait for each other between two of them.
 */
#pragma once

#include <glib.h>

/* A set of neighbouring ranks, and what it works on in this order. */
typedef struct
{
  guint   first, ranks;
  GArray *sequences; /* guint: places in the list of lengths */
} HybridSet;

typedef struct
{
  GPtrArray *groups; /* GArray of HybridSet each, in the order of the ranks, which they tile */
} HybridPartition;

/* Ranks that LENGTH needs where each may hold TOKENS_PER_RANK. */
guint hybrid_partition_need (gint64 length, gint64 tokens_per_rank);

/*
 * N_RANKS is a power of two, and no less than any of the N LENGTHS needs. hybrid_partition_clear
 * frees what is in it.
 */
HybridPartition hybrid_partition_of (const gint64 *lengths, guint n, guint n_ranks,
                                     gint64 tokens_per_rank);

void hybrid_partition_clear (HybridPartition *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (HybridPartition, hybrid_partition_clear)
