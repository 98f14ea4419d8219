#include "report/prediction/network-private.h"

#include "hardware/cluster/cluster.h"

struct json_object *
network_json (const GArray *measured)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < measured->len; i++)
    {
      const ClusterMeasured *entry = &g_array_index (measured, ClusterMeasured, i);
      struct json_object    *o = json_object_new_object ();

      json_add_text (o, "collective", collective_kind_name (entry->kind));
      json_add_number (o, "bytes", entry->bytes);
      json_add_number (o, "measured_gbps", 1e-9 * entry->bus);
      json_add_number (o, "before_gbps", 1e-9 * entry->before);
      json_add_number (o, "after_gbps", 1e-9 * entry->after);
      json_add_text (o, "scaled", entry->hops ? "hops" : "network");
      json_add_number (o, "scale", entry->scale);
      json_object_array_add (list, o);
    }
  return list;
}
