/* Values of a device, and how far off they are. */
#ifdef BENCH_CUDA

#include "bench/gpu/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double
check_decode (const char *dtype, const unsigned char *in)
{
  const bool fp8 = strcmp (dtype, "fp8") == 0;
  uint32_t   word = 0;
  float      single;
  int        exponent, mantissa;
  double     value;

  if (strcmp (dtype, "fp32") == 0 || strcmp (dtype, "bf16") == 0)
    {
      const bool whole = strcmp (dtype, "fp32") == 0;

      memcpy (&word, in, whole ? 4 : 2);
      word <<= whole ? 0 : 16;
      memcpy (&single, &word, sizeof single);
      return (double) single;
    }
  memcpy (&word, in, fp8 ? 1 : 2); /* e4m3, or fp16 */
  exponent = fp8 ? word >> 3 & 15 : word >> 10 & 31;
  mantissa = fp8 ? word & 7 : word & 1023;
  if (!fp8 && exponent == 31)
    return NAN;
  if (exponent == 0)
    value = fp8 ? ldexp (mantissa, -9) : ldexp (mantissa, -24);
  else
    value = fp8 ? ldexp (8 + mantissa, exponent - 10) : ldexp (1024 + mantissa, exponent - 25);
  return word & (fp8 ? 0x80 : 0x8000) ? -value : value;
}

bool
check_read (const Bench *bench, const void *device, const char *dtype, size_t n, double *values)
{
  size_t         size = strcmp (dtype, "fp32") == 0 ? 4 : strcmp (dtype, "fp8") == 0 ? 1 : 2;
  unsigned char *bytes = malloc (n * size);
  cudaError_t    copied;

  if (bytes == NULL)
    {
      bench_error (bench, "malloc", "out of memory");
      return false;
    }
  copied = cudaMemcpy (bytes, device, n * size, cudaMemcpyDeviceToHost);
  for (size_t i = 0; copied == cudaSuccess && i < n; i++)
    values[i] = check_decode (dtype, bytes + i * size);
  free (bytes);
  CUDA_TRY (copied);
  return true;
}

bool
check_close (const Bench *bench, const char *what, const double *want, const double *got, size_t n,
             double bound)
{
  double off = 0, all = 0, ratio;

  for (size_t i = 0; i < n; i++)
    {
      off += (got[i] - want[i]) * (got[i] - want[i]);
      all += want[i] * want[i];
    }
  ratio = sqrt (off / all);
  if (ratio <= bound) /* false of a NaN */
    {
      bench_note (bench, "%s: off by %.2g of its size", what, ratio);
      return true;
    }
  bench_error (bench, what, "off by %.3g of its size, not by %g at most", ratio, bound);
  return false;
}

#endif
