/*
 * Profiles from synthetic measurements of an 'Example GPU' and of two 'example' hosts, whose
 * figures are known: what is fitted, what is refused, what is written, and that predictions use it.
 * On the round numbers of docs/worked/hwprofiles.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "calibrate/profile.h"

#define HEADER                                                                                \
  "format,host,date,device,driver,cuda,nccl,benchmark,variant,dtype,bytes,m,n,k,batch,ranks," \
  "channels,repeats,value,low,high,unit,remark\n"

typedef struct
{
  GString    *text;
  const char *device;
} Sheet;

static Sheet
sheet_new (const char *device)
{
  return (Sheet){ g_string_new (HEADER), device };
}

/*
 * A row: CELLS are those from benchmark to repeats; VALUE with a spread of 1 % down and 2 % up for
 * times.
 */
static void
put (Sheet *self, const char *cells, double value, const char *unit)
{
  double spread = strcmp (unit, "us") == 0 ? 1 : 0;
  char   low[32], middle[32], high[32];

  g_ascii_formatd (middle, sizeof middle, "%.12g", value);
  g_ascii_formatd (low, sizeof low, "%.12g", value * (1 - 0.01 * spread));
  g_ascii_formatd (high, sizeof high, "%.12g", value * (1 + 0.02 * spread));
  g_string_append_printf (self->text, "1,example,2026-01-31,%s,550.1,12.8,2.27.3,%s,%s,%s,%s,%s,\n",
                          self->device, cells, middle, low, high, unit);
}

/* BYTES of a block of a file; REMARK says how it was measured. */
static void
put_block (Sheet *self, const char *variant, double bytes, double us, const char *remark)
{
  g_autofree char *cells = g_strdup_printf ("storage,%s,,%.0f,,,,,,,20", variant, bytes);

  put (self, cells, us, "us");
  g_string_truncate (self->text, self->text->len - 1);
  g_string_append_printf (self->text, "%s\n", remark);
}

/* BYTES of a benchmark without sizes of its own. */
static void
put_bytes (Sheet *self, const char *what, double bytes, guint ranks, double us)
{
  g_autofree char *cells = ranks > 0 ? g_strdup_printf ("%s,,%.0f,,,,,%u,,20", what, bytes, ranks)
                                     : g_strdup_printf ("%s,,%.0f,,,,,,,20", what, bytes);

  put (self, cells, us, "us");
}

/* 2 M N K / 1e12 FLOPs at SHARE of 100 TFLOP/s, and 1.5 us. */
static void
put_product (Sheet *self, const char *variant, guint m, guint n, guint k, double share)
{
  g_autofree char *cells = g_strdup_printf ("matmul,%s,,%u,%u,%u,1,,,20", variant, m, n, k);

  put (self, cells, 1.5 + 2.0 * m * n * k / 1e8 / share, "us");
}

/* A square product of SIZE at SHARE of 100 TFLOP/s, over and over for SECONDS. */
static void
put_loaded (Sheet *self, guint size, double share, guint seconds)
{
  g_autofree char *cells =
      g_strdup_printf ("matmul,nn.sustained,bf16,,%u,%u,%u,1,,,90", size, size, size);

  put (self, cells, 2.0 * size * size * size / 1e8 / share, "us");
  g_string_truncate (self->text, self->text->len - 1);
  g_string_append_printf (self->text, "second half of %u s\n", seconds);
}

/*
 * Copies: 2 us and 90 GB/s one way, 4 us and 72 GB/s back (a GB there and a GB back take 2/80 s),
 * 64 GB/s a direction at once. Streams: triads at 0.9 of 1 TB/s, copies at 0.8. Kernels follow
 * after 1.5 us, inside graphs after 1.25 us.
 */
static Sheet
device_sheet (void)
{
  Sheet self = sheet_new ("Example GPU");

  put (&self, "property,total_memory,,,,,,,,,1", 9.5e9, "B");
  put (&self, "property,free_memory,,,,,,,,,1", 9.1e9, "B");
  put (&self, "property,sms,,,,,,,,,1", 98, "count");
  put (&self, "property,l2_bytes,,,,,,,,,1", 1e7, "B");
  put (&self, "launch,device,,,,,,,,,20", 1.5, "us");
  put (&self, "launch,graph,,,,,,,,,20", 1.25, "us");
  for (double x = 4096; x < 2e9; x *= 4)
    {
      put_bytes (&self, "host_copy,h2d.pinned", x, 0, 2 + x / 90e3);
      put_bytes (&self, "host_copy,d2h.pinned", x, 0, 4 + x / 72e3);
      put_bytes (&self, "host_copy,both.pinned", x, 0, 5 + x / 64e3);
    }
  for (double x = 1e7; x < 1e9; x *= 2)
    {
      put_bytes (&self, "triad,triad", 3 * x, 0, 1.5 + 3 * x / 0.9e6);
      put_bytes (&self, "device_copy,d2d", 1.5 * x, 0, 1.5 + 3 * x / 0.8e6);
    }
  put_product (&self, "nn,bf16", 9800, 9800, 5000, 0.75);
  put_product (&self, "nt,bf16", 9800, 9800, 5000, 0.70);
  put_product (&self, "tn,bf16", 9800, 9800, 5000, 0.72);
  put_product (&self, "nn,bf16", 9800, 4900, 2500, 0.6);
  put_product (&self, "nn,fp32", 1000, 1000, 1000, 0.2);
  put_product (&self, "nt,fp8", 9800, 9800, 5000, 1.4);
  return self;
}

typedef struct
{
  char               *folder;
  BenchResults       *results;
  ProfileSet         *profiles;
  ProfileCalibration *calibration;
} Fit;

static ProfileSet *
profiles_over (const char *folder)
{
  g_autofree char *hand =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  g_autofree char *path =
      g_strjoin (G_SEARCHPATH_SEPARATOR_S, folder != NULL ? folder : hand, hand, NULL);

  return profile_set_new (path);
}

/* Takes SHEET. */
static Fit
fit_sheet (Sheet sheet, const char *base)
{
  Fit                  self = { .folder = g_dir_make_tmp ("shardsim-fit-XXXXXX", NULL) };
  g_autofree char     *file = g_build_filename (self.folder, "results.csv", NULL);
  const char          *files[] = { file, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert (g_file_set_contents (file, sheet.text->str, -1, NULL));
  self.results = bench_results_load (files, diags);
  ck_assert_msg (self.results != NULL, "%s", diag_list_first_message (diags));
  self.profiles = profiles_over (NULL);
  self.calibration = calibrate_profile (self.results, self.profiles,
                                        calibrate_profile_kind (self.results), base, diags);
  ck_assert_msg (self.calibration != NULL, "%s", diag_list_first_message (diags));
  ck_assert_int_eq (g_unlink (file), 0);
  g_string_free (sheet.text, TRUE);
  return self;
}

static void
fit_clear (Fit *self)
{
  profile_calibration_free (self->calibration);
  profile_set_free (self->profiles);
  bench_results_free (self->results);
  ck_assert_int_eq (g_rmdir (self->folder), 0);
  g_free (self->folder);
}

static const FittedValue *
find_value (const Fit *self, const char *figure)
{
  for (guint i = 0; i < self->calibration->fits->len; i++)
    {
      const FittedValue *value = g_ptr_array_index (self->calibration->fits, i);

      if (g_strcmp0 (value->figure, figure) == 0)
        return value;
    }
  ck_abort_msg ("no figure '%s'", figure);
}

static void
expect (const Fit *self, const char *figure, double after, guint n)
{
  const FittedValue *value = find_value (self, figure);

  ck_assert_msg (value->verdict == FIT_GOOD, "%s: %s", figure, value->why);
  ck_assert_msg (fabs (value->after / after - 1) < 1e-9, "%s: %.12g, not %.12g", figure,
                 value->after, after);
  ck_assert_msg (value->n == n, "%s: %u rows, not %u", figure, value->n, n);
}

static void
expect_refused (Fit *self, const char *figure, FitVerdict verdict, const char *why)
{
  const FittedValue *value = find_value (self, figure);

  ck_assert_int_eq (value->verdict, verdict);
  ck_assert_str_eq (value->why, why);
}

static void
expect_near (const Fit *self, const char *figure, double after, double tolerance)
{
  const FittedValue *value = find_value (self, figure);

  ck_assert_msg (value->verdict == FIT_GOOD, "%s: %s", figure, value->why);
  ck_assert_double_eq_tol (value->after, after, tolerance);
}

/*
 * Streams beyond four times the cache of 10 MB: triads of 60 MB to 1.92 GB (6), copies that move 60
 * MB to 1.92 GB (6): the median lies half-way. The large bf16 product is the middle of its three
 * layouts, 0.72; with the fp32 product, three products stay.
 */
START_TEST (test_device)
{
  Fit                self = fit_sheet (device_sheet (), "hand");
  const FittedValue *copies, *products;

  ck_assert (profile_calibration_is_good (self.calibration));
  expect (&self, "hbm_bytes", 9.5e9, 1);
  expect (&self, "runtime_bytes", 4e8, 1);
  expect (&self, "sms", 98, 1);
  expect (&self, "kernel_latency", 1.5e-6, 1);
  expect (&self, "graph_latency", 1.25e-6, 1);
  expect (&self, "host_copy_efficiency", 0.8, 20);
  expect (&self, "host_copy_latency", 3e-6, 20);
  expect (&self, "host_duplex_efficiency", 0.8, 30);
  expect (&self, "stream_efficiency", 0.85, 12);
  expect (&self, "matmul_efficiency", 0.72, 2);
  copies = find_value (&self, "host_copy_efficiency");
  ck_assert_double_eq (copies->before, 1);
  ck_assert_double_eq_tol (copies->residual_p90, 0, 1e-9);
  /* a direction's slowest, fastest large copy: 2 % slower than 72 GB/s, 1 % faster than 90 GB/s */
  ck_assert_double_eq_tol (copies->low, 0.72 / 1.02, 2e-3);
  ck_assert_double_eq_tol (copies->high, 0.9 / 0.99, 2e-3);
  /* the model has the small one at 0.72 as well: off by 0.6 / 0.72 - 1 */
  products = find_value (&self, "matmul_efficiency");
  ck_assert_double_eq_tol (products->residual_p90, 0.9 / 6, 1e-3);
  ck_assert_uint_eq (self.calibration->products->len, 3);
  fit_clear (&self);
}
END_TEST

/*
 * fp8 products against 200 TFLOP/s: 140 is 0.7. Under load a product takes 1.25 times as long. The
 * hand-made GPU has no fp8 units, and ten seconds are wanted.
 */
START_TEST (test_units)
{
  g_autofree char  *folder = g_dir_make_tmp ("shardsim-fp8-XXXXXX", NULL);
  g_autofree char  *gpu = g_build_filename (folder, "gpu", NULL);
  g_autofree char  *file = g_build_filename (gpu, "fp8.yaml", NULL);
  static const char profile[] =
      "extends: hand\n"
      "matmul_fp8: { value: 200 TFLOP/s, source: \"by definition\", confidence: datasheet }\n";
  g_autoptr (ProfileSet) profiles = profiles_over (folder);
  g_autoptr (DiagList)   diags = diag_list_new ();
  ProfileCalibration    *fp8;
  Sheet                  sheet = device_sheet ();
  Fit                    self;

  put_product (&sheet, "nn,bf16", 8192, 8192, 8192, 0.7);
  put_loaded (&sheet, 8192, 0.56, _i == 0 ? 20 : 9);
  self = fit_sheet (sheet, "hand");
  expect_refused (&self, "matmul_fp8_efficiency", FIT_TOO_LITTLE,
                  "'hand' has no fp8 units: extend a profile with 'matmul_fp8'");
  if (_i == 1)
    expect_refused (&self, "sustained_clock", FIT_TOO_LITTLE,
                    "too little data: sustained for less than 10 s");
  else
    expect_near (&self, "sustained_clock", 0.8, 1e-3);
  ck_assert_int_eq (g_mkdir (gpu, 0777), 0);
  ck_assert (g_file_set_contents (file, profile, -1, NULL));
  fp8 = calibrate_profile (self.results, profiles, "gpu", "fp8", diags);
  ck_assert_msg (fp8 != NULL, "%s", diag_list_first_message (diags));
  profile_calibration_free (self.calibration);
  self.calibration = fp8;
  expect_near (&self, "matmul_fp8_efficiency", 0.7, 1e-9);
  fit_clear (&self);
  ck_assert_int_eq (g_unlink (file) + g_rmdir (gpu) + g_rmdir (folder), 0);
}
END_TEST

/*
 * Attention of 4 sequences of 12 800 tokens and 100 heads of size 128: the model's time at 0.6
 * forward and 0.5 back is measured, so these come out. A head of size 64 alone tells nothing.
 */
START_TEST (test_attention)
{
  g_autoptr (ProfileSet) profiles = profiles_over (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  GpuProfile             gpu = *profile_set_gpu (profiles, "hand", NULL, diags);
  KernelDesc             kernel = {
                .kind = KERNEL_ATTENTION,
                .dtype = DTYPE_BF16,
                .batch = 400,
                .m = 12800,
                .n = 12800,
                .k = 128,
                .launches = 1,
                .flash = FLASH_CUDNN,
                .flops = 4 * (12800.0 * 12800 / 2) * 400 * 128,
  };
  const double elements = 12800.0 * 400 * 128, rows = 12800.0 * 400;
  /* At 1 TB/s: sums over rows read and write 4 bytes an element, and 4 a row; the cast 4 and 2. */
  const double beside = (8 * elements + 4 * rows + 6 * elements) * 1e-12 + 2 * 1.5e-6;
  KernelCost   forward, backward;
  Sheet        sheet = sheet_new ("Example GPU");
  Fit          self;

  gpu.kernel_latency.value = 1.5e-6;
  gpu.cudnn_efficiency.value = 0.6;
  gpu.cudnn_backward_efficiency.value = 0.5;
  kernel_cost (&gpu, &kernel, &forward);
  kernel.kind = KERNEL_ATTENTION_BACKWARD;
  kernel.flops *= 2.5;
  kernel_cost (&gpu, &kernel, &backward);
  put (&sheet, "launch,device,,,,,,,,,20", 1.5, "us");
  put (&sheet, "attention,forward,bf16,,12800,100,128,4,,,20", forward.alone * 1e6, "us");
  put (&sheet, "attention,backward,bf16,,12800,100,128,4,,,20", (backward.alone + beside) * 1e6,
       "us");
  self = fit_sheet (sheet, "hand");
  expect_near (&self, "cudnn_efficiency", 0.6, 1e-6);
  expect_near (&self, "cudnn_backward_efficiency", 0.5, 1e-6);
  ck_assert_double_eq_tol (find_value (&self, "cudnn_efficiency")->residual_p90, 0, 1e-6);
  fit_clear (&self);
  sheet = sheet_new ("Example GPU");
  put (&sheet, "attention,forward,bf16,,12800,100,64,4,,,20", forward.alone * 1e6, "us");
  self = fit_sheet (sheet, "hand");
  expect_refused (&self, "cudnn_efficiency", FIT_TOO_LITTLE,
                  "too little data: no heads of 128 in 4 waves of thread blocks");
  fit_clear (&self);
}
END_TEST

/* A tenth of the copies hiccups, by 5; the figures do not move. */
START_TEST (test_hiccups)
{
  Sheet sheet = device_sheet ();
  Fit   self;

  put_bytes (&sheet, "host_copy,h2d.pinned", 5e5, 0, 5 * (2 + 5e5 / 90e3));
  put_bytes (&sheet, "host_copy,d2h.pinned", 3e8, 0, 5 * (4 + 3e8 / 72e3));
  self = fit_sheet (sheet, "hand");
  expect (&self, "host_copy_efficiency", 0.8, 22);
  expect (&self, "host_copy_latency", 3e-6, 22);
  fit_clear (&self);
}
END_TEST

/*
 * One of everything is off by 3: neither values nor ranges move, but for the half-way point of an
 * even number of streams.
 */
START_TEST (test_outliers)
{
  Sheet              sheet = device_sheet ();
  const FittedValue *streams, *starts, *products;
  Fit                self;

  put (&sheet, "launch,device,,,,,,,,,20", 1.4, "us");
  put (&sheet, "launch,device,,,,,,,,,20", 4.5, "us");
  put_bytes (&sheet, "triad,triad", 3e9, 0, 3 * 3e9 / 0.9e6);
  put_bytes (&sheet, "device_copy,d2d", 3e9, 0, 6e9 / 0.8e6 / 3);
  put_product (&sheet, "nn,bf16", 9800, 9800, 9800, 3 * 0.72);
  self = fit_sheet (sheet, "hand");
  ck_assert (profile_calibration_is_good (self.calibration));
  starts = find_value (&self, "kernel_latency");
  ck_assert_double_eq_tol (starts->after, 1.5e-6, 1e-12);
  ck_assert_double_eq_tol (starts->high, 1.5e-6 * 1.02, 1e-12);
  streams = find_value (&self, "stream_efficiency");
  ck_assert_double_eq_tol (streams->after, 0.85, 1e-9);
  ck_assert_double_ge (streams->low, 0.8 / 1.03);
  ck_assert_double_le (streams->high, 0.9 / 0.96);
  products = find_value (&self, "matmul_efficiency");
  ck_assert_double_eq_tol (products->after, 0.72, 1e-9);
  ck_assert_double_eq_tol (products->high, 0.72, 1e-9);
  fit_clear (&self);
}
END_TEST

/* A slice of a GPU is named, whatever else its figures say. */
START_TEST (test_slice)
{
  const struct
  {
    double      sms;
    const char *warning;
  } cases[] = {
    { 91, "" },
    { 14,
      "warning: the device has 14 multiprocessors and 'hand' 100: is it part of a GPU, or another "
      "one\n"
      "  hint: rates are read against that profile's datasheet\n" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Sheet                          sheet = sheet_new ("Example GPU");
      Fit                            self;
      g_autoptr (ProfileCalibration) again = NULL;
      g_autoptr (ProfileSet)         profiles = profiles_over (NULL);
      g_autoptr (DiagList)           diags = diag_list_new ();
      g_autofree char               *text = NULL;

      put (&sheet, "property,sms,,,,,,,,,1", cases[i].sms, "count");
      self = fit_sheet (sheet, "hand");
      again = calibrate_profile (self.results, profiles, "gpu", "hand", diags);
      text = diag_list_format (diags, FALSE);
      ck_assert_str_eq (text, cases[i].warning);
      fit_clear (&self);
    }
}
END_TEST

/* What is there is fitted, and the rest says why not. */
START_TEST (test_too_little)
{
  Sheet sheet = sheet_new ("Example GPU");
  Fit   self;

  put_bytes (&sheet, "host_copy,h2d.pinned", 4096, 0, 2);
  put_product (&sheet, "nn,bf16", 100, 100, 100, 0.5);
  self = fit_sheet (sheet, "hand");
  ck_assert (!profile_calibration_is_good (self.calibration));
  expect_refused (&self, "hbm_bytes", FIT_TOO_LITTLE, "not measured");
  expect_refused (&self, "runtime_bytes", FIT_TOO_LITTLE, "not measured");
  expect_refused (&self, "host_copy_latency", FIT_TOO_LITTLE,
                  "too little data: 1 sizes, at least 4 are needed");
  expect_refused (&self, "stream_efficiency", FIT_TOO_LITTLE, "not measured");
  expect_refused (
      &self, "matmul_efficiency", FIT_TOO_LITTLE,
      "too little data: no 16-bit product of 4 waves of thread blocks and a depth of 2048");
  fit_clear (&self);
}
END_TEST

/* One contradiction takes the whole profile with it. */
START_TEST (test_contradictions)
{
  const struct
  {
    const char *figure, *cells, *why;
    double      us;
  } cases[] = {
    { "host_copy_latency", "host_copy,h2d.pinned,,4096,,,,,,,20",
      "measurements of 4096 bytes differ by a factor of 2.20 (at most 2)",
      2.2 * (2 + 4096 / 90e3) },
    { "kernel_latency", "launch,device,,,,,,,,,20",
      "measurements of the same thing differ by a factor of 2.40 (at most 2)", 3.6 },
    { "matmul_efficiency", "matmul,nn,bf16,,9800,4900,2500,1,,,20",
      "measurements of the product in line 55 differ by a factor of 3.00 (at most 2)",
      3 * (1.5 + 2.0 * 9800 * 4900 * 2500 / 1e8 / 0.6) },
    { "matmul_efficiency", "matmul,nn,bf16,,9800,9800,9800,1,,,20",
      "140.0 % is not between 5.000 % and 120.0 %: is 'hand' the right profile?",
      1.5 + 2.0 * 9800 * 9800 * 9800 / 1e8 / 1.4 },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Sheet sheet = device_sheet ();
      Fit   self;

      put (&sheet, cases[i].cells, cases[i].us, "us");
      self = fit_sheet (sheet, "hand");
      ck_assert (!profile_calibration_is_good (self.calibration));
      expect_refused (&self, cases[i].figure, FIT_CONTRADICTORY, cases[i].why);
      fit_clear (&self);
    }
}
END_TEST

/*
 * The profile loads, with its products, says where it is from, and another run over it replaces
 * both files.
 */
START_TEST (test_written)
{
  Fit                    self = fit_sheet (device_sheet (), "hand");
  g_autofree char       *file = g_build_filename (self.folder, "gpu", "example.yaml", NULL);
  g_autofree char       *table = g_build_filename (self.folder, "gpu", "example.matmul.csv", NULL);
  g_autofree char       *folder = g_path_get_dirname (file);
  g_autoptr (GError)     error = NULL;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = NULL;
  const GpuProfile      *gpu;

  for (guint again = 0; again < 2; again++)
    ck_assert_msg (profile_calibration_write (self.calibration, file, &error), "%s",
                   error != NULL ? error->message : "");
  profiles = profiles_over (self.folder);
  gpu = profile_set_gpu (profiles, "example", NULL, diags);
  ck_assert_msg (gpu != NULL, "%s", diag_list_first_message (diags));
  ck_assert_str_eq (
      gpu->title,
      "a GPU of round numbers: a byte of its memory takes 1 ps, as measured on Example GPU");
  ck_assert_double_eq (gpu->host_copy_efficiency.value, 0.8);
  ck_assert_double_eq (gpu->host_copy_latency.value, 3e-6);
  ck_assert_double_eq (gpu->matmul_16bit.value, 100e12);
  ck_assert_int_eq (gpu->host_copy_efficiency.confidence, CONFIDENCE_MEASURED);
  ck_assert_str_eq (
      gpu->host_copy_efficiency.source,
      "shardsim-bench on Example GPU, driver 550.1, CUDA 12.8, NCCL 2.27.3, 2026-01-31: pinned "
      "copies, both directions, against host_link; 20 measurements, off by 0.0 % (median), 0.0 % "
      "(90th percentile)");
  ck_assert_uint_eq (gpu->matmul_curve->len, 3);
  ck_assert_double_eq_tol (g_array_index (gpu->matmul_curve, MatmulPoint, 1).seconds,
                           1.5e-6 + 2 * 9800.0 * 9800 * 5000 / 100e12 / 0.72, 1e-8);
  ck_assert_int_eq (g_unlink (file) + g_unlink (table) + g_rmdir (folder), 0);
  fit_clear (&self);
}
END_TEST

/*
 * A table that is there already is another run's; where one file cannot be put in place, the other
 * stays what it was.
 */
START_TEST (test_not_written)
{
  Fit                self = fit_sheet (device_sheet (), "hand");
  Sheet              bare = sheet_new ("Example GPU");
  Fit                other;
  g_autofree char   *file = g_build_filename (self.folder, "example.yaml", NULL);
  g_autofree char   *table = g_build_filename (self.folder, "example.matmul.csv", NULL);
  g_autofree char   *kept = NULL;
  g_autoptr (GError) error = NULL, stale = NULL;

  put (&bare, "property,sms,,,,,,,,,1", 98, "count");
  other = fit_sheet (bare, "hand");
  ck_assert (g_file_set_contents (table, "old", -1, NULL));
  ck_assert (!profile_calibration_write (other.calibration, file, &stale));
  ck_assert_ptr_nonnull (
      strstr (stale->message, "example.matmul.csv' is there, and the results hold no products"));
  ck_assert_int_eq (g_mkdir (file, 0777), 0);
  ck_assert (!profile_calibration_write (self.calibration, file, &error));
  ck_assert_ptr_nonnull (strstr (error->message, "cannot write '"));
  ck_assert (g_file_get_contents (table, &kept, NULL, NULL));
  ck_assert_str_eq (kept, "old");
  ck_assert_int_eq (g_unlink (table) + g_rmdir (file), 0);
  fit_clear (&self); /* and nothing else is left in the folder */
  fit_clear (&other);
}
END_TEST

/*
 * Two hosts on a link of BANDWIDTH: one way at 0.95 of it, an exchange SLOWER times that, after 50
 * us; what is neither small nor large goes through in a burst. Broadcasts start at once. More hosts
 * are not looked at.
 */
static Sheet
network_sheet (double bandwidth, double slower)
{
  Sheet  self = sheet_new ("");
  double rate = 0.95 * bandwidth * 1e-6; /* B/us */

  for (double x = 1024; x < 1e8; x *= 8)
    {
      double burst = x > 1024 && x < 1048576 ? 0.1 : 1;

      put_bytes (&self, "collective,broadcast", x, 2, burst * x / rate);
      put_bytes (&self, "collective,sendrecv", x, 2, 50 + burst * slower * x / rate);
      put_bytes (&self, "collective,sendrecv", x, 4, 500 + x / rate);
    }
  return self;
}

static void
expect_network (const Fit *self, double efficiency)
{
  const FittedValue *rate = find_value (self, "efficiency"),
                    *latency = find_value (self, "latency");

  ck_assert_double_eq_tol (rate->after, efficiency, 1e-9);
  ck_assert_double_eq_tol (latency->after, 50e-6, 1e-12);
  ck_assert_uint_eq (rate->n, 2);
  ck_assert_uint_eq (latency->n, 1);
}

START_TEST (test_network)
{
  const struct
  {
    double      slower;
    const char *serial, *why;
  } cases[] = {
    { 1, "false", NULL },
    { 2, "true", "not told apart while answers are waited for" },
    { 1.4, NULL, "not told apart while answers are waited for" },
  };
  g_autoptr (ProfileSet) profiles = profiles_over (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  const LinkProfile     *link = profile_set_link (profiles, "hand-net", NULL, diags);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fit self = fit_sheet (network_sheet (link->bandwidth.value, cases[i].slower), "hand-net");
      const FittedValue *queue = find_value (&self, "queue");

      ck_assert_str_eq (self.calibration->kind, "link");
      ck_assert (profile_calibration_is_good (self.calibration));
      expect_network (&self, i == 2 ? 0.95 / 1.4 : 0.95);
      ck_assert_pstr_eq (find_value (&self, "serial_exchange")->text, cases[i].serial);
      ck_assert_pstr_eq (queue->why, cases[i].why);
      fit_clear (&self);
    }
}
END_TEST

/*
 * Small messages that a bucket lets through at once say nothing of the latency; without broadcasts
 * serial exchanges are not seen.
 */
START_TEST (test_network_bursts)
{
  Sheet sheet = sheet_new ("");
  Fit   self;

  put_bytes (&sheet, "collective,sendrecv", 1024, 2, 0.5);
  put_bytes (&sheet, "collective,sendrecv", 1 << 20, 2, 1100);
  put_bytes (&sheet, "collective,sendrecv", 1 << 22, 2, 4400);
  self = fit_sheet (sheet, "hand-net");
  ck_assert (profile_calibration_is_good (self.calibration));
  expect_refused (&self, "latency", FIT_TOO_LITTLE,
                  "small messages are faster than the rate of large ones: a burst");
  expect_refused (&self, "serial_exchange", FIT_TOO_LITTLE, "not measured");
  fit_clear (&self);
}
END_TEST

/* The words beside the figures load as well. */
START_TEST (test_network_written)
{
  Fit                    self = fit_sheet (network_sheet (1e9, 1), "hand-net");
  g_autofree char       *file = g_build_filename (self.folder, "link", "hand-net.yaml", NULL);
  g_autofree char       *folder = g_path_get_dirname (file);
  g_autoptr (GError)     error = NULL;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = NULL;
  const LinkProfile     *link;

  ck_assert_msg (profile_calibration_write (self.calibration, file, &error), "%s",
                 error != NULL ? error->message : "");
  profiles = profiles_over (self.folder);
  link = profile_set_link (profiles, "hand-net", NULL, diags);
  ck_assert_msg (link != NULL, "%s", diag_list_first_message (diags));
  ck_assert_double_eq (link->efficiency.value, 0.95);
  ck_assert_double_eq_tol (link->latency.value, 50e-6, 1e-10);
  ck_assert (!link->serial_exchange);
  ck_assert_double_eq (link->queue.value, 0);
  ck_assert_ptr_nonnull (link->queue.source);
  ck_assert_int_eq (g_unlink (file) + g_rmdir (folder), 0);
  fit_clear (&self);
}
END_TEST

/*
 * Adam: 5 us and 2e9 parameters a second of 30 bytes each. A drive: 1 GB/s with one request in
 * flight, 3 GB/s with eight; writes past the page cache at 0.5 GB/s, through it at 9.
 */
static Sheet
host_sheet (const char *device)
{
  Sheet self = sheet_new (device);

  for (double x = 1 << 20; x < 1e8; x *= 2)
    {
      put_bytes (&self, "host_work,adam", x, 0, 5 + x / 60e3);
      put_bytes (&self, "host_work,sum", x, 0, 5 + x / 70e3);
      put_block (&self, "read", x, 100 + x / 1e3, "direct");
      put_block (&self, "read.8", x, 10 + x / 3e3, "direct; page-locked");
      put_block (&self, "write", x, 100 + x / 0.5e3, "direct");
      put_block (&self, "write.8", x, 10 + x / 9e3, "page cache in play");
    }
  return self;
}

static Fit
fit_host (Sheet sheet, const char *base)
{
  Fit                  self = fit_sheet (sheet, *sheet.device != '\0' ? "hand" : "hand-net");
  g_autoptr (DiagList) diags = diag_list_new ();

  profile_calibration_free (self.calibration);
  profile_set_free (self.profiles);
  self.profiles = profile_set_new (NULL);
  self.calibration = calibrate_profile (self.results, self.profiles, "node", base, diags);
  ck_assert_msg (self.calibration != NULL, "%s", diag_list_first_message (diags));
  return self;
}

/* The same of a host with a GPU and of one without. */
START_TEST (test_host)
{
  Fit self = fit_host (host_sheet (_i == 0 ? "" : "Example GPU"), "dgx-2");

  ck_assert (profile_calibration_is_good (self.calibration));
  expect (&self, "cpu_adam_rate", 2e9, 7);
  expect (&self, "nvme_read", 3e9, 7);
  expect (&self, "nvme_write", 0.5e9, 7);
  ck_assert_ptr_null (self.calibration->products);
  fit_clear (&self);
}
END_TEST

START_TEST (test_host_lacks)
{
  Sheet sheet = sheet_new ("");
  Fit   self;

  for (double x = 1 << 20; x < 1e8; x *= 2)
    put_block (&sheet, "read", x, x / 9e3, "page cache in play");
  self = fit_host (sheet, "dgx-2");
  ck_assert (!profile_calibration_is_good (self.calibration));
  expect_refused (&self, "cpu_adam_rate", FIT_TOO_LITTLE, "not measured");
  expect_refused (&self, "nvme_read", FIT_TOO_LITTLE, "not measured past the page cache");
  fit_clear (&self);
  self = fit_host (host_sheet (""), "perlmutter");
  expect (&self, "cpu_adam_rate", 2e9, 7);
  expect_refused (&self, "nvme_read", FIT_TOO_LITTLE,
                  "'perlmutter' has no drives: extend a profile with 'nvme_bytes'");
  fit_clear (&self);
}
END_TEST

/* The node's machine is the host, whatever GPU it has. */
START_TEST (test_host_written)
{
  Fit              self = fit_host (host_sheet ("Example GPU"), "dgx-2");
  g_autofree char *file = g_build_filename (self.folder, "node", "dgx-2.yaml", NULL);
  g_autofree char *folder = g_path_get_dirname (file), *text = NULL, *path = NULL;
  g_autofree char *shipped =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "hwprofiles", NULL);
  g_autoptr (GError)     error = NULL;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = NULL;
  const NodeProfile     *node;

  ck_assert_msg (profile_calibration_write (self.calibration, file, &error), "%s",
                 error != NULL ? error->message : "");
  ck_assert (g_file_get_contents (file, &text, NULL, NULL));
  ck_assert_ptr_nonnull (strstr (text, "as measured on example"));
  ck_assert_ptr_nonnull (strstr (text, "shardsim-bench on example, "));
  path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, self.folder, shipped, NULL);
  profiles = profile_set_new (path);
  node = profile_set_node (profiles, "dgx-2", NULL, diags);
  ck_assert_msg (node != NULL, "%s", diag_list_first_message (diags));
  ck_assert_double_eq_tol (node->cpu_adam_rate.value, 2e9, 1);
  ck_assert_double_eq_tol (node->nvme_read.value, 3e9, 1e3);
  ck_assert_int_eq (g_unlink (file) + g_rmdir (folder), 0);
  fit_clear (&self);
}
END_TEST

static char *
guess (const char *device, const char *hint)
{
  BenchResults           results = { .device = device };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  char *id = calibrate_profile_guess (&results, profiles, calibrate_profile_kind (&results), diags);
  g_autofree char *text = diag_list_format (diags, FALSE);

  if (id == NULL)
    ck_assert_msg (strstr (text, hint) != NULL, "%s", text);
  return id;
}

START_TEST (test_guess)
{
  const char *const good[][2] = { { "NVIDIA H200", "h200-sxm-141" },
                                  { "NVIDIA H200 NVL", "h200-nvl-141" },
                                  { "NVIDIA A100-PCIE-40GB", "a100-pcie-40" },
                                  { "NVIDIA A100-SXM4-80GB", "a100-sxm-80" },
                                  { "NVIDIA A40", "a40-48" },
                                  { "Tesla T4", "t4-16" } };

  for (guint i = 0; i < G_N_ELEMENTS (good); i++)
    {
      g_autofree char *id = guess (good[i][0], NULL);

      ck_assert_msg (g_strcmp0 (id, good[i][1]) == 0, "%s: %s", good[i][0], id);
    }
  ck_assert_ptr_null (
      guess ("NVIDIA H100",
             "--extends: h100-gt-96, h100-nvl-94, h100-pcie-80, h100-sxm-64, h100-sxm-80\n"));
  ck_assert_ptr_null (guess ("Example GPU", "--extends: a10-24, a100-pcie-40, "));
  ck_assert_ptr_null (guess ("", "which link"));
}
END_TEST

SUITE_MAIN (profile)
{
  Suite *suite = suite_create ("calibrate-profile");
  TCase *tcase = tcase_create ("all");

  suite_add_tcase (suite, tcase);
  tcase_add_test (tcase, test_device);
  tcase_add_loop_test (tcase, test_units, 0, 2);
  tcase_add_test (tcase, test_attention);
  tcase_add_test (tcase, test_hiccups);
  tcase_add_test (tcase, test_slice);
  tcase_add_test (tcase, test_outliers);
  tcase_add_test (tcase, test_too_little);
  tcase_add_test (tcase, test_contradictions);
  tcase_add_test (tcase, test_written);
  tcase_add_test (tcase, test_not_written);
  tcase_add_test (tcase, test_network);
  tcase_add_test (tcase, test_network_bursts);
  tcase_add_test (tcase, test_network_written);
  tcase_add_loop_test (tcase, test_host, 0, 2);
  tcase_add_test (tcase, test_host_lacks);
  tcase_add_test (tcase, test_host_written);
  tcase_add_test (tcase, test_guess);
  return suite_run (suite);
}
