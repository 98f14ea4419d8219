/*
 * What follows from the cluster, the model and the mesh of a job, and the other way round: the
 * options that a job says by what follows from them, as 'data_parallel_shard_degree' is the shard
 * group by its ranks beside context.
 */
#include <math.h>
#include <string.h>

#include "import/job/job-private.h"

#define MOST_LAYOUT 16384 /* letters of a pipeline's layout */

/* ---- cluster and model ----------------------------------------------------------------------- */

/* Whether the user names a type of node and not how many. */
static gboolean
is_node_type (const JobReader *self, const char *name, ProfileSet *profiles)
{
  g_autoptr (DiagList) untold = diag_list_new ();

  return !g_ascii_isdigit (*name) && job_user (self, "cluster.nodes") == NULL
         && profile_set_node (profiles, name, NULL, untold) != NULL;
}

static void
add_override (JobReader *self, const ScenarioOverride *from, const char *key, char *value)
{
  const ScenarioOverride one = { key, g_string_chunk_insert (self->strings, value), from->origin };

  g_array_append_val (self->overrides, one);
  g_free (value);
}

/* FROM names a type of node: as many of them as the job has, and of their GPUs. */
static void
complete_cluster (JobReader *self, const ScenarioOverride *from, ProfileSet *profiles)
{
  g_autoptr (DiagList) untold = diag_list_new ();
  const NodeProfile   *node = profile_set_node (profiles, from->value, NULL, untold);
  const gint64         nodes = (gint64) job_number (self, "fact.job_nodes", 1);
  const gint64         world = (gint64) job_number (self, "fact.job_world", 0);

  if (nodes < 1 || world < nodes || world % nodes != 0
      || world / nodes >= (gint64) node->gpus.value)
    add_override (self, from, "cluster.name",
                  g_strdup_printf ("%" G_GINT64_FORMAT " x %s", MAX (nodes, 1), from->value));
  else
    {
      add_override (self, from, "cluster.node", g_strdup (from->value));
      add_override (self, from, "cluster.nodes", g_strdup_printf ("%" G_GINT64_FORMAT, nodes));
      add_override (self, from, "cluster.gpus_per_node",
                    g_strdup_printf ("%" G_GINT64_FORMAT, world / nodes));
    }
}

const GArray *
job_overrides (JobReader *self)
{
  g_autoptr (ProfileSet) profiles = NULL;

  if (self->overrides != NULL)
    return self->overrides;
  profiles = profile_set_new (self->request->profile_dir);
  self->overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  for (guint i = 0; i < self->request->n_overrides; i++)
    {
      const ScenarioOverride *one = &self->request->overrides[i];
      g_autofree char        *key = scenario_whole_key (one->key);

      if (g_str_equal (key, "cluster.name") && is_node_type (self, one->value, profiles)
          && job_option (self, "fact.job_nodes") != NULL)
        complete_cluster (self, one, profiles);
      else
        g_array_append_vals (self->overrides, one, 1);
    }
  return self->overrides;
}

/* The user's cluster, under any model; NULL: none is given, or not a good one. */
static const Cluster *
find_cluster (JobReader *self)
{
  g_autoptr (GArray)     overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (DiagList)   untold = diag_list_new ();
  g_autoptr (GPtrArray)  loaded = NULL;
  g_autoptr (ProfileSet) profiles = NULL;
  const ScenarioOverride others[] = { { "model.arch", "gpt", NULL },
                                      { "training.seq_len", "1", NULL } };
  const GArray          *all;
  guint                  n = 0;

  if (self->cluster_tried)
    return self->cluster;
  self->cluster_tried = TRUE;
  all = job_overrides (self);
  for (guint i = 0; i < all->len; i++)
    {
      const ScenarioOverride *own = &g_array_index (all, ScenarioOverride, i);
      g_autofree char        *key = scenario_whole_key (own->key);

      if (!g_str_has_prefix (key, "cluster."))
        continue;
      g_array_append_vals (overrides, own, 1);
      n++;
    }
  g_array_append_vals (overrides, others, G_N_ELEMENTS (others));
  if (n > 0)
    loaded = scenario_load_open (self->request->strategies, NULL,
                                 (const ScenarioOverride *) (void *) overrides->data,
                                 overrides->len, untold);
  if (loaded == NULL)
    return NULL;
  profiles = profile_set_new (self->request->profile_dir);
  self->cluster = scenario_cluster_new (g_ptr_array_index (loaded, 0), profiles, untold);
  return self->cluster;
}

/* NULL: none is named, or it cannot be read. */
static const ModelShape *
find_shape (JobReader *self)
{
  g_autoptr (DiagList) untold = diag_list_new ();
  g_autofree char     *folder = g_path_get_dirname (self->file);
  ModelOptions         model = { 0 };

  if (self->shape_tried)
    return self->shape.n_layers > 0 ? &self->shape : NULL;
  self->shape_tried = TRUE;
  option_table_defaults (model_options, &model);
  for (const OptionSpec *spec = model_options; spec->key != NULL; spec++)
    {
      g_autofree char *name = g_strconcat ("model.", spec->key, NULL);
      const char      *value = job_option (self, name);

      if (value != NULL)
        option_set (spec, &model, value, NULL, untold);
    }
  if (!diag_list_has_errors (untold) && (model.config != NULL || model.arch != NULL)
      && !model_resolve (&model, folder, self->request->files, &self->shape, NULL, untold))
    model_shape_clear (&self->shape);
  option_table_clear (model_options, &model);
  return self->shape.n_layers > 0 ? &self->shape : NULL;
}

/* ---- facts ----------------------------------------------------------------------------------- */

static gint64
mesh_degree (JobReader *self, const char *name)
{
  return MAX ((gint64) job_number (self, name, 1), 1);
}

/* Ranks that share data and context; 0: the cluster is not known. */
static gint64
data_ranks (JobReader *self)
{
  const Cluster *cluster = find_cluster (self);

  return cluster != NULL ? cluster_n_gpus (cluster)
                               / (mesh_degree (self, "mesh.tp") * mesh_degree (self, "mesh.pp"))
                         : 0;
}

static char *
count_text (gint64 value)
{
  return g_strdup_printf ("%" G_GINT64_FORMAT, value);
}

static char *
pipeline_text (JobReader *self)
{
  const char *pipeline = job_option_or_default (self, "mesh.pipeline");

  if (mesh_degree (self, "mesh.pp") <= 1)
    return g_strdup ("none");
  if (pipeline != NULL && !g_str_equal (pipeline, "auto"))
    return g_strdup (pipeline);
  return g_strdup (mesh_degree (self, "mesh.vp") > 1 ? "interleaved" : "1f1b");
}

char *
job_fact (JobReader *self, const char *name)
{
  const Cluster    *cluster = NULL;
  const ModelShape *shape = NULL;

  if (g_str_equal (name, "fact.pipeline"))
    return pipeline_text (self);
  if (g_str_equal (name, "fact.even_chunks"))
    return g_strdup ("true");
  if (g_str_equal (name, "fact.world") || g_str_equal (name, "fact.nodes")
      || g_str_equal (name, "fact.gpus_per_node") || g_str_equal (name, "fact.data_ranks"))
    cluster = find_cluster (self);
  else
    shape = find_shape (self);
  if (cluster != NULL && g_str_equal (name, "fact.world"))
    return count_text (cluster_n_gpus (cluster));
  if (cluster != NULL && g_str_equal (name, "fact.nodes"))
    return count_text (cluster_n_nodes (cluster));
  if (cluster != NULL && g_str_equal (name, "fact.gpus_per_node"))
    return count_text (cluster_n_gpus (cluster) / cluster_n_nodes (cluster));
  if (cluster != NULL)
    return count_text (data_ranks (self));
  if (shape != NULL)
    {
      const struct
      {
        const char *name;
        gint64      value;
      } counts[] = { { "fact.d_model", shape->d_model },
                     { "fact.n_layers", shape->n_layers },
                     { "fact.n_experts", shape->n_experts },
                     { "fact.longest", shape->longest },
                     { "fact.vocab", shape->vocab } };

      for (guint i = 0; i < G_N_ELEMENTS (counts); i++)
        if (g_str_equal (name, counts[i].name) && (counts[i].value > 0 || i == 2))
          return count_text (counts[i].value);
    }
  return NULL;
}

/* ---- and back -------------------------------------------------------------------------------- */

static double
number_of (const JobValue *value)
{
  return g_ascii_strtod (value->value, NULL);
}

static void
derive (JobReader *self, const JobValue *from, const char *option, char *text)
{
  job_set (self, option, text, &from->mark, from->use);
  g_free (text);
}

/* FROM, which the job says of WHAT, cannot be followed. */
static void
refuse (JobReader *self, const JobValue *from, const char *what, const char *why)
{
  const JobSetting setting = { .key = (char *) what, .value = from->value, .mark = from->mark };

  job_refuse (self, &setting, why);
}

/*
 * "all", or ranks; a degree below 1 is what is left of them. Where the cluster has other ranks than
 * the job's degrees make, it is followed: as many replicas, of what is left.
 */
static void
derive_dp_shard (JobReader *self, const JobValue *value)
{
  const gint64 replicas = MAX ((gint64) job_number (self, "fact.replicas", 1), 1);
  const gint64 all = data_ranks (self), cp = mesh_degree (self, "mesh.cp");
  gint64       shard = number_of (value) >= 1 ? (gint64) number_of (value) * cp : all / replicas;

  if (number_of (value) >= 1 && all > 0 && shard * replicas != all)
    {
      diag_warning (self->diags, &value->mark, "the cluster that is given is the one predicted",
                    "the job's degrees make %" G_GINT64_FORMAT
                    " ranks for data, the cluster has %" G_GINT64_FORMAT,
                    shard * replicas, all);
      if (all % replicas == 0)
        shard = all / replicas;
    }
  if (shard == all && replicas == 1)
    derive (self, value, "strategy.shard", g_strdup ("all"));
  else if (shard > 0)
    derive (self, value, "strategy.shard", count_text (shard));
}

static void
derive_shard (JobReader *self, const JobValue *value)
{
  if (number_of (value) >= 1)
    derive (self, value, "strategy.shard", g_strdup (value->value));
}

static void
derive_hpz (JobReader *self, const JobValue *value)
{
  if (number_of (value) > 1)
    derive (self, value, "strategy.zero_hpz_partition_size", g_strdup (value->value));
}

static void
derive_bucket (JobReader *self, const JobValue *value)
{
  const char *dtype = job_option_or_default (self, "strategy.gradient_dtype");
  const char *precision = job_option_or_default (self, "training.precision");
  const guint width =
      (dtype != NULL && !g_str_equal (dtype, "auto")) || g_strcmp0 (precision, "fp32") == 0 ? 4 : 2;

  derive (self, value, "strategy.bucket_bytes",
          g_strdup_printf ("%.0f B", number_of (value) * width));
}

static void
derive_grad_accum (JobReader *self, const JobValue *value)
{
  if (number_of (value) >= 1)
    derive (self, value, "training.grad_accum", g_strdup (value->value));
}

/* Of batch, micro-batch and micro-steps two make the third. */
static void
derive_global_batch (JobReader *self, const JobValue *value)
{
  const char  *steps = job_option (self, "training.grad_accum");
  const double ranks = (double) data_ranks (self) / (double) mesh_degree (self, "mesh.cp");
  const double micro =
      floor (number_of (value) / (ranks * MAX (job_number (self, "training.grad_accum", 1), 1)));

  if (number_of (value) < 1)
    return;
  if (job_option (self, "training.micro_batch") == NULL && ranks > 0 && micro >= 1)
    derive (self, value, "training.micro_batch", g_strdup_printf ("%.0f", micro));
  if (steps == NULL)
    derive (self, value, "training.global_batch", g_strdup (value->value));
}

/* Sequences of a rank in a step, where no batch of all ranks is said. */
static void
derive_rank_batch (JobReader *self, const JobValue *value)
{
  const double micro = MAX (job_number (self, "training.micro_batch", 1), 1);

  if (job_number (self, "fact.global_batch", 0) < 1
      && job_option (self, "training.grad_accum") == NULL && number_of (value) >= micro)
    derive (self, value, "training.grad_accum",
            g_strdup_printf ("%.0f", number_of (value) / micro));
}

/* N blocks over CHUNKS, of which the first has FIRST and the last LAST fewer. Newly allocated. */
static char *
cut_layers (gint64 n, gint64 chunks, gint64 first, gint64 last)
{
  GString     *text = g_string_new (NULL);
  const gint64 all = n + first + last;

  for (gint64 c = 0; c < chunks; c++)
    {
      const gint64 layers =
          all / chunks + (c < all % chunks) - (c == 0 ? first : 0) - (c == chunks - 1 ? last : 0);

      g_string_append_printf (text, "%s%" G_GINT64_FORMAT, c > 0 ? ", " : "", MAX (layers, 0));
    }
  return g_string_free (text, FALSE);
}

/*
 * Chunks of a rank, by the layers of one; and the blocks of each, where the first and the last have
 * fewer.
 */
static void
derive_chunks (JobReader *self, const JobValue *value)
{
  const ModelShape *shape = find_shape (self);
  const gint64      pp = mesh_degree (self, "mesh.pp");
  const gint64      first = (gint64) job_number (self, "fact.less_first", 0);
  const gint64      last = (gint64) job_number (self, "fact.less_last", 0);
  const gint64      layers = (gint64) job_number (self, "fact.chunk_layers", 0);
  const char       *pipeline = job_option_or_default (self, "mesh.pipeline");
  gint64            chunks = pp * mesh_degree (self, "mesh.vp");

  if (shape == NULL || pp <= 1)
    return;
  if (layers > 0)
    {
      chunks = (shape->n_layers + first + last + layers - 1) / layers;
      if (chunks % pp != 0)
        return;
      if (chunks > pp && g_strcmp0 (pipeline, "zbv") != 0)
        derive (self, value, "mesh.vp", count_text (chunks / pp));
    }
  else if (g_strcmp0 (pipeline, "zbv") == 0)
    chunks = 2 * pp;
  if (first + last > 0 && chunks <= shape->n_layers + first + last)
    derive (self, value, "mesh.layers", cut_layers (shape->n_layers, chunks, first, last));
}

/*
 * Layers without experts in front of those with: "([0]*3+[1]*58)", "[0, 1, 1]"; "1" is none. Any
 * other pattern is not followed.
 */
static void
derive_expert_layers (JobReader *self, const JobValue *value)
{
  const char *at = value->value + strcspn (value->value, "01");
  guint       dense = 0;
  gboolean    plain = TRUE, begun = FALSE;

  if (strcspn (value->value, "[,") == strlen (value->value)) /* every n-th */
    plain = g_strcmp0 (value->value, "1") == 0;
  else
    while (*at != '\0')
      {
        const gboolean dense_now = *at == '0';
        const char    *star = at + 1 + strspn (at + 1, "] ");
        const guint n = *star == '*' ? (guint) MIN (g_ascii_strtoull (star + 1, NULL, 10), 999) : 1;

        plain = plain && !(dense_now && begun);
        begun = begun || !dense_now;
        dense += dense_now ? n : 0;
        at = *star == '*' ? star + 1 + strspn (star + 1, " 0123456789") : at + 1;
        at += strcspn (at, "01");
      }
  if (!plain)
    refuse (self, value, "layers with experts", "all layers behind the first dense ones have them");
  if (dense > 0)
    derive (self, value, "model.first_dense_layers", count_text (dense));
}

/* LAYOUT with what its "*N" repeat written out: a letter, or what stands in brackets before it. */
static GString *
write_out_layout (const char *layout)
{
  GString *out = g_string_new (NULL);
  gsize    last = 0, open = 0; /* where what a '*' repeats, and a bracket, began */

  for (const char *at = layout; *at != '\0' && out->len <= MOST_LAYOUT; at++)
    if (*at == '(')
      open = out->len;
    else if (*at == ')')
      last = open;
    else if (*at == '*')
      {
        const guint64    n = g_ascii_strtoull (at + 1, NULL, 10);
        g_autofree char *part = g_strdup (out->str + last);

        g_string_truncate (out, last);
        for (guint64 i = 0; i < n && out->len <= MOST_LAYOUT; i++)
          g_string_append (out, part);
        at += strspn (at + 1, "0123456789");
      }
    else if (strchr (", \t'\"", *at) == NULL)
      {
        last = out->len;
        g_string_append_c (out, *at);
      }
  return out;
}

/* Blocks of CHUNK; -1: it has what cannot stand at its place, or nothing amid the others. */
static int
count_blocks (const char *chunk, gboolean first, gboolean last)
{
  const char *allowed = first ? "Et" : last ? "tmL" : "t";
  int         blocks = 0;

  for (guint i = 0; chunk[i] != '\0'; i++)
    blocks += chunk[i] == 't';
  return chunk[strspn (chunk, allowed)] == '\0' && (blocks > 0 || first || last) ? blocks : -1;
}

/* Megatron-Core's layout: chunks with '|' between, in the model's order, of letters: E, t, m, L. */
static void
derive_layout (JobReader *self, const JobValue *value)
{
  g_autoptr (GString) letters = write_out_layout (value->value), layers = g_string_new (NULL);
  g_auto (GStrv)      chunks = g_strsplit (letters->str, "|", -1);
  const guint         n = g_strv_length (chunks);
  const char         *pp = job_option (self, "mesh.pp");
  const guint64       stages = pp != NULL ? g_ascii_strtoull (pp, NULL, 10) : 1;
  gboolean            plain = letters->len <= MOST_LAYOUT && stages > 0 && n % stages == 0;

  for (guint c = 0; plain && c < n; c++)
    {
      const int blocks = count_blocks (chunks[c], c == 0, c + 1 == n);

      plain = blocks >= 0;
      g_string_append_printf (layers, "%s%d", c > 0 ? ", " : "", blocks);
    }
  if (!plain)
    {
      refuse (self, value, "--pipeline-model-parallel-layout",
              "chunks of blocks (t), embedding (E) first, head (L) last");
      return;
    }
  derive (self, value, "mesh.vp", count_text (n / stages));
  derive (self, value, "mesh.layers", g_strdup (layers->str));
}

/* Tokens to the left and to the right: "127,0", "(127, 0)"; "-1,-1" is no window. */
static void
derive_window (JobReader *self, const JobValue *value)
{
  const char  *left = value->value + strspn (value->value, "([ ");
  const char  *comma = strchr (left, ',');
  const gint64 tokens = g_ascii_strtoll (left, NULL, 10);

  if (tokens == -1)
    return;
  if (comma == NULL || tokens < 0 || g_ascii_strtoll (comma + 1, NULL, 10) != 0)
    refuse (self, value, "a window", "windows end with the token itself: '127,0'");
  else
    derive (self, value, "model.sliding_window", count_text (tokens + 1));
}

static void
derive_world (JobReader *self, const JobValue *value)
{
  const Cluster *cluster = find_cluster (self);

  if (cluster != NULL && number_of (value) >= 1
      && number_of (value) != (double) cluster_n_gpus (cluster))
    diag_warning (self->diags, &value->mark, "the cluster that is given is the one predicted",
                  "the job has %s processes, the cluster %u GPUs", value->value,
                  cluster_n_gpus (cluster));
}

void
job_derive (JobReader *self)
{
  static const struct
  {
    const char *fact;
    void (*derive) (JobReader *self, const JobValue *value);
  } facts[] = {
    { "fact.dp_shard", derive_dp_shard },
    { "fact.shard", derive_shard },
    { "fact.hpz", derive_hpz },
    { "fact.bucket_elements", derive_bucket },
    { "fact.grad_accum", derive_grad_accum },
    { "fact.global_batch", derive_global_batch },
    { "fact.rank_batch", derive_rank_batch },
    { "fact.chunk_layers", derive_chunks },
    { "fact.less_first", derive_chunks },
    { "fact.job_world", derive_world },
    { "fact.expert_layers", derive_expert_layers },
    { "fact.window", derive_window },
    { "fact.layout", derive_layout },
  };

  for (guint i = 0; i < G_N_ELEMENTS (facts); i++)
    {
      const JobValue *value = g_hash_table_lookup (self->values, facts[i].fact);

      if (value != NULL)
        facts[i].derive (self, value);
    }
}
