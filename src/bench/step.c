/*
 * A training step on one GPU under three schedules (step.h): its time and memory, in results.csv
 * and, as step.csv, in the columns of `shardsim validate training`, which simulates the same.
 *
 *   shardsim-bench step --model n_layers=8,d_model=4096 --hardware gpu=h200-sxm-141 -o results
 *   shardsim validate training results/step.csv
 *
 * -e bounds what a schedule takes of the GPU's and of the host's memory. The default model is made
 * smaller until it fits; a given one loses layers only.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/room.h"
#include "bench/step.h"

#define WORKSPACE (64u << 20) /* of cuBLAS, more or less */

static const StepSchedule *const schedules[] = { &step_resident, &step_offload, &step_host_cache };

/* ---- the model ------------------------------------------------------------------------------- */

static const StepModel default_model = {
  .shape = { .d_model = 4096, .n_heads = 32, .d_ff = 11008, .seq_len = 2048, .micro_batch = 1 },
  .n_layers = 8
};

/* The field of MODEL that goes by KEY (LENGTH characters); NULL: none. */
static unsigned *
field_of (StepModel *model, const char *key, size_t length)
{
  const struct
  {
    const char *key;
    unsigned   *field;
  } fields[] = {
    { "d_model", &model->shape.d_model }, { "n_heads", &model->shape.n_heads },
    { "d_ff", &model->shape.d_ff },       { "seq_len", &model->shape.seq_len },
    { "n_layers", &model->n_layers },     { "micro_batch", &model->shape.micro_batch },
  };

  for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
    if (strlen (fields[i].key) == length && strncmp (fields[i].key, key, length) == 0)
      return fields[i].field;
  return NULL;
}

/* "d_model=4096,n_layers=8" over what MODEL has. */
static bool
parse_model (const Bench *bench, const char *text, StepModel *model)
{
  while (text != NULL && *text != '\0')
    {
      size_t        length = strcspn (text, "=,"), end = strcspn (text, ",");
      unsigned     *field = field_of (model, text, length);
      char         *rest = NULL;
      unsigned long value = text[length] == '=' ? strtoul (text + length + 1, &rest, 10) : 0;

      if (field == NULL)
        bench_error (bench, "--model",
                     "'%.*s' is none of d_model, n_heads, d_ff, seq_len, micro_batch, n_layers",
                     (int) end, text);
      else if (rest != text + end || value < 1 || value > 1u << 20)
        bench_error (bench, "--model", "'%.*s': expected a whole number from 1 to %u", (int) end,
                     text, 1u << 20);
      if (field == NULL || rest != text + end || value < 1 || value > 1u << 20)
        return false;
      *field = (unsigned) value;
      text += end + (text[end] == ',');
    }
  return true;
}

static bool
check_model (const Bench *bench, const StepModel *model)
{
  const LayerShape *s = &model->shape;
  const char       *what = NULL;

  if (s->d_model % s->n_heads != 0 || s->d_model / s->n_heads % 8 != 0)
    what = "d_model / n_heads must be a multiple of 8";
  else if (s->d_model % 64 != 0 || s->d_ff % 64 != 0 || s->seq_len % 8 != 0)
    what = "d_model and d_ff must be multiples of 64, seq_len of 8";
  else if (model->n_layers > STEP_MAX_LAYERS)
    what = "n_layers is 128 at most";
  if (what != NULL)
    bench_error (bench, "--model", "%s", what);
  return what == NULL;
}

/* Bounds of what any of the schedules takes; n parameters of a layer: see their buffers. */
static uint64_t
device_need (const StepModel *model)
{
  uint64_t n = layer_elements (&model->shape);

  return model->n_layers * (4 * n + layer_saved_bytes (&model->shape)) + 22 * n
         + layer_work_bytes (&model->shape) + 3 * layer_stream_bytes (&model->shape);
}

static uint64_t
host_need (const StepModel *model)
{
  return (uint64_t) 8 * model->n_layers * layer_elements (&model->shape);
}

static bool
fits (const StepModel *model, uint64_t device, uint64_t host)
{
  return device_need (model) <= device && host_need (model) <= host;
}

/*
 * Half of the layers or, of the default model, half of everything. FALSE: there is nothing left to
 * take.
 */
static bool
shrink (StepModel *model, bool given)
{
  LayerShape *s = &model->shape;

  if (model->n_layers > (given ? 1 : 3))
    model->n_layers /= 2;
  else if (given || s->d_model <= 128)
    return false;
  else
    {
      s->d_model /= 2;
      s->n_heads /= 2;
      s->d_ff = (s->d_ff / 2 + 63) / 64 * 64;
      s->seq_len /= 2;
    }
  return true;
}

static bool
check (const Bench *bench)
{
  StepModel model = default_model;

  return parse_model (bench, bench->options->model, &model) && check_model (bench, &model);
}

static bool
choose_model (const Bench *bench, StepModel *model)
{
  const BenchOptions *options = bench->options;
  uint64_t            device, host = room_host ();
  bool                shrunk = false;

  *model = default_model;
  if (!parse_model (bench, options->model, model) || !room_device (bench, &device))
    return false;
  device -= device < WORKSPACE ? device : WORKSPACE;
  if (options->max_bytes > 0)
    {
      device = options->max_bytes < device ? options->max_bytes : device;
      host = options->max_bytes < host ? options->max_bytes : host;
    }
  for (; !fits (model, device, host); shrunk = true)
    if (!shrink (model, options->model != NULL))
      {
        bench_error (
            bench, "--model",
            "one layer needs %.0f MiB of GPU memory and %.0f MiB of host memory; there are "
            "%.0f and %.0f",
            (double) device_need (model) / 1048576, (double) host_need (model) / 1048576,
            (double) device / 1048576, (double) host / 1048576);
        return false;
      }
  if (shrunk)
    bench_note (bench, "for want of memory: %u layers, d_model %u, d_ff %u, %u tokens a sequence",
                model->n_layers, model->shape.d_model, model->shape.d_ff, model->shape.seq_len);
  return true;
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct
{
  const StepSchedule *schedule;
  Step                step;
  void               *state;
} Run;

static bool
run_once (const Bench *bench, cudaStream_t stream, void *user)
{
  Run *run = user;

  (void) stream; /* the step's own */
  return run->schedule->run (bench, &run->step, run->state);
}

static bool
measure (const Bench *bench, Run *run, const StepModel *model, Result *result)
{
  return step_open (bench, &run->step, run->schedule, model)
         && run->schedule->open (bench, &run->step, run->state)
         && cuda_time (bench, run->step.compute, run_once, run, result);
}

/* ---- step.csv -------------------------------------------------------------------------------- */

static const char columns[] =
    "id,source,nodes,gpus_per_node,gpu,intra,nics,nic,arch,n_layers,d_model,n_heads,n_kv_heads,"
    "d_ff,vocab,seq_len,micro_batch,grad_accum,strategy,activation_checkpointing,attention,"
    "fused_norm,precision,compile,optimizer,clip_gradients,options,framework,metric,value,unit,"
    "use,remark\n";

/* The value of KEY in "key=value,..."; OTHERWISE where it is not there. */
static const char *
value_of (const char *list, const char *key, const char *otherwise, char *text, size_t size)
{
  size_t length = strlen (key);

  snprintf (text, size, "%s", otherwise);
  for (const char *word = list; word != NULL; word = strchr (word, ','))
    {
      word += *word == ',';
      if (strncmp (word, key, length) == 0 && word[length] == '=')
        snprintf (text, size, "%.*s", (int) strcspn (word + length + 1, ","), word + length + 1);
    }
  return text;
}

static void
put_row (FILE *file, const Bench *bench, const Run *run, unsigned index, const char *metric,
         double value, const char *unit)
{
  const char       *hardware = bench->options->hardware;
  const Machine    *machine = results_machine (bench->results);
  const StepModel  *model = &run->step.model;
  const LayerShape *s = &model->shape;
  char              gpu[64], intra[64], options[512];

  value_of (hardware, "gpu", "", gpu, sizeof gpu);
  value_of (hardware, "intra", "none", intra, sizeof intra);
  run->schedule->options (model, options, sizeof options);
  fprintf (file, "step-%s-%04u,shardsim-bench on %s: %s; CUDA %s; driver %s,1,1,%s,%s,0,none,",
           run->schedule->name, index, machine->host != NULL ? machine->host : "",
           machine->device != NULL ? machine->device : "",
           machine->cuda != NULL ? machine->cuda : "",
           machine->driver != NULL ? machine->driver : "", gpu, intra);
  fprintf (file, "llama,%u,%u,%u,%u,%u,1,%u,%u,1,%s,none,fused-softmax,1,bf16-mixed,1,none,0,%s,",
           model->n_layers, s->d_model, s->n_heads, s->n_heads, s->d_ff, s->seq_len, s->micro_batch,
           run->schedule->strategy, options);
  fprintf (file, "shardsim-bench,%s,%.9g,%s,test,%s\n", metric, value, unit, run->schedule->name);
  fflush (file);
}

static FILE *
open_table (const Bench *bench)
{
  const char *error;
  FILE       *file = results_file (bench->results, "step.csv", columns, &error);
  char        gpu[64];

  if (error != NULL)
    bench_error (bench, "step.csv", "%s", error);
  if (file == NULL)
    return NULL;
  if (*value_of (bench->options->hardware, "gpu", "", gpu, sizeof gpu) == '\0')
    bench_note (bench, "step.csv has no GPU: give its id, as in --hardware gpu=h200-sxm-141");
  return file;
}

/* ---- running --------------------------------------------------------------------------------- */

/* A line of bytes: NAME.WHAT. */
static bool
report_bytes (const Bench *bench, const char *name, const char *what, uint64_t bytes,
              const char *remark)
{
  char   variant[48];
  Result result = { .benchmark = "step", .variant = variant, .unit = "B", .remark = remark };

  snprintf (variant, sizeof variant, "%s.%s", name, what);
  result.value = result.low = result.high = (double) bytes;
  return bytes == 0 || results_add (bench->results, &result);
}

static bool
report (const Bench *bench, const Run *run, Result result, FILE *table)
{
  const Step       *step = &run->step;
  const LayerShape *s = &step->model.shape;
  const char       *name = run->schedule->name;
  char              remark[160];

  snprintf (remark, sizeof remark,
            "n_layers=%u d_model=%u n_heads=%u d_ff=%u seq_len=%u micro_batch=%u",
            step->model.n_layers, s->d_model, s->n_heads, s->d_ff, s->seq_len, s->micro_batch);
  result.benchmark = "step";
  result.variant = name;
  result.dtype = "bf16";
  result.remark = remark;
  if (table != NULL)
    put_row (table, bench, run, 1, "step_time_s", 1e-6 * result.value, "s");
  if (table != NULL && run->schedule->all_in_use)
    put_row (table, bench, run, 2, "peak_allocated_gib", (double) step->device_bytes / 1073741824.0,
             "GiB");
  return results_add (bench->results, &result)
         && report_bytes (bench, name, "device", step->device_bytes, remark)
         && report_bytes (bench, name, "host", step->host_bytes, remark);
}

static bool
run_schedule (const Bench *bench, const StepSchedule *schedule, const StepModel *model, FILE *table)
{
  Run    run = { .schedule = schedule, .state = calloc (1, schedule->state_size) };
  Result result = { 0 };
  bool   good = run.state != NULL && measure (bench, &run, model, &result);

  if (run.state == NULL)
    bench_error (bench, "calloc", "out of host memory");
  else
    step_close (&run.step);
  free (run.state);
  return good && report (bench, &run, result, table);
}

static bool
run (Bench *bench)
{
  StepModel model;
  FILE     *table;

  if (!choose_model (bench, &model))
    return false;
  table = open_table (bench);
  if (table == NULL && bench->options->output != NULL)
    return false;
  for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++)
    if (!run_schedule (bench, schedules[i], &model, table))
      return false;
  bench_note (bench, "one GPU: no collective is in it; bytes are the loop's own buffers, without "
                     "the CUDA context");
  return true;
}

const Benchmark benchmark_step = {
  .name = "step",
  .title = "a training step of transformer layers: resident, offloaded, with a host cache",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .check = check,
  .run = run,
};

#endif
