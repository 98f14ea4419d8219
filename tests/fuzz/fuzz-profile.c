/*
 * Hardware profiles: an input is the kind (a line "gpu", "link", "node", "cluster", "framework",
 * "library", "kernels" or "tuner"), its YAML and, after a line "%%", a GPU's measured products. The
 * profile loads or is diagnosed; a cluster is built with it, and a small model trains on it.
 */
#include <string.h>

#include "base/file/layout.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* What a cluster needs to use the profile `fuzz` of each kind, and how it is trained on. */
static const struct
{
  const char *kind;
  const char *settings; /* key=value, one a line */
} uses[] = {
  { "gpu", "cluster.nodes=2\ncluster.gpus_per_node=2\ncluster.gpu=fuzz\ncluster.intra=pcie4\n"
           "cluster.nics=1\ncluster.nic=ib-hdr-200" },
  { "link",
    "cluster.nodes=2\ncluster.gpus_per_node=4\ncluster.gpu=a100-sxm-80\ncluster.intra=fuzz\n"
    "cluster.nics=1\ncluster.nic=ib-hdr-200" },
  { "link", "cluster.nodes=2\ncluster.gpus_per_node=2\ncluster.gpu=a100-sxm-80\n"
            "cluster.intra=nvlink3-switch\ncluster.nics=2\ncluster.nic=fuzz" },
  { "node", "cluster.name=2 x fuzz" },
  { "cluster", "cluster.name=fuzz" },
  { "framework", "cluster.name=1 x dgx-a100\ntraining.framework=fuzz" },
  { "library", "cluster.name=2 x dgx-h100\ncollective.nccl=2.28" },
  { "kernels", "cluster.name=1 x dgx-h100\ntraining.kernels=fuzz-2" },
  { "tuner", "cluster.name=4 x p5" },
};

static const char training[] =
    "\nmodel.arch=llama\nmodel.n_layers=1\nmodel.d_model=256\nmodel.n_heads=4\nmodel.d_ff=512\n"
    "model.vocab=1000\ntraining.seq_len=128\nstrategy.name=fsdp2";

static void
check_use (const char *settings, ProfileSet *profiles)
{
  g_autofree char      *text = g_strconcat (settings, training, NULL);
  g_auto (GStrv)        lines = g_strsplit (text, "\n", -1);
  ScenarioOverride      overrides[32];
  guint                 n = 0;
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = NULL;

  for (; lines[n] != NULL; n++)
    {
      char *equals = strchr (lines[n], '=');

      g_assert (equals != NULL && n < G_N_ELEMENTS (overrides));
      *equals = '\0';
      overrides[n] = (ScenarioOverride){ lines[n], equals + 1, NULL };
    }
  all = scenario_load (NULL, NULL, overrides, n, diags);
  if (all == NULL)
    g_printerr ("%s", diag_list_first_message (diags));
  g_assert (all != NULL);
  {
    const Scenario *scenario = g_ptr_array_index (all, 0);

    fuzz_check_cluster (&scenario->cluster, profiles, FALSE);
    fuzz_check_prediction (scenario, profiles);
  }
}

static void
check_kind (const char *kind, const char *text, gsize size, const FuzzPart *curve)
{
  g_autofree char       *name = g_strdup_printf ("profiles/%s/fuzz.yaml", kind);
  g_autofree char       *folder = g_build_filename (fuzz_folder (), "profiles", NULL);
  g_autofree char       *shipped = layout_data_file ("hwprofiles");
  g_autofree char       *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, folder, shipped, NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (path);

  g_free (fuzz_file (name, text, size));
  if (curve != NULL)
    g_free (fuzz_file ("profiles/gpu/fuzz.matmul.csv", curve->data, curve->size));
  for (guint i = 0; i < G_N_ELEMENTS (uses); i++)
    if (g_str_equal (uses[i].kind, kind))
      check_use (uses[i].settings, profiles);
  fuzz_remove ("profiles");
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  FuzzPart    parts[2];
  const guint n = fuzz_split (data, size, parts, G_N_ELEMENTS (parts));

  fuzz_begin ();
  for (guint i = 0; i < G_N_ELEMENTS (uses); i++)
    {
      const char *kind = uses[i].kind;
      const gsize length = strlen (kind);

      if (parts[0].size > length && memcmp (parts[0].data, kind, length) == 0
          && parts[0].data[length] == '\n')
        {
          check_kind (kind, parts[0].data + length + 1, parts[0].size - length - 1,
                      n > 1 ? &parts[1] : NULL);
          break;
        }
    }
  return 0;
}
