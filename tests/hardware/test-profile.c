/*
 * Profiles: every shipped one loads and is plausible, a few figures by hand, `extends`, and every
 * mistake with its message.
 */
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "fixture.h"
#include "hardware/topology/intra-fit.h"

static const char *const kinds[] = { "gpu", "link", "node", "framework" };

/* Profiles that must load. */
#define GETTER(Type, kind)                                                         \
  static const Type *get_##kind (ProfileSet *profiles, const char *id)             \
  {                                                                                \
    g_autoptr (DiagList) diags = diag_list_new ();                                 \
    const Type          *profile = profile_set_##kind (profiles, id, NULL, diags); \
    g_autofree char     *text = diag_list_format (diags, FALSE);                   \
    ck_assert_str_eq (text, "");                                                   \
    return profile;                                                                \
  }
GETTER (GpuProfile, gpu)
GETTER (LinkProfile, link)
GETTER (NodeProfile, node)

/* ---- what is shipped ------------------------------------------------------------------------- */

static void
check_figure (const char *id, const FigureView *view)
{
  const Figure *figure = view->figure;
  ck_assert_msg (figure->low <= figure->value && figure->value <= figure->high, "%s: %s", id,
                 view->key);
  if (figure->source == NULL) /* a default of the format: absent, or a neutral factor */
    ck_assert_msg (figure->value == 0 || figure->value == 1, "%s: %s", id, view->key);
  else
    ck_assert_uint_gt (strlen (figure->source), 5);
}

START_TEST (test_shipped_profiles_load)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
    {
      g_auto (GStrv) ids = profile_set_list (profiles, kinds[k]);
      ck_assert_ptr_nonnull (ids[0]);
      for (guint i = 0; ids[i] != NULL; i++)
        {
          g_autoptr (DiagList) diags = diag_list_new ();
          g_autoptr (GArray)   figures = profile_set_figures (profiles, kinds[k], ids[i], diags);
          g_autofree char     *text = diag_list_format (diags, FALSE);
          ck_assert_str_eq (text, "");
          for (guint f = 0; f < figures->len; f++)
            check_figure (ids[i], &g_array_index (figures, FigureView, f));
        }
    }
}
END_TEST

/*
 * Relations that hold for any GPU of the last ten years (25 FLOP a byte is the P100, which has no
 * matrix units): a slipped unit or zero breaks one of them.
 */
START_TEST (test_shipped_gpus_are_plausible)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         ids = profile_set_list (profiles, "gpu");
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const GpuProfile *gpu = get_gpu (profiles, ids[i]);
      const double      intensity = gpu->matmul_16bit.value / gpu->hbm_bandwidth.value;
      const double      gib = gpu->hbm_bytes.value / (1 << 30);
      if (gpu_profile_is_host (gpu))
        continue;
      const double label = strrchr (ids[i], '-') != NULL ? atof (strrchr (ids[i], '-') + 1) : 0;
      ck_assert_str_eq (gpu->id, ids[i]);
      ck_assert_msg (intensity > 25 && intensity < 700, "%s: %g FLOP a byte", ids[i], intensity);
      ck_assert_msg (gib > 0.88 * label && gib <= label, "%s: %g GiB of %g", ids[i], gib, label);
      ck_assert_msg (gpu->matmul_fp32.value < gpu->matmul_16bit.value, "%s", ids[i]);
      ck_assert_msg (gpu->mfu_base.value <= gpu->matmul_16bit.value, "%s", ids[i]);
      if (gpu->matmul_fp8.value > 0) /* twice the rate, rounded by who prints it */
        ck_assert_msg (fabs (gpu->matmul_fp8.value / gpu->matmul_16bit.value - 2) <= 0.03, "%s",
                       ids[i]);
      ck_assert_msg (!gpu->mxfp8 || gpu->matmul_fp8.value > 0, "%s", ids[i]);
      ck_assert_msg (gpu->runtime_bytes.value < 0.1 * gpu->hbm_bytes.value, "%s", ids[i]);
      ck_assert_msg (gpu->attention_backward_efficiency.value <= gpu->attention_efficiency.value,
                     "%s", ids[i]);
    }
}
END_TEST

static const char *const catalogue_gpus[] = { "v100-sxm-16",
                                              "v100-sxm-32",
                                              "t4-16",
                                              "a100-sxm-40",
                                              "a100-sxm-80",
                                              "a100-sxm-64",
                                              "a100-pcie-40",
                                              "a800-sxm-80",
                                              "a40-48",
                                              "a10g-24",
                                              "l40s-48",
                                              "rtx4090-24",
                                              "rtx5090-32",
                                              "h100-sxm-80",
                                              "h100-sxm-64",
                                              "h100-gt-96",
                                              "h100-pcie-80",
                                              "h800-sxm-80",
                                              "h20-96",
                                              "h200-sxm-141",
                                              "b200-sxm-180",
                                              "gb200-186",
                                              "gb10-128",
                                              "mi250x-gcd-64",
                                              "mi300x-192",
                                              "mi355x-288",
                                              "gh200-96",
                                              "b300-288",
                                              "gb300-288",
                                              "mi325x-256",
                                              "rtx3090-24",
                                              "rtxa6000-48",
                                              "rtx-pro-6000-96",
                                              "l4-24",
                                              "a10-24",
                                              "a16-16",
                                              "h100-nvl-94",
                                              "p100-16",
                                              "mi100-32",
                                              "mi210-64",
                                              NULL };
static const char *const catalogue_links[] = { "nvlink2-mesh",    "nvlink2-switch",
                                               "nvlink3-switch",  "nvlink3-mesh",
                                               "nvlink4-switch",  "nvlink4-mesh",
                                               "nvlink5-switch",  "nvlink-pairs",
                                               "xgmi-mi300-mesh", "xgmi-mi350-mesh",
                                               "xgmi-mi250",      "pcie3",
                                               "pcie4",           "pcie5",
                                               "pcie4-host",      "none",
                                               "ib-edr-100",      "ib-hdr-100",
                                               "ib-hdr-200",      "ib-ndr-200",
                                               "ib-ndr-400",      "ib-xdr-800",
                                               "roce-100",        "roce-200",
                                               "roce-400",        "efa-100",
                                               "efa-200",         "efa-400",
                                               "opa-100",         "slingshot-200",
                                               "tcpx-200",        "tcpxo-200",
                                               "tcp-1",           "tcp-10",
                                               "tcp-25",          "tcp-40",
                                               "tcp-100",         NULL };
static const char *const catalogue_nodes[] = { "dgx-1v",
                                               "dgx-2",
                                               "dgx-a100",
                                               "dgx-h100",
                                               "dgx-h200",
                                               "dgx-b200",
                                               "hgx-a100-4",
                                               "p4d",
                                               "p4de",
                                               "p5",
                                               "p5en",
                                               "p6-b200",
                                               "p6-b300",
                                               "gb200-nvl72",
                                               "gb300-nvl72",
                                               "alps",
                                               "mi300x-8",
                                               "mi355x-8",
                                               "azure-nd-a100-v4",
                                               "a3-high",
                                               "a3-mega",
                                               "a3-ultra",
                                               "juwels-booster",
                                               "leonardo-booster",
                                               "mn5-acc",
                                               "frontier",
                                               "perlmutter",
                                               "a40x8-nvlink-pairs",
                                               "generic",
                                               NULL };

/* The ids that scenarios and tables use are all there. */
START_TEST (test_catalogue_is_complete)
{
  const char *const     *wanted[] = { catalogue_gpus, catalogue_links, catalogue_nodes };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  for (guint k = 0; k < G_N_ELEMENTS (wanted); k++)
    {
      g_auto (GStrv) ids = profile_set_list (profiles, kinds[k]);
      for (guint i = 0; wanted[k][i] != NULL; i++)
        ck_assert_msg (g_strv_contains ((const char *const *) ids, wanted[k][i]), "%s",
                       wanted[k][i]);
    }
}
END_TEST

/* A link between plain hosts by its name: the shipped one at another rate. */
START_TEST (test_lan)
{
  static const char *const bad[] = { "lan-50", "lan-0m", "lan-50m-1ms", "lan-m", "lan-50k" };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  const LinkProfile       *slow = get_link (profiles, "lan-50m");
  const LinkProfile       *base = get_link (profiles, "lan-100m");
  ck_assert_double_eq (slow->bandwidth.value, 6.25e6);
  ck_assert_double_eq (base->bandwidth.value, 12.5e6);
  ck_assert_double_eq (slow->latency.value, base->latency.value);
  ck_assert_double_eq (slow->queue.value, 163840);
  ck_assert (slow->serial_exchange && base->serial_exchange);
  ck_assert_str_eq (slow->title, "Ethernet 50 Mbit/s between plain hosts");
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      ck_assert_ptr_null (profile_set_link (profiles, bad[i], NULL, diags));
    }
}
END_TEST

/* Two profiles that extend each other: the message names the circle. */
START_TEST (test_circle)
{
  g_autofree char     *folder = g_dir_make_tmp ("shardsim-profiles-XXXXXX", NULL);
  g_autofree char     *links = g_build_filename (folder, "link", NULL);
  g_autofree char     *a = g_build_filename (links, "a.yaml", NULL);
  g_autofree char     *b = g_build_filename (links, "b.yaml", NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  ck_assert_int_eq (g_mkdir (links, 0700), 0);
  ck_assert (g_file_set_contents (a, "extends: b\n", -1, NULL));
  ck_assert (g_file_set_contents (b, "extends: a\n", -1, NULL));
  g_autoptr (ProfileSet) profiles = profile_set_new (folder);
  ck_assert_ptr_null (profile_set_link (profiles, "a", NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "'a' extends itself: a.yaml -> b.yaml -> a.yaml");
  g_unlink (a);
  g_unlink (b);
  g_rmdir (links);
  g_rmdir (folder);
}
END_TEST

/* What is laid over the pattern of a family of names holds for all of the family. */
START_TEST (test_lan_laid_over)
{
  g_autofree char *folder = g_dir_make_tmp ("shardsim-profiles-XXXXXX", NULL);
  g_autofree char *links = g_build_filename (folder, "link", NULL);
  g_autofree char *file = g_build_filename (links, "lan-100m.yaml", NULL);
  g_autofree char *shipped = source_file ("hwprofiles");
  g_autofree char *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, folder, shipped, NULL);
  ck_assert_int_eq (g_mkdir (links, 0700), 0);
  ck_assert (
      g_file_set_contents (file,
                           "extends: lan-100m\nserial_exchange: false\n"
                           "latency: { value: 40 us, source: \"a test\", confidence: measured }\n",
                           -1, NULL));
  g_autoptr (ProfileSet) profiles = profile_set_new (path);
  const LinkProfile     *link = get_link (profiles, "lan-200m");
  ck_assert_double_eq (link->bandwidth.value, 25e6);
  ck_assert_double_eq (link->latency.value, 40e-6);
  ck_assert_double_eq (link->queue.value, 163840);
  ck_assert (!link->serial_exchange);
  ck_assert (!get_link (profiles, "lan-100m")->serial_exchange);
  g_unlink (file);
  g_rmdir (links);
  g_rmdir (folder);
}
END_TEST

/* A wide-area link by its name: the shipped one at another rate and time. */
START_TEST (test_wan)
{
  static const char *const bad[] = { "wan-10g",    "wan-0g-5ms",   "wan-10-5ms",
                                     "wan-10g-5s", "wan-1e9g-5ms", "wan-10g-20000ms" };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  const LinkProfile       *fast = get_link (profiles, "wan-10g-50ms");
  const LinkProfile       *slow = get_link (profiles, "wan-200m-5ms");
  const LinkProfile       *base = get_link (profiles, "wan-1g-30ms");
  ck_assert_double_eq (fast->bandwidth.value, 1.25e9);
  ck_assert_double_eq (fast->latency.value, 0.05);
  ck_assert_double_eq (fast->efficiency.value, base->efficiency.value);
  ck_assert_str_eq (fast->title, "wide-area link, 10 Gbit/s and 50 ms");
  ck_assert_double_eq (slow->bandwidth.value, 25e6);
  ck_assert_double_eq (slow->latency.value, 0.005);
  ck_assert (profile_set_has (profiles, "link", "wan-10g-50ms"));
  ck_assert (!profile_set_has (profiles, "node", "wan-10g-50ms"));
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      ck_assert_ptr_null (profile_set_link (profiles, bad[i], NULL, diags));
    }
}
END_TEST

static guint
n_joined (const LinkProfile *link)
{
  return link->kind == LINK_NONE ? 1 : link->kind == LINK_PAIRS ? 2 : 4;
}

/* The first shipped GPU that LINK joins. */
static const char *
gpu_for (ProfileSet *profiles, const LinkProfile *link)
{
  g_auto (GStrv) ids = profile_set_list (profiles, "gpu");
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const GpuProfile *gpu = get_gpu (profiles, ids[i]);
      if (!gpu_profile_is_host (gpu) && intra_fit (gpu, link, n_joined (link)) == INTRA_FITS)
        return gpu->id;
    }
  ck_abort_msg ("'%s' joins no GPU that is shipped", link->id);
}

/*
 * Every node and cluster that is shipped makes a cluster; every link works inside a node or
 * between two.
 */
START_TEST (test_shipped_parts_make_clusters)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         nodes = profile_set_list (profiles, "node");
  g_auto (GStrv)         clusters = profile_set_list (profiles, "cluster");
  g_auto (GStrv)         links = profile_set_list (profiles, "link");
  for (guint i = 0; nodes[i] != NULL; i++)
    if (strcmp (nodes[i], "generic") != 0)
      {
        g_autofree char *settings = g_strdup_printf ("name=2 x %s", nodes[i]);
        cluster_free (make_cluster (profiles, settings));
      }
  for (guint i = 0; clusters[i] != NULL; i++)
    {
      g_autofree char *settings = g_strdup_printf ("name=%s", clusters[i]);
      cluster_free (make_cluster (profiles, settings));
    }
  for (guint i = 0; links[i] != NULL; i++)
    {
      const LinkProfile *link = get_link (profiles, links[i]);
      const char        *gpu = link->kind != LINK_NETWORK ? gpu_for (profiles, link) : NULL;
      g_autofree char   *settings = link->kind == LINK_NETWORK
                                        ? g_strdup_printf ("name=2 x dgx-a100;nic=%s", links[i])
                                        : g_strdup_printf ("nodes=1;gpus_per_node=%u;gpu=%s;"
                                                             "intra=%s",
                                                           n_joined (link), gpu, links[i]);
      cluster_free (make_cluster (profiles, settings));
    }
}
END_TEST

/* The main job's parts, against the paper's testbed and the data sheets. */
START_TEST (test_a40_by_hand)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const GpuProfile      *gpu = get_gpu (profiles, "a40-48");
  const LinkProfile     *nic = get_link (profiles, "ib-edr-100");
  const LinkProfile     *tcp = get_link (profiles, "tcp-10");
  const NodeProfile     *node = get_node (profiles, "a40x8-nvlink-pairs");
  ck_assert_double_eq (gpu->matmul_16bit.value, 149.7e12);
  ck_assert_double_eq (gpu->mfu_base.value, 149.7e12); /* its default */
  ck_assert_str_eq (gpu->mfu_base.source, gpu->matmul_16bit.source);
  ck_assert_int_eq (gpu->matmul_16bit.confidence, CONFIDENCE_DATASHEET);
  ck_assert_int_eq (gpu->matmul_efficiency.confidence, CONFIDENCE_ESTIMATE);
  ck_assert_double_eq (gpu->kernel_latency.low, 1e-6);
  ck_assert_double_eq (gpu->kernel_latency.high, 5e-6);
  ck_assert_str_eq (gpu->architecture, "ampere");
  ck_assert (gpu->bf16);
  ck_assert_double_eq (nic->bandwidth.value, 12.5e9);
  ck_assert (nic->gpu_direct && !tcp->gpu_direct);
  ck_assert_double_eq (node->gpus.value, 8);
  ck_assert_str_eq (node->intra, "nvlink-pairs");
}
END_TEST

/* ---- the format ------------------------------------------------------------------------------ */

START_TEST (test_extends)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  const GpuProfile      *base = get_gpu (profiles, "toy");
  const GpuProfile      *small = get_gpu (profiles, "toy-small");
  ck_assert_str_eq (small->id, "toy-small");
  ck_assert_str_eq (small->title, "a toy GPU with half the memory");
  ck_assert_double_eq (small->hbm_bytes.value, 5.0 * (1 << 30));
  ck_assert_str_eq (small->hbm_bytes.source, "another test");
  ck_assert_double_eq (small->sms.value, base->sms.value);
  ck_assert_double_eq (base->runtime_bytes.high, 2.0 * (1 << 30));
  ck_assert_double_eq (small->runtime_bytes.high, 600.0 * (1 << 20)); /* the old range is gone */
  ck_assert_int_eq (small->runtime_bytes.confidence, CONFIDENCE_MEASURED);
}
END_TEST

/*
 * Two products: 2 * 1000 * 2000 * 500 FLOPs at 0.5 TFLOP/s are 4 ms; 2 * 2 * 100^3 at 0.1 TFLOP/s
 * are 40 us. They are toy's alone.
 */
START_TEST (test_measured_products)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  const GArray          *curve = get_gpu (profiles, "toy")->matmul_curve;
  ck_assert_uint_eq (curve->len, 2);
  const MatmulPoint *points = (const MatmulPoint *) (gconstpointer) curve->data;
  ck_assert (points[0].m == 1000 && points[0].n == 2000 && points[0].k == 500
             && points[0].batch == 1);
  ck_assert_double_eq_tol (points[0].seconds, 4e-3, 1e-12);
  ck_assert_double_eq_tol (points[1].seconds, 40e-6, 1e-12);
  ck_assert (points[0].type == MATMUL_16BIT && points[1].type == MATMUL_FP32);
  ck_assert_ptr_null (get_gpu (profiles, "toy-small")->matmul_curve);
}
END_TEST

/* Those that have every word, in a key or in passing, and those that extend others. */
START_TEST (test_what_mentions)
{
  g_autofree char         *dir = g_dir_make_tmp ("shardsim-mentions-XXXXXX", NULL);
  g_autofree char         *folder = g_build_filename (dir, "framework", NULL);
  static const char *const words[] = { "default_for", "fsdp2", NULL };
  static const char *const all[] = { NULL };
  static const struct
  {
    const char *id, *text;
    gboolean    found;
  } files[] = {
    { "a-2020", "title: none\ndefault_for: \"ddp\"\n", FALSE },
    { "b-2021", "title: both\ndefault_for: \"ddp fsdp2\"\n", TRUE },
    { "c-2022", "extends: a-2020\n", TRUE },
    { "d-2023", "title: fsdp2's\n", FALSE },
  };
  g_autoptr (ProfileSet) profiles = NULL;
  const char *const     *ids;
  guint                  n = 0;

  ck_assert_int_eq (g_mkdir (folder, 0700), 0);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *file = g_strdup_printf ("%s/%s.yaml", folder, files[i].id);

      ck_assert (g_file_set_contents (file, files[i].text, -1, NULL));
    }
  profiles = profile_set_new (dir);
  ids = profile_set_mentioning (profiles, "framework", words);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      gboolean listed = g_strv_contains (ids, files[i].id);

      ck_assert_msg (listed == files[i].found, "%s", files[i].id);
      n += listed;
    }
  ck_assert_uint_eq (n, 2);
  ids = profile_set_mentioning (profiles, "framework", all);
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *file = g_strdup_printf ("%s/%s.yaml", folder, files[i].id);

      ck_assert (g_strv_contains (ids, files[i].id));
      g_unlink (file);
    }
  g_rmdir (folder);
  g_rmdir (dir);
}
END_TEST

START_TEST (test_same_profile_is_loaded_once)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  ck_assert_ptr_eq (get_gpu (profiles, "toy"), get_gpu (profiles, "toy"));
}
END_TEST

/* A framework's traits are the same by its id and by every name that tables know. */
START_TEST (test_framework_traits)
{
  g_autoptr (ProfileSet)  profiles = profile_set_new (NULL);
  g_autoptr (DiagList)    diags = diag_list_new ();
  const FrameworkProfile *framework =
      profile_set_framework (profiles, "megatron-deepspeed-2022", NULL, diags);
  const FrameworkImplied *first = NULL;
  const Fact             *fact = NULL;
  ck_assert_ptr_eq (framework,
                    profile_set_framework (profiles, "Megatron-DeepSpeed 2021-22", NULL, diags));
  ck_assert_int_eq (framework->traits.softmax_keys, 2048);
  ck_assert_int_eq (framework->traits.loss, FRAMEWORK_LOSS_PARALLEL);
  ck_assert (framework->traits.casts_scores && framework->traits.recomputes_all);
  ck_assert (!framework->traits.keeps_gathered && framework->traits.held_outputs == 0);
  ck_assert_str_eq (framework_profile_fact (framework, 0, &fact), "newest_flash");
  ck_assert_str_eq (fact->value, "1");
  first = &g_array_index (framework->implies, FrameworkImplied, 0);
  ck_assert_str_eq (first->set, "mesh.p2p");
  ck_assert_str_eq (first->to, "batched");
  ck_assert_uint_gt (first->mark.line, 1);
  ck_assert_ptr_null (profile_set_find_framework (profiles, "nobody's", diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
}
END_TEST

/* Each trait of each shipped framework, and each setting that it implies, has its source. */
START_TEST (test_framework_sources)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         ids = profile_set_list (profiles, "framework");
  for (guint i = 0; ids[i] != NULL; i++)
    {
      g_autoptr (DiagList)    diags = diag_list_new ();
      const FrameworkProfile *framework = profile_set_framework (profiles, ids[i], NULL, diags);
      const Fact             *fact;
      ck_assert_ptr_nonnull (framework);
      for (guint f = 0; framework_profile_fact (framework, f, &fact) != NULL; f++)
        ck_assert ((fact->value == NULL) == (fact->source == NULL));
    }
}
END_TEST

START_TEST (test_figures)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GArray)     figures = profile_set_figures (profiles, "link", "direct", diags);
  const FigureView      *first = &g_array_index (figures, FigureView, 0);
  ck_assert_uint_eq (figures->len, 32);
  ck_assert_str_eq (first->key, "bandwidth");
  ck_assert_int_eq (first->kind, QUANTITY_BANDWIDTH);
  ck_assert_double_eq (first->figure->value, 1e10);
  ck_assert_str_eq (confidence_name (first->figure->confidence), "datasheet");
  ck_assert_ptr_null (profile_set_figures (profiles, "cluster", "two-kinds", diags));
}
END_TEST

static void
append_mistake (GString *all, const char *kind, const char *id)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (DiagList)   diags = diag_list_new ();
  GArray                *figures = profile_set_figures (profiles, kind, id, diags);
  g_autofree char       *text = diag_text (diags);
  ck_assert_msg (figures == NULL && *text != '\0', "'%s/%s' passed", kind, id);
  g_string_append_printf (all, "== %s/%s\n%s\n", kind, id, text);
}

START_TEST (test_mistakes)
{
  g_autoptr (GString) all = g_string_new (NULL);
  append_mistake (all, "gpu", "bad");
  append_mistake (all, "gpu", "borrows");
  append_mistake (all, "gpu", "orphan");
  append_mistake (all, "gpu", "tooy");
  append_mistake (all, "gpu", "mismeasured");
  append_mistake (all, "gpu", "unmeasured");
  append_mistake (all, "gpu", "vacant");
  append_mistake (all, "gpu", "../link/none");
  append_mistake (all, "link", "bad");
  append_mistake (all, "node", "bad");
  append_mistake (all, "node", "misplaced");
  append_mistake (all, "node", "contradiction");
  append_mistake (all, "framework", "bad");
  append_mistake (all, "framework", "implies-nothing");
  assert_golden ("profile-mistakes.txt", all->str);
}
END_TEST

SUITE_MAIN (profile)
{
  TCase *tcase = tcase_create ("profile");
  tcase_add_test (tcase, test_shipped_profiles_load);
  tcase_add_test (tcase, test_shipped_gpus_are_plausible);
  tcase_add_test (tcase, test_wan);
  tcase_add_test (tcase, test_lan);
  tcase_add_test (tcase, test_lan_laid_over);
  tcase_add_test (tcase, test_circle);
  tcase_add_test (tcase, test_catalogue_is_complete);
  tcase_add_test (tcase, test_shipped_parts_make_clusters);
  tcase_add_test (tcase, test_a40_by_hand);
  tcase_add_test (tcase, test_extends);
  tcase_add_test (tcase, test_measured_products);
  tcase_add_test (tcase, test_what_mentions);
  tcase_add_test (tcase, test_same_profile_is_loaded_once);
  tcase_add_test (tcase, test_framework_traits);
  tcase_add_test (tcase, test_framework_sources);
  tcase_add_test (tcase, test_figures);
  tcase_add_test (tcase, test_mistakes);
  return run_case ("profile", tcase);
}
