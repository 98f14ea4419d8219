/*
 * Measured kernels (kernel-table.h) against what the kernel model says of them: the error of every
 * row, and statistics of the errors by kind, GPU and type of data. Rows that could not be predicted
 * are counted in their group.
 *
 * error = predicted / measured - 1, signed.
 */
#pragma once

#include "evidence/tables/kernel-table.h"
#include "evidence/tables/statistics.h"
#include "hardware/profile/profile.h"

typedef struct
{
  const KernelRow *measured;
  char            *shape;     /* kernel_row_shape */
  const char      *reason;    /* NULL, or why it could not be predicted; then the rest is unset */
  double           predicted; /* s */
  double           error;
} ValidatedKernel;

typedef struct
{
  KernelTableKind kind;
  const char     *gpu, *dtype; /* NULL: of all */
  ErrorStatistics errors;
  guint           n_failed;
  double          goal; /* of the median; NAN: none */
} KernelGroup;

typedef struct
{
  GArray *measured; /* KernelRow, owned: what the rows point to */
  GArray *rows;     /* ValidatedKernel, in the tables' order */
  GArray *groups; /* KernelGroup: by kind all of them first, then by GPU and type in their order */
  ErrorStatistics errors; /* of all rows */
  guint           n_failed;
} KernelValidation;

/*
 * Predicts MEASURED (which it takes) with PROFILES. An unknown GPU is a row's reason. Never fails.
 */
KernelValidation *validate_kernels (GArray *measured, ProfileSet *profiles);
void              kernel_validation_free (KernelValidation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (KernelValidation, kernel_validation_free)
