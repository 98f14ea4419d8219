#include "model/step/workload.h"

#include <math.h>

#include "model/layer/layer-build-private.h"
#include "model/mesh/stage-cut.h"
#include "model/step/privacy.h"

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
  GPtrArray      *classes;     /* ClassRecord */
  guint          *class_of;    /* per layer */
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

/* Of N further uses of WEIGHT the gradients are added to the first one's, as autograd does. */
static void
append_sums (const TensorDesc *weight, guint n, const char *name, Dtype dtype, GArray *backward)
{
  double     bytes = (double) weight->elements * dtype_bytes (dtype);
  KernelDesc desc = kernel_desc_stream (KERNEL_ELEMENTWISE, name, dtype, 2 * bytes, bytes, 1);

  desc.module = (gint) weight->module;
  for (guint i = 0; i < n && !weight->frozen; i++)
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
  desc->clipped_bytes = to_bytes (result->held);
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

/* Head or MTP layers use the embedding's table, and all are on this rank: there is one. */
static gboolean
ends_share_table (const Workload *self)
{
  return (self->shape.tied_embeddings || self->shape.n_mtp > 0) && mesh_ends_meet (&self->mesh);
}

/*
 * Further uses of a weight of the layer KEY, whose gradients are sums: of its table, or of the
 * head's own, by each token that is predicted.
 */
static guint
further_uses (const Workload *self, const LayerClass *key)
{
  const guint    mtp = (guint) self->shape.n_mtp, heads = 1 + mtp;
  const gboolean meet = mesh_ends_meet (&self->mesh), tied = self->shape.tied_embeddings;

  switch (key->kind)
    {
    case LAYER_EMBEDDING:
      return meet ? mtp + (tied ? heads : 0) : 0;
    case LAYER_BLOCK:
      return key->block.mtp == 1 && !meet ? mtp - 1 + (tied ? heads : 0) : 0;
    case LAYER_HEAD:
      return tied ? 0 : mtp;
    }
  g_assert_not_reached ();
}

/* Of a layer of KIND: the last matrix of a head, the first one of another. */
static const TensorDesc *
vocabulary_matrix (const GArray *tensors, LayerKind kind)
{
  const TensorDesc *found = NULL;

  for (guint i = 0; i < tensors->len && (found == NULL || kind == LAYER_HEAD); i++)
    if (g_array_index (tensors, TensorDesc, i).n_dims == 2)
      found = &g_array_index (tensors, TensorDesc, i);
  g_assert (found != NULL);
  return found;
}

static void
fill_tied (const Workload *self, const LayerBuild *build, LayerDesc *desc)
{
  gboolean tied = self->shape.tied_embeddings, shared = ends_share_table (self);
  gboolean copied = (tied || self->shape.n_mtp > 0) && !shared;

  desc->reads_table = shared && (desc->mtp > 0 || (tied && desc->kind == LAYER_HEAD));
  desc->tied_copy = copied && (self->shape.n_mtp > 0 ? desc->mtp == 1 : desc->kind == LAYER_HEAD);
  desc->tied_peer = copied && desc->kind == LAYER_EMBEDDING;
  if (desc->tied_copy || desc->tied_peer)
    {
      const TensorDesc *table = vocabulary_matrix (build->tensors, desc->kind);

      desc->tied_elements = table->frozen ? 0 : table->elements;
    }
}

static void
fill_kernels (Workload *self, const LayerBuild *build, const TapeResult *result,
              ClassRecord *record)
{
  LayerDesc *desc = &record->desc;
  GArray    *trainable = g_array_new (FALSE, FALSE, sizeof (TensorDesc));

  for (guint i = 0; i < build->tensors->len; i++)
    if (!g_array_index (build->tensors, TensorDesc, i).frozen)
      g_array_append_val (trainable, g_array_index (build->tensors, TensorDesc, i));
  if (further_uses (self, &record->key) > 0)
    append_sums (vocabulary_matrix (build->tensors, desc->kind), further_uses (self, &record->key),
                 desc->kind == LAYER_HEAD ? "head.add_grad" : "embed.add_tied_grad",
                 build->tape->dtype, result->backward);
  *desc = (LayerDesc){
    .kind = desc->kind,
    .class_ = desc->class_,
    .mtp = desc->mtp,
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

/* Of the first of two backward passes: all but gradients of weights, and the norms are its own. */
static void
add_repeated_flops (ClassRecord *record)
{
  sum_flops (record->desc.recompute, record->desc.n_recompute, record);
  for (guint i = 0; i < record->desc.n_backward; i++)
    if (!record->desc.backward[i].weight_gradient && !record->desc.backward[i].for_norms)
      sum_flops (&record->desc.backward[i], 1, record);
}

static guint
add_class (Workload *self, LayerClass key)
{
  ClassRecord *record = g_new0 (ClassRecord, 1);
  LayerBuild   build = layer_build (&self->shape, &self->training, &self->mesh, key);
  TapeResult   result = tape_finish (build.tape, build.output, key.checkpoint);

  record->key = key;
  record->desc.kind = key.kind;
  record->desc.class_ = self->classes->len;
  record->desc.mtp = (guint) key.block.mtp;
  record->desc.checkpoint = key.checkpoint;
  fill_kernels (self, &build, &result, record);
  fill_memory (self, &build, &result, &record->desc);
  sum_flops (record->desc.forward, record->desc.n_forward, record);
  sum_flops (record->desc.recompute, record->desc.n_recompute, record);
  sum_flops (record->desc.backward, record->desc.n_backward, record);
  if (training_repeats_backward (&self->training))
    add_repeated_flops (record);
  tape_free (build.tape);
  g_ptr_array_add (self->classes, record);
  return self->classes->len - 1;
}

/* What SOURCE has built, as one of SELF's classes. */
static guint
share_class (Workload *self, const ClassRecord *source)
{
  ClassRecord *record = g_new (ClassRecord, 1);

  *record = *source;
  record->desc.class_ = self->classes->len;
  for (guint i = 0; i < G_N_ELEMENTS (record->arrays); i++)
    g_array_ref (record->arrays[i]);
  g_ptr_array_add (self->classes, record);
  return self->classes->len - 1;
}

static const ClassRecord *
class_at (const Workload *self, guint i)
{
  return g_ptr_array_index (self->classes, i);
}

static void
free_class (gpointer data)
{
  ClassRecord *record = data;

  for (guint i = 0; i < G_N_ELEMENTS (record->arrays); i++)
    g_array_unref (record->arrays[i]);
  g_free (record);
}

static gboolean
same_class (const LayerClass *a, const LayerClass *b)
{
  return a->kind == b->kind && a->checkpoint == b->checkpoint && a->block.mixer == b->block.mixer
         && a->block.feed == b->block.feed && a->block.n_heads == b->block.n_heads
         && a->block.n_kv_heads == b->block.n_kv_heads && a->block.head_dim == b->block.head_dim
         && a->block.d_ff == b->block.d_ff && a->block.mtp == b->block.mtp && a->wide == b->wide;
}

/* The index of KEY's class; as many as there are: there is none yet. */
static guint
find_class (const Workload *self, LayerClass key)
{
  guint i = 0;

  while (i < self->classes->len && !same_class (&class_at (self, i)->key, &key))
    i++;
  return i;
}

/* A class depends on neither stage nor other classes: what a workload KNOWN has of it is shared. */
static guint
class_index (Workload *self, const Workload *const *known, guint n_known, LayerClass key)
{
  guint found = find_class (self, key);

  if (found < self->classes->len)
    return found;
  for (guint i = 0; i < n_known; i++)
    {
      found = find_class (known[i], key);
      if (found < known[i]->classes->len)
        return share_class (self, class_at (known[i], found));
    }
  return add_class (self, key);
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

/*
 * NTH: blocks of its chunk before it. Where not all of a chunk's blocks are recomputed, MTP layers
 * are not (Megatron-LM, --recompute-method block).
 */
static LayerClass
class_of_layer (const Workload *self, guint place, guint nth)
{
  const ModelShape *shape = &self->shape;
  gint64            block = (gint64) place - 1;

  if (block >= shape->n_layers)
    nth = G_MAXUINT;

  if (place == 0)
    return (LayerClass){ .kind = LAYER_EMBEDDING };
  if (block == model_n_blocks (shape))
    return (LayerClass){ .kind = LAYER_HEAD };
  return (LayerClass){ .kind = LAYER_BLOCK,
                       .block = model_layer (shape, block),
                       .checkpoint = training_block_checkpoint (&self->training, block, nth),
                       .wide = training_block_in_16bit (&self->training, block, shape->n_layers) };
}

static void
add_layers (Workload *self, const Workload *const *known, guint n_known)
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
  self->class_of = g_new (guint, self->n_layers);
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
      self->class_of[i] = class_index (self, known, n_known, class_);
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
           guint stage, const Workload *const *known, guint n_known)
{
  Workload *self = g_new0 (Workload, 1);

  model_shape_copy (shape, &self->shape);
  self->classes = g_ptr_array_new_with_free_func (free_class);
  option_table_copy (training_options, training, &self->training);
  self->training.traits = training->traits;
  self->training.fp8_any_layout = training->fp8_any_layout;
  self->training.pass = training->pass;
  self->training.weight_bytes = training->weight_bytes;
  self->training.batch = training->batch;
  self->training.parts = training->parts;
  self->training.remapped = training->remapped;
  self->training.pieces = training->pieces;
  self->training.measured = training->measured;
  option_table_copy (mesh_options, mesh, &self->mesh);
  self->mesh.whole_experts = mesh->whole_experts;
  mesh_normalise (&self->mesh);
  self->stage = stage;
  g_assert (stage < (guint) self->mesh.pp);
  add_layers (self, known, n_known);
  for (guint i = 0; i < self->n_layers; i++)
    {
      const ClassRecord *record = class_at (self, self->class_of[i]);

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
  return self;
}

Workload *
workload_new_stage (const ModelShape *shape, const TrainingOptions *training,
                    const MeshOptions *mesh, guint stage)
{
  return new_stage (shape, training, mesh, stage, NULL, 0);
}

Workload *
workload_new_recomputed (const ModelShape *shape, const TrainingOptions *training,
                         const MeshOptions *mesh, const Workload *const *known, guint n_known)
{
  return new_stage (shape, training, mesh, 0, known, n_known);
}

Workload *
workload_new_next_stage (const Workload *self)
{
  return new_stage (&self->shape, &self->training, &self->mesh, self->stage + 1, &self, 1);
}

void
workload_free (Workload *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->classes);
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
  return &class_at (self, self->class_of[i])->desc;
}

const ModelLayer *
workload_block (const Workload *self, guint i)
{
  g_assert (i < self->n_layers);
  return &class_at (self, self->class_of[i])->key.block;
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

/* Whether SELF has all of its model, uncut and in no format of fewer bits. */
static gboolean
has_whole_model (const Workload *self)
{
  return mesh_replica (&self->mesh) == 1 && self->mesh.ep == 1 && self->mesh.etp == 1
         && !self->training.load_in_4bit && self->training.fp8_recipe == FP8_NONE;
}

guint64
workload_n_parameters_of_model (const Workload *self)
{
  TrainingOptions      plain = self->training;
  g_autoptr (Workload) whole = NULL;

  if (has_whole_model (self))
    return workload_n_parameters (self);
  plain.load_in_4bit = FALSE;
  plain.fp8_recipe = FP8_NONE;
  whole = workload_new (&self->shape, &plain);
  return workload_n_parameters (whole);
}

gboolean
workload_packs (const Workload *self)
{
  for (guint l = 0; l < self->n_layers; l++)
    for (guint t = 0; t < workload_layer (self, l)->n_tensors; t++)
      if (workload_layer (self, l)->tensors[t].packed > 0)
        return TRUE;
  return FALSE;
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
