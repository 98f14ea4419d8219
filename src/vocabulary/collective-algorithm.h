/* How a collective may run, and under which of the library's protocols. */
#pragma once

#include <glib.h>

#include "vocabulary/collective-algorithm-list.h" /* CollectiveAlgorithm: ALGORITHM_RING ... */

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
