#include "model/layer/kernel-desc.h"

static const char *const kind_names[KERNEL_N_KINDS] = {
  [KERNEL_MATMUL] = "matmul",
  [KERNEL_ATTENTION] = "attention",
  [KERNEL_ATTENTION_BACKWARD] = "attention-backward",
  [KERNEL_DECODE] = "attention-decode",
  [KERNEL_SCAN] = "scan",
  [KERNEL_ELEMENTWISE] = "elementwise",
  [KERNEL_REDUCTION] = "reduction",
  [KERNEL_GATHER] = "gather",
  [KERNEL_COPY] = "copy",
  [KERNEL_CODEC] = "codec",
  [KERNEL_OPTIMIZER] = "optimizer",
  [KERNEL_COMMUNICATION] = "communication",
};

const char *
kernel_kind_name (KernelKind kind)
{
  g_assert (kind < KERNEL_N_KINDS);
  return kind_names[kind];
}

KernelDesc
kernel_desc_stream (KernelKind kind, const char *name, Dtype dtype, double read_bytes,
                    double write_bytes, guint launches)
{
  return (KernelDesc){
    .kind = kind,
    .name = name,
    .dtype = dtype,
    .batch = 1,
    .flops = (read_bytes + write_bytes) / dtype_bytes (dtype),
    .read_bytes = read_bytes,
    .write_bytes = write_bytes,
    .launches = launches,
    .module = -1,
  };
}

KernelDesc
kernel_desc_decode (const char *name, Dtype dtype, guint64 sequences, guint64 heads,
                    guint64 kv_heads, guint64 qk, guint64 v, guint64 keys)
{
  const double all = (double) sequences * (double) heads, value = (double) (v > 0 ? v : qk);

  return (KernelDesc){
    .kind = KERNEL_DECODE,
    .name = name,
    .dtype = dtype,
    .batch = sequences * kv_heads,
    .m = heads / kv_heads,
    .n = keys,
    .k = qk,
    .flops = 2 * all * (double) keys * ((double) qk + value),
    .read_bytes =
        (double) (sequences * kv_heads) * (double) keys * (double) (qk + v) * dtype_bits (dtype) / 8
        + 2 * all * (double) qk,
    .write_bytes = 2 * all * value,
    .launches = 1,
    .module = -1,
  };
}

gboolean
kernel_desc_is_product (const KernelDesc *kernel)
{
  return kernel->kind == KERNEL_MATMUL || kernel->kind == KERNEL_ATTENTION
         || kernel->kind == KERNEL_ATTENTION_BACKWARD || kernel->kind == KERNEL_DECODE
         || kernel->kind == KERNEL_SCAN;
}

/* What differs most often comes first. */
gboolean
kernel_desc_equal (const KernelDesc *a, const KernelDesc *b)
{
  if (a == b)
    return TRUE;
  return a->kind == b->kind && a->read_bytes == b->read_bytes && a->write_bytes == b->write_bytes
         && a->flops == b->flops && a->m == b->m && a->n == b->n && a->k == b->k
         && a->dtype == b->dtype && a->batch == b->batch && a->launches == b->launches
         && a->module == b->module && a->streams == b->streams && a->turns == b->turns
         && a->block_scaled == b->block_scaled && a->weight_bytes == b->weight_bytes
         && a->exponentials == b->exponentials && a->flash == b->flash && a->packed == b->packed
         && a->padded == b->padded && a->weight_gradient == b->weight_gradient
         && a->for_norms == b->for_norms && a->first_micro_only == b->first_micro_only
         && a->axis == b->axis && a->ranks == b->ranks && a->every == b->every && a->comm == b->comm
         && a->async == b->async && a->own_sms == b->own_sms && a->widens == b->widens
         && a->scattered == b->scattered && a->joins == b->joins && a->host_waits == b->host_waits
         && a->recomputed_flops == b->recomputed_flops && g_str_equal (a->name, b->name);
}
