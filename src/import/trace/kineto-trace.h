/*
 * Traces of PyTorch's profiler (Kineto): JSON, gzipped or not, `traceEvents` with events of GPUs
 * (`cat` kernel, gpu_memcpy, gpu_memset) and of the host (cpu_op, user_annotation, python_function,
 * cuda_runtime, cuda_driver and other devices'). A kernel's launch is the host's event with its
 * `correlation`; the ranges around that on its thread say whose the kernel is, and a backward
 * function's `Sequence number` is that of the forward op whose gradient it computes. NCCL's kernels
 * have their collective in `args`.
 *
 * Events are read one at a time; kept are kernels, launches and ranges that mean something: some
 * tens of bytes each.
 */
#pragma once

#include "import/trace/step-trace.h"

/* NULL after a diagnostic that names the event and the byte (of gzipped files: of the content). */
StepTrace *kineto_trace_load (const char *file, DiagList *diags);
