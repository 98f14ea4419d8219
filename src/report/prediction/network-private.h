/* What was measured of a network, and what is predicted of it, as JSON. */
#pragma once

#include "report/document/json-private.h"

struct json_object *network_json (const GArray *measured); /* ClusterMeasured */
