/*
 * import_topology_text over arbitrary bytes, with all ids given and with none: diagnostics, or a profile that loads and makes a
 * cluster of two nodes, whose cards all have a distance from every GPU.
 */
#include <glib/gstdio.h>
#include <unistd.h>

#include "base/layout.h"
#include "cluster/cluster.h"
#include "cluster/import.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static void
check_cluster (ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster = NULL;
  g_autofree char     *said = NULL;
  ClusterOptions       options = { 0 };

  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("fuzz");
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  said = diag_list_format (diags, FALSE);
  if (cluster == NULL)
    g_error ("%s", said);
  for (guint gpu = 0; gpu < MIN (cluster_n_gpus (cluster), 64); gpu++)
    for (guint card = 0; card < cluster_nics_of_node (cluster, 0); card++)
      {
        const PathClass class_ = cluster_gpu_card_pcie (cluster, gpu, card);

        g_assert (class_ >= PATH_C2C && class_ <= PATH_SYS);
      }
}

/* Loaders read files: a folder for a moment, of one name, because names in messages are kept for good. */
static void
check_profile (const char *text)
{
  g_autofree char       *name = g_strdup_printf ("shardsim-fuzz-%d", (int) getpid ());
  g_autofree char       *folder = g_build_filename (g_get_tmp_dir (), name, NULL);
  g_autofree char       *node = g_build_filename (folder, "node", NULL);
  g_autofree char       *file = g_build_filename (node, "fuzz.yaml", NULL);
  g_autofree char       *shipped = layout_data_file ("hwprofiles");
  g_autofree char       *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, folder, shipped, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (path);

  g_assert (g_mkdir_with_parents (node, 0700) == 0 && g_file_set_contents (file, text, -1, NULL));
  check_cluster (profiles);
  g_unlink (file);
  g_rmdir (node);
  g_rmdir (folder);
}

static void
check_import (const guint8 *data, gsize size, const ImportOptions *options)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autofree char *text = import_topology_text ("fuzz.xml", size > 0 ? (const char *) data : "",
                                                size, options, profiles, diags);
  g_autofree char *said = diag_list_format (diags, FALSE);

  g_assert ((text == NULL) == diag_list_has_errors (diags));
  g_assert (g_utf8_validate (said, -1, NULL));
  if (text != NULL)
    check_profile (text);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const ImportOptions none = { 0 };
  const ImportOptions cards = { .gpu = "h100-sxm-80", .intra = "nvlink4-switch", .nic = "ib-ndr-400" };
  const ImportOptions no_cards = { .gpu = "a40-48", .intra = "pcie4", .nic = "none", .name = "\"\\\n" };

  check_import (data, size, &none);
  check_import (data, size, &cards);
  check_import (data, size, &no_cards);
  return 0;
}
