/* Values of a device, and how far off they are. */
#ifdef BENCH_CUDA

#include "bench/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double
decode_half (uint16_t bits)
{
  int    exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 0 ? ldexp (mantissa, -24) : ldexp (1024 + mantissa, exponent - 25);

  return bits & 0x8000 ? -value : value;
}

/* e4m3 */
static double
decode_byte (uint8_t bits)
{
  int    exponent = bits >> 3 & 15, mantissa = bits & 7;
  double value = exponent == 0 ? ldexp (mantissa, -9) : ldexp (8 + mantissa, exponent - 10);

  return bits & 0x80 ? -value : value;
}

static double
decode_float (uint32_t bits)
{
  float value;

  memcpy (&value, &bits, sizeof value);
  return (double) value;
}

static double
decode (const char *dtype, const unsigned char *bytes)
{
  uint16_t half;
  uint32_t word;

  if (strcmp (dtype, "fp8") == 0)
    return decode_byte (*bytes);
  if (strcmp (dtype, "fp32") == 0)
    {
      memcpy (&word, bytes, sizeof word);
      return decode_float (word);
    }
  memcpy (&half, bytes, sizeof half);
  return strcmp (dtype, "fp16") == 0 ? decode_half (half) : decode_float ((uint32_t) half << 16);
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
    values[i] = decode (dtype, bytes + i * size);
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
