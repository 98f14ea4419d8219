/* What would be faster: options and figures of the hardware. */
#pragma once

#include <json-c/json.h>

#include "analysis/advice.h"

/* Of the scenario of PREDICTION, which has advice. */
void advice_append_text (const Prediction *prediction, GString *out);

/* "nic.bandwidth 500 Gbit/s instead of 400 Gbit/s". Newly allocated. */
char *advice_figure_text (const FigureAdvice *self);

/* Adds `advice` to RESULT. */
void advice_json_add (const Advice *self, struct json_object *result);

/*
 * A table of those of EFFECTS (OptionEffect) that GIVEN's throughput is more than LEAST away from.
 */
void option_effects_text (const GArray *effects, const Prediction *given, double least,
                          GString *out);
struct json_object *option_effects_json (const GArray *effects);
void                option_effects_csv (const GArray *effects, GString *out);
