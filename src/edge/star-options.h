/* Rows of option tables that split learning and slimmable networks share. */
#pragma once

#include "edge/star.h"

#define EDGE_QUANTITY(word, kind_, Struct, member)                \
  .key = word, .type = OPTION_QUANTITY, .kind = QUANTITY_##kind_, \
  .offset = G_STRUCT_OFFSET (Struct, member)
#define EDGE_CHOICE(word, names, Struct, member) \
  .key = word, .type = OPTION_ENUM, .choices = names, .offset = G_STRUCT_OFFSET (Struct, member)
#define EDGE_NAME(Struct) \
  .key = "name", .type = OPTION_STRING, .offset = G_STRUCT_OFFSET (Struct, name)

/* What a client is. */
#define EDGE_CLIENT_ROWS                                                                         \
  { EDGE_NAME (EdgeClient) },                                                                    \
      { EDGE_QUANTITY ("gain", RATIO, EdgeClient, gain), .optional = TRUE, .min = 1e-30,         \
        .max = 1 },                                                                              \
      { EDGE_QUANTITY ("distance", LENGTH, EdgeClient, distance), .optional = TRUE, .min = 1,    \
        .max = 1e7 },                                                                            \
      { EDGE_QUANTITY ("power", POWER, EdgeClient, power), .min = 1e-12, .max = 1e6 },           \
      { EDGE_QUANTITY ("compute", COMPUTE, EdgeClient, compute), .min = 1, .max = 1e18 },        \
  {                                                                                              \
    .key = "batch", .type = OPTION_INT, .offset = G_STRUCT_OFFSET (EdgeClient, batch), .min = 1, \
    .max = 1e9                                                                                   \
  }

/* What a layer costs. */
#define EDGE_LAYER_ROWS                                                                \
  { EDGE_NAME (EdgeLayer) },                                                           \
      { EDGE_QUANTITY ("forward", COUNT, EdgeLayer, forward), .min = 1, .max = 1e24 }, \
  {                                                                                    \
    EDGE_QUANTITY ("backward", COUNT, EdgeLayer, backward), .min = 1, .max = 1e24      \
  }
