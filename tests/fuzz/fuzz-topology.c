/*
 * import_topology_text over arbitrary bytes, with all ids given and with none: diagnostics, or a
 * profile that loads and makes a cluster of two nodes, whose cards all have a distance from every
 * GPU.
 */
#include <string.h>

#include "base/file/layout.h"
#include "fuzz.h"
#include "import/topology/import.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* The profile and its PARTS in a folder before the shipped ones. */
static void
check_profile (const char *text, const GPtrArray *parts)
{
  g_autofree char       *folder = g_build_filename (fuzz_folder (), "profiles", NULL);
  g_autofree char       *shipped = layout_data_file ("hwprofiles");
  g_autofree char       *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, folder, shipped, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (path);
  ClusterOptions         options = { 0 };

  g_free (fuzz_file ("profiles/node/fuzz.yaml", text, strlen (text)));
  for (guint i = 0; i < parts->len; i++)
    {
      const ImportPart *part = g_ptr_array_index (parts, i);
      g_autofree char  *name = g_strdup_printf ("profiles/node/%s.yaml", part->id);

      g_free (fuzz_file (name, part->text, strlen (part->text)));
    }
  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("fuzz");
  fuzz_check_cluster (&options, profiles, TRUE);
  g_free (options.name);
  options.name = g_strdup ("2 x fuzz");
  fuzz_check_cluster (&options, profiles, FALSE); /* it may have no cards */
  option_table_clear (cluster_options, &options);
}

static void
check_import (const guint8 *data, gsize size, const ImportOptions *given)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) parts = g_ptr_array_new_with_free_func (import_part_free);
  ImportOptions         options = *given;

  options.parts = parts;

  g_autofree char *text = import_topology_text ("fuzz.xml", size > 0 ? (const char *) data : "",
                                                (gssize) size, &options, fuzz_profiles (), diags);

  fuzz_check_diags (diags, text == NULL);
  if (text != NULL)
    check_profile (text, parts);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const ImportOptions none = { 0 };
  const ImportOptions by_gpu = { .gpu = "a100-sxm-80", .nic = "none" };
  const ImportOptions cards = { .gpu = "h100-sxm-80",
                                .intra = "nvlink4-switch",
                                .nic = "ib-ndr-400" };
  const ImportOptions no_cards = {
    .gpu = "a40-48", .intra = "pcie4", .nic = "none", .name = "\"\\\n"
  };

  fuzz_begin ();
  check_import (data, size, &none);
  check_import (data, size, &by_gpu);
  check_import (data, size, &cards);
  check_import (data, size, &no_cards);
  return 0;
}
