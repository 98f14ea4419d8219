/* The names of pictures, by which one place draws them and another shows them in its page. */
#pragma once

#define PICTURE_TIME_SPLIT      "time-split"
#define PICTURE_STREAM_TIMELINE "stream-timeline"
#define PICTURE_LAYER_FORWARD   "layer-forward"
#define PICTURE_LAYER_BACKWARD  "layer-backward"
#define PICTURE_MEMORY_TIMELINE "memory-timeline"
#define PICTURE_ROOFLINE        "roofline"
#define PICTURE_SCALING         "scaling"
#define PICTURE_PARETO          "pareto"
#define PICTURE_BATCHES         "batches"
#define PICTURE_DAYS            "days"
#define PICTURE_MONEY           "money"
#define PICTURE_HEAT_MAP        "heat-map"
#define PICTURE_PADDING         "padding"
