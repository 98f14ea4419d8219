/* The stages of a pipeline (`simulate --stages`): formatting only. Every writer appends. */
#pragma once

#include "analysis/prediction.h"

struct json_object;

/* A table with a row a stage; SELF has stages. */
void report_stages_text (const Prediction *self, GString *out);

/* "scenario,strategy,stage,layers,...,program_version,schema": a row a stage. */
void report_stages_csv (const Prediction *self, GString *out);

/* A list of the CSV's keys but for those of the scenario and the program. */
struct json_object *report_stages_json (const Prediction *self);
