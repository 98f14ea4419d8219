/*
 * The schedules of `shardsim-bench step` against the simulator's: with the CUDA calls replaced by
 * ones that write down what was asked for, a step of the runner and a step of the strategy that its
 * table names issue the same copies, kernels and host waits, of the same bytes, on the same
 * streams, of the same priority, in the same order; and no op of the runner touches memory that
 * another one may be using. Not asserted: which kernels a layer launches (they are behind layer.h),
 * times, and the strategy's waits one by one.
 */
#include <check.h>
#include <string.h>

#include "bench/step.h"
#include "strategy/registry.h"

#define D 256u
#define F 512u

/* ---- what was issued ------------------------------------------------------------------------- */

typedef enum
{
  TOKEN_FORWARD, /* kernels of the model: `unit` is the layer, and the module where there is one */
  TOKEN_BACKWARD,
  TOKEN_H2D,
  TOKEN_D2H,
  TOKEN_MOVE, /* kernels and copies on the device: bytes read and written */
  TOKEN_HOST_WAIT,
} TokenKind;

typedef struct
{
  TokenKind kind;
  char      stream; /* c compute, h host copies, r reductions; 0 */
  guint     unit;
  guint64   bytes;
} Token;

/* What follows what it belongs to is one token: a collective of several units is several copies. */
static void
add_token (GArray *tokens, TokenKind kind, char stream, guint unit, guint64 bytes)
{
  Token  token = { kind, stream, unit, bytes };
  Token *last = tokens->len > 0 ? &g_array_index (tokens, Token, tokens->len - 1) : NULL;

  if (last != NULL && kind != TOKEN_HOST_WAIT && last->kind == kind && last->stream == stream
      && last->unit == unit)
    last->bytes += bytes;
  else
    g_array_append_val (tokens, token);
}

/* ---- the runner's calls, replaced ------------------------------------------------------------ */

enum
{
  COMPUTE = 1,
  COPIES,
  GATHER,
  REDUCE,
  N_STREAMS,
};

#define N_EVENTS 100

/* How far each stream has come, as far as somebody can know. */
typedef struct
{
  guint at[N_STREAMS];
} Clock;

typedef struct
{
  guintptr begin, end;
  gboolean writes;
  guint    stream, at;
} Access;

static struct
{
  GArray  *tokens, *accesses; /* Token, Access */
  Clock    streams[N_STREAMS], events[N_EVENTS], host;
  guint    n_events, n_waits, n_races;
  gint     dropped; /* the wait that is left out; -1: none */
  guintptr top;     /* of the made-up addresses */
} rec;

static guint
index_of_stream (cudaStream_t stream)
{
  return (guint) (guintptr) stream;
}

static guint
index_of_event (cudaEvent_t event)
{
  return (guint) (guintptr) event - 1;
}

static void
clock_join (Clock *self, const Clock *other)
{
  for (guint i = 0; i < N_STREAMS; i++)
    self->at[i] = MAX (self->at[i], other->at[i]);
}

/* The next op of STREAM: it knows what the host knew when it issued it. */
static void
begin_op (cudaStream_t stream)
{
  Clock *clock = &rec.streams[index_of_stream (stream)];

  clock_join (clock, &rec.host);
  clock->at[index_of_stream (stream)]++;
}

/*
 * The current op reads or writes BYTES at P: a race with any access that it does not know to be
 * over.
 */
static void
touch (cudaStream_t stream, const void *p, guint64 bytes, gboolean writes)
{
  guint        s = index_of_stream (stream);
  const Clock *clock = &rec.streams[s];
  Access       now = { (guintptr) p, (guintptr) p + bytes, writes, s, clock->at[s] };

  ck_assert_ptr_nonnull (p);
  for (guint i = 0; i < rec.accesses->len; i++)
    {
      const Access *a = &g_array_index (rec.accesses, Access, i);

      if (a->begin < now.end && now.begin < a->end && (a->writes || writes)
          && clock->at[a->stream] < a->at)
        rec.n_races++;
    }
  g_array_append_val (rec.accesses, now);
}

static char
letter_of (cudaStream_t stream)
{
  return "?chgr"[index_of_stream (stream)];
}

cudaError_t
cudaMemcpyAsync (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                 cudaStream_t stream)
{
  begin_op (stream);
  touch (stream, from, bytes, FALSE);
  touch (stream, to, bytes, TRUE);
  if (kind == cudaMemcpyDeviceToDevice)
    add_token (rec.tokens, TOKEN_MOVE, letter_of (stream), 0, 2 * bytes);
  else
    add_token (rec.tokens, kind == cudaMemcpyHostToDevice ? TOKEN_H2D : TOKEN_D2H,
               letter_of (stream), 0, bytes);
  return cudaSuccess;
}

cudaError_t
cudaMemset (void *to, int value, size_t bytes)
{
  (void) to, (void) value, (void) bytes;
  return cudaSuccess;
}

cudaError_t
cudaEventRecord (cudaEvent_t event, cudaStream_t stream)
{
  rec.events[index_of_event (event)] = rec.streams[index_of_stream (stream)];
  return cudaSuccess;
}

cudaError_t
cudaStreamWaitEvent (cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
  (void) flags;
  if ((gint) rec.n_waits++ != rec.dropped)
    clock_join (&rec.streams[index_of_stream (stream)], &rec.events[index_of_event (event)]);
  return cudaSuccess;
}

cudaError_t
cudaEventSynchronize (cudaEvent_t event)
{
  clock_join (&rec.host, &rec.events[index_of_event (event)]);
  add_token (rec.tokens, TOKEN_HOST_WAIT, 0, 0, 0);
  return cudaSuccess;
}

bool
cuda_failed (const Bench *bench, const char *call, cudaError_t error)
{
  (void) bench;
  ck_abort_msg ("%s: %d", call, (int) error);
}

void
bench_error (const Bench *bench, const char *what, const char *format, ...)
{
  (void) bench;
  ck_abort_msg ("%s: %s", what, format);
}

/* ---- a layer and the parts of a step, replaced ----------------------------------------------- */

uint64_t
layer_module_elements (const LayerShape *shape, LayerModule module)
{
  if (module == LAYER_NORM1 || module == LAYER_NORM2)
    return shape->d_model;
  return (uint64_t) shape->d_model * (module >= LAYER_GATE ? shape->d_ff : shape->d_model);
}

uint64_t
layer_elements (const LayerShape *shape)
{
  uint64_t sum = 0;

  for (guint m = 0; m < LAYER_N_MODULES; m++)
    sum += layer_module_elements (shape, (LayerModule) m);
  return sum;
}

uint64_t
step_module_at (const Step *step, LayerModule module)
{
  uint64_t sum = 0;

  for (guint m = 0; m < (guint) module; m++)
    sum += layer_module_elements (&step->model.shape, (LayerModule) m);
  return sum;
}

bool
step_device (const Bench *bench, Step *step, uint64_t bytes, void **buffer)
{
  (void) bench;
  *buffer = (void *) rec.top;
  rec.top += bytes;
  step->device_bytes += bytes;
  return true;
}

bool
step_host (const Bench *bench, Step *step, uint64_t bytes, void **buffer)
{
  return step_device (bench, step, bytes, buffer);
}

bool
step_event (const Bench *bench, Step *step, cudaEvent_t *event)
{
  (void) bench, (void) step;
  ck_assert_uint_lt (rec.n_events, MIN (N_EVENTS, STEP_MAX_EVENTS));
  *event = (cudaEvent_t) (guintptr) ++rec.n_events;
  return true;
}

bool
step_order (const Bench *bench, cudaStream_t stream, cudaStream_t other, cudaEvent_t event)
{
  (void) bench;
  cudaEventRecord (event, other);
  cudaStreamWaitEvent (stream, event, 0);
  return true;
}

static bool
move (cudaStream_t stream, const void *to, guint64 written, const void *from, guint64 read)
{
  begin_op (stream);
  touch (stream, from, read, FALSE);
  touch (stream, to, written, TRUE);
  add_token (rec.tokens, TOKEN_MOVE, letter_of (stream), 0, read + written);
  return true;
}

bool
step_narrow (const Bench *bench, const Step *step, void *out, const void *in, float scale,
             uint64_t n, cudaStream_t stream)
{
  (void) bench, (void) step, (void) scale;
  return move (stream, out, 2 * n, in, 4 * n);
}

bool
step_widen (const Bench *bench, const Step *step, void *out, const void *in, uint64_t n,
            cudaStream_t stream)
{
  (void) bench, (void) step;
  return move (stream, out, 4 * n, in, 2 * n);
}

/* The sum is read as well. */
bool
step_add (const Bench *bench, const Step *step, void *sum, const void *in, uint64_t n,
          cudaStream_t stream)
{
  (void) bench, (void) step;
  add_token (rec.tokens, TOKEN_MOVE, letter_of (stream), 0, 2 * n);
  return move (stream, sum, 2 * n, in, 2 * n);
}

bool
step_random_weights (const Bench *bench, const Step *step, uint64_t seed, void *device, void *host)
{
  (void) bench, (void) step, (void) seed;
  ck_assert (device != NULL || host != NULL);
  return true;
}

static bool
pass (TokenKind kind, const Step *step, guint unit, const void *weights, void *gradients,
      guint64 bytes)
{
  begin_op (step->compute);
  touch (step->compute, weights, bytes, FALSE);
  if (gradients != NULL)
    touch (step->compute, gradients, bytes, TRUE);
  add_token (rec.tokens, kind, 'c', unit, 0);
  return true;
}

bool
step_forward (const Bench *bench, Step *step, unsigned i, LayerModule module, const void *weight)
{
  (void) bench;
  return pass (TOKEN_FORWARD, step, i * LAYER_N_MODULES + module, weight, NULL,
               2 * layer_module_elements (&step->model.shape, module));
}

bool
step_backward (const Bench *bench, Step *step, unsigned i, LayerModule module, const void *weight,
               void *gradient)
{
  (void) bench;
  return pass (TOKEN_BACKWARD, step, i * LAYER_N_MODULES + module, weight, gradient,
               2 * layer_module_elements (&step->model.shape, module));
}

bool
step_forward_layer (const Bench *bench, Step *step, unsigned i, const void *weights)
{
  (void) bench;
  return pass (TOKEN_FORWARD, step, i, weights, NULL, 2 * step->elements);
}

bool
step_backward_layer (const Bench *bench, Step *step, unsigned i, const void *weights,
                     void *gradients)
{
  (void) bench;
  return pass (TOKEN_BACKWARD, step, i, weights, gradients, 2 * step->elements);
}

/* Stands for the head: the simulated one is not looked at. */
bool
step_turn (const Bench *bench, Step *step)
{
  (void) bench, (void) step;
  return true;
}

bool
step_finish (const Bench *bench, Step *step)
{
  (void) bench;
  cudaEventRecord (step->done, step->compute);
  cudaEventSynchronize (step->done);
  return true;
}

/* ---- running --------------------------------------------------------------------------------- */

static const StepSchedule *const schedules[] = { &step_resident, &step_offload, &step_host_cache };

#define N_SCHEDULES ((int) G_N_ELEMENTS (schedules))

/*
 * N_STEPS steps of SCHEDULE, without the wait number DROPPED. The tokens of the last one;
 * rec.n_races: of all.
 */
static GArray *
run_steps (const StepSchedule *schedule, guint n_layers, guint n_steps, gint dropped)
{
  g_autofree gpointer state = g_malloc0 (schedule->state_size);
  Step step = { .model = { .shape = { .d_model = D, .d_ff = F }, .n_layers = n_layers },
                .compute = (cudaStream_t) COMPUTE,
                .copies = (cudaStream_t) COPIES,
                .gather = (cudaStream_t) GATHER,
                .reduce = (cudaStream_t) REDUCE };

  memset (&rec, 0, sizeof rec);
  rec.top = 1 << 20;
  rec.dropped = dropped;
  rec.accesses = g_array_new (FALSE, FALSE, sizeof (Access));
  step.elements = layer_elements (&step.model.shape);
  ck_assert (step_event (NULL, &step, &step.done));
  ck_assert (schedule->open (NULL, &step, state));
  for (guint i = 0; i < n_steps; i++)
    {
      g_clear_pointer (&rec.tokens, g_array_unref);
      rec.tokens = g_array_new (FALSE, FALSE, sizeof (Token));
      ck_assert (schedule->run (NULL, &step, state));
    }
  g_array_unref (rec.accesses);
  return g_steal_pointer (&rec.tokens);
}

/* ---- the simulator's step -------------------------------------------------------------------- */

static void
set_options (const StepSchedule *runner, const StepModel *model, const Strategy *strategy,
             gpointer options)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_auto (GStrv)       words = NULL;
  char                 text[512];

  option_table_defaults (strategy->options, options);
  runner->options (model, text, sizeof text);
  words = g_strsplit (text, " ", -1);
  for (guint i = 0; words[i] != NULL && *words[i] != '\0'; i++)
    {
      g_auto (GStrv)    pair = g_strsplit (words[i], "=", 2);
      const OptionSpec *spec = option_table_find (strategy->options, pair[0]);

      ck_assert_msg (spec != NULL && option_set (spec, options, pair[1], NULL, diags), "%s",
                     words[i]);
    }
}

static char
letter_of_name (const char *name)
{
  return g_str_equal (name, "copy_in") || g_str_equal (name, "host_copy")       ? 'h'
         : g_str_equal (name, "reduce_scatter") || g_str_equal (name, "reduce") ? 'r'
                                                                                : 'c';
}

static gboolean
is_of_strategy (const KernelDesc *kernel)
{
  static const char *const names[] = {
    "copy_in",       "copy_out",     "reduce_copy_in", "reduce_cat", "copy_out_cat",
    "gradient_cast", "gradient_add", "bucket_copy",    "interleave", NULL
  };

  return g_strv_contains (names, kernel->name);
}

static void
add_item (GArray *tokens, const Schedule *schedule, const ScheduleItem *item, guint n_layers,
          gboolean modules)
{
  guint    layer = item->unit == SCHEDULE_NONE ? 0 : schedule_unit_layer (schedule, item->unit);
  gboolean block = layer > 0 && layer <= n_layers, flushed = item->unit == SCHEDULE_NONE;
  guint    unit = modules ? item->unit - 1 : layer - 1;
  char     stream;

  if (item->kind == ITEM_HOST_WAIT
      && item->phase != PHASE_OPTIMIZER) /* the runner updates nothing */
    add_token (tokens, TOKEN_HOST_WAIT, 0, 0, 0);
  if ((item->kind != ITEM_KERNEL && item->kind != ITEM_MOVE) || !(block || flushed))
    return;
  stream = letter_of_name (schedule_stream_info (schedule, item->stream)->name);
  if (item->kind == ITEM_MOVE)
    add_token (tokens,
               item->collective == move_kind (PLACE_PINNED, PLACE_HBM) ? TOKEN_H2D : TOKEN_D2H,
               stream, 0, item->bytes);
  else if (is_of_strategy (item->kernel))
    add_token (tokens, TOKEN_MOVE, stream, 0,
               (guint64) (item->kernel->read_bytes + item->kernel->write_bytes));
  else
    add_token (tokens, item->phase == PHASE_FORWARD ? TOKEN_FORWARD : TOKEN_BACKWARD, 'c', unit, 0);
}

/* The steady step of the strategy that RUNNER names, on one rank. */
static GArray *
simulated_step (const StepSchedule *runner, guint n_layers)
{
  StepModel            model = { .shape = { .d_model = D, .d_ff = F }, .n_layers = n_layers };
  const Strategy      *strategy = strategy_find (runner->strategy);
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  StrategyChoice       choice = { .strategy = strategy, .options = options };
  g_autoptr (DiagList) diags = diag_list_new ();
  ModelOptions         shape_options = { 0 };
  TrainingOptions      training = { 0 };
  ModelShape           shape;
  GArray              *tokens = g_array_new (FALSE, FALSE, sizeof (Token));

  option_table_defaults (model_options, &shape_options);
  shape_options.arch = g_strdup ("llama");
  shape_options.n_layers = n_layers;
  shape_options.d_model = D;
  shape_options.n_heads = shape_options.n_kv_heads = 2;
  shape_options.d_ff = F;
  shape_options.vocab = 1;
  ck_assert (model_resolve (&shape_options, NULL, NULL, &shape, NULL, diags));
  option_table_defaults (training_options, &training);
  training.seq_len = 64;
  training.optimizer = OPTIMIZER_NONE;
  training.clip_gradients = FALSE;
  set_options (runner, &model, strategy, options);
  {
    g_autoptr (Workload) workload = workload_new (&shape, &training);
    PlanInput            in = { .workload = workload,
                                .mesh = { .n_ranks = 1, .ranks_per_node = 1, .world = 1 } };
    g_autoptr (Schedule) schedule = schedule_build (&in, &choice, diags);
    ScheduleItems        items;

    ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
    for (guint i = 1; i < schedule_n_streams (schedule); i++)
      if (!g_str_equal (schedule_stream_info (schedule, i)->name, "cpu")) /* the GPU's alone */
        ck_assert_int_eq (schedule_stream_info (schedule, i)->priority > 0, runner->urgent);
    items = schedule_items (schedule, 0, SECTION_STEADY);
    for (guint i = 0; i < items.n; i++)
      add_item (tokens, schedule, &items.items[i], n_layers,
                strategy_granularity (strategy) == UNIT_MODULE && runner == &step_host_cache);
  }
  option_table_clear (strategy->options, options);
  option_table_clear (model_options, &shape_options);
  option_table_clear (training_options, &training);
  model_shape_clear (&shape);
  return tokens;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/*
 * The buckets hold the gradients of embedding, final norm and head too: 3 D elements, moved by
 * copies of 4 B and a sum of 6 B.
 */
static gboolean
tokens_equal (const Token *a, const Token *b)
{
  guint64 difference = a->bytes > b->bytes ? a->bytes - b->bytes : b->bytes - a->bytes;

  return a->kind == b->kind && a->stream == b->stream && a->unit == b->unit
         && difference <= (guint64) 3 * D * 10;
}

START_TEST (test_same_as_simulated)
{
  static const guint n_layers[] = { 1, 2, 3, 5, 8 };

  for (guint n = 0; n < G_N_ELEMENTS (n_layers); n++)
    {
      g_autoptr (GArray) runner = run_steps (schedules[_i], n_layers[n], 2, -1);
      g_autoptr (GArray) simulated = simulated_step (schedules[_i], n_layers[n]);

      for (guint i = 0; i < MIN (runner->len, simulated->len); i++)
        {
          const Token *a = &g_array_index (runner, Token, i),
                      *b = &g_array_index (simulated, Token, i);

          ck_assert_msg (tokens_equal (a, b),
                         "%s, %u layers, op %u: runner %d %c %u %" G_GUINT64_FORMAT
                         ", simulator %d %c %u %" G_GUINT64_FORMAT,
                         schedules[_i]->name, n_layers[n], i, (int) a->kind, a->stream, a->unit,
                         a->bytes, (int) b->kind, b->stream, b->unit, b->bytes);
        }
      ck_assert_uint_eq (runner->len, simulated->len);
    }
}
END_TEST

START_TEST (test_no_race)
{
  for (guint n = 1; n <= 9; n++)
    {
      g_autoptr (GArray) tokens = run_steps (schedules[_i], n, 3, -1);

      ck_assert_uint_gt (tokens->len, n);
      ck_assert_msg (rec.n_races == 0, "%s, %u layers: %u races", schedules[_i]->name, n,
                     rec.n_races);
    }
}
END_TEST

/* Without one of its waits a schedule races, unless others imply that one: most are needed. */
START_TEST (test_waits_are_needed)
{
  static const guint needed[N_SCHEDULES] = { 0, 20, 60 };
  guint              n, racing = 0;

  g_array_unref (run_steps (schedules[_i], 4, 2, -1));
  n = rec.n_waits;
  for (guint i = 0; i < n; i++)
    {
      g_array_unref (run_steps (schedules[_i], 4, 2, (gint) i));
      racing += rec.n_races > 0;
    }
  ck_assert_msg (racing >= needed[_i], "%s: %u of %u waits", schedules[_i]->name, racing, n);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("step");
  TCase   *tcase = tcase_create ("schedules");
  SRunner *runner = srunner_create (suite);
  int      failed;

  tcase_add_loop_test (tcase, test_same_as_simulated, 0, N_SCHEDULES);
  tcase_add_loop_test (tcase, test_no_race, 0, N_SCHEDULES);
  tcase_add_loop_test (tcase, test_waits_are_needed, 0, N_SCHEDULES);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
