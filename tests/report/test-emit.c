/*
 * Scenarios as settings of frameworks. What is written is read back by readers of this file (and by
 * json-c and the loader of YAML), and each key is held to the framework's list of options: it is
 * there, its value is of its type and among its values. Over random scenarios of every strategy and
 * mesh; and by hand for what a scenario must become. It does not run the frameworks.
 */
#include "../cases.h"
#include "../replay/fixture.h"
#include "../suite.h"

#include <glib/gstdio.h>
#include <json-c/json.h>
#include <string.h>

#include "base/config/config.h"
#include "report/export/emit.h"

#define N_RANDOM    300
#define MOST_RANDOM 400

/* ---- readers --------------------------------------------------------------------------------- */

/* A key that was read, with a value in the words of options.csv. */
typedef struct
{
  char *key, *type, *value;
} Read;

static void
read_clear (gpointer data)
{
  Read *read = data;

  g_free (read->key);
  g_free (read->type);
  g_free (read->value);
}

static void
add (GArray *all, char *key, const char *type, const char *value)
{
  Read read = { key, g_strdup (type), g_strdup (value) };

  g_array_append_val (all, read);
}

/* Of a TOML or YAML scalar as it is written. */
static const char *
type_of (const char *text)
{
  return *text == '"'                                                ? "string"
         : *text == '['                                              ? "words"
         : g_str_equal (text, "true") || g_str_equal (text, "false") ? "bool"
         : strspn (text, "-0123456789") == strlen (text)             ? "int"
                                                                     : "float";
}

static char *
unquoted (const char *text)
{
  return *text == '"' ? g_strndup (text + 1, strlen (text) - 2) : g_strdup (text);
}

static void
read_toml (const char *text, GArray *all)
{
  g_auto (GStrv)   lines = g_strsplit (text, "\n", -1);
  g_autofree char *section = NULL;

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *equals = strstr (lines[i], " = ");

      if (*lines[i] == '[')
        {
          g_free (section);
          section = g_strndup (lines[i] + 1, strlen (lines[i]) - 2);
        }
      else if (*lines[i] != '#' && *lines[i] != '\0')
        {
          g_autofree char *value = NULL;

          ck_assert_msg (equals != NULL, "line '%s'", lines[i]);
          value = unquoted (equals + 3);
          add (all,
               g_strdup_printf ("%s%s%.*s", section != NULL ? section : "",
                                section != NULL ? "." : "", (int) (equals - lines[i]), lines[i]),
               type_of (equals + 3), value);
        }
    }
}

static void
read_yaml_node (const ConfigNode *node, const char *prefix, GArray *all)
{
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const ConfigNode *item = config_node_item (node, i);
      g_autofree char  *key = g_strconcat (prefix, config_node_key (node, i), NULL);

      if (config_node_kind (item) == CONFIG_MAP)
        {
          g_autofree char *deeper = g_strconcat (key, ".", NULL);

          read_yaml_node (item, deeper, all);
          continue;
        }
      {
        const char *line = config_node_mark (item)->text;
        const char *written = strstr (line, ": ") + 2;

        add (all, g_steal_pointer (&key), type_of (written), config_node_text (item));
      }
    }
}

static void
read_yaml (const char *text, GArray *all)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = config_load_text ("emitted", text, -1, diags);
  g_autofree char      *said = diag_list_format (diags, FALSE);

  ck_assert_msg (doc != NULL && *said == '\0', "%s", said);
  read_yaml_node (config_doc_root (doc), "", all);
}

static void
read_json_object (struct json_object *object, const char *prefix, GArray *all)
{
  const struct json_object_iterator end = json_object_iter_end (object);

  for (struct json_object_iterator at = json_object_iter_begin (object);
       !json_object_iter_equal (&at, &end); json_object_iter_next (&at))
    {
      struct json_object *value = json_object_iter_peek_value (&at);
      g_autofree char    *key = g_strconcat (prefix, json_object_iter_peek_name (&at), NULL);

      switch (json_object_get_type (value))
        {
        case json_type_object:
          {
            g_autofree char *deeper = g_strconcat (key, ".", NULL);

            read_json_object (value, deeper, all);
            break;
          }
        case json_type_boolean:
          add (all, g_steal_pointer (&key), "bool", json_object_get_string (value));
          break;
        case json_type_int:
          add (all, g_steal_pointer (&key), "int", json_object_get_string (value));
          break;
        case json_type_double:
          add (all, g_steal_pointer (&key), "float", json_object_get_string (value));
          break;
        default:
          add (all, g_steal_pointer (&key), "string", json_object_get_string (value));
          break;
        }
    }
}

static void
read_json (const char *text, GArray *all)
{
  struct json_object *root = json_tokener_parse (text);

  ck_assert_msg (root != NULL, "%s", text);
  read_json_object (root, "", all);
  json_object_put (root);
}

static void
read_shell (const char *text, GArray *all)
{
  const char      *begin = strstr (text, "ARGUMENTS=(\n");
  g_autofree char *body = g_strdup (begin + strlen ("ARGUMENTS=(\n"));
  g_auto (GStrv)   words = NULL;

  *strrchr (body, ')') = '\0';
  ck_assert (g_shell_parse_argv (body, NULL, &words, NULL));
  for (guint i = 0; words[i] != NULL;)
    {
      const guint         key = i++;
      g_autoptr (GString) value = g_string_new (words[i] != NULL ? words[i] : "--");
      const gboolean      flag = g_str_has_prefix (value->str, "--");

      ck_assert_msg (g_str_has_prefix (words[key], "--"), "%s", words[key]);
      for (i += !flag; !flag && words[i] != NULL && !g_str_has_prefix (words[i], "--"); i++)
        g_string_append_printf (value, " %s", words[i]);
      add (all, g_strdup (words[key]), flag ? "flag" : "word", flag ? "true" : value->str);
    }
}

static GArray *
read_back (const char *format, const char *text)
{
  static const struct
  {
    const char *name;
    void (*read) (const char *text, GArray *all);
  } readers[] = {
    { "toml", read_toml }, { "yaml", read_yaml }, { "json", read_json }, { "shell", read_shell }
  };
  GArray *all = g_array_new (FALSE, FALSE, sizeof (Read));

  g_array_set_clear_func (all, read_clear);
  for (guint i = 0; i < G_N_ELEMENTS (readers); i++)
    if (g_str_equal (readers[i].name, format))
      readers[i].read (text, all);
  ck_assert_uint_gt (all->len, 0);
  return all;
}

/* ---- the published list ---------------------------------------------------------------------- */

/* A word of a command line has the type that it can be read as. */
static gboolean
same_type (const char *listed, const char *got, const char *value)
{
  char *end;

  if (g_str_equal (listed, got))
    return TRUE;
  if (!g_str_equal (got, "word"))
    return FALSE;
  g_ascii_strtod (value, &end);
  return g_str_equal (listed, "string") || (g_str_equal (listed, "float") && *end == '\0')
         || (g_str_equal (listed, "int") && strspn (value, "-0123456789") == strlen (value));
}

/* What is wrong with what TEXT says, by the list of FOLDER; NULL: nothing. Newly allocated. */
static char *
judge (const char *name, const char *format, const char *text)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "frameworks", name, "options.csv", NULL);
  g_autofree char       *list = NULL;
  g_auto (GStrv)         lines = NULL;
  g_autoptr (GArray)     all = read_back (format, text);
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  ck_assert (g_file_get_contents (path, &list, NULL, NULL));
  lines = g_strsplit (list, "\n", -1);
  for (guint i = 0; i < all->len; i++)
    {
      const Read *read = &g_array_index (all, Read, i);
      gboolean    found = FALSE;

      if (!g_hash_table_add (seen, read->key))
        return g_strdup_printf ("%s twice", read->key);
      for (guint l = 1; lines[l] != NULL && *lines[l] != '\0'; l++)
        {
          g_auto (GStrv) fields = g_strsplit (lines[l], ",", 4);
          g_auto (GStrv) values = g_strsplit (fields[2], "|", -1);

          if (!g_str_equal (fields[0], read->key))
            continue;
          found = TRUE;
          if (!same_type (fields[1], read->type, read->value))
            return g_strdup_printf ("%s is %s, a %s", read->key, read->value, read->type);
          if (*fields[2] != '\0' && !g_strv_contains ((const char *const *) values, read->value))
            return g_strdup_printf ("%s is %s, not of %s", read->key, read->value, fields[2]);
        }
      if (!found)
        return g_strdup_printf ("no option %s", read->key);
    }
  return NULL;
}

/* ---- emission -------------------------------------------------------------------------------- */

/* NULL where it is refused, which DIAGS says. Newly allocated. */
static char *
emit (const Framework *framework, const ResolvedScenario *resolved, DiagList *diags)
{
  g_autoptr (GString) out = g_string_new (NULL);
  const gboolean      good = emit_settings (framework, resolved, out, diags);

  ck_assert_int_eq (good, !diag_list_has_errors (diags));
  ck_assert_msg (good || out->len == 0, "refused, and written: %s", out->str);
  return good ? g_strdup (out->str) : NULL;
}

/* Newly allocated, or NULL; *SAID gets what was diagnosed. */
static char *
emit_named (const char *name, const Scenario *scenario, char **said)
{
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (Framework)        framework = framework_load (name, diags);
  g_autoptr (ProfileSet)       profiles = profile_set_new (NULL);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
  char                        *text;

  ck_assert_ptr_nonnull (framework);
  ck_assert_ptr_nonnull (resolved);
  text = emit (framework, resolved, diags);
  *said = diag_list_format (diags, FALSE);
  return text;
}

/* SCENARIO as the framework NAME reads it. Fails where it is refused. */
static char *
settings (const char *name, const Scenario *scenario)
{
  g_autofree char *said = NULL;
  char            *text = emit_named (name, scenario, &said);

  ck_assert_msg (text != NULL, "%s", said);
  return text;
}

/* Why the framework NAME does not take it. Fails where it does. */
static char *
refusal (const char *name, const Scenario *scenario)
{
  char            *said = NULL;
  g_autofree char *text = emit_named (name, scenario, &said);

  ck_assert_msg (text == NULL, "%s", text);
  return said;
}

/* Fails unless KEY of TEXT has VALUE; NULL: it is not there. */
static void
has (const char *format, const char *text, const char *key, const char *value)
{
  g_autoptr (GArray) all = read_back (format, text);
  const char        *got = NULL;

  for (guint i = 0; i < all->len; i++)
    if (g_str_equal (g_array_index (all, Read, i).key, key))
      got = g_array_index (all, Read, i).value;
  ck_assert_msg (g_strcmp0 (got, value) == 0, "%s: got %s, want %s", key,
                 got != NULL ? got : "nothing", value != NULL ? value : "nothing");
}

static GPtrArray *
load_all (void)
{
  g_auto (GStrv)       names = framework_names (TRUE);
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *all = g_ptr_array_new_with_free_func ((GDestroyNotify) framework_free);

  for (guint f = 0; names[f] != NULL; f++)
    g_ptr_array_add (all, framework_load (names[f], diags));
  ck_assert (diag_list_is_empty (diags));
  ck_assert_uint_eq (all->len, 4);
  return all;
}

/* Whether each of N frameworks has been written for. */
static gboolean
all_written (const guint *n_written, guint n)
{
  for (guint f = 0; f < n; f++)
    if (n_written[f] == 0)
      return FALSE;
  return TRUE;
}

/* As many cases as are asked for, and more until each framework has had one that it takes. */
START_TEST (test_random)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GRand)      rand = g_rand_new_with_seed (79);
  g_autoptr (GPtrArray)  all = load_all ();
  guint                  n_written[4] = { 0 };

  for (guint i = 0;
       i < cases_of (N_RANDOM) || (i < MOST_RANDOM && !all_written (n_written, all->len)); i++)
    {
      g_autoptr (Scenario) scenario =
          i % 2 == 0 ? fixture_random (rand, profiles) : fixture_random_mesh (rand, i, profiles);
      g_autoptr (DiagList)         diags = diag_list_new ();
      g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);

      for (guint f = 0; resolved != NULL && f < all->len; f++)
        {
          const Framework     *framework = g_ptr_array_index (all, f);
          g_autoptr (DiagList) own = diag_list_new ();
          g_autofree char     *text = emit (framework, resolved, own);
          g_autofree char     *wrong =
              text != NULL ? judge (framework->name, framework->format, text) : NULL;

          n_written[f] += text != NULL;
          ck_assert_msg (wrong == NULL, "case %u, %s: %s\n%s", i, framework->name, wrong, text);
        }
    }
  for (guint f = 0; f < all->len; f++)
    {
      const Framework *framework = g_ptr_array_index (all, f);

      ck_assert_msg (n_written[f] > 0, "nothing for %s", framework->name);
    }
}
END_TEST

/* Each strategy, at its defaults, is said by these frameworks or, where it is not here, by none. */
START_TEST (test_strategies)
{
  static const struct
  {
    const char *strategy, *by;
  } expected[] = {
    { "ddp", "megatron-lm" },
    { "fsdp1", "accelerate" },
    { "fsdp2", "accelerate torchtitan" },
    { "mics", "deepspeed" },
    { "hsdp", "accelerate torchtitan" },
    { "zero1", "deepspeed" },
    { "megatron-fsdp", "megatron-lm" },
    { "zero2", "deepspeed" },
    { "zero3", "deepspeed" },
    { "zero-infinity", "deepspeed" },
    { "zeropp", "deepspeed" },
    { "zero-offload", "deepspeed" },
  };
  g_autoptr (GPtrArray)  all = load_all ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  guint                  n = 0;

  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    {
      const char          *name = (*list)->name, *wanted = "";
      const gboolean       outer = (*list)->outer;
      g_autoptr (Scenario) scenario = fixture_scenario (
          "cluster.name", "2 x dgx-h100", "model.config", "llama-3-8b", "training.seq_len", "2048",
          "strategy.name", name, outer ? "strategy.inner.name" : NULL, "ddp", NULL);
      g_autoptr (DiagList)         diags = diag_list_new ();
      g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
      g_autoptr (GString)          by = g_string_new (NULL);

      for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
        if (g_str_equal (expected[i].strategy, name))
          {
            wanted = expected[i].by;
            n++;
          }
      for (guint f = 0; f < all->len; f++)
        {
          const Framework     *framework = g_ptr_array_index (all, f);
          g_autoptr (DiagList) own = diag_list_new ();
          g_autofree char     *text = emit (framework, resolved, own);
          g_autofree char     *wrong =
              text != NULL ? judge (framework->name, framework->format, text) : NULL;

          ck_assert_msg (wrong == NULL, "%s: %s", name, wrong);
          if (text != NULL)
            g_string_append_printf (by, "%s%s", by->len > 0 ? " " : "", framework->name);
        }
      ck_assert_msg (g_str_equal (by->str, wanted), "%s: by '%s'", name, by->str);
    }
  ck_assert_uint_eq (n, G_N_ELEMENTS (expected));
}
END_TEST

/* The judge sees a key that is none, a value that is none, a type that is another. */
START_TEST (test_judge)
{
  static const struct
  {
    const char *framework, *format, *text;
  } wrong[] = {
    { "torchtitan", "toml", "[training]\nseq_length = 1\n" },
    { "torchtitan", "toml", "[training]\nseq_len = \"1\"\n" },
    { "torchtitan", "toml", "[activation_checkpoint]\nmode = \"op\"\n" },
    { "torchtitan", "toml", "[training]\nseq_len = 1\nseq_len = 2\n" },
    { "deepspeed", "json", "{\"zero_optimization\": {\"stage\": 4}}" },
    { "deepspeed", "json", "{\"zero_optimisation\": {\"stage\": 3}}" },
    { "deepspeed", "json", "{\"gradient_clipping\": 1}" },
    { "accelerate", "yaml", "mixed_precision: \"bfloat16\"\n" },
    { "accelerate", "yaml", "fsdp_config:\n  fsdp_version: \"2\"\n" },
    { "megatron-lm", "shell", "ARGUMENTS=(\n  --tensor-parallel-size 2\n)\n" },
    { "megatron-lm", "shell", "ARGUMENTS=(\n  --seq-length 1.5\n)\n" },
    { "megatron-lm", "shell", "ARGUMENTS=(\n  --bf16 1\n)\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      g_autofree char *said = judge (wrong[i].framework, wrong[i].format, wrong[i].text);

      ck_assert_msg (said != NULL, "%s", wrong[i].text);
    }
}
END_TEST

/* A mapping to a key that the framework does not have is no mapping. */
START_TEST (test_mutated_mapping)
{
  g_autofree char *root = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "frameworks", NULL);
  g_autofree char *common = g_build_filename (root, "common.csv", NULL);
  g_autofree char *from = g_build_filename (root, "torchtitan", NULL);
  g_autofree char *to = g_dir_make_tmp ("shardsim-emit-XXXXXX", NULL);
  static const char *const files[] = { "about.yaml", "options.csv", "mapping.csv" };

  for (guint mutate = 0; mutate < 2; mutate++)
    {
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (Framework) framework = NULL;
      g_autofree char      *said = NULL;

      for (guint i = 0; i < G_N_ELEMENTS (files); i++)
        {
          g_autofree char    *source = g_build_filename (from, files[i], NULL);
          g_autofree char    *target = g_build_filename (to, files[i], NULL);
          g_autofree char    *text = NULL;
          g_autoptr (GString) changed = NULL;

          ck_assert (g_file_get_contents (source, &text, NULL, NULL));
          changed = g_string_new (text);
          if (mutate && i == 2)
            g_string_replace (changed, "set,training.seq_len", "set,training.seq_length", 0);
          ck_assert (g_file_set_contents (target, changed->str, -1, NULL));
        }
      framework = framework_load_folder (to, common, diags);
      said = diag_list_format (diags, FALSE);
      ck_assert_int_eq (framework == NULL, mutate);
      ck_assert_int_eq (strstr (said, "training.seq_length") != NULL, mutate);
    }
  for (guint i = 0; i < G_N_ELEMENTS (files); i++)
    {
      g_autofree char *target = g_build_filename (to, files[i], NULL);

      g_unlink (target);
    }
  g_rmdir (to);
}
END_TEST

/* ---- by hand --------------------------------------------------------------------------------- */

#define SCENARIO(strategy, ...)                                                   \
  fixture_scenario ("cluster.name", "4 x dgx-h100", "model.config", "llama-3-8b", \
                    "training.seq_len", "8192", "strategy.name", strategy, __VA_ARGS__, NULL)

/* 32 GPUs: 4 data ranks of 2 tensor ranks and 4 stages; 4 of data parallelism in 2 shards. */
START_TEST (test_torchtitan)
{
  g_autoptr (Scenario) scenario = SCENARIO (
      "fsdp2", "strategy.shard", "2", "mesh.tp", "2", "mesh.sp", "1", "mesh.pp", "4", "mesh.vp",
      "2", "mesh.pipeline", "interleaved", "training.micro_batch", "2", "training.grad_accum", "8",
      "training.activation_checkpointing", "layers:4", "training.compile", "on",
      "training.optimizer", "adamw-fused", "training.reduce_dtype", "fp32");
  g_autofree char *text = settings ("torchtitan", scenario);

  has ("toml", text, "parallelism.data_parallel_replicate_degree", "2");
  has ("toml", text, "parallelism.data_parallel_shard_degree", "2");
  has ("toml", text, "parallelism.tensor_parallel_degree", "2");
  has ("toml", text, "parallelism.pipeline_parallel_degree", "4");
  has ("toml", text, "parallelism.pipeline_parallel_schedule", "Interleaved1F1B");
  /* 32 layers over 4 stages of 2 chunks */
  has ("toml", text, "parallelism.pipeline_parallel_layers_per_stage", "4");
  has ("toml", text, "parallelism.pipeline_parallel_microbatch_size", "2");
  has ("toml", text, "training.local_batch_size", "16");
  has ("toml", text, "training.global_batch_size", "64");
  has ("toml", text, "activation_checkpoint.mode", "selective");
  has ("toml", text, "activation_checkpoint.selective_ac_option", "4");
  has ("toml", text, "optimizer.implementation", "fused");
  has ("toml", text, "training.compile", "true");
  has ("toml", text, "model.flavor", "8B");
  ck_assert_ptr_null (strstr (text, "reduce_dtype"));
}
END_TEST

START_TEST (test_deepspeed)
{
  g_autoptr (Scenario) scenario =
      SCENARIO ("zero3", "strategy.offload_optimizer", "nvme", "strategy.ratio", "0.5",
                "training.grad_accum", "4", "training.clip_gradients", "off");
  g_autoptr (Scenario) zeropp = SCENARIO ("zeropp", "training.reduce_dtype", "fp32");
  g_autoptr (Scenario) zero1 =
      SCENARIO ("zero1", "strategy.bucket_bytes", "1 GB", "training.precision", "fp16-mixed");
  g_autofree char *text = settings ("deepspeed", scenario);
  g_autofree char *of_zeropp = settings ("deepspeed", zeropp);
  g_autofree char *of_zero1 = settings ("deepspeed", zero1);

  has ("json", text, "zero_optimization.stage", "3");
  has ("json", text, "zero_optimization.offload_optimizer.device", "nvme");
  has ("json", text, "zero_optimization.offload_optimizer.ratio", "0.5");
  has ("json", text, "zero_optimization.offload_optimizer.buffer_count", "4");
  has ("json", text, "zero_optimization.offload_param.device", NULL);
  has ("json", text, "optimizer.params.torch_adam", NULL); /* the host's Adam is DeepSpeed's */
  has ("json", of_zeropp, "optimizer.params.torch_adam", "true");
  has ("json", text, "gradient_clipping", "0.0");
  /* 32 ranks of one sequence, four times */
  has ("json", text, "train_batch_size", "128");
  has ("json", of_zeropp, "zero_optimization.zero_hpz_partition_size", "8");
  has ("json", of_zeropp, "zero_optimization.zero_quantized_gradients", "true");
  has ("json", of_zeropp, "communication_data_type", "fp32");
  /* 1e9 bytes of 2 */
  has ("json", of_zero1, "zero_optimization.reduce_bucket_size", "500000000");
  has ("json", of_zero1, "zero_optimization.reduce_scatter", "false");
  has ("json", of_zero1, "fp16.enabled", "true");
  has ("json", of_zero1, "bf16.enabled", NULL);
}
END_TEST

START_TEST (test_accelerate)
{
  g_autoptr (Scenario) hybrid = SCENARIO ("fsdp1", "strategy.shard", "node", "training.precision",
                                          "fp32", "strategy.backward_prefetch", "post");
  g_autoptr (Scenario) hsdp = SCENARIO ("hsdp", "mesh.cp", "2", "mesh.context", "all-gather",
                                        "training.activation_checkpointing", "full");
  g_autofree char     *text = settings ("accelerate", hybrid);
  g_autofree char     *of_hsdp = settings ("accelerate", hsdp);

  has ("yaml", text, "fsdp_config.fsdp_sharding_strategy", "HYBRID_SHARD");
  has ("yaml", text, "fsdp_config.fsdp_version", "1");
  has ("yaml", text, "fsdp_config.fsdp_backward_prefetch", "BACKWARD_POST");
  has ("yaml", text, "mixed_precision", "no");
  has ("yaml", text, "num_processes", "32");
  has ("yaml", text, "num_machines", "4");
  has ("yaml", of_hsdp, "fsdp_config.fsdp_activation_checkpointing", "true");
  /* a node of 8 ranks: 4 of data, 2 of context */
  has ("yaml", of_hsdp, "parallelism_config.parallelism_config_dp_shard_size", "4");
  has ("yaml", of_hsdp, "parallelism_config.parallelism_config_dp_replicate_size", "4");
  has ("yaml", of_hsdp, "parallelism_config.parallelism_config_cp_size", "2");
  has ("yaml", of_hsdp, "parallelism_config.parallelism_config_cp_comm_strategy", "allgather");
}
END_TEST

/* What ParallelismConfig's and ParallelDims' own checks refuse. */
START_TEST (test_sizes_that_do_not_go_together)
{
  g_autoptr (Scenario) ring = SCENARIO ("fsdp2", "mesh.cp", "2", "mesh.context", "ring");
  g_autoptr (Scenario) single = SCENARIO ("fsdp2", "strategy.shard", "2", "mesh.cp", "2");
  g_autoptr (Scenario) odd = SCENARIO ("fsdp2", "mesh.cp", "2", "mesh.tp", "2", "mesh.sp", "1",
                                       "training.seq_len", "8188");
  g_autoptr (Scenario) experts = fixture_scenario (
      "cluster.name", "4 x dgx-h100", "model.config", "mixtral-8x7b", "training.seq_len", "8192",
      "strategy.name", "fsdp2", "mesh.cp", "4", "mesh.ep", "2", NULL);
  g_autofree char *text = settings ("accelerate", ring);
  g_autofree char *of_single = settings ("torchtitan", single);
  g_autofree char *why = refusal ("accelerate", single);
  g_autofree char *why_odd = refusal ("torchtitan", odd);
  g_autofree char *why_experts = refusal ("torchtitan", experts);

  has ("yaml", text, "parallelism_config.parallelism_config_cp_comm_strategy", "alltoall");
  has ("toml", of_single, "parallelism.data_parallel_shard_degree", "1");
  ck_assert_msg (strstr (why, "dp_shard: 1") != NULL, "%s", why);
  ck_assert_msg (strstr (why_odd, "seq_len: 8188") != NULL, "%s", why_odd);
  ck_assert_msg (strstr (why_experts, "mesh.ep: 2") != NULL, "%s", why_experts);
}
END_TEST

START_TEST (test_megatron)
{
  g_autoptr (Scenario) scenario =
      SCENARIO ("zero1", "strategy.reduce", "reduce_scatter", "strategy.gradient_dtype", "fp32",
                "strategy.bucket_bytes", "160 MB", "strategy.overlap_comm", "on", "mesh.tp", "4",
                "mesh.sp", "1", "mesh.pp", "2", "training.grad_accum", "4",
                "training.activation_checkpointing", "selective", "model.mtp", "1");
  g_autofree char *text = settings ("megatron-lm", scenario);

  has ("shell", text, "--use-distributed-optimizer", "true");
  has ("shell", text, "--accumulate-allreduce-grads-in-fp32", "true");
  has ("shell", text, "--grad-reduce-in-bf16", NULL);
  has ("shell", text, "--ddp-bucket-size", "40000000"); /* of 4 bytes */
  has ("shell", text, "--tensor-model-parallel-size", "4");
  has ("shell", text, "--sequence-parallel", "true");
  has ("shell", text, "--pipeline-model-parallel-size", "2");
  has ("shell", text, "--global-batch-size", "16"); /* 4 data ranks of 4 */
  has ("shell", text, "--recompute-granularity", "selective");
  has ("shell", text, "--num-query-groups", "8");
  has ("shell", text, "--mtp-num-layers", "1");
  has ("shell", text, "--swiglu", "true");
  has ("shell", text, "--normalization", "RMSNorm");
}
END_TEST

/* What Megatron-LM's own checks of its arguments refuse, or ask for. */
START_TEST (test_megatron_checks)
{
  g_autoptr (Scenario) two = SCENARIO ("ddp", "mesh.pp", "2", "mesh.vp", "2", "mesh.p2p",
                                       "batched-sync", "training.grad_accum", "4");
  g_autoptr (Scenario) direct = SCENARIO ("ddp", "mesh.pp", "2", "mesh.vp", "2", "mesh.p2p",
                                          "direct", "training.grad_accum", "4");
  g_autoptr (Scenario) four = SCENARIO ("ddp", "mesh.pp", "4", "mesh.vp", "2", "mesh.p2p",
                                        "batched-sync", "training.grad_accum", "4");
  g_autoptr (Scenario) groups =
      SCENARIO ("ddp", "mesh.pp", "2", "mesh.vp", "2", "mesh.p2p", "direct", "training.grad_accum",
                "5", "mesh.micro_batch_group", "3");
  g_autoptr (Scenario) one = SCENARIO ("ddp", "mesh.pp", "4", "mesh.vp", "2", "mesh.p2p", "direct",
                                       "training.grad_accum", "3", "mesh.micro_batch_group", "3");
  g_autoptr (Scenario) sharded = SCENARIO ("megatron-fsdp", "strategy.overlap_grad_reduce", "off",
                                           "training.precision", "fp16-mixed");
  g_autoptr (Scenario) tensor = SCENARIO ("ddp", "mesh.tp", "2");
  g_autofree char     *why = refusal ("megatron-lm", two);
  g_autofree char     *of_direct = settings ("megatron-lm", direct);
  g_autofree char     *of_four = settings ("megatron-lm", four);
  g_autofree char     *of_groups = settings ("megatron-lm", groups);
  g_autofree char     *of_one = refusal ("megatron-lm", one);
  g_autofree char     *overlap = refusal ("megatron-lm", sharded);
  g_autofree char     *of_tensor = settings ("megatron-lm", tensor);

  ck_assert_msg (strstr (why, "mesh.p2p") != NULL, "%s", why);
  has ("shell", of_direct, "--no-overlap-p2p-communication", NULL);
  has ("shell", of_direct, "--num-virtual-stages-per-pipeline-rank", "2");
  has ("shell", of_four, "--no-overlap-p2p-communication", "true");
  has ("shell", of_groups, "--microbatch-group-size-per-virtual-pipeline-stage", "3");
  has ("shell", of_direct, "--microbatch-group-size-per-virtual-pipeline-stage", NULL);
  ck_assert_msg (strstr (of_one, "mesh.micro_batch_group") != NULL, "%s", of_one);
  ck_assert_msg (strstr (overlap, "strategy.overlap_param_gather") != NULL, "%s", overlap);
  ck_assert_ptr_nonnull (strstr (of_tensor, "CUDA_DEVICE_MAX_CONNECTIONS=1"));
}
END_TEST

/* Parts that are recomputed: words of one argument, of which it has no word for some. */
START_TEST (test_parts)
{
  g_autoptr (Scenario) listed = SCENARIO ("ddp", "training.activation_checkpointing", "selective",
                                          "training.recompute_modules", "layernorm, mlp");
  g_autoptr (Scenario) core = SCENARIO ("ddp", "training.activation_checkpointing", "selective");
  g_autoptr (Scenario) inner = fixture_scenario (
      "cluster.name", "4 x dgx-h100", "model.config", "qwen3-30b-a3b", "training.seq_len", "8192",
      "strategy.name", "ddp", "training.activation_checkpointing", "selective",
      "training.recompute_modules", "moe, qk_layernorm, layernorm", NULL);
  g_autofree char *text = settings ("megatron-lm", listed), *plain = settings ("megatron-lm", core);
  g_autofree char *why = refusal ("megatron-lm", inner), *other = refusal ("torchtitan", listed);

  has ("shell", text, "--recompute-granularity", "selective");
  has ("shell", text, "--recompute-modules", "layernorm mlp");
  has ("shell", plain, "--recompute-modules", NULL);
  ck_assert_msg (strstr (why, "training.recompute_modules: moe, qk_layernorm") != NULL, "%s", why);
  ck_assert_msg (strstr (other, "training.recompute_modules") != NULL, "%s", other);
}
END_TEST

/* All reasons in one pass, and who could. */
START_TEST (test_refused)
{
  g_autoptr (Scenario) three = SCENARIO (
      "fsdp2", "mesh.pp", "2", "mesh.tp", "2", "mesh.pipeline", "zb-h1", "training.grad_accum", "4",
      "training.activation_checkpointing", "selective", "training.optimizer", "sgd");
  g_autoptr (Scenario)     other = SCENARIO ("zero3", "strategy.offload_param", "cpu");
  g_autoptr (Scenario)     nobody = SCENARIO ("fcdp", "training.micro_batch", "2");
  g_autofree char         *why = refusal ("torchtitan", three);
  g_autofree char         *who = refusal ("accelerate", other);
  g_autofree char         *none = refusal ("deepspeed", nobody);
  static const char *const said[] = { "mesh.pipeline: zb-h1", "mesh.sp: 0",
                                      "training.optimizer: sgd",
                                      "training.activation_checkpointing: selective",
                                      "it lacks 4 of" };

  for (guint i = 0; i < G_N_ELEMENTS (said); i++)
    ck_assert_msg (strstr (why, said[i]) != NULL, "'%s' not in:\n%s", said[i], why);
  ck_assert_msg (strstr (who, "these can: deepspeed") != NULL, "%s", who);
  ck_assert_msg (strstr (who, "strategy.offload_param") == NULL, "%s", who);
  ck_assert_msg (strstr (none, "no other framework here can") != NULL, "%s", none);
}
END_TEST

SUITE_MAIN (emit)
{
  Suite *suite = suite_create ("emit");
  TCase *tests = tcase_create ("emit");

  tcase_add_test (tests, test_random);
  tcase_add_test (tests, test_strategies);
  tcase_add_test (tests, test_judge);
  tcase_add_test (tests, test_mutated_mapping);
  tcase_add_test (tests, test_torchtitan);
  tcase_add_test (tests, test_deepspeed);
  tcase_add_test (tests, test_accelerate);
  tcase_add_test (tests, test_sizes_that_do_not_go_together);
  tcase_add_test (tests, test_megatron);
  tcase_add_test (tests, test_megatron_checks);
  tcase_add_test (tests, test_parts);
  tcase_add_test (tests, test_refused);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
