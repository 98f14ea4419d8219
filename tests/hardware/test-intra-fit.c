/*
 * Which links may join which GPUs: what the shipped profiles say against each other and against
 * every measured run that is kept here, the pairs that nobody can buy, how many GPUs a mesh can
 * join, and the messages. That the profiles' facts are true is not tested beyond their rates.
 */
#include <math.h>
#include <stdlib.h>

#include "../suite.h"
#include "base/config/csv.h"
#include "fixture.h"
#include "hardware/topology/intra-fit.h"

/* ---- the facts ------------------------------------------------------------------------------- */

START_TEST (test_every_gpu_says_it)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         ids = profile_set_list (profiles, "gpu");
  for (guint i = 0; ids[i] != NULL; i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      const GpuProfile    *gpu = profile_set_gpu (profiles, ids[i], NULL, diags);
      ck_assert_ptr_nonnull (gpu);
      ck_assert_msg (gpu->own_links.said && gpu->peer != PEER_UNKNOWN, "%s", ids[i]);
      ck_assert_msg (strlen (gpu->links.source) > 5 && strlen (gpu->peer_access.source) > 5, "%s",
                     ids[i]);
    }
}
END_TEST

/* What the profile of LINK has for a GPU of this kind: all of its links, or one a pair. */
static double
rate_through (const GpuProfile *gpu, const LinkProfile *link)
{
  const double limit = gpu->nvlink_limit.value, rate = link->bandwidth.value;
  return limit > 0 && link->kind == LINK_SWITCH ? MIN (limit, rate) : rate;
}

/* Counts and rates of GPUs and the bandwidths of links come from two files each: they agree. */
START_TEST (test_rates_agree)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_auto (GStrv)         gpus = profile_set_list (profiles, "gpu");
  g_auto (GStrv)         links = profile_set_list (profiles, "link");
  guint                  n = 0;
  for (guint i = 0; gpus[i] != NULL; i++)
    for (guint k = 0; links[k] != NULL; k++)
      {
        const GpuProfile  *gpu = profile_set_gpu (profiles, gpus[i], NULL, diags);
        const LinkProfile *link = profile_set_link (profiles, links[k], NULL, diags);
        const GpuLinks    *own = &gpu->own_links;
        if (g_strcmp0 (own->technology, link->technology) != 0 || own->bridges
            || (link->kind != LINK_SWITCH && link->kind != LINK_MESH && link->kind != LINK_GRAPH))
          continue;
        const double links_of = rate_through (gpu, link) / own->rate;
        n++;
        ck_assert_msg (fabs (links_of - round (links_of)) < 0.01 && links_of <= own->count + 0.01,
                       "'%s' is %g links of '%s'", links[k], links_of, gpus[i]);
        ck_assert_msg (link->kind != LINK_SWITCH || fabs (links_of - own->count) < 0.01,
                       "'%s' through '%s': %g links", gpus[i], links[k], links_of);
      }
  ck_assert_uint_ge (n, 25);
}
END_TEST

/* ---- what fits ------------------------------------------------------------------------------- */

typedef struct
{
  const char *gpu, *intra;
  guint       n;
  IntraFit    fit;
} Pair;

static const Pair pairs[] = {
  { "a100-sxm-80", "nvlink3-switch", 8, INTRA_FITS },
  { "a100-sxm-80", "pcie4", 8, INTRA_FITS },
  { "a100-sxm-80", "pcie4-host", 8, INTRA_FITS },
  { "a800-sxm-80", "nvlink3-switch", 8, INTRA_FITS },
  { "v100-sxm-32", "nvlink2-mesh", 8, INTRA_FITS },
  { "h20-96", "nvlink4-switch", 8, INTRA_FITS },
  { "gb200-186", "nvlink5-switch", 72, INTRA_FITS },
  { "mi250x-gcd-64", "xgmi-mi250", 8, INTRA_FITS },
  { "mi300x-192", "xgmi-mi300-mesh", 8, INTRA_FITS },
  { "a40-48", "nvlink-pairs", 8, INTRA_FITS },
  { "a100-pcie-40", "nvlink-pairs", 2, INTRA_FITS },
  { "mi250x-gcd-64", "xgmi-mi250", 4, INTRA_FITS },
  { "h100-sxm-80", "nvlink4-mesh", 4, INTRA_FITS },
  { "a100-sxm-80", "nvlink3-mesh", 4, INTRA_FITS },
  { "h800-sxm-80", "nvlink4-mesh", 2, INTRA_FITS },
  { "gb200-186", "nvlink5-switch", 4, INTRA_FITS },
  { "mi355x-288", "xgmi-mi350-mesh", 8, INTRA_FITS },
  { "a100-pcie-40", "nvlink3-mesh", 2, INTRA_FITS }, /* one other */
  { "t4-16", "pcie3", 4, INTRA_FITS },
  { "rtx4090-24", "pcie4-host", 4, INTRA_FITS },
  { "rtx4090-24", "none", 1, INTRA_FITS },
  /* thinkable: a patched driver, a module with bridges, an older generation's figures */
  { "rtx4090-24", "pcie4", 4, INTRA_THINKABLE },
  { "rtx5090-32", "pcie5", 2, INTRA_THINKABLE },
  { "a100-sxm-80", "nvlink-pairs", 4, INTRA_THINKABLE },
  { "h100-pcie-80", "nvlink-pairs", 2, INTRA_THINKABLE },
  { "h100-sxm-80", "nvlink3-switch", 8, INTRA_THINKABLE },
  { "mi300x-192", "xgmi-mi250", 8, INTRA_THINKABLE },
  /* no such hardware */
  { "rtx4090-24", "nvlink4-switch", 8, INTRA_IMPOSSIBLE },
  { "rtx4090-24", "nvlink-pairs", 2, INTRA_IMPOSSIBLE },
  { "rtx5090-32", "nvlink5-switch", 8, INTRA_IMPOSSIBLE }, /* a B200's architecture is not enough */
  { "l40s-48", "nvlink4-switch", 8, INTRA_IMPOSSIBLE },
  { "h100-sxm-80", "xgmi-mi300-mesh", 8, INTRA_IMPOSSIBLE },
  { "mi300x-192", "nvlink4-switch", 8, INTRA_IMPOSSIBLE },
  { "a100-sxm-80", "nvlink4-switch", 8, INTRA_IMPOSSIBLE },
  { "mi250x-gcd-64", "xgmi-mi300-mesh", 8, INTRA_IMPOSSIBLE },
  { "a40-48", "nvlink3-switch", 8, INTRA_IMPOSSIBLE },
  { "a100-pcie-40", "nvlink3-mesh", 4, INTRA_IMPOSSIBLE },
  { "h100-pcie-80", "nvlink4-switch", 8, INTRA_IMPOSSIBLE },
  { "h100-pcie-80", "nvlink2-mesh", 8, INTRA_IMPOSSIBLE }, /* a graph: more than one other */
  { "a100-pcie-40", "nvlink2-mesh", 8, INTRA_IMPOSSIBLE },
  /* fewer links than it takes: one GPU more than there is, or a narrower kind */
  { "h100-sxm-80", "nvlink4-mesh", 5, INTRA_IMPOSSIBLE },
  { "h100-sxm-80", "nvlink4-mesh", 16, INTRA_IMPOSSIBLE },
  { "a100-sxm-80", "nvlink3-mesh", 5, INTRA_IMPOSSIBLE },
  { "h800-sxm-80", "nvlink4-mesh", 3, INTRA_IMPOSSIBLE },
  { "mi300x-192", "xgmi-mi300-mesh", 9, INTRA_IMPOSSIBLE },
  { "mi355x-288", "xgmi-mi350-mesh", 9, INTRA_IMPOSSIBLE },
  { "h100-sxm-80", "nvlink3-mesh", 6, INTRA_IMPOSSIBLE }, /* thinkable of five */
  { "a40-48", "nvlink3-mesh", 2, INTRA_IMPOSSIBLE },
};

START_TEST (test_pairs)
{
  const Pair            *pair = &pairs[_i];
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new (), said = diag_list_new ();
  const GpuProfile      *gpu = profile_set_gpu (profiles, pair->gpu, NULL, diags);
  const LinkProfile     *link = profile_set_link (profiles, pair->intra, NULL, diags);
  ck_assert (gpu != NULL && link != NULL);
  ck_assert_msg (intra_fit (gpu, link, pair->n) == pair->fit, "%s, %s", pair->gpu, pair->intra);
  ck_assert (intra_check (gpu, link, pair->n, profiles, NULL, said)
             == (pair->fit != INTRA_IMPOSSIBLE));
  ck_assert (diag_list_has_errors (said) == (pair->fit == INTRA_IMPOSSIBLE));
  ck_assert ((diag_list_first_message (said) == NULL) == (pair->fit == INTRA_FITS));
}
END_TEST

/*
 * The links of a graph are counted at the GPU that has most of them, and among those that are
 * there.
 */
START_TEST (test_graph_links)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  const LinkProfile     *cube = profile_set_link (profiles, "nvlink2-mesh", NULL, diags);
  const LinkProfile     *pairs_of = profile_set_link (profiles, "nvlink-pairs", NULL, diags);
  GpuProfile             gpu = { .links.value = (char *) "5 x nvlink2, 25 GB/s" };
  ck_assert (gpu_links_parse (&gpu.own_links, gpu.links.value, NULL, diags));
  ck_assert_int_eq (intra_fit (&gpu, cube, 8), INTRA_IMPOSSIBLE);
  ck_assert_int_eq (intra_fit (&gpu, cube, 64), INTRA_IMPOSSIBLE); /* more than it has */
  ck_assert_int_eq (intra_fit (&gpu, cube, 4), INTRA_FITS);
  ck_assert (gpu_links_parse (&gpu.own_links, "6 x nvlink2, 25 GB/s", NULL, diags));
  ck_assert_int_eq (intra_fit (&gpu, cube, 8), INTRA_FITS);
  ck_assert (gpu_links_parse (&gpu.own_links, "6 x nvlink2, 12.5 GB/s", NULL, diags));
  ck_assert_int_eq (intra_fit (&gpu, cube, 8), INTRA_IMPOSSIBLE); /* two for each */
  ck_assert (gpu_links_parse (&gpu.own_links, "3 x nvlink3, 14.06 GB/s, bridges", NULL, diags));
  ck_assert_int_eq (intra_fit (&gpu, pairs_of, 2), INTRA_IMPOSSIBLE);
}
END_TEST

/* A profile that says nothing is not judged. */
START_TEST (test_silence)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  const LinkProfile     *link = profile_set_link (profiles, "nvlink5-switch", NULL, diags);
  const LinkProfile     *pcie = profile_set_link (profiles, "pcie4", NULL, diags);
  const GpuProfile       silent = { 0 };
  ck_assert_int_eq (intra_fit (&silent, link, 8), INTRA_FITS);
  ck_assert_int_eq (intra_fit (&silent, pcie, 8), INTRA_FITS);
}
END_TEST

/* ---- what was measured exists ---------------------------------------------------------------- */

static void
check_table (const char *relative, guint *n)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *file = source_file (relative);
  g_autoptr (CsvReader)  reader = csv_reader_open (file, diags);
  ck_assert_ptr_nonnull (reader);
  const gint gpu = csv_reader_find (reader, "gpu"), intra = csv_reader_find (reader, "intra");
  const gint per_node = csv_reader_find (reader, "gpus_per_node");
  ck_assert (gpu >= 0 && intra >= 0 && per_node >= 0);
  for (; csv_reader_next (reader, diags); (*n)++)
    {
      const char        *id = csv_reader_field (reader, (guint) gpu);
      const char        *joined = csv_reader_field (reader, (guint) intra);
      const GpuProfile  *profile = profile_set_gpu (profiles, id, NULL, diags);
      const LinkProfile *link = profile_set_link (profiles, joined, NULL, diags);
      const guint        many = (guint) atoi (csv_reader_field (reader, (guint) per_node));
      ck_assert_msg (profile != NULL && link != NULL, "'%s', '%s'", id, joined);
      ck_assert_msg (intra_fit (profile, link, many) == INTRA_FITS, "%u x '%s', '%s'", many, id,
                     joined);
    }
}

START_TEST (test_measured_runs)
{
  guint n = 0;
  check_table ("tests/data/validation/collectives.csv", &n);
  check_table ("tests/data/validation/training.csv", &n);
  ck_assert_uint_gt (n, 1000);
}
END_TEST

/* ---- messages -------------------------------------------------------------------------------- */

START_TEST (test_messages)
{
  static const char *const clusters[] = {
    "nodes=1;gpus_per_node=8;gpu=rtx4090-24;intra=nvlink4-switch",
    "nodes=1;gpus_per_node=8;gpu=h100-sxm-80;intra=xgmi-mi300-mesh",
    "nodes=1;gpus_per_node=8;gpu=a100-sxm-40;intra=nvlink4-switch",
    "nodes=1;gpus_per_node=8;gpu=a40-48;intra=nvlink3-switch",
    "name=dgx-h100;gpu=a40-48",
    "nodes=1;gpus_per_node=2;gpu=h100-pcie-80;intra=nvlink-pairs",
    "nodes=1;gpus_per_node=8;gpu=h100-pcie-80;intra=nvlink2-mesh",
    "nodes=1;gpus_per_node=8;gpu=h100-sxm-80;intra=nvlink4-mesh",
    "nodes=1;gpus_per_node=16;gpu=mi300x-192;intra=xgmi-mi300-mesh",
    "nodes=1;gpus_per_node=2;gpu=a40-48;intra=nvlink4-mesh",
    "nodes=1;gpus_per_node=2;gpu=a40-48;intra=nvlink3-mesh",
    "nodes=1;gpus_per_node=2;gpu=a100-sxm-80;intra=nvlink-pairs",
    "nodes=1;gpus_per_node=4;gpu=rtx4090-24;intra=pcie4",
  };
  g_autoptr (GString)    all = g_string_new (NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (clusters); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (Cluster)  cluster = try_cluster (profiles, clusters[i], diags);
      g_autofree char     *text = diag_text (diags);
      ck_assert_int_eq (cluster == NULL, diag_list_has_errors (diags));
      g_string_append_printf (all, "== %s\n%s\n", clusters[i], text);
    }
  assert_golden ("intra-fit.txt", all->str);
}
END_TEST

/* ---- the words of a profile ------------------------------------------------------------------ */

START_TEST (test_words)
{
  static const char *const bad[] = { "",
                                     "12",
                                     "12 x nvlink3",
                                     "12 x nvlink, 25 GB/s",
                                     "12 x nvlink0, 25 GB/s",
                                     "0 x nvlink3, 25 GB/s",
                                     "12 x pcie4, 25 GB/s",
                                     "12 x nvlink3, 25",
                                     "12 x nvlink3, 0 GB/s",
                                     "12 x nvlink3, 25 GB/s, bridge",
                                     "12 x nvlink3, 25 GB/s, bridges, bridges",
                                     "12 x 12 x nvlink3, 25 GB/s",
                                     "99999999999999999999 x nvlink3, 25 GB/s" };
  for (guint i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      GpuLinks             links;
      ck_assert_msg (!gpu_links_parse (&links, bad[i], NULL, diags), "'%s'", bad[i]);
      ck_assert (!links.said && diag_list_n_errors (diags) == 1);
    }
  g_autoptr (DiagList) diags = diag_list_new ();
  GpuLinks             links;
  ck_assert (gpu_links_parse (&links, "4 x nvlink3, 14.06 GB/s, bridges", NULL, diags));
  ck_assert (links.said && links.bridges && links.count == 4);
  ck_assert_str_eq (links.technology, "nvlink3");
  ck_assert_double_eq_tol (links.rate, 14.06e9, 1);
  ck_assert (gpu_links_parse (&links, "none", NULL, diags));
  ck_assert (links.said && links.technology == NULL && links.count == 0);
}
END_TEST

SUITE_MAIN (intra_fit)
{
  TCase *tcase = tcase_create ("intra-fit");
  tcase_add_test (tcase, test_every_gpu_says_it);
  tcase_add_test (tcase, test_rates_agree);
  tcase_add_loop_test (tcase, test_pairs, 0, G_N_ELEMENTS (pairs));
  tcase_add_test (tcase, test_graph_links);
  tcase_add_test (tcase, test_silence);
  tcase_add_test (tcase, test_measured_runs);
  tcase_add_test (tcase, test_messages);
  tcase_add_test (tcase, test_words);
  return run_case ("intra-fit", tcase);
}
