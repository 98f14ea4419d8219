/* shardsim hardware: the profiles by kind, and the figures of one. */
#include <stdio.h>
#include <string.h>

#include "base/config/suggest.h"
#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "hardware/profile/kernel-release.h"

static const ListingColumn list_columns[] = {
  { "kind", LISTING_TEXT },
  { "id", LISTING_TEXT },
  { "title", LISTING_TEXT },
  { NULL, LISTING_TEXT },
};

static const ListingColumn columns[] = {
  { "figure", LISTING_TEXT }, { "value", LISTING_TEXT },      { "low", LISTING_TEXT },
  { "high", LISTING_TEXT },   { "confidence", LISTING_TEXT }, { "source", LISTING_TEXT },
  { NULL, LISTING_TEXT },
};

/* ---- the list -------------------------------------------------------------------------------- */

static char *
cluster_profile_title (ProfileSet *profiles, const char *id, DiagList *diags)
{
  g_autofree char      *file = profile_set_file (profiles, "cluster", id);
  g_autoptr (ConfigDoc) doc = file != NULL ? config_load (file, diags) : NULL;
  const ConfigNode *title = doc != NULL ? config_node_get (config_doc_root (doc), "title") : NULL;

  return g_strdup (title != NULL ? config_node_text (title) : "");
}

/* "" after diagnostics. */
static char *
title_of (ProfileSet *profiles, const char *kind, const char *id, DiagList *diags)
{
  const char *title;

  if (g_str_equal (kind, "cluster"))
    return cluster_profile_title (profiles, id, diags);
  title = profile_set_title (profiles, kind, id, diags);
  return g_strdup (title != NULL ? title : "");
}

static ExitStatus
list_all (const Common *common, ProfileSet *profiles)
{
  g_autoptr (Listing)  listing = listing_new ("hardware", list_columns);
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint k = 0; profile_kind_names[k] != NULL; k++)
    {
      g_auto (GStrv) ids = profile_set_list (profiles, profile_kind_names[k]);

      for (guint i = 0; ids[i] != NULL; i++)
        {
          g_autofree char *title = title_of (profiles, profile_kind_names[k], ids[i], diags);

          listing_add (listing, profile_kind_names[k], ids[i], title);
        }
    }
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  return listing_print (listing, common->format, NULL);
}

/* ---- one profile ----------------------------------------------------------------------------- */

static void
add_word (Listing *listing, const char *key, const char *word)
{
  if (word != NULL)
    listing_add (listing, key, word, NULL, NULL, NULL, NULL);
}

static void
add_placement (Listing *listing, const NodeProfile *node)
{
  const GArray *list;
  const char   *key;

  for (guint i = 0; (key = node_profile_placement (node, i, &list)) != NULL; i++)
    {
      g_autofree char *text = list != NULL ? placement_format (list) : NULL;

      add_word (listing, key, text);
    }
}

/* What a GPU's profile says in words, with the source. */
static void
add_fact (Listing *listing, const char *key, const Fact *fact)
{
  if (fact->value != NULL)
    listing_add (listing, key, fact->value, NULL, NULL, confidence_name (fact->confidence),
                 fact->source);
}

/* A setting that a framework implies: "full (fsdp1, for selective)". */
static void
add_implied (Listing *listing, const FrameworkImplied *setting)
{
  g_autoptr (GString) value = g_string_new (setting->to);

  if (setting->strategy != NULL)
    g_string_append_printf (value, ", with %s", setting->strategy);
  if (setting->instead_of != NULL)
    g_string_append_printf (value, ", for %s", setting->instead_of);
  if (setting->gpus != NULL)
    g_string_append_printf (value, ", on %s", setting->gpus);
  if (setting->called != NULL)
    g_string_append_printf (value, ", as %s", setting->called);
  listing_add (listing, setting->set, value->str, NULL, NULL, NULL, setting->source);
}

static void
add_framework (Listing *listing, const FrameworkProfile *framework)
{
  const Fact *fact;
  const char *key;

  add_word (listing, "names", framework->names);
  add_word (listing, "default_for", framework->default_for);
  for (guint i = 0; (key = framework_profile_fact (framework, i, &fact)) != NULL; i++)
    add_fact (listing, key, fact);
  for (guint i = 0; framework->implies != NULL && i < framework->implies->len; i++)
    add_implied (listing, &g_array_index (framework->implies, FrameworkImplied, i));
}

/* The generations of GPUs that a library tells apart. */
static void
add_library (Listing *listing, ProfileSet *profiles, const char *id, DiagList *diags)
{
  g_autoptr (GPtrArray) libraries = profile_set_libraries (profiles, diags);

  for (guint i = 0; libraries != NULL && i < libraries->len; i++)
    {
      const LibraryProfile *library = g_ptr_array_index (libraries, i);

      if (!g_str_equal (library->id, id))
        continue;
      add_word (listing, "version", library->version);
      for (guint k = 0; k < library->generations->len; k++)
        {
          const LibraryGeneration *generation =
              &g_array_index (library->generations, LibraryGeneration, k);

          listing_add (listing, "generation", generation->architectures, NULL, NULL,
                       confidence_name ((Confidence) generation->confidence), generation->source);
        }
    }
}

/* Of which release it is, and on which GPUs. */
static void
add_kernels (Listing *listing, ProfileSet *profiles, const char *id, DiagList *diags)
{
  g_autoptr (GPtrArray) releases = profile_set_kernel_releases (profiles, diags);

  for (guint i = 0; releases != NULL && i < releases->len; i++)
    {
      const KernelRelease *release = g_ptr_array_index (releases, i);

      if (!g_str_equal (release->id, id))
        continue;
      add_word (listing, "family", release->family);
      add_word (listing, "version", release->version);
      add_word (listing, "runs_on", release->runs_on);
      add_word (listing, "differs_on", release->differs_on);
    }
}

/* For which nodes it is, and how many regions it has of each collective. */
static void
add_tuner (Listing *listing, ProfileSet *profiles, const char *id, DiagList *diags)
{
  const TunerProfile *tuner = profile_set_tuner (profiles, id, diags);
  guint               regions[COLLECTIVE_N_KINDS] = { 0 };

  if (tuner == NULL)
    return;
  add_word (listing, "gpus", tuner->gpus);
  add_word (listing, "nics", tuner->nics);
  for (guint k = 0; k < tuner->regions->len; k++)
    regions[g_array_index (tuner->regions, TunerRegion, k).kind]++;
  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    if (regions[kind] > 0)
      {
        g_autofree char *text = g_strdup_printf ("%u regions", regions[kind]);

        listing_add (listing, collective_kind_name ((CollectiveKind) kind), text, NULL, NULL,
                     confidence_name ((Confidence) tuner->confidence), tuner->source);
      }
}

/* What a profile says beside its figures. */
static void
add_words (Listing *listing, ProfileSet *profiles, const char *kind, const char *id,
           DiagList *diags)
{
  const Fact *fact;
  const char *key;

  if (g_str_equal (kind, "gpu"))
    {
      const GpuProfile *gpu = profile_set_gpu (profiles, id, NULL, diags);
      g_autofree char  *products =
          gpu->matmul_curve != NULL
               ? g_strdup_printf ("%u measured products", gpu->matmul_curve->len)
               : NULL;

      add_word (listing, "architecture", gpu->architecture);
      add_word (listing, "matmul_curve", products);
      add_word (listing, "bf16", gpu->bf16 ? "true" : "false");
      add_word (listing, "c2c", gpu->c2c ? "true" : NULL);
      for (guint i = 0; (key = gpu_profile_fact (gpu, i, &fact)) != NULL; i++)
        add_fact (listing, key, fact);
    }
  else if (g_str_equal (kind, "link"))
    {
      const LinkProfile *link = profile_set_link (profiles, id, NULL, diags);

      add_word (listing, "kind", link_kind_name (link->kind));
      add_word (listing, "technology", link->technology);
      add_word (listing, "links", link->links);
      if (link->kind == LINK_NETWORK)
        add_word (listing, "gpu_direct", link->gpu_direct ? "true" : "false");
      for (guint i = 0; (key = link_profile_fact (link, i, &fact)) != NULL; i++)
        add_fact (listing, key, fact);
    }
  else if (g_str_equal (kind, "library"))
    add_library (listing, profiles, id, diags);
  else if (g_str_equal (kind, "kernels"))
    add_kernels (listing, profiles, id, diags);
  else if (g_str_equal (kind, "tuner"))
    add_tuner (listing, profiles, id, diags);
  else if (g_str_equal (kind, "framework"))
    add_framework (listing, profile_set_framework (profiles, id, NULL, diags));
  else
    {
      const NodeProfile *node = profile_set_node (profiles, id, NULL, diags);

      add_word (listing, "gpu", node->gpu);
      add_word (listing, "intra", node->intra);
      add_word (listing, "nic", node->nic);
      add_word (listing, "gpu_direct_level", gpu_direct_level_name (node->gpu_direct_level));
      add_placement (listing, node);
    }
}

static char *
value_text (QuantityKind kind, double value)
{
  return kind == QUANTITY_RATIO ? number_format_exact (value) : quantity_format_exact (kind, value);
}

/* Figures that the profile leaves at a neutral default without a source are not there. */
static void
add_figure (Listing *listing, const FigureView *view)
{
  const Figure    *figure = view->figure;
  g_autofree char *value = value_text (view->kind, figure->value);
  g_autofree char *low = value_text (view->kind, figure->low);
  g_autofree char *high = value_text (view->kind, figure->high);
  gboolean         range = figure->low < figure->high;

  if (figure->source == NULL && figure->value == 0)
    return;
  listing_add (listing, view->key, value, range ? low : NULL, range ? high : NULL,
               figure->source != NULL ? confidence_name (figure->confidence) : "default",
               figure->source);
}

static ExitStatus
show_figures (const Common *common, ProfileSet *profiles, const char *kind, const char *id)
{
  g_autoptr (Listing)  listing = listing_new ("figures", columns);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   figures = profile_set_figures (profiles, kind, id, diags);
  g_autoptr (GString)  text = g_string_new (NULL);
  g_autofree char     *title = NULL;

  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  title = title_of (profiles, kind, id, diags);
  add_words (listing, profiles, kind, id, diags);
  for (guint i = 0; i < figures->len; i++)
    add_figure (listing, &g_array_index (figures, FigureView, i));
  g_string_append_printf (text, "%s %s: %s\n\n", kind, id, title);
  listing_append_text (listing, 0, NULL, text);
  return listing_print (listing, common->format, text);
}

static ExitStatus
show_cluster (const Common *common, ProfileSet *profiles, const char *id)
{
  g_autoptr (Listing)  listing = listing_new ("figures", columns);
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster = NULL;
  g_autofree char *title = cluster_profile_title (profiles, id, diags), *nodes = NULL, *gpus = NULL,
                  *fabric = NULL;
  g_autoptr (GString) text = g_string_new (NULL);
  ClusterOptions      options = { 0 };
  const char         *key;
  const Fact         *fact;

  option_table_defaults (cluster_options, &options);
  options.name = g_strdup (id);
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  nodes = g_strdup_printf ("%u", cluster_n_nodes (cluster));
  gpus = g_strdup_printf ("%u", cluster_n_gpus (cluster));
  fabric = cluster_fabric_title (cluster);
  add_word (listing, "nodes", nodes);
  add_word (listing, "gpus", gpus);
  add_word (listing, "parts", cluster_title (cluster));
  add_word (listing, "fabric", fabric);
  for (guint i = 0; (key = cluster_fact (cluster, i, &fact)) != NULL; i++)
    add_fact (listing, key, fact);
  g_string_append_printf (text, "cluster %s: %s\n\n", id, title);
  listing_append_text (listing, 0, NULL, text);
  return listing_print (listing, common->format, text);
}

/* ---- which one ------------------------------------------------------------------------------- */

static ExitStatus
unknown_profile (ProfileSet *profiles, const char *word)
{
  g_autoptr (GPtrArray) all = g_ptr_array_new_with_free_func (g_free);
  g_autofree char      *hint = NULL;

  for (guint k = 0; profile_kind_names[k] != NULL; k++)
    {
      g_auto (GStrv) ids = profile_set_list (profiles, profile_kind_names[k]);

      for (guint i = 0; ids[i] != NULL; i++)
        g_ptr_array_add (all, g_strdup (ids[i]));
    }
  g_ptr_array_add (all, NULL);
  hint = suggest_near (word, (const char *const *) all->pdata);
  stream_say ("shardsim: unknown hardware '%s'\n", word);
  stream_say ("  hint: %s\n", hint != NULL ? hint : "'shardsim hardware' lists all");
  return EXIT_USAGE;
}

/* WORD is an id, KIND/ID or a file; an id of several profile_kind_names needs the second. */
static ExitStatus
show (const Common *common, ProfileSet *profiles, const char *word)
{
  const char *slash = strchr (word, '/'), *id = slash != NULL ? slash + 1 : word, *found = NULL;
  g_autofree char *wanted = slash != NULL ? g_strndup (word, (gsize) (slash - word)) : NULL;

  if (g_str_has_suffix (word, ".yaml") && g_file_test (word, G_FILE_TEST_IS_REGULAR))
    {
      found = profile_file_kind (word);
      return g_str_equal (found, "cluster") ? show_cluster (common, profiles, word)
                                            : show_figures (common, profiles, found, word);
    }
  for (guint k = 0; profile_kind_names[k] != NULL; k++)
    {
      if (wanted != NULL && name_index (wanted, profile_kind_names) != (gint) k)
        continue;
      if (!profile_set_has (profiles, profile_kind_names[k], id))
        continue;
      if (found != NULL)
        {
          stream_say ("shardsim: '%s' is a %s and a %s\n  hint: write '%s/%s' or '%s/%s'\n", id,
                      found, profile_kind_names[k], found, id, profile_kind_names[k], id);
          return EXIT_USAGE;
        }
      found = profile_kind_names[k];
    }
  if (found == NULL)
    return unknown_profile (profiles, word);
  return g_str_equal (found, "cluster") ? show_cluster (common, profiles, id)
                                        : show_figures (common, profiles, found, id);
}

static ExitStatus
run (Common *common, gpointer settings)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (common->hwprofiles);

  (void) settings;
  return common->files[0] != NULL ? show (common, profiles, common->files[0])
                                  : list_all (common, profiles);
}

const Command command_hardware = {
  .name = "hardware",
  .help = "the hardware profiles, or the figures of one",
  .arguments = "[ID | KIND/ID | FILE.yaml]",
  .summary = "Lists the hardware profiles, or prints the figures of one with their sources and "
             "confidence.",
  .examples = "Examples:\n"
              "  shardsim hardware a40-48\n"
              "  shardsim hardware node/dgx-h100 --format csv\n"
              "  shardsim hardware mine/node/box.yaml\n",
  .takes = COMMON_FORMAT,
  .most_words = 1,
  .words = &words_profiles,
  .run = run,
};
