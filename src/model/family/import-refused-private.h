/* Layers that are not simulated, by a family's name or by a key. Internal to the layer. */
#pragma once

#include "base/config/config.h"

/* Whether the family called NAME is one of those; diagnosed at NODE. */
gboolean import_refuse_family (const ConfigNode *node, const char *name, DiagList *diags);

/* The same of a key of MAP that says that a model has such layers. */
gboolean import_refuse_keys (const ConfigNode *map, DiagList *diags);
