/* What was measured of a network, and what is predicted of it, as JSON. */
#pragma once

#include "report/json-private.h"

struct json_object *network_json (const GArray *measured); /* ClusterMeasured */
