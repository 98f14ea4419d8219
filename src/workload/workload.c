#include "workload/workload.h"

#include <math.h>

#include "workload/layer-build-private.h"
#include "workload/stage-cut.h"

#define MAX_CLASSES \
  10 /* embedding, blocks (experts or not, window or not, recomputed or not), head */

typedef struct
{
  LayerClass key;
  LayerDesc  desc;
  GArray    *arrays[9]; /* what desc points into */
  double     executed_flops, matrix_flops;
} ClassRecord;

struct _Workload
{
  ModelShape      shape;
  TrainingOptions training;
  MeshOptions     mesh;
  guint           stage;
  ClassRecord     classes[MAX_CLASSES];
  guint           n_classes;
  guint8         *class_of;    /* per layer */
  guint          *model_layer; /* per layer: its place in the model */
  guint          *chunk_end;   /* per chunk: the layer after its last one */
  guint           n_layers, n_chunks;
  guint64         parameters, trainable, active_parameters;
  double          executed_flops, matrix_flops;
};

static guint64
count_active (const ModelShape *shape, guint64 ep, const GArray *tensors)
{
  guint64 total = 0, routed = 0;

  for (guint i = 0; i < tensors->len; i++)
    {
      const TensorDesc *tensor = &g_array_index (tensors, TensorDesc, i);

      *(tensor->expert ? &routed : &total) += tensor->elements;
    }
  return routed == 0 ? total
                     : total
                           + routed / ((guint64) shape->n_experts / ep)
                                 * (guint64) shape->n_experts_per_token / ep;
}

static guint64
count_elements (const GArray *tensors)
{
  guint64 total = 0;

  for (guint i = 0; i < tensors->len; i++)
    total += g_array_index (tensors, TensorDesc, i).elements;
  return total;
}

static GArray *
trainable_tensors (const GArray *tensors)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (TensorDesc));

  for (guint i = 0; i < tensors->len; i++)
    if (!g_array_index (tensors, TensorDesc, i).frozen)
      g_array_append_val (list, g_array_index (tensors, TensorDesc, i));
  return list;
}

/* Where head and embedding share a table, the second of its two gradients is added to the first. */
static void
append_tied_sum (const TensorDesc *table, Dtype dtype, GArray *backward)
{
  if (table->frozen)
    return;

  double     bytes = (double) table->elements * dtype_bytes (dtype);
  KernelDesc desc =
      kernel_desc_stream (KERNEL_ELEMENTWISE, "embed.add_tied_grad", dtype, 2 * bytes, bytes, 1);

  desc.module = 0;
  g_array_append_val (backward, desc);
}

/*
 * Saturates: absurd lengths do not wrap around. workload_check refuses them: so many bytes are only
 * ever compared.
 */
static guint64
to_bytes (double bytes)
{
  return (guint64) MIN (bytes, 0x1p62);
}

static MemoryProgram
memory_program (const GArray *steps, guint to_peak, guint n_tensors)
{
  return (MemoryProgram){ (const MemoryStep *) (gconstpointer) steps->data, steps->len, to_peak,
                          n_tensors };
}

/* Under sequence parallelism a rank has but its own tokens. */
static gboolean
shares_checkpoints (const Workload *self, const LayerDesc *desc)
{
  return self->training.partition_activations && self->mesh.sp == 0
         && desc->checkpoint == CHECKPOINT_FULL;
}

static void
fill_memory (const Workload *self, const LayerBuild *build, const TapeResult *result,
             LayerDesc *desc)
{
  const TrainingOptions *training = &self->training;
  guint64                parts = shares_checkpoints (self, desc) ? (guint64) self->mesh.tp : 1;

  desc->saved_bytes = to_bytes (result->saved);
  desc->offloaded =
      training->cpu_checkpointing && desc->checkpoint == CHECKPOINT_FULL && desc->saved_bytes > 0;
  desc->kept_bytes = (desc->saved_bytes + parts - 1) / parts;
  desc->working_bytes = to_bytes (result->working);
  desc->backward_bytes = to_bytes (result->backward_bytes);
  desc->output_bytes =
      desc->kind == LAYER_HEAD ? 0 : to_bytes (tape_tensor (build->tape, build->output)->bytes);
  desc->inference_bytes = to_bytes (result->inference) - desc->output_bytes;
  desc->head_bytes = to_bytes (build->head_bytes);
  desc->held_bytes = to_bytes (build->held_bytes);
  desc->logits_bytes = to_bytes (build->logits_bytes);
  desc->forward_memory =
      memory_program (result->forward_memory, result->forward_to_peak, result->n_tensors);
  desc->inference_memory =
      memory_program (result->inference_memory, result->inference_to_peak, result->n_tensors);
  desc->backward_memory =
      memory_program (result->backward_memory, result->backward_to_peak, result->n_tensors);
}

/* Tied, and both on this rank: there is one table. */
static gboolean
ends_share_table (const Workload *self)
{
  return self->shape.tied_embeddings && mesh_ends_meet (&self->mesh);
}

/* Of a tensor that is trained. */
static guint64
gradient_elements (const GArray *tensors, guint i)
{
  const TensorDesc *tensor = &g_array_index (tensors, TensorDesc, i);

  return tensor->frozen ? 0 : tensor->elements;
}

static void
fill_tied (const Workload *self, const LayerBuild *build, LayerDesc *desc)
{
  gboolean shared = ends_share_table (self), copied = self->shape.tied_embeddings && !shared;

  desc->tied_head = shared && desc->kind == LAYER_HEAD;
  desc->tied_copy = copied && desc->kind == LAYER_HEAD;
  desc->tied_peer = copied && desc->kind == LAYER_EMBEDDING;
  if (desc->tied_copy)
    desc->tied_elements = gradient_elements (build->tensors, build->tensors->len - 1);
  if (desc->tied_peer)
    desc->tied_elements = gradient_elements (build->tensors, 0);
}

static void
fill_kernels (Workload *self, const LayerBuild *build, const TapeResult *result,
              ClassRecord *record)
{
  LayerDesc *desc = &record->desc;
  GArray    *trainable = trainable_tensors (build->tensors);

  if (desc->kind == LAYER_EMBEDDING && ends_share_table (self))
    append_tied_sum (&g_array_index (build->tensors, TensorDesc, 0), build->tape->dtype,
                     result->backward);
  *desc = (LayerDesc){
    .kind = desc->kind,
    .class_ = desc->class_,
    .checkpoint = desc->checkpoint,
    .elements = count_elements (build->tensors),
    .trainable_elements = count_elements (trainable),
    .active_elements = count_active (&self->shape, (guint64) self->mesh.ep, build->tensors),
    .tensors = (const TensorDesc *) build->tensors->data,
    .n_tensors = build->tensors->len,
    .trainable = (const TensorDesc *) trainable->data,
    .n_trainable = trainable->len,
    .modules = (const ModuleDesc *) build->modules->data,
    .n_modules = build->modules->len,
    .forward = (const KernelDesc *) result->forward->data,
    .n_forward = result->forward->len,
    .recompute = (const KernelDesc *) result->recompute->data,
    .n_recompute = result->recompute->len,
    .backward = (const KernelDesc *) result->backward->data,
    .n_backward = result->backward->len,
    .cached_bytes = (guint64) ceil (result->cached),
  };
  fill_tied (self, build, desc);
  record->arrays[0] = build->tensors;
  record->arrays[1] = build->modules;
  record->arrays[2] = result->forward;
  record->arrays[3] = result->recompute;
  record->arrays[4] = result->backward;
  record->arrays[5] = result->forward_memory;
  record->arrays[6] = result->backward_memory;
  record->arrays[7] = trainable;
  record->arrays[8] = result->inference_memory;
}

static void
sum_flops (const KernelDesc *kernels, guint n, ClassRecord *record)
{
  for (guint i = 0; i < n; i++)
    {
      record->executed_flops += kernels[i].flops;
      if (kernel_desc_is_product (&kernels[i]))
        record->matrix_flops += kernels[i].flops;
    }
}

static void
fill_flops (ClassRecord *record)
{
  sum_flops (record->desc.forward, record->desc.n_forward, record);
  sum_flops (record->desc.recompute, record->desc.n_recompute, record);
  sum_flops (record->desc.backward, record->desc.n_backward, record);
}

static guint
add_class (Workload *self, LayerClass key)
{
  ClassRecord *record = &self->classes[self->n_classes];
  LayerBuild   build = layer_build (&self->shape, &self->training, &self->mesh, key);
  TapeResult   result = tape_finish (build.tape, build.output, key.checkpoint);

  g_assert (self->n_classes < MAX_CLASSES);
  record->key = key;
  record->desc.kind = key.kind;
  record->desc.class_ = self->n_classes;
  record->desc.checkpoint = key.checkpoint;
  fill_kernels (self, &build, &result, record);
  fill_memory (self, &build, &result, &record->desc);
  fill_flops (record);
  tape_free (build.tape);
  return self->n_classes++;
}

/* What SOURCE has built, as one of SELF's classes. */
static guint
share_class (Workload *self, const ClassRecord *source)
{
  ClassRecord *record = &self->classes[self->n_classes];

  g_assert (self->n_classes < MAX_CLASSES);
  *record = *source;
  record->desc.class_ = self->n_classes;
  for (guint i = 0; i < G_N_ELEMENTS (record->arrays); i++)
    g_array_ref (record->arrays[i]);
  return self->n_classes++;
}

/* The index of KEY's class; self->n_classes: there is none yet. */
static guint
find_class (const Workload *self, LayerClass key)
{
  guint i = 0;

  while (i < self->n_classes
         && (self->classes[i].key.kind != key.kind || self->classes[i].key.moe != key.moe
             || self->classes[i].key.windowed != key.windowed
             || self->classes[i].key.checkpoint != key.checkpoint))
    i++;
  return i;
}

/* A class depends on no stage: what the stage BEFORE (NULL: none) has of it is shared. */
static guint
class_index (Workload *self, const Workload *before, LayerClass key)
{
  guint own = find_class (self, key), known;

  if (own < self->n_classes)
    return own;
  known = before != NULL ? find_class (before, key) : 0;
  return before != NULL && known < before->n_classes ? share_class (self, &before->classes[known])
                                                     : add_class (self, key);
}

static void
sum_layers (Workload *self)
{
  for (guint i = 0; i < self->n_layers; i++)
    {
      const ClassRecord *record = &self->classes[self->class_of[i]];

      self->parameters += record->desc.elements;
      self->trainable += record->desc.trainable_elements;
      self->active_parameters += record->desc.active_elements;
      self->executed_flops += record->executed_flops;
      self->matrix_flops += record->matrix_flops;
    }
  if (mesh_pipeline (&self->mesh) == PIPELINE_DUALPIPE)
    {
      self->executed_flops /= 2;
      self->matrix_flops /= 2;
    }
}

/* ---- layers of a stage ---- */

static guint
model_chunk (const MeshOptions *mesh, guint stage, guint chunk)
{
  guint pp = (guint) mesh->pp;

  switch (mesh_pipeline (mesh))
    {
    case PIPELINE_ZBV:
      return chunk == 0 ? stage : 2 * pp - 1 - stage;
    case PIPELINE_DUALPIPE:
      return chunk == 0 ? stage : pp - 1 - stage;
    default:
      return chunk * pp + stage;
    }
}

/* NTH: blocks of its chunk before it. */
static LayerClass
class_of_layer (const Workload *self, guint model_layer, guint nth)
{
  const ModelShape *shape = &self->shape;
  gint64            block = (gint64) model_layer - 1;

  if (model_layer == 0)
    return (LayerClass){ .kind = LAYER_EMBEDDING };
  if (block == shape->n_layers)
    return (LayerClass){ .kind = LAYER_HEAD };
  return (LayerClass){ .kind = LAYER_BLOCK,
                       .moe = model_layer_is_moe (shape, block),
                       .windowed = model_layer_is_windowed (shape, block),
                       .checkpoint = training_block_checkpoint (&self->training, block, nth) };
}

static void
add_layers (Workload *self, const Workload *before)
{
  g_autofree guint *begins = stage_cut (&self->shape, &self->mesh);
  guint             filled = 0;

  self->n_chunks = mesh_chunks (&self->mesh);
  self->chunk_end = g_new (guint, self->n_chunks);
  for (guint i = 0; i < self->n_chunks; i++)
    {
      guint chunk = model_chunk (&self->mesh, self->stage, i);

      self->n_layers += begins[chunk + 1] - begins[chunk];
      self->chunk_end[i] = self->n_layers;
    }
  self->class_of = g_new (guint8, self->n_layers);
  self->model_layer = g_new (guint, self->n_layers);
  for (guint i = 0; i < self->n_chunks; i++)
    {
      guint layer = begins[model_chunk (&self->mesh, self->stage, i)];

      for (; filled < self->chunk_end[i]; filled++)
        self->model_layer[filled] = layer++;
    }
  for (guint i = 0, chunk = 0, nth = 0; i < self->n_layers; i++)
    {
      LayerClass class_;

      for (; i == self->chunk_end[chunk]; chunk++)
        nth = 0;
      class_ = class_of_layer (self, self->model_layer[i], nth);
      nth += class_.kind == LAYER_BLOCK;
      self->class_of[i] = (guint8) class_index (self, before, class_);
    }
}

Workload *
workload_new (const ModelShape *shape, const TrainingOptions *training)
{
  MeshOptions mesh = { .routing_skew = 1 };

  return workload_new_stage (shape, training, &mesh, 0);
}

static Workload *
new_stage (const ModelShape *shape, const TrainingOptions *training, const MeshOptions *mesh,
           guint stage, const Workload *before)
{
  Workload *self = g_new0 (Workload, 1);

  model_shape_copy (shape, &self->shape);
  option_table_copy (training_options, training, &self->training);
  self->training.traits = training->traits;
  self->training.batch = training->batch;
  self->training.measured = training->measured;
  option_table_copy (mesh_options, mesh, &self->mesh);
  mesh_normalise (&self->mesh);
  self->stage = stage;
  g_assert (stage < (guint) self->mesh.pp);
  add_layers (self, before);
  sum_layers (self);
  return self;
}

Workload *
workload_new_stage (const ModelShape *shape, const TrainingOptions *training,
                    const MeshOptions *mesh, guint stage)
{
  return new_stage (shape, training, mesh, stage, NULL);
}

Workload *
workload_new_next_stage (const Workload *self)
{
  return new_stage (&self->shape, &self->training, &self->mesh, self->stage + 1, self);
}

void
workload_free (Workload *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->n_classes; i++)
    for (guint j = 0; j < G_N_ELEMENTS (self->classes[i].arrays); j++)
      g_array_unref (self->classes[i].arrays[j]);
  model_shape_clear (&self->shape);
  option_table_clear (mesh_options, &self->mesh);
  option_table_clear (training_options, &self->training);
  g_free (self->class_of);
  g_free (self->model_layer);
  g_free (self->chunk_end);
  g_free (self);
}

const ModelShape *
workload_shape (const Workload *self)
{
  return &self->shape;
}

const TrainingOptions *
workload_training (const Workload *self)
{
  return &self->training;
}

guint
workload_n_layers (const Workload *self)
{
  return self->n_layers;
}

const LayerDesc *
workload_layer (const Workload *self, guint i)
{
  g_assert (i < self->n_layers);
  return &self->classes[self->class_of[i]].desc;
}

const MeshOptions *
workload_mesh (const Workload *self)
{
  return &self->mesh;
}

guint
workload_stage (const Workload *self)
{
  return self->stage;
}

guint
workload_model_layer (const Workload *self, guint i)
{
  g_assert (i < self->n_layers);
  return self->model_layer[i];
}

guint
workload_n_chunks (const Workload *self)
{
  return self->n_chunks;
}

void
workload_chunk (const Workload *self, guint chunk, guint *first, guint *end)
{
  g_assert (chunk < self->n_chunks);
  *first = chunk == 0 ? 0 : self->chunk_end[chunk - 1];
  *end = self->chunk_end[chunk];
}

guint64
workload_n_parameters (const Workload *self)
{
  return self->parameters;
}

guint64
workload_n_parameters_of_model (const Workload *self)
{
  TrainingOptions      plain = self->training;
  g_autoptr (Workload) whole = NULL;

  plain.load_in_4bit = FALSE;
  whole = workload_new (&self->shape, &plain);
  return workload_n_parameters (whole);
}

guint64
workload_scale_bytes (const Workload *self)
{
  guint64 sum = 0;

  for (guint l = 0; l < self->n_layers && self->training.load_in_4bit; l++)
    {
      const LayerDesc *layer = workload_layer (self, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        sum += layer->tensors[t].scale_bytes;
    }
  return sum;
}

guint64
workload_cached_bytes (const Workload *self)
{
  guint64 sum = 0;

  for (guint l = 0; l < self->n_layers; l++)
    sum += workload_layer (self, l)->cached_bytes;
  return sum;
}

guint64
workload_n_trainable_parameters (const Workload *self)
{
  return self->trainable;
}

guint64
workload_n_active_parameters (const Workload *self)
{
  return self->active_parameters;
}

double
workload_executed_flops (const Workload *self)
{
  return self->executed_flops;
}

double
workload_matrix_flops (const Workload *self)
{
  return self->matrix_flops;
}
