/* Values of a config.json: what is not one is diagnosed at its place. Internal to the layer. */
#pragma once

#include "base/config/config.h"

/* Not there, or null. */
gboolean import_absent (const ConfigNode *node);

gboolean import_integer (const ConfigNode *node, const char *key, gint64 min, gint64 *value,
                         DiagList *diags);
gboolean import_flag (const ConfigNode *node, const char *key, gboolean *value, DiagList *diags);

/* The same of KEY of MAP; where it is absent *VALUE stays. */
gboolean import_read (const ConfigNode *map, const char *key, gint64 min, gint64 *value,
                      DiagList *diags);

/* What flag KEY of MAP says; FALLBACK where it is absent or no flag, which is diagnosed. */
gboolean import_says (const ConfigNode *map, const char *key, gboolean fallback, DiagList *diags);

/* KEY of MAP; behind a dot, of a map within it. NULL: it is not there. */
const ConfigNode *import_find (const ConfigNode *map, const char *key);
