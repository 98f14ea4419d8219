#include "cost/kernel/decode-private.h"

#include <math.h>

#define LEAST_CUT 512 /* keys of a sequence that are worth cutting where SMs are idle. [estimate] */

#define BLOCK_LATENCY 4.7e-6 /* of a thread block where nothing is measured: an H100's, s */

static double
decode_block_seconds (const GpuProfile *gpu, const KernelDesc *kernel)
{
  const double own = kernel->m == 1                    ? gpu->decode_head_latency.value
                     : dtype_bits (kernel->dtype) == 8 ? gpu->decode_fp8_block_latency.value
                                                       : 0;
  const double all = gpu->decode_block_latency.value;

  return own > 0 ? own : all > 0 ? all : BLOCK_LATENCY;
}

void
kernel_decode_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  const double sms = gpu->sms.value, blocks = (double) kernel->batch;
  const double efficiency = gpu->decode_efficiency.value > 0 ? gpu->decode_efficiency.value
                                                             : gpu->stream_efficiency.value;
  const double seconds = decode_block_seconds (gpu, kernel) * MAX (1, blocks / sms);
  const double memory = cost->bytes / (gpu->hbm_bandwidth.value * efficiency);
  const double together = cbrt (pow (seconds, 3) + pow (memory, 3)), longer = MAX (seconds, memory);

  cost->latency =
      gpu->decode_latency.value > 0 ? gpu->decode_latency.value : 2 * gpu->kernel_latency.value;
  if (blocks < sms && kernel->n > LEAST_CUT)
    cost->latency += gpu->decode_sum_latency.value;
  cost->sm_seconds = seconds * sms * (together / longer);
  cost->hbm_bytes = cost->bytes / efficiency * (together / longer);
  cost->alone = together;
}
