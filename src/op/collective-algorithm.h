/* How a collective may run, and under which of the library's protocols. */
#pragma once

#include <glib.h>

typedef enum
{
  ALGORITHM_RING,           /* flat: node after node */
  ALGORITHM_TREE,           /* double binary tree over nodes, chains inside them */
  ALGORITHM_NVLS,           /* multicast and reduction in the NVLink switch */
  ALGORITHM_NVLS_TREE,      /* NVLS inside nodes, trees between them */
  ALGORITHM_PAT,            /* parallel aggregated trees: one rank a node */
  ALGORITHM_COLLNET_DIRECT, /* reduction in the network's switches */
  ALGORITHM_COLLNET_CHAIN,
  ALGORITHM_PAIRWISE,     /* all-to-all, send/receive; between plain hosts round after round */
  ALGORITHM_HIERARCHICAL, /* three collectives: inside the node, one ring per local rank across
                             nodes, inside the node */
  ALGORITHM_ALL_PAIRS,    /* every member with every other of its node at once: two hops */
  ALGORITHM_LINEAR,       /* plain hosts: all-to-all with all messages at once */
  ALGORITHM_PIPELINE,  /* plain hosts: a chain of segments; their `ring` passes whole messages on */
  ALGORITHM_TWO_LEVEL, /* all-to-all of tokens, once a node and once a GPU (op/dispatch.h) */
  ALGORITHM_N,
} CollectiveAlgorithm;

typedef enum
{
  PROTOCOL_LL,     /* 4 bytes of data and 4 of flag: no fence */
  PROTOCOL_LL128,  /* 120 of 128 bytes are data */
  PROTOCOL_SIMPLE, /* whole chunks, fenced */
  PROTOCOL_N,
} CollectiveProtocol;

/* "auto", the names in the order of the enumeration, NULL: choices of an option. */
extern const char *const collective_algorithm_words[];
extern const char *const collective_protocol_words[];

/* The names alone, and NULL. */
#define COLLECTIVE_ALGORITHM_NAMES (collective_algorithm_words + 1)
#define COLLECTIVE_PROTOCOL_NAMES  (collective_protocol_words + 1)

const char         *collective_algorithm_name (CollectiveAlgorithm algorithm); /* "nvls_tree" */
CollectiveAlgorithm collective_algorithm_parse (const char *name); /* ALGORITHM_N: none */

const char        *collective_protocol_name (CollectiveProtocol protocol); /* "ll128" */
CollectiveProtocol collective_protocol_parse (const char *name);           /* PROTOCOL_N: none */
