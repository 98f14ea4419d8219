/* Profiles of the collective library: which release serves, what its figures move, mistakes. */
#include <check.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "base/file/layout.h"
#include "cost/collective/library/collective.h"

/* A folder with one profile of a library, searched before the shipped ones. */
typedef struct
{
  char       *folder, *libraries, *file;
  ProfileSet *profiles;
  DiagList   *diags;
} Setup;

static void
setup_init (Setup *self, const char *text)
{
  self->folder = g_dir_make_tmp ("shardsim-library-XXXXXX", NULL);
  self->libraries = g_build_filename (self->folder, "library", NULL);
  self->file = g_build_filename (self->libraries, "made-up.yaml", NULL);
  ck_assert_int_eq (g_mkdir (self->libraries, 0700), 0);
  ck_assert (g_file_set_contents (self->file, text, -1, NULL));
  g_autofree char *shipped = layout_data_file ("hwprofiles");
  g_autofree char *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, self->folder, shipped, NULL);
  self->profiles = profile_set_new (path);
  self->diags = diag_list_new ();
}

static void
setup_clear (Setup *self)
{
  diag_list_free (self->diags);
  profile_set_free (self->profiles);
  g_unlink (self->file);
  g_rmdir (self->libraries);
  g_rmdir (self->folder);
  g_free (self->file);
  g_free (self->libraries);
  g_free (self->folder);
}

#define FIGURE(key, value) key ": { value: " value ", source: \"made up\", confidence: estimate }\n"
#define MADE_UP            "extends: nccl-2.28\ntitle: made up\n"
#define MINE               "version: \"2.16\"\naliases: mine other\n"
#define OLDER              MADE_UP MINE FIGURE ("p2p_ll", "0 B")

START_TEST (test_release)
{
  static const struct
  {
    const char *asked, *found;
  } cases[] = {
    { NULL, "2.28" },   { "unknown", "2.28" }, { "2.30.7", "2.28" }, { "2.28", "2.28" },
    { "2.19", "2.18" }, { "2.18.5", "2.18" },  { "3", "2.28" },      { "RCCL", "2.28" },
    { "mine", "2.16" }, { "2.17", "2.16" },    { "2.4", NULL },      { "banana", NULL },
    { "2.", NULL },
  };
  Setup self;

  setup_init (&self, OLDER);
  {
    g_autoptr (GPtrArray) libraries = profile_set_libraries (self.profiles, self.diags);

    ck_assert_ptr_nonnull (libraries);
    for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
      {
        const LibraryProfile *one = library_profile_find (libraries, cases[i].asked);

        ck_assert_pstr_eq (one != NULL ? one->version : NULL, cases[i].found);
      }
    /* what a measured run says of itself */
    ck_assert_str_eq (library_profile_nearest (libraries, "2.4")->version, "2.12");
    ck_assert_str_eq (library_profile_nearest (libraries, "banana")->version, "2.28");
    /* what is asked for is known or a mistake */
    ck_assert (library_profile_check (libraries, "mine", NULL, self.diags));
    ck_assert (!library_profile_check (libraries, "2.4", NULL, self.diags));
    ck_assert_str_eq (diag_list_first_message (self.diags),
                      "'2.4' is older than all known releases of the library");
    g_autofree char *text = diag_list_format (self.diags, FALSE);
    ck_assert_ptr_nonnull (
        strstr (text, "known: 2.28, 2.21, 2.20, 2.18, 2.16, 2.12, RCCL, mine, other, unknown;"));
  }
  setup_clear (&self);
}
END_TEST

/* The protocol of a message of 1 KiB under VERSION. */
static CollectiveProtocol
protocol_of (const Cluster *cluster, const char *version)
{
  CollectiveOptions          options = collective_default_options;
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveCost             cost;

  options.library = version;
  plan = collective_plan_new_message (cluster, 0, 1, &options);
  collective_plan_cost (plan, 1024, &cost);
  return cost.protocol;
}

/* Without a figure of the release in the program, what a profile says is what runs. */
START_TEST (test_figures_count)
{
  ClusterOptions options = { 0 };
  Setup          self;

  setup_init (&self, OLDER);
  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("dgx-a100");
  {
    g_autoptr (Cluster) cluster = cluster_new (&options, self.profiles, NULL, self.diags);

    ck_assert_ptr_nonnull (cluster);
    ck_assert_int_eq (protocol_of (cluster, "2.28"), PROTOCOL_LL);
    ck_assert_int_eq (protocol_of (cluster, "2.16"), PROTOCOL_SIMPLE);
  }
  option_table_clear (cluster_options, &options);
  setup_clear (&self);
}
END_TEST

/* An all-reduce on a mesh is two hops of every pair up to what the release says, with the end. */
START_TEST (test_all_pairs)
{
  g_autofree char           *shipped = layout_data_file ("hwprofiles");
  g_autoptr (ProfileSet)     profiles = profile_set_new (shipped);
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (Cluster)        cluster = NULL;
  g_autoptr (CollectivePlan) plan = NULL;
  guint32                    ranks[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  ClusterOptions             options = { 0 };
  CollectiveCost             cost;

  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("mi300x-8");
  cluster = cluster_new (&options, profiles, NULL, diags);
  plan = collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, G_N_ELEMENTS (ranks),
                              &collective_default_options);
  collective_plan_cost (plan, 256 << 10, &cost);
  ck_assert_int_eq (cost.algorithm, ALGORITHM_ALL_PAIRS);
  collective_plan_cost (plan, (256 << 10) + 1, &cost);
  ck_assert_int_ne (cost.algorithm, ALGORITHM_ALL_PAIRS);
  option_table_clear (cluster_options, &options);
}
END_TEST

#define GENERATION(architectures, ring, speeds)                                           \
  "  - { architectures: " architectures ", ll: 39 GB/s, ring_ll128: \"" ring "\",\n"      \
  "      tree_ll128: \"20 20 20 GB/s\", tree_simple: \"24 23 17 GB/s\", link: 20 GB/s,\n" \
  "      link_wire: 25 GB/s, pair_link: 25 GB/s, intra_speeds: \"40 30 GB/s\",\n"         \
  "      inter_speeds: \"" speeds "\", split_many: 25 GB/s, collnet_direct: 1,\n"         \
  "      all_reduce_net_factor: 1.4, node_channels: 24, ll128: true, ll128_net: true,\n"  \
  "      ll128_over_pxn: false,\n"                                                        \
  "      source: made up, confidence: estimate }\n"
#define ALL "pascal volta turing ampere ada hopper blackwell cdna cdna2 cdna3 cdna4 vega host"

#define PROTOCOL(name, factors)                                                            \
  "  - { protocol: " name ", thread_bytes: 4 KiB, post: 1 us, tree_correction: \"" factors \
  "\",\n      source: made up, confidence: estimate }\n"
#define TWELVE(n) n " " n " " n " " n " " n " " n " " n " " n " " n " " n " " n " " n " "
#define ONES      TWELVE ("1") TWELVE ("1")
#define LATENCY(algorithm, at)                                                        \
  "  - { algorithm: " algorithm ", at: " at ", ll: 1 us, ll128: 1 us, simple: 1 us, " \
  "source: made up,\n      confidence: estimate }\n"

#define HALVING(chunks, least) \
  "  - { chunks: " chunks ", least: " least ", source: made up, confidence: estimate }\n"

#define N_MISTAKES 28

START_TEST (test_mistakes)
{
  static const struct
  {
    const char *text, *said;
  } cases[] = {
    { MADE_UP "generations:\n" GENERATION (ALL, "20 20 20 GB/s", "40 30 GB/s"), NULL },
    { MADE_UP "version: newest\n", "'newest' is no version" },
    { MADE_UP "generations:\n" GENERATION (ALL, "20 20 GB/s", "40 30 GB/s"),
      "'ring_ll128' has 2 numbers, expected 3" },
    { MADE_UP "generations:\n" GENERATION (ALL, "20 20 20 GB", "40 30 GB/s"),
      "'ring_ll128': expected a bandwidth such as '900 GB/s', got '20 GB', which is a size" },
    { MADE_UP "generations:\n" GENERATION (ALL, "20 20 20 GB/s", "30 40 GB/s"),
      "the speeds of 'inter_speeds' do not descend" },
    { MADE_UP "generations:\n" GENERATION ("volta turing", "20 20 20 GB/s", "40 30 GB/s"),
      "no generation has the architecture 'ampere'" },
    { MADE_UP "protocols:\n  - { protocol: ll, thread_bytes: 4 KiB, post: 1 us,\n"
              "      tree_correction: \"1 1 1\", source: made up, confidence: estimate }\n",
      "'tree_correction' has 3 numbers, expected 24" },
    { MADE_UP "generations:\n  - { ll: 39 GB/s }\n", "missing 'architectures'" },
    { MADE_UP "protocols:\n", "'protocols' has no entries" },
    { MADE_UP "protocols:\n" PROTOCOL ("ll", ONES) PROTOCOL ("simple", ONES),
      "nothing is said of the protocol 'll128'" },
    { MADE_UP "protocols:\n" PROTOCOL ("ll", ONES) PROTOCOL ("simple", ONES)
          PROTOCOL ("ll128", ONES) PROTOCOL ("ll", ONES),
      "a second entry of the protocol 'll'" },
    { MADE_UP "protocols:\n" PROTOCOL ("ll", TWELVE ("0") TWELVE ("0")),
      "'0' of 'tree_correction' is out of range" },
    { MADE_UP "latencies: []\n", "'latencies' has no entries" },
    { MADE_UP "latencies:\n" LATENCY ("tree", "start"), "no latency of 'ring' at 'start'" },
    { MADE_UP "latencies:\n" LATENCY ("tree", "net") LATENCY ("tree", "net"),
      "a second latency of 'tree' at 'net'" },
    { MADE_UP
      "latencies:\n  - { algorithm: ring, at: net, ll: 1 us, simple: 1 us, source: made up,\n"
      "      confidence: estimate }\n",
      "missing 'll128'" },
    { MADE_UP "version: \"2..x\"\n", "'2..x' is no version" },
    { MADE_UP "generations:\n" GENERATION (ALL, "20 0 20 GB/s", "40 30 GB/s"),
      "'0 GB/s' of 'ring_ll128' is out of range" },
    { MADE_UP "generations:\n" GENERATION (ALL " amper", "20 20 20 GB/s", "40 30 GB/s"),
      "unknown architecture 'amper'" },
    { MADE_UP "generations:\n" GENERATION (ALL " ada", "20 20 20 GB/s", "40 30 GB/s"),
      "a second generation has the architecture 'ada'" },
    { MADE_UP "tree_halvings:\n" HALVING ("8", "128 KiB") HALVING ("4", "64 KiB"), NULL },
    { MADE_UP "tree_halvings:\n" HALVING ("0", "128 KiB"),
      "'chunks' must be between 1 and 1024, got '0'" },
    { MADE_UP "tree_halvings:\n" HALVING ("8", "128 us"),
      "expected a size such as '80 GiB', got '128 us', which is a time" },
    { MADE_UP "tree_halvings:\n  - { chunks: 8, source: made up, confidence: estimate }\n",
      "missing 'least'" },
    { MADE_UP FIGURE ("nvls_buffer", "10 GB"), "'10 GB' of 'nvls_buffer' is out of range" },
    { MADE_UP FIGURE ("nvls_credits", "2 us"),
      "expected a size such as '80 GiB', got '2 us', which is a time" },
    { MADE_UP FIGURE ("buffsize", "4 B"), "'4 B' of 'buffsize' is out of range" },
    { "title: alone\nversion: \"1\"\n", "missing 'll_net_two'" },
  };
  Setup                 self;
  g_autoptr (GPtrArray) libraries = NULL;

  G_STATIC_ASSERT (G_N_ELEMENTS (cases) == N_MISTAKES);
  setup_init (&self, cases[_i].text);
  libraries = profile_set_libraries (self.profiles, self.diags);
  if (cases[_i].said != NULL)
    {
      ck_assert_ptr_null (libraries);
      ck_assert_str_eq (diag_list_first_message (self.diags), cases[_i].said);
    }
  else
    ck_assert_msg (libraries != NULL, "%s", diag_list_first_message (self.diags));
  setup_clear (&self);
}
END_TEST

/* All mistakes of a file in one pass, each with its line and column. */
START_TEST (test_all_mistakes)
{
  static const char *const said[] = {
    "made-up.yaml:3:10: error: '2.x' is no version",
    "made-up.yaml:4:12: error: 'latencies' has no entries",
    "made-up.yaml:6:17: error: unknown value 'lll' for 'protocol'",
    "made-up.yaml:6:3: error: nothing is said of the protocol 'll'",
    "error: '0 GB/s' of 'ring_ll128' is out of range",
  };
  Setup                 self;
  g_autoptr (GPtrArray) libraries = NULL;
  g_autofree char      *text = NULL;

  setup_init (&self,
              MADE_UP "version: 2.x\nlatencies: []\nprotocols:\n" PROTOCOL (
                  "lll", ONES) "generations:\n" GENERATION (ALL, "20 0 20 GB/s", "40 30 GB/s"));
  libraries = profile_set_libraries (self.profiles, self.diags);
  ck_assert_ptr_null (libraries);
  text = diag_list_format (self.diags, FALSE);
  for (guint i = 0; i < G_N_ELEMENTS (said); i++)
    ck_assert_msg (strstr (text, said[i]) != NULL, "%s", text);
  setup_clear (&self);
}
END_TEST

/* Where there is none, the folders that were searched are named. */
START_TEST (test_no_library)
{
  g_autofree char       *folder = g_dir_make_tmp ("shardsim-library-XXXXXX", NULL);
  g_autofree char       *searched = g_strdup_printf ("'%s/library'", folder);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GPtrArray)  libraries = NULL;
  g_autoptr (ProfileSet) profiles = NULL;
  g_autofree char       *text = NULL;

  g_setenv ("SHARDSIM_DATADIR", folder, TRUE);
  profiles = profile_set_new (folder);
  libraries = profile_set_libraries (profiles, diags);
  ck_assert_ptr_null (libraries);
  text = diag_list_format (diags, FALSE);
  ck_assert_msg (strstr (text, "there is no profile of a collective library") != NULL, "%s", text);
  ck_assert_msg (strstr (text, searched) != NULL && strstr (text, "hwprofiles/library'") != NULL,
                 "%s", text);
  g_rmdir (folder);
}
END_TEST

SUITE_MAIN (library)
{
  Suite *suite = suite_create ("library");
  TCase *tcase = tcase_create ("profiles");

  tcase_add_test (tcase, test_release);
  tcase_add_test (tcase, test_figures_count);
  tcase_add_test (tcase, test_all_pairs);
  tcase_add_loop_test (tcase, test_mistakes, 0, N_MISTAKES);
  tcase_add_test (tcase, test_all_mistakes);
  tcase_add_test (tcase, test_no_library);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
