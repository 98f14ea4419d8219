/*
 * The pages of docs/worked: the arithmetic, worked anew in arithmetic.c, equals the simulator's
 * results and the figures that the pages print, to the picosecond and the byte. It does not hold
 * the pages' prose and tables of kernels, nor the numbers in them that carry no name.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "arithmetic.h"
#include "predict/prediction.h"

/* ---- pages ----------------------------------------------------------------------------------- */

static char *
worked_path (const char *name)
{
  return g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", name, NULL);
}

static char **
page_lines (const char *name)
{
  g_autofree char *path = worked_path (name), *text = NULL;

  ck_assert_msg (g_file_get_contents (path, &text, NULL, NULL), "cannot read %s", path);
  return g_strsplit (text, "\n", -1);
}

/* "    ddp.step = 121 954 002 ps": TRUE, with the name and the number. */
static gboolean
parse_figure (const char *line, char name[64], guint64 *value)
{
  const char *p = line + strspn (line, " ");
  gsize       n = strcspn (p, " ");

  if (p - line < 4 || n == 0 || n >= 64 || strncmp (p + n, " = ", 3) != 0)
    return FALSE;
  g_strlcpy (name, p, n + 1);
  *value = 0;
  for (p += n + 3; g_ascii_isdigit (*p) || (*p == ' ' && g_ascii_isdigit (p[1])); p++)
    if (*p != ' ')
      *value = *value * 10 + (guint64) (*p - '0');
  return strcmp (p, " ps") == 0 || strcmp (p, " B") == 0;
}

typedef struct
{
  const char *name;
  guint64     value;
} PageFigure;

/* The page states every one of FIGURES once, and no other. */
static void
check_figures (const char *page, const PageFigure *figures, guint n)
{
  g_auto (GStrv)    lines = page_lines (page);
  g_autofree guint *seen = g_new0 (guint, n);

  for (guint i = 0; lines[i] != NULL; i++)
    {
      char    name[64];
      guint64 value;
      guint   f = 0;

      if (!parse_figure (lines[i], name, &value))
        continue;
      while (f < n && strcmp (figures[f].name, name) != 0)
        f++;
      ck_assert_msg (f < n, "%s:%u: unknown figure '%s'", page, i + 1, name);
      ck_assert_msg (value == figures[f].value,
                     "%s:%u: %s = %" G_GUINT64_FORMAT ", by arithmetic %" G_GUINT64_FORMAT, page,
                     i + 1, name, value, figures[f].value);
      seen[f]++;
    }
  for (guint f = 0; f < n; f++)
    ck_assert_msg (seen[f] == 1, "%s states %s %u times", page, figures[f].name, seen[f]);
}

/* The values that the page quotes of the program's JSON for KEY, in order. */
static GArray *
quoted_values (const char *page, const char *key)
{
  g_auto (GStrv)   lines = page_lines (page);
  g_autofree char *prefix = g_strdup_printf ("\"%s\":", key);
  GArray          *values = g_array_new (FALSE, FALSE, sizeof (double));

  for (guint i = 0; lines[i] != NULL; i++)
    {
      const char *p = lines[i] + strspn (lines[i], " ");

      if (g_str_has_prefix (p, prefix))
        {
          double value = g_ascii_strtod (p + strlen (prefix), NULL);

          g_array_append_val (values, value);
        }
    }
  return values;
}

static void
check_quoted (const char *page, const char *key, double unit, const guint64 *want, guint n)
{
  g_autoptr (GArray) values = quoted_values (page, key);

  ck_assert_uint_eq (values->len, n);
  for (guint i = 0; i < n; i++)
    ck_assert_uint_eq ((guint64) (g_array_index (values, double, i) / unit + 0.5), want[i]);
}

/* ---- the simulator --------------------------------------------------------------------------- */

typedef struct
{
  ProfileSet *profiles;
  Replay     *replay;
  Prediction *prediction;
} Simulated;

static Simulated
simulate (const char *file, guint index, gboolean unfolded)
{
  g_autofree char      *path = worked_path (file), *profiles = worked_path ("hwprofiles");
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = scenario_load (NULL, path, NULL, 0, diags);
  g_autoptr (GError)    error = NULL;
  PredictOptions        options = { .unfolded = unfolded, .profile_dir = profiles };
  Simulated             s = { 0 };

  if (all == NULL || index >= all->len)
    ck_abort_msg ("%s", diag_list_format (diags, FALSE));
  s.prediction = predict_with_replay (g_ptr_array_index (all, index), &options, &s.replay,
                                      &s.profiles, diags, &error);
  ck_assert_msg (s.prediction != NULL, "%s",
                 error != NULL ? error->message : diag_list_format (diags, FALSE));
  ck_assert (s.prediction->steady);
  return s;
}

static void
simulated_clear (Simulated *s)
{
  prediction_free (s->prediction);
  replay_free (s->replay);
  profile_set_free (s->profiles);
}

/* Sum of the durations of the first rank's ops of the last period for which MATCHES. */
static SimTime
sum_ops (const Replay *replay, gboolean (*matches) (const Replay *replay, const ScheduleItem *item))
{
  const Engine *engine = replay_engine (replay);
  guint         last = replay_n_boundaries (replay) - 2;
  SimTime       sum = 0;

  for (OpId op = 0; op < engine_n_ops (engine); op++)
    {
      ReplayOp what = replay_op (replay, op);

      if (what.section != SECTION_INIT && what.period == last && what.rank == 0
          && matches (replay, what.item))
        sum += engine_op_record (engine, op)->end - engine_op_record (engine, op)->begin;
    }
  return sum;
}

static gboolean
is_forward_kernel (G_GNUC_UNUSED const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL && item->phase == PHASE_FORWARD;
}

static gboolean
is_backward_kernel (G_GNUC_UNUSED const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL && item->phase == PHASE_BACKWARD;
}

static gboolean
is_optimizer (G_GNUC_UNUSED const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL && item->phase == PHASE_OPTIMIZER;
}

static gboolean
is_all_reduce (G_GNUC_UNUSED const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_ALL_REDUCE;
}

static gboolean
is_reduce_scatter (G_GNUC_UNUSED const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_REDUCE_SCATTER;
}

static gboolean
is_all_gather (const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_ALL_GATHER
         && schedule_comm_info (replay_schedule (replay), item->ref)->group.size == 4;
}

static gboolean
is_node_all_gather (const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_ALL_GATHER
         && schedule_comm_info (replay_schedule (replay), item->ref)->group.size == 2;
}

/* The model's own kernels of the one block, which is the unit between embedding and head. */
static gboolean
is_block_backward (const Replay *replay, const ScheduleItem *item)
{
  return is_backward_kernel (replay, item) && item->unit == 1
         && !g_str_equal (item->kernel->name, "copy_in")
         && !g_str_equal (item->kernel->name, "copy_out")
         && !g_str_equal (item->kernel->name, "reduce_copy_in")
         && !g_str_equal (item->kernel->name, "copy_out_cat")
         && !g_str_equal (item->kernel->name, "reduce_cat")
         && !g_str_equal (item->kernel->name, "gradient_cast");
}

/* The head's own module is the last unit. */
static gboolean
is_head (const Replay *replay, const ScheduleItem *item)
{
  return item->unit == schedule_n_units (replay_schedule (replay)) - 1;
}

static gboolean
is_head_stash (const Replay *replay, const ScheduleItem *item)
{
  return item->kind == ITEM_MOVE && item->collective == move_kind (PLACE_HBM, PLACE_PINNED)
         && is_head (replay, item);
}

static gboolean
is_head_forward (const Replay *replay, const ScheduleItem *item)
{
  return is_forward_kernel (replay, item) && is_head (replay, item);
}

/* ---- cases ----------------------------------------------------------------------------------- */

START_TEST (test_ddp)
{
  WorkedDdp d = worked_ddp ();
  Simulated s = simulate ("1-ddp-two-gpus.yaml", 0, _i == 1);

  ck_assert_uint_eq (replay_period (s.replay), d.step);
  ck_assert_uint_eq (sum_ops (s.replay, is_forward_kernel), d.forward);
  ck_assert_uint_eq (sum_ops (s.replay, is_backward_kernel), d.backward);
  ck_assert_uint_eq (sum_ops (s.replay, is_all_reduce), d.all_reduce);
  ck_assert_uint_eq (sum_ops (s.replay, is_optimizer), d.optimizer);
  ck_assert_uint_eq (s.prediction->hbm.allocated, d.hbm);
  ck_assert_uint_eq (s.prediction->hbm.device - s.prediction->hbm.by_category[POOL_RUNTIME], d.hbm);
  ck_assert_uint_eq (s.prediction->hbm.waiting, 0);
  ck_assert_uint_eq (s.prediction->host.device, 0);
  ck_assert_double_eq (s.prediction->inter_node_bytes_per_gpu, 0);
  simulated_clear (&s);
}
END_TEST

START_TEST (test_ddp_page)
{
  WorkedDdp        d = worked_ddp ();
  const PageFigure figures[] = { { "ddp.forward", d.forward },
                                 { "ddp.backward", d.backward },
                                 { "ddp.all_reduce", d.all_reduce },
                                 { "ddp.optimizer", d.optimizer },
                                 { "ddp.step", d.step },
                                 { "ddp.hbm", d.hbm } };
  const char      *page = "1-ddp-two-gpus.md";

  check_figures (page, figures, G_N_ELEMENTS (figures));
  check_quoted (page, "step_time_s", 1e-12, &d.step, 1);
  check_quoted (page, "inter_node_bytes_per_gpu", 1, (const guint64[]){ 0 }, 1);
  check_quoted (page, "peak_bytes", 1, (const guint64[]){ d.hbm, 0 }, 2);
}
END_TEST

START_TEST (test_zero3)
{
  WorkedFcdp d = worked_fcdp ();
  Simulated  s = simulate ("2-fcdp-two-nodes.yaml", 0, _i == 1);

  ck_assert_str_eq (s.prediction->strategy, "zero3");
  ck_assert_uint_eq (replay_period (s.replay), d.zero3_step);
  ck_assert_uint_eq (sum_ops (s.replay, is_all_gather), 2 * d.all_gathers);
  ck_assert_uint_eq (sum_ops (s.replay, is_reduce_scatter), d.reduce_scatter);
  ck_assert_uint_eq (s.prediction->hbm.allocated, d.zero3_allocated);
  ck_assert_uint_eq (s.prediction->hbm.device - s.prediction->hbm.by_category[POOL_RUNTIME],
                     d.zero3_device);
  ck_assert_uint_eq (s.prediction->hbm.waiting, d.zero3_waiting);
  ck_assert_uint_eq (s.prediction->host.device, 0);
  ck_assert_double_eq (s.prediction->inter_node_bytes_per_gpu, (double) d.zero3_inter_node);
  simulated_clear (&s);
}
END_TEST

START_TEST (test_fcdp)
{
  WorkedFcdp d = worked_fcdp ();
  Simulated  s = simulate ("2-fcdp-two-nodes.yaml", 1, _i == 1);

  ck_assert_str_eq (s.prediction->strategy, "fcdp");
  ck_assert_uint_eq (replay_period (s.replay), d.fcdp_step);
  ck_assert_uint_eq (sum_ops (s.replay, is_all_gather), d.all_gathers);
  ck_assert_uint_eq (sum_ops (s.replay, is_node_all_gather), d.node_all_gathers);
  ck_assert_uint_eq (sum_ops (s.replay, is_reduce_scatter), d.reduce_scatter);
  ck_assert_uint_eq (sum_ops (s.replay, is_head_stash), d.head_copy);
  ck_assert_uint_eq (sum_ops (s.replay, is_head_forward), d.head_forward);
  ck_assert_uint_eq (s.prediction->hbm.allocated, d.fcdp_allocated);
  ck_assert_uint_eq (s.prediction->hbm.device - s.prediction->hbm.by_category[POOL_RUNTIME],
                     d.fcdp_device);
  ck_assert_uint_eq (s.prediction->hbm.waiting, d.fcdp_waiting);
  ck_assert_uint_eq (s.prediction->host.device, d.fcdp_host);
  ck_assert_double_eq (s.prediction->inter_node_bytes_per_gpu, (double) d.fcdp_inter_node);
  simulated_clear (&s);
}
END_TEST

START_TEST (test_fcdp_page)
{
  WorkedFcdp       d = worked_fcdp ();
  const PageFigure figures[] = { { "all_gathers", d.all_gathers },
                                 { "reduce_scatter", d.reduce_scatter },
                                 { "node_all_gathers", d.node_all_gathers },
                                 { "head_copy", d.head_copy },
                                 { "head_forward", d.head_forward },
                                 { "tail", d.tail },
                                 { "zero3.step", d.zero3_step },
                                 { "fcdp.step", d.fcdp_step },
                                 { "zero3.inter_node", d.zero3_inter_node },
                                 { "fcdp.inter_node", d.fcdp_inter_node },
                                 { "zero3.allocated", d.zero3_allocated },
                                 { "zero3.waiting", d.zero3_waiting },
                                 { "zero3.device", d.zero3_device },
                                 { "fcdp.allocated", d.fcdp_allocated },
                                 { "fcdp.waiting", d.fcdp_waiting },
                                 { "fcdp.device", d.fcdp_device },
                                 { "fcdp.host", d.fcdp_host } };
  const guint64    steps[] = { d.zero3_step, d.fcdp_step };
  const guint64    bytes[] = { d.zero3_inter_node, d.fcdp_inter_node };
  const guint64    peaks[] = { d.zero3_device, 0, d.fcdp_device, d.fcdp_host };
  const guint64    waiting[] = { d.zero3_waiting, 0, d.fcdp_waiting, 0 };
  const char      *page = "2-fcdp-two-nodes.md";

  check_figures (page, figures, G_N_ELEMENTS (figures));
  check_quoted (page, "step_time_s", 1e-12, steps, 2);
  check_quoted (page, "inter_node_bytes_per_gpu", 1, bytes, 2);
  check_quoted (page, "peak_bytes", 1, peaks, 4);
  check_quoted (page, "waiting_bytes", 1, waiting, 4);
}
END_TEST

START_TEST (test_offload)
{
  WorkedOffload d = worked_offload ();
  Simulated     s = simulate ("3-offload-one-gpu.yaml", 0, _i == 1);

  ck_assert_uint_eq (replay_period (s.replay), d.step);
  ck_assert_uint_eq (sum_ops (s.replay, is_block_backward), d.block_backward);
  ck_assert_uint_eq (s.prediction->hbm.allocated, d.allocated);
  ck_assert_uint_eq (s.prediction->hbm.device - s.prediction->hbm.by_category[POOL_RUNTIME],
                     d.device);
  ck_assert_uint_eq (s.prediction->hbm.waiting, d.waiting);
  ck_assert_uint_eq (s.prediction->host.device, d.host);
  ck_assert_double_eq (s.prediction->host_link_bytes_per_gpu, (double) d.host_link);
  simulated_clear (&s);
}
END_TEST

START_TEST (test_offload_page)
{
  WorkedOffload    d = worked_offload ();
  const PageFigure figures[] = { { "offload.forward", d.forward },
                                 { "offload.fetch", d.fetch },
                                 { "offload.block_backward", d.block_backward },
                                 { "offload.gradients", d.gradients },
                                 { "offload.step", d.step },
                                 { "offload.host_link", d.host_link },
                                 { "offload.host", d.host },
                                 { "offload.allocated", d.allocated },
                                 { "offload.waiting", d.waiting },
                                 { "offload.device", d.device } };
  const char      *page = "3-offload-one-gpu.md";

  check_figures (page, figures, G_N_ELEMENTS (figures));
  check_quoted (page, "step_time_s", 1e-12, &d.step, 1);
  check_quoted (page, "host_link_bytes_per_gpu", 1, &d.host_link, 1);
  check_quoted (page, "peak_bytes", 1, (const guint64[]){ d.device, d.host }, 2);
}
END_TEST

SUITE_MAIN (worked)
{
  Suite *suite = suite_create ("worked");
  TCase *tcase = tcase_create ("pages");

  tcase_add_loop_test (tcase, test_ddp, 0, 2); /* folded, unfolded */
  tcase_add_test (tcase, test_ddp_page);
  tcase_add_loop_test (tcase, test_zero3, 0, 2);
  tcase_add_loop_test (tcase, test_fcdp, 0, 2);
  tcase_add_test (tcase, test_fcdp_page);
  tcase_add_loop_test (tcase, test_offload, 0, 2);
  tcase_add_test (tcase, test_offload_page);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
