/* What the profile of a collective library holds: hwprofiles/library/. */
#include "hardware/profile/library-profile.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/version.h"
#include "hardware/profile/profile-tables-private.h"

#define LIBRARY(member)    G_STRUCT_OFFSET (LibraryProfile, member)
#define GENERATION(member) G_STRUCT_OFFSET (LibraryGeneration, member)
#define LATENCY(member)    G_STRUCT_OFFSET (Latency, member)
#define PROTOCOL(member)   G_STRUCT_OFFSET (Protocol, member)
#define HALVING(member)    G_STRUCT_OFFSET (TreeHalving, member)
#define RATE_RANGE         .kind = QUANTITY_BANDWIDTH, .min = 1e6, .max = 1e13
#define TIME_RANGE         .kind = QUANTITY_TIME, .min = 0, .max = 1e-2
#define REQUIRED           NAN

/* ---- the parts of a file --------------------------------------------------------------------- */

/* "start", once an operation; else a hop's. */
static const char *const places[] = { "start", "nvlink", "pcie", "net", NULL };
G_STATIC_ASSERT (G_N_ELEMENTS (places) == HOP_N + 2);

typedef struct
{
  gint       algorithm, at; /* CollectiveAlgorithm; of places */
  double     seconds[PROTOCOL_N];
  char      *source;
  gint       confidence;
  SourceMark mark;
} Latency;

typedef struct
{
  gint       protocol;
  double     thread_bytes, post;
  char      *tree_correction, *source;
  gint       confidence;
  SourceMark mark;
} Protocol;

static const OptionSpec scalars[] = {
  { .key = "title", .type = OPTION_STRING, .offset = LIBRARY (title), .help = "what it is" },
  { .key = "version",
    .type = OPTION_STRING,
    .offset = LIBRARY (version),
    .help = "the first release that has these figures" },
  { .key = "aliases",
    .type = OPTION_STRING,
    .offset = LIBRARY (aliases),
    .optional = TRUE,
    .help = "libraries that are built on the same tables" },
  { .key = "usual",
    .type = OPTION_STRING,
    .offset = LIBRARY (usual),
    .optional = TRUE,
    .help = "architectures whose published runs are of it where they do not say" },
  { .key = "pxn_over_c2c",
    .type = OPTION_BOOL,
    .offset = LIBRARY (pxn_over_c2c),
    .fallback = "false",
    .help = "messages are relayed also to cards behind the CPU of a GPU's module" },
  { .key = "nvls_at_use",
    .type = OPTION_BOOL,
    .offset = LIBRARY (nvls_at_use),
    .fallback = "false",
    .help = "buffers of NVLS are made for the first collective that runs on it, not with the "
            "communicator" },
  { 0 },
};

static const FigureSpec figures[] = {
  { "ll_net_two", QUANTITY_BANDWIDTH, LIBRARY (ll_net_two), REQUIRED, 1e8, 1e13 },
  { "ll_net_more", QUANTITY_BANDWIDTH, LIBRARY (ll_net_more), REQUIRED, 1e8, 1e13 },
  { "buffsize", QUANTITY_BYTES, LIBRARY (buffsize), REQUIRED, 1 << 16, 1e9 },
  { "chunk_tree", QUANTITY_BYTES, LIBRARY (chunk_tree), REQUIRED, 1024, 1e9 },
  { "chunk_nvls", QUANTITY_BYTES, LIBRARY (chunk_nvls), REQUIRED, 1024, 1e9 },
  { "chunk_nvls_wide", QUANTITY_BYTES, LIBRARY (chunk_nvls_wide), REQUIRED, 1024, 1e9 },
  { "nvls_buffer", QUANTITY_BYTES, LIBRARY (nvls_buffer), 0, 0, 1e9 },
  { "nvls_credits", QUANTITY_BYTES, LIBRARY (nvls_credits), 0, 1, 1e9 },
  { "chunk_p2p", QUANTITY_BYTES, LIBRARY (chunk_p2p), REQUIRED, 1024, 1e9 },
  { "chunk_p2p_net", QUANTITY_BYTES, LIBRARY (chunk_p2p_net), REQUIRED, 1024, 1e9 },
  { "staged_channel", QUANTITY_BANDWIDTH, LIBRARY (staged_channel), REQUIRED, 1e6, 1e13 },
  { "p2p_batch", QUANTITY_COUNT, LIBRARY (p2p_batch), REQUIRED, 1, 1024 },
  { "p2p_part", QUANTITY_BYTES, LIBRARY (p2p_part), REQUIRED, 1024, 1e9 },
  { "p2p_ll", QUANTITY_BYTES, LIBRARY (p2p_ll), REQUIRED, 0, 1e9 },
  { "p2p_part_big", QUANTITY_BYTES, LIBRARY (p2p_part_big), REQUIRED, 1024, 1e10 },
  { "p2p_small", QUANTITY_COUNT, LIBRARY (p2p_small), REQUIRED, 1, 64 },
  { "p2p_net_start", QUANTITY_COUNT, LIBRARY (p2p_net_start), 0, 1, 64 },
  { "p2p_net_rate", QUANTITY_BANDWIDTH, LIBRARY (p2p_net_rate), REQUIRED, 1e6, 1e13 },
  { "p2p_round_ranks", QUANTITY_COUNT, LIBRARY (p2p_round_ranks), REQUIRED, 1, 1024 },
  { "p2p_rounds", QUANTITY_COUNT, LIBRARY (p2p_rounds), REQUIRED, 1, 1024 },
  { "p2p_gap", QUANTITY_TIME, LIBRARY (p2p_gap), REQUIRED, 0, 1e-2 },
  { "process_launch", QUANTITY_TIME, LIBRARY (process_launch), REQUIRED, 0, 1e-2 },
  { "process_peer", QUANTITY_TIME, LIBRARY (process_peer), REQUIRED, 0, 1e-2 },
  { "process_channel", QUANTITY_TIME, LIBRARY (process_channel), REQUIRED, 0, 1e-2 },
  { 0 },
};

/* Needed, but may be 0: finish_latency asks whether they stand there. */
#define SECONDS(name, protocol)                                                              \
  {                                                                                          \
    .key = name, .type = OPTION_QUANTITY, TIME_RANGE, .offset = LATENCY (seconds[protocol]), \
    .optional = TRUE, .or_zero = TRUE                                                        \
  }

static const OptionSpec latency_keys[] = {
  { .key = "algorithm",
    .type = OPTION_ENUM,
    .choices = COLLECTIVE_ALGORITHM_NAMES,
    .offset = LATENCY (algorithm) },
  { .key = "at", .type = OPTION_ENUM, .choices = places, .offset = LATENCY (at) },
  SECONDS ("ll", PROTOCOL_LL),
  SECONDS ("ll128", PROTOCOL_LL128),
  SECONDS ("simple", PROTOCOL_SIMPLE),
  { .key = "source", .type = OPTION_STRING, .offset = LATENCY (source) },
  { .key = "confidence",
    .type = OPTION_ENUM,
    .choices = profile_confidences,
    .offset = LATENCY (confidence) },
  { 0 },
};

static const OptionSpec protocol_keys[] = {
  { .key = "protocol",
    .type = OPTION_ENUM,
    .choices = COLLECTIVE_PROTOCOL_NAMES,
    .offset = PROTOCOL (protocol) },
  { .key = "thread_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .min = 1,
    .max = 1e9,
    .offset = PROTOCOL (thread_bytes) },
  { .key = "post", .type = OPTION_QUANTITY, TIME_RANGE, .offset = PROTOCOL (post) },
  { .key = "tree_correction", .type = OPTION_STRING, .offset = PROTOCOL (tree_correction) },
  { .key = "source", .type = OPTION_STRING, .offset = PROTOCOL (source) },
  { .key = "confidence",
    .type = OPTION_ENUM,
    .choices = profile_confidences,
    .offset = PROTOCOL (confidence) },
  { 0 },
};

#define WORDS(name, member)                                                \
  {                                                                        \
    .key = name, .type = OPTION_STRING, .offset = GENERATION (said.member) \
  }
#define RATE(name)                                                                 \
  {                                                                                \
    .key = #name, .type = OPTION_QUANTITY, RATE_RANGE, .offset = GENERATION (name) \
  }
#define SHARE(name, highest)                                                                    \
  {                                                                                             \
    .key = #name, .type = OPTION_QUANTITY, .kind = QUANTITY_RATIO, .min = 0.01, .max = highest, \
    .offset = GENERATION (name)                                                                 \
  }
#define CHANNELS(name, ...)                                                             \
  {                                                                                     \
    .key = #name, .type = OPTION_INT, .min = 1, .max = 64, .offset = GENERATION (name), \
    __VA_ARGS__                                                                         \
  }
#define SWITCH(name)                                               \
  {                                                                \
    .key = #name, .type = OPTION_BOOL, .offset = GENERATION (name) \
  }

static const OptionSpec generation_keys[] = {
  { .key = "architectures", .type = OPTION_STRING, .offset = GENERATION (architectures) },
  RATE (ll),
  WORDS ("ring_ll128", ring_ll128),
  WORDS ("tree_ll128", tree_ll128),
  WORDS ("tree_simple", tree_simple),
  { .key = "nvls_tree",
    .type = OPTION_STRING,
    .offset = GENERATION (said.nvls_tree),
    .optional = TRUE },
  { .key = "nvls_tree_corrected",
    .type = OPTION_BOOL,
    .optional = TRUE,
    .offset = GENERATION (nvls_tree_corrected) },
  { .key = "nvls_efficiency",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    .min = 0.01,
    .max = 1,
    .optional = TRUE,
    .offset = GENERATION (nvls_efficiency) },
  { .key = "channel_rate",
    .type = OPTION_QUANTITY,
    RATE_RANGE,
    .optional = TRUE,
    .offset = GENERATION (channel_rate) },
  RATE (link),
  RATE (link_wire),
  RATE (pair_link),
  WORDS ("intra_speeds", intra_speeds),
  WORDS ("inter_speeds", inter_speeds),
  RATE (split_many),
  { .key = "double_from",
    .type = OPTION_QUANTITY,
    RATE_RANGE,
    .optional = TRUE,
    .offset = GENERATION (double_from) },
  SHARE (collnet_direct, 1),
  SHARE (all_reduce_net_factor, 10),
  CHANNELS (nvls_channels, .optional = TRUE),
  CHANNELS (nvls_channels_net, .optional = TRUE),
  CHANNELS (node_channels, .optional = FALSE),
  SWITCH (ll128),
  SWITCH (ll128_net),
  SWITCH (ll128_over_pxn),
  { .key = "all_pairs",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .min = 1024,
    .max = 1e9,
    .optional = TRUE,
    .offset = GENERATION (all_pairs) },
  { .key = "pxn_from",
    .type = OPTION_INT,
    .min = 1,
    .max = 1 << 20,
    .optional = TRUE,
    .offset = GENERATION (pxn_from) },
  { .key = "source", .type = OPTION_STRING, .offset = GENERATION (source) },
  { .key = "confidence",
    .type = OPTION_ENUM,
    .choices = profile_confidences,
    .offset = GENERATION (confidence) },
  { 0 },
};

static const OptionSpec halving_keys[] = {
  { .key = "chunks", .type = OPTION_INT, .min = 1, .max = 1024, .offset = HALVING (chunks) },
  { .key = "least",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .min = 1024,
    .max = 1e9,
    .offset = HALVING (least) },
  { .key = "source", .type = OPTION_STRING, .offset = HALVING (source) },
  { .key = "confidence",
    .type = OPTION_ENUM,
    .choices = profile_confidences,
    .offset = HALVING (confidence) },
  { 0 },
};

static const RecordSpec records[] = {
  { "tree_halvings", LIBRARY (tree_halvings), sizeof (TreeHalving), HALVING (mark), halving_keys },
  { "latencies", LIBRARY (latencies), sizeof (Latency), LATENCY (mark), latency_keys },
  { "protocols", LIBRARY (protocols), sizeof (Protocol), PROTOCOL (mark), protocol_keys },
  { "generations", LIBRARY (generations), sizeof (LibraryGeneration), GENERATION (mark),
    generation_keys },
  { 0 },
};

/* ---- what a table cannot say ----------------------------------------------------------------- */

/* The value of KEY at ITEM, where there is one, else ITEM. */
static const SourceMark *
mark_of (const ConfigNode *item, const char *key)
{
  const ConfigNode *node = config_node_get (item, key);

  return config_node_mark (node != NULL ? node : item);
}

/* Index in NAMES of what ITEM has at KEY; -1 where that has been diagnosed. */
static gint
name_at (const ConfigNode *item, const char *key, const char *const *names)
{
  const ConfigNode *node = config_node_get (item, key);
  const char       *text = node != NULL ? config_node_text (node) : NULL;

  return text != NULL ? name_index (text, names) : -1;
}

/* Numbers of one kind and, behind them, the unit of all: "60 50 40 GB/s". */
typedef struct
{
  const char  *key, *text; /* NULL: not given */
  QuantityKind kind;
  guint        least, most; /* how many */
  double       min, max;    /* of each */
  gboolean     starts_at_0; /* the first may be 0: there is none */
  const char  *hint;        /* what they are of */
} Numbers;

/* How many; 0 after a diagnostic at MARK. */
static guint
read_numbers (const Numbers *self, double *values, const SourceMark *mark, DiagList *diags)
{
  const gsize      length = strspn (self->text, "0123456789. ");
  g_autofree char *head = g_strndup (self->text, length);
  g_auto (GStrv)   words = g_strsplit (g_strstrip (head), " ", -1);
  const guint      n = g_strv_length (words);

  if (n < self->least || n > self->most)
    {
      g_autofree char *range = self->least == self->most
                                   ? g_strdup_printf ("%u", self->most)
                                   : g_strdup_printf ("%u to %u", self->least, self->most);

      diag_error (diags, mark, self->hint, "'%s' has %u numbers, expected %s", self->key, n, range);
      return 0;
    }
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *number = g_strconcat (words[i], " ", self->text + length, NULL);
      g_autofree char *why = NULL;

      if (!quantity_parse (self->kind, number, &values[i], &why))
        {
          diag_error (diags, mark, "numbers and, behind them, the unit of all: '60 50 40 GB/s'",
                      "'%s': %s", self->key, why);
          return 0;
        }
      if ((values[i] < self->min || values[i] > self->max)
          && !(i == 0 && self->starts_at_0 && values[i] == 0))
        {
          g_autofree char *low = quantity_format (self->kind, self->min, 4);
          g_autofree char *high = quantity_format (self->kind, self->max, 4);
          g_autofree char *hint =
              g_strdup_printf ("plausible values lie between %s and %s", low, high);

          diag_error (diags, mark, hint, "'%s' of '%s' is out of range", g_strstrip (number),
                      self->key);
          return 0;
        }
    }
  return n;
}

/* Of one node, of two, of more. */
static void
read_cases (const char *key, const char *text, gboolean from_two, double values[NODE_CASES],
            const ConfigNode *item, DiagList *diags)
{
  const Numbers numbers = { .key = key,
                            .text = text,
                            .kind = QUANTITY_BANDWIDTH,
                            .least = NODE_CASES,
                            .most = NODE_CASES,
                            .min = 1e6,
                            .max = 1e13,
                            .starts_at_0 = from_two,
                            .hint = "of one node, of two, of more" };

  if (text != NULL)
    read_numbers (&numbers, values, mark_of (item, key), diags);
}

/* Descending; the last of VALUES stays 0. */
static void
read_speeds (const char *key, const char *text, double values[LIBRARY_SPEEDS],
             const ConfigNode *item, DiagList *diags)
{
  const Numbers numbers = { .key = key,
                            .text = text,
                            .kind = QUANTITY_BANDWIDTH,
                            .least = 1,
                            .most = LIBRARY_SPEEDS - 1,
                            .min = 1e6,
                            .max = 1e13,
                            .hint = "what the search tries, the highest first" };
  const guint   n = text != NULL ? read_numbers (&numbers, values, mark_of (item, key), diags) : 0;

  for (guint i = 1; i < n; i++)
    if (values[i] >= values[i - 1])
      {
        diag_error (diags, mark_of (item, key), numbers.hint, "the speeds of '%s' do not descend",
                    key);
        return;
      }
}

/* A generation's switches reduce, or do not: of the keys that say how, all or none. */
static void
check_nvls (const ConfigNode *item, DiagList *diags)
{
  static const char *const keys[] = { "nvls_tree", "nvls_efficiency", "nvls_channels",
                                      "nvls_channels_net" };
  guint                    n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    n += config_node_get (item, keys[i]) != NULL;
  for (guint i = 0; n > 0 && i < G_N_ELEMENTS (keys); i++)
    if (config_node_get (item, keys[i]) == NULL)
      diag_error (diags, config_node_mark (item), "keys of NVLS stand together, or none does",
                  "missing '%s'", keys[i]);
}

/*
 * The list KEY of ROOT, which must have entries; NULL after a diagnostic here or of whom read it.
 */
static const ConfigNode *
list_at (const ConfigNode *root, const char *key, DiagList *diags)
{
  const ConfigNode *list = config_node_get (root, key);

  if (list != NULL && config_node_kind (list) == CONFIG_LIST && config_node_length (list) > 0)
    return list;
  if (list == NULL)
    diag_error (diags, config_node_mark (root), "or extend a profile that has them", "missing '%s'",
                key);
  else if (config_node_kind (list) == CONFIG_LIST || config_node_is_null (list))
    diag_error (diags, config_node_mark (list),
                "without the key, those of the extended profile hold", "'%s' has no entries", key);
  return NULL;
}

/* ---- latencies ------------------------------------------------------------------------------- */

/* What the model of an algorithm reads: a bit a place. */
#define AT(place)   (1u << (place))
#define AT_START    AT (0)
#define AT_HOP(hop) AT ((hop) + 1)

static const guint read_at[ALGORITHM_N] = {
  [ALGORITHM_RING] = AT_START | AT_HOP (HOP_NVLINK) | AT_HOP (HOP_PCIE) | AT_HOP (HOP_NET),
  [ALGORITHM_TREE] = AT_START | AT_HOP (HOP_NVLINK) | AT_HOP (HOP_PCIE) | AT_HOP (HOP_NET),
  [ALGORITHM_NVLS] = AT_START | AT_HOP (HOP_NVLINK),
  [ALGORITHM_NVLS_TREE] = AT_START | AT_HOP (HOP_NVLINK) | AT_HOP (HOP_NET),
  [ALGORITHM_PAT] = AT_START | AT_HOP (HOP_NET),
  [ALGORITHM_COLLNET_DIRECT] =
      AT_START | AT_HOP (HOP_NVLINK) | AT_HOP (HOP_PCIE) | AT_HOP (HOP_NET),
  [ALGORITHM_COLLNET_CHAIN] = AT_START | AT_HOP (HOP_NVLINK) | AT_HOP (HOP_PCIE) | AT_HOP (HOP_NET),
  [ALGORITHM_PAIRWISE] = AT_START,
  [ALGORITHM_ALL_PAIRS] = AT_START,
};

static void
require_latencies (const guint given[ALGORITHM_N], const ConfigNode *list, DiagList *diags)
{
  for (guint a = 0; a < ALGORITHM_N; a++)
    for (guint at = 0; places[at] != NULL; at++)
      if (read_at[a] & ~given[a] & AT (at))
        {
          const char      *name = collective_algorithm_name ((CollectiveAlgorithm) a);
          g_autofree char *hint = g_strdup_printf (
              "write { algorithm: %s, at: %s, ll: 1 us, ll128: 1 us, simple: 1 us, source: ..., "
              "confidence: ... }",
              name, places[at]);

          diag_error (diags, config_node_mark (list), hint, "no latency of '%s' at '%s'", name,
                      places[at]);
        }
}

static void
finish_latency (LibraryProfile *self, guint algorithm, guint at, const double seconds[PROTOCOL_N],
                const ConfigNode *item, DiagList *diags)
{
  double *to = at == 0 ? self->base[algorithm] : self->hop[at - 1][algorithm];

  for (guint i = 0; i < PROTOCOL_N; i++)
    {
      const char *key = collective_protocol_name ((CollectiveProtocol) i);

      to[i] = seconds[i];
      if (config_node_get (item, key) == NULL)
        diag_error (diags, config_node_mark (item), "0 us where there is none", "missing '%s'",
                    key);
    }
}

static void
finish_latencies (LibraryProfile *self, const ConfigNode *root, DiagList *diags)
{
  const ConfigNode *list = list_at (root, "latencies", diags);
  guint             given[ALGORITHM_N] = { 0 };

  if (list == NULL)
    return;
  for (guint i = 0; i < self->latencies->len; i++)
    {
      const Latency    *latency = &g_array_index (self->latencies, Latency, i);
      const ConfigNode *item = config_node_item (list, i);
      const gint        algorithm = name_at (item, "algorithm", COLLECTIVE_ALGORITHM_NAMES);
      const gint        at = name_at (item, "at", places);

      if (algorithm < 0 || at < 0)
        continue;
      if (given[algorithm] & AT (at))
        diag_error (diags, config_node_mark (item), "one of the two goes",
                    "a second latency of '%s' at '%s'",
                    collective_algorithm_name ((CollectiveAlgorithm) algorithm), places[at]);
      given[algorithm] |= AT (at);
      finish_latency (self, (guint) algorithm, (guint) at, latency->seconds, item, diags);
    }
  require_latencies (given, list, diags);
}

/* ---- protocols ------------------------------------------------------------------------------- */

static void
finish_protocol (LibraryProfile *self, const Protocol *said, CollectiveProtocol protocol,
                 const ConfigNode *item, DiagList *diags)
{
  const Numbers numbers = { .key = "tree_correction",
                            .text = said->tree_correction,
                            .kind = QUANTITY_RATIO,
                            .least = CORRECTION_SIZES,
                            .most = CORRECTION_SIZES,
                            .min = 0.01,
                            .max = 10,
                            .hint = "one for each size from 64 bytes on, doubled" };
  double        factors[CORRECTION_SIZES] = { 0 };

  if (numbers.text != NULL)
    read_numbers (&numbers, factors, mark_of (item, numbers.key), diags);
  self->post[protocol] = said->post;
  self->thread_bytes[protocol] = said->thread_bytes;
  for (guint size = 0; size < CORRECTION_SIZES; size++)
    self->tree_correction[protocol][size] = (float) factors[size];
}

static void
finish_protocols (LibraryProfile *self, const ConfigNode *root, DiagList *diags)
{
  const ConfigNode *list = list_at (root, "protocols", diags);
  gboolean          given[PROTOCOL_N] = { FALSE };

  if (list == NULL)
    return;
  for (guint i = 0; i < self->protocols->len; i++)
    {
      const ConfigNode *item = config_node_item (list, i);
      const gint        protocol = name_at (item, "protocol", COLLECTIVE_PROTOCOL_NAMES);

      if (protocol < 0)
        continue;
      if (given[protocol])
        diag_error (diags, config_node_mark (item), "one of the two goes",
                    "a second entry of the protocol '%s'",
                    collective_protocol_name ((CollectiveProtocol) protocol));
      given[protocol] = TRUE;
      finish_protocol (self, &g_array_index (self->protocols, Protocol, i),
                       (CollectiveProtocol) protocol, item, diags);
    }
  for (guint i = 0; i < PROTOCOL_N; i++)
    if (!given[i])
      diag_error (diags, config_node_mark (list), "each has an entry of 'protocols'",
                  "nothing is said of the protocol '%s'",
                  collective_protocol_name ((CollectiveProtocol) i));
}

/* ---- generations ----------------------------------------------------------------------------- */

/* As profiles of GPUs have to write it: -1 where it is none. */
static gint
architecture_index (const char *word)
{
  for (gint i = 0; profile_architectures[i] != NULL; i++)
    if (strcmp (profile_architectures[i], word) == 0)
      return i;
  return -1;
}

/* Counts in SEEN the architectures that SAID has; FALSE where it has not been said. */
static gboolean
count_architectures (const char *said, const SourceMark *mark, guint *seen, DiagList *diags)
{
  g_auto (GStrv) words = g_strsplit (said != NULL ? said : "", " ", -1);

  for (guint i = 0; words[i] != NULL; i++)
    {
      const gint       index = architecture_index (words[i]);
      g_autofree char *hint = index < 0 ? suggest_hint (words[i], profile_architectures) : NULL;

      if (*words[i] == '\0')
        continue;
      if (index < 0)
        diag_error (diags, mark, hint, "unknown architecture '%s'", words[i]);
      else if (seen[index]++ > 0)
        diag_error (diags, mark, "each stands in the 'architectures' of one",
                    "a second generation has the architecture '%s'", words[i]);
    }
  return said != NULL;
}

static void
finish_generations (LibraryProfile *self, const ConfigNode *root, DiagList *diags)
{
  const ConfigNode *list = list_at (root, "generations", diags);
  g_autofree guint *seen = g_new0 (guint, g_strv_length ((char **) profile_architectures));
  gboolean          all_said = list != NULL;

  for (guint i = 0; list != NULL && i < self->generations->len; i++)
    {
      LibraryGeneration *one = &g_array_index (self->generations, LibraryGeneration, i);
      const ConfigNode  *item = config_node_item (list, i);

      all_said =
          count_architectures (one->architectures, mark_of (item, "architectures"), seen, diags)
          && all_said;
      read_cases ("ring_ll128", one->said.ring_ll128, FALSE, one->ring_ll128, item, diags);
      read_cases ("tree_ll128", one->said.tree_ll128, FALSE, one->tree_ll128, item, diags);
      read_cases ("tree_simple", one->said.tree_simple, FALSE, one->tree_simple, item, diags);
      read_cases ("nvls_tree", one->said.nvls_tree, TRUE, one->nvls_tree, item, diags);
      read_speeds ("intra_speeds", one->said.intra_speeds, one->intra_speeds, item, diags);
      read_speeds ("inter_speeds", one->said.inter_speeds, one->inter_speeds, item, diags);
      check_nvls (item, diags);
      one->link_factor = one->link / one->link_wire;
    }
  for (guint i = 0; all_said && profile_architectures[i] != NULL; i++)
    if (seen[i] == 0)
      diag_error (diags, config_node_mark (list), "each stands in the 'architectures' of one",
                  "no generation has the architecture '%s'", profile_architectures[i]);
}

static void
library_check (gpointer profile, const ConfigNode *root, DiagList *diags)
{
  LibraryProfile *self = profile;

  if (self->version != NULL && !version_is_valid (self->version))
    diag_error (diags, mark_of (root, "version"), "numbers and dots, such as \"2.28\"",
                "'%s' is no version", self->version);
  finish_latencies (self, root, diags);
  finish_protocols (self, root, diags);
  finish_generations (self, root, diags);
}

const ProfileKind library_profile_kind = { .name = "library",
                                           .size = sizeof (LibraryProfile),
                                           .scalars = scalars,
                                           .figures = figures,
                                           .check = library_check,
                                           .records = records,
                                           .shipped_too = TRUE };
