/*
 * A GPU's figures of matrix products, of attention forward and of experts, and its table of
 * measured products, from kernels that were measured alone (evidence/tables/kernel-table.h). The
 * same method for every GPU:
 *
 * 1. Figures: the mean over the rows of min (|ln (predicted / measured)|, 1/2) is minimised over
 *    all of a kind at once (minimise.h), each type counting alike. A few rows that no model of
 *    tiles explains do not move them.
 * 2. Table: of each type the rows that lie farthest from those taken before, by the distance of
 *    kernel_model_cost, each as the product alone: measured less the casts as modelled. Rows that
 *    are casts for the most part say nothing of a product and are left out.
 * 3. What it is worth: rows are split in two by a hash of their shape; figures and table of one
 *    half predict the other.
 */
#pragma once

#include "evidence/tables/kernel-table.h"
#include "evidence/tables/statistics.h"
#include "hardware/profile/profile.h"

typedef struct
{
  const char  *key;
  QuantityKind kind;
  double       before, after;
} KernelFigure;

/* Errors of the half that was left out. */
typedef struct
{
  const char     *name;    /* "products fp8" */
  guint           n;       /* rows of both halves */
  ErrorStatistics figures; /* by figures alone, and with the table */
  ErrorStatistics table;
} KernelLeftOut;

typedef struct
{
  const GpuProfile *base;
  GArray           *figures;  /* KernelFigure: those that rows determine */
  GArray           *products; /* MatmulPoint */
  GArray           *left_out; /* KernelLeftOut */
  guint             n;        /* rows */
} KernelCalibration;

/*
 * Of the rows of products, of attention forward and of experts in ROWS whose GPU is BASE's; both
 * outlive the result. NULL where there are fewer than KERNEL_CALIBRATION_LEAST.
 */
#define KERNEL_CALIBRATION_LEAST 50
KernelCalibration *calibrate_kernels (const GArray *rows, const GpuProfile *base);
void               kernel_calibration_free (KernelCalibration *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (KernelCalibration, kernel_calibration_free)

/*
 * The profile that extends BASE, and its table (matmul-curve.h), as text. SOURCE: what measured
 * them, as a profile names its sources. Newly allocated.
 */
char *kernel_calibration_profile (const KernelCalibration *self, const char *source);
char *kernel_calibration_table (const KernelCalibration *self);
