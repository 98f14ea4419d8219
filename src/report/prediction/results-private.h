/* A prediction as JSON, for the documents that hold some. */
#pragma once

#include "report/document/json-private.h"
#include "report/prediction/report.h"

struct json_object *prediction_json (const Prediction *self);
