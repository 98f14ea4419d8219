#include "bench/host/host-kernels.h"

#include <math.h>

#if defined __SSE2__
#include <emmintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#endif

/* PyTorch's defaults. */
#define RATE    1e-4f
#define BETA1   0.9f
#define BETA2   0.999f
#define EPSILON 1e-8f
#define DECAY   0.01f

typedef uint32_t HostWords __attribute__ ((vector_size (16)));

/* sqrtf may set errno, which keeps compilers from taking the vector instruction for it. */
static inline HostFloats
square_roots (HostFloats x)
{
#if defined __SSE2__
  return (HostFloats) _mm_sqrt_ps ((__m128) x);
#elif defined __aarch64__
  return (HostFloats) vsqrtq_f32 ((float32x4_t) x);
#else
  return (HostFloats){ sqrtf (x[0]), sqrtf (x[1]), sqrtf (x[2]), sqrtf (x[3]) };
#endif
}

void
host_kernel_adam (const HostArrays *arrays, size_t n, unsigned step)
{
  HostArrays a = *arrays;
  float      size = RATE / (1 - powf (BETA1, (float) step));
  float      correct2 = 1 / sqrtf (1 - powf (BETA2, (float) step));

  for (size_t i = 0; i < n; i++)
    {
      HostFloats g = a.gradient[i];
      HostFloats mean = BETA1 * a.moment1[i] + (1 - BETA1) * g;
      HostFloats square = BETA2 * a.moment2[i] + (1 - BETA2) * g * g;
      HostFloats next = a.parameter[i] * (1 - RATE * DECAY)
                        - size * mean / (square_roots (square) * correct2 + EPSILON);
      HostWords bits;

      a.moment1[i] = mean;
      a.moment2[i] = square;
      a.parameter[i] = next;
      bits = (HostWords) next; /* to bf16, to nearest even */
      bits = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
      a.copy[i] = __builtin_convertvector(bits, HostHalves);
    }
}
