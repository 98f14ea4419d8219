/*
 * Generation of drawn models on drawn meshes against closed forms that are written here from the
 * shapes alone. A case is drawn from its number; `test-serve generation-property N` runs that one
 * alone, and messages say what it is. Not asserted: how long a kernel or a collective takes.
 *
 * Of a tensor rank; b sequences of a micro-batch, p of them with padding; c cached tokens:
 *
 *   weights   2 B an element, W B of a block's matrices but the router's and what latents absorb
 *   cache     tokens kept x heads of keys and values, with their scales, or one latent for all
 *   FLOPs     2 p x the matrices that a token meets + 4 b heads x width x (c + 1) a block
 *   messages  an all-reduce of 2 B p d_model behind attention, and behind an MLP or all experts;
 *             the look-up's, the logits'; rows to experts and back; activations to the next stage
 *   stages    pp times the slowest one
 */
#include <check.h>
#include <math.h>

#include "../cases.h"
#include "../suite.h"
#include "generation-case.h"

#define N_CASES 400

/* By ServeWeights: a weight with its share of scales. */
static const double weight_bytes[] = { 2, 1, 1 + 4 / 16384.0, 0.5 + 2.5 / 128, 0.5 + 1 / 16.0 };

/* ---- closed forms ---------------------------------------------------------------------------- */

/* Elements of a rank's part of a block or an end of the model. */
typedef struct
{
  double narrow; /* kept in few bits, */
  double wide;   /* and in 16 */
  double met;    /* of both: matrices that every token is multiplied with */
} Part;

/* Routed experts of a rank: how many, and elements of each. */
typedef struct
{
  double here, elements;
} Experts;

static Experts
experts_of (const Case *c)
{
  const ModelShape        *s = &c->f.shape;
  const GenerationOptions *o = &c->f.options;
  const double             whole = 3 * (double) (s->d_model * s->d_expert), tp = (double) o->tp,
               replica = (double) s->n_experts / (double) o->dp;

  return o->enable_expert_parallel ? (Experts){ replica / tp, whole }
                                   : (Experts){ replica, whole / tp };
}

static gboolean
has_window (const ModelShape *s, gint64 layer)
{
  return s->sliding_window > 0 && (s->sliding_period == 0 || (layer + 1) % s->sliding_period != 0);
}

static gboolean
has_experts (const ModelShape *s, gint64 layer)
{
  return s->n_experts > 0 && layer >= s->first_dense_layers;
}

static double
kv_heads (const ModelShape *s, double tp)
{
  return MAX ((double) s->n_kv_heads / tp, 1);
}

static void
add_attention (const ModelShape *s, double tp, Part *part)
{
  const double d = (double) s->d_model, h = (double) s->n_heads / tp, r = (double) s->kv_lora_rank,
               q = (double) s->q_lora_rank, nope = (double) s->qk_nope_head_dim,
               rope = (double) s->qk_rope_head_dim, v = (double) s->v_head_dim,
               dim = (double) s->head_dim;
  double narrow;

  if (r == 0)
    {
      narrow = d * dim * (2 * h + 2 * kv_heads (s, tp));
      part->wide += s->qk_norm == MODEL_QK_NORM_HEAD ? 2 * dim : 0;
    }
  else
    {
      narrow = (q > 0 ? q * (d + h * (nope + rope)) : d * h * (nope + rope)) + d * (r + rope)
               + h * v * d;
      part->wide += q + r + r * h * (nope + v); /* norms, and what is absorbed */
      part->met += r * h * (nope + v);
    }
  part->narrow += narrow;
  part->met += narrow;
}

static void
add_feed (const Case *c, gint64 layer, double tp, Part *part)
{
  const ModelShape *s = &c->f.shape;
  const Experts     routed = experts_of (c);
  const double      d = (double) s->d_model, experts = (double) s->n_experts,
               shared = 3 * d * (double) (s->n_shared_experts * s->d_expert) / tp,
               dense = 3 * d * (double) s->d_ff / tp;

  if (!has_experts (s, layer))
    {
      part->narrow += dense;
      part->met += dense;
      return;
    }
  part->narrow += routed.here * routed.elements + shared;
  part->wide += d * experts + (s->router_bias ? experts : 0);
  part->met += d * experts + shared;
}

static Part
block_part (const Case *c, gint64 layer)
{
  const double tp = (double) c->f.options.tp;
  Part         part = { .wide = 2 * (double) c->f.shape.d_model };

  add_attention (&c->f.shape, tp, &part);
  add_feed (c, layer, tp, &part);
  return part;
}

/* Of the table and of the head, a rank's rows. */
static double
table (const ModelShape *s, double tp)
{
  const double unit = tp > 1 ? 128 * tp : 1;

  return ceil ((double) s->vocab / unit) * unit / tp * (double) s->d_model;
}

static double
expected_weights (const Case *c)
{
  const ModelShape *s = &c->f.shape;
  const gint64      pp = c->f.options.pp, here = s->n_layers / pp;
  const double      tp = (double) c->f.options.tp;
  double            most = 0;

  for (gint64 stage = 0; stage < pp; stage++)
    {
      double bytes = stage == 0 ? 2 * table (s, tp) : 0;

      if (stage == pp - 1)
        bytes += 2 * (double) s->d_model + (s->tied_embeddings && pp == 1 ? 0 : 2 * table (s, tp));
      for (gint64 layer = stage * here; layer < (stage + 1) * here; layer++)
        {
          const Part part = block_part (c, layer);

          bytes += weight_bytes[c->f.options.weights] * part.narrow + 2 * part.wide;
        }
      most = MAX (most, bytes);
    }
  return most;
}

/* Of a token in one block: keys and values of its heads here, or the latent that all share. */
static double
token_bytes (const Case *c)
{
  const ModelShape *s = &c->f.shape;
  const double      heads = kv_heads (s, (double) c->f.options.tp);
  const double      element = c->f.options.cache_dtype == SERVE_CACHE_16BIT ? 2 : 1,
               scales = c->f.options.cache_dtype == SERVE_CACHE_FP8_HEADS ? 2 * 4 * heads : 0;

  if (s->kv_lora_rank > 0)
    return element * (double) (s->kv_lora_rank + s->qk_rope_head_dim);
  return element * 2 * heads * (double) s->head_dim + scales;
}

static double
expected_cache (const Case *c, double length)
{
  const ModelShape *s = &c->f.shape;
  const gint64      pp = c->f.options.pp, here = s->n_layers / pp;
  double            most = 0;

  for (gint64 stage = 0; stage < pp; stage++)
    {
      double tokens = 0;

      for (gint64 layer = stage * here; layer < (stage + 1) * here; layer++)
        tokens += has_window (s, layer) ? MIN (length, (double) s->sliding_window) : length;
      most = MAX (most, token_bytes (c) * tokens);
    }
  return most;
}

/* Sequences of a micro-batch; and as many as a graph is captured for: 1, 2, 4, multiples of 8. */
static double
micro_batch (const Case *c)
{
  return ceil (c->batch / (double) c->f.options.pp);
}

static double
captured (double sequences)
{
  return sequences <= 2 ? sequences : sequences <= 4 ? 4 : ceil (sequences / 8) * 8;
}

/* Of tokens and their experts, a rank's share; tensor ranks that slice experts have all. */
static double
rows_of (const Case *c)
{
  const GenerationOptions *o = &c->f.options;
  const double             owners = o->enable_expert_parallel ? (double) o->tp : 1,
               routed = captured (micro_batch (c)) * (double) c->f.shape.n_experts_per_token;

  return MAX (floor (routed / owners), 1);
}

static double
attended (const ModelShape *s, gint64 layer, double cached)
{
  return has_window (s, layer) ? MIN (cached + 1, (double) s->sliding_window) : cached + 1;
}

static double
expected_flops (const Case *c)
{
  const ModelShape *s = &c->f.shape;
  const double      tp = (double) c->f.options.tp, b = micro_batch (c), p = captured (b);
  const double      width =
      s->kv_lora_rank > 0 ? (double) (s->kv_lora_rank + s->qk_rope_head_dim) : (double) s->head_dim;
  double flops = 2 * p * table (s, tp);

  for (gint64 layer = 0; layer < s->n_layers; layer++)
    {
      const Part part = block_part (c, layer);

      flops += 2 * p * part.met;
      if (has_experts (s, layer))
        flops += 2 * rows_of (c) * experts_of (c).elements;
      flops += 4 * b * (double) s->n_heads / tp * width * attended (s, layer, c->cached);
    }
  return flops;
}

/* Of a rank's experts, those that some row visits, drawn evenly: a whole number. */
static double
visited (const Case *c)
{
  const double here = experts_of (c).here;

  return MAX (round (here * (1 - pow (1 - 1 / here, rows_of (c)))), 1);
}

/* What no step can do without reading: its weights, and the cache with the new token's own. */
static double
least_bytes (const Case *c)
{
  const ModelShape *s = &c->f.shape;
  const Experts     experts = experts_of (c);
  const double      weight = weight_bytes[c->f.options.weights];
  double            bytes = 2 * table (s, (double) c->f.options.tp);

  for (gint64 layer = 0; layer < s->n_layers; layer++)
    {
      const Part part = block_part (c, layer);

      bytes += weight * part.narrow + 2 * part.wide;
      if (has_experts (s, layer))
        bytes -= weight * experts.elements * (experts.here - visited (c));
      bytes += micro_batch (c) * token_bytes (c) * attended (s, layer, c->cached);
    }
  return bytes;
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* Seconds of KIND over N ranks, STRIDE apart. */
static double
collective (const Case *c, CollectiveKind kind, gint64 n, gint64 stride, double bytes)
{
  g_autofree guint32        *ranks = g_new (guint32, n);
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveCost             cost;

  if (n == 1)
    return 0;
  for (gint64 i = 0; i < n; i++)
    ranks[i] = (guint32) (i * stride);
  plan = collective_plan_new (c->f.cluster, kind, ranks, (guint) n, &collective_default_options);
  collective_plan_cost (plan, bytes, &cost);
  return cost.time;
}

static double
message (const Case *c)
{
  const GenerationOptions   *o = &c->f.options;
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveCost             cost;

  if (o->pp == 1)
    return 0;
  plan = collective_plan_new_message (c->f.cluster, 0, (guint32) (o->tp * o->dp),
                                      &collective_default_options);
  collective_plan_cost (plan, 2 * micro_batch (c) * (double) c->f.shape.d_model, &cost);
  return cost.time;
}

static double
expected_communication (const Case *c)
{
  const ModelShape        *s = &c->f.shape;
  const GenerationOptions *o = &c->f.options;
  const double             p = captured (micro_batch (c)), d = (double) s->d_model;
  const double             reduce = collective (c, COLLECTIVE_ALL_REDUCE, o->tp, 1, 2 * p * d);
  double                   seconds = reduce /* of what is looked up */
                   + collective (c, COLLECTIVE_ALL_GATHER, o->tp, 1,
                                 2 * p * table (s, (double) o->tp) / d * (double) o->tp);

  for (gint64 layer = 0; layer < s->n_layers; layer++)
    {
      seconds += 2 * reduce;
      if (!has_experts (s, layer))
        continue;
      seconds += 2 * collective (c, COLLECTIVE_ALL_TO_ALL, o->dp, o->tp, 2 * rows_of (c) * d);
    }
  return seconds + (double) o->pp * message (c);
}

/* ---- checks ---------------------------------------------------------------------------------- */

#define HOLDS(c, what) ck_assert_msg (what, "%s: %s", (c)->text, #what)
#define EQUAL(c, what, expected)                                                  \
  ck_assert_msg (fabs ((what) - (expected)) <= 1e-9 * fabs (expected),            \
                 "%s: %s is %.17g, not %.17g", (c)->text, #what, (double) (what), \
                 (double) (expected))

static GenerationTime
step_of (Generator *generator, double sequences, double cached)
{
  const SequenceGroup group = { sequences, 1, cached };
  GenerationTime      time;

  generator_step (generator, &group, 1, &time);
  return time;
}

static double
sum_of (const GenerationTime *time)
{
  double sum = 0;

  for (guint p = 0; p < GENERATION_N_PARTS; p++)
    sum += time->parts[p];
  return sum;
}

static void
check_memory (const Case *c, Generator *generator)
{
  EQUAL (c, generator_weight_bytes (generator), expected_weights (c));
  EQUAL (c, generator_cache_bytes (generator, c->cached + 1), expected_cache (c, c->cached + 1));
  EQUAL (c, generator_cache_bytes (generator, 7), expected_cache (c, 7));
}

/*
 * Activations come on top of what has to be read: each matrix reads and writes as many rows as
 * tokens, elementwise kernels a few more, and the draw all logits.
 */
static void
check_step (const Case *c, const GenerationTime *time)
{
  const ModelShape *s = &c->f.shape;
  const double      p = captured (micro_batch (c));
  const double      widths =
      (double) s->n_layers
          * (40 * (double) s->d_model + 20 * (double) s->d_ff
             + 20 * (double) (s->n_experts_per_token + s->n_shared_experts) * (double) s->d_expert
             + 20 * (double) s->n_experts_per_token * (double) s->d_model
             + 20 * (double) s->n_heads * (double) (s->head_dim + s->kv_lora_rank + s->v_head_dim)
             + 20 * (double) s->n_experts)
      + 30 * (double) s->vocab;

  EQUAL (c, time->flops, expected_flops (c));
  EQUAL (c, time->seconds, sum_of (time));
  HOLDS (c, time->bytes >= least_bytes (c));
  HOLDS (c, time->bytes <= least_bytes (c) + 2 * p * widths);
  EQUAL (c, time->parts[GENERATION_COMMUNICATION], expected_communication (c));
}

/*
 * More to attend to, more to multiply and no less time; more sequences, more to do. Twice as many
 * take at most twice as long where both batches are captured as they are: each weight is read once.
 * Of measured products, and of experts that are not whole numbers, that need not hold.
 */
static void
check_monotone (const Case *c, Generator *generator, const GenerationTime *time)
{
  const GenerationTime further = step_of (generator, c->batch, c->cached + 500),
                       twice = step_of (generator, 2 * c->batch, c->cached);
  const ModelShape *s = &c->f.shape;
  const double      b = micro_batch (c);

  HOLDS (c, further.seconds >= time->seconds);
  HOLDS (c, further.flops >= time->flops && further.bytes >= time->bytes);
  HOLDS (c, twice.flops > time->flops && twice.bytes > time->bytes);
  if (captured (b) != b || captured (2 * b) != 2 * b)
    return;
  HOLDS (c, twice.bytes <= (1 + 1e-9) * 2 * time->bytes);
  if (c->measured || s->n_experts > 0)
    return;
  HOLDS (c, twice.parts[GENERATION_PRODUCTS] >= time->parts[GENERATION_PRODUCTS]);
  HOLDS (c, twice.seconds <= 2 * time->seconds);
}

/* Seconds of a micro-batch on one stage with LAYERS blocks. */
static double
alone (Case *c, gint64 layers)
{
  const gint64          pp = c->f.options.pp, all = c->f.shape.n_layers;
  const double          sequences = micro_batch (c);
  g_autoptr (Generator) generator = NULL;
  double                seconds;

  c->f.options.pp = 1;
  c->f.shape.n_layers = layers;
  generator = generator_of (&c->f);
  seconds = step_of (generator, sequences, c->cached).seconds;
  c->f.options.pp = pp;
  c->f.shape.n_layers = all;
  return seconds;
}

/*
 * What stages compute is what one would alone, and messages; all wait for the slowest of them,
 * which has one of the ends: no less than half of both.
 */
static void
check_stages (Case *c, const GenerationTime *time)
{
  const gint64 here = c->f.shape.n_layers / c->f.options.pp;
  const double pp = (double) c->f.options.pp;
  double       blocks, ends, sent = message (c);

  if (!c->alike || c->f.options.pp == 1)
    return;
  blocks = alone (c, 2 * here) - alone (c, here);
  ends = alone (c, here) - blocks;
  EQUAL (c, time->seconds - time->parts[GENERATION_STAGES], pp * (blocks + sent) + ends);
  HOLDS (c, time->seconds >= (1 - 1e-9) * pp * (blocks + sent + ends / 2));
  HOLDS (c, time->seconds <= (1 + 1e-9) * pp * (blocks + sent + ends));
}

static void
check_case (guint number)
{
  Case                  c = case_new (number);
  g_autoptr (Generator) generator = generator_of (&c.f);
  const GenerationTime  time = step_of (generator, c.batch, c.cached);

  check_memory (&c, generator);
  check_step (&c, &time);
  check_monotone (&c, generator, &time);
  check_stages (&c, &time);
  case_clear (&c);
}

START_TEST (test_cases)
{
  for (guint number = (guint) _i; number < cases_of (N_CASES); number += 4)
    check_case (number);
}
END_TEST

SUITE_MAIN (generation_property)
{
  Suite *suite = suite_create ("generation");
  TCase *tcase = tcase_create ("all");

  if (argc > 1)
    {
      check_case ((guint) g_ascii_strtoull (argv[1], NULL, 10));
      return 0;
    }
  tcase_add_loop_test (tcase, test_cases, 0, 4);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
