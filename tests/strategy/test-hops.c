/*
 * What every strategy sends: kind and group of each hop, in which passes of which micro-steps, as
 * what it is encoded, on which communicator and which stream. Written down by hand from the
 * systems' code and papers (docs/strategies has the sources), read off emitted schedules, of all
 * roles. Neither a policy nor a closed form is looked at: both would agree with a wrong row.
 *
 * Not asserted: bytes (test-sharded, test-offload, the closed forms), order (test-order), time.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "hop-rows.h"
#include "small-llama.h"

#define MAX_STEPS 16

/* ---- read off -------------------------------------------------------------------------------- */

typedef struct
{
  char   *what, *where;  /* "all_gather 2", "node, on all_gather" */
  guint64 in[MAX_STEPS]; /* of a step: phase_bit of each op */
} Hop;

static guint64
phase_bit (guint phase, guint micro)
{
  return (guint64) 1 << (8 * phase + micro);
}

static void
hop_free (gpointer data)
{
  Hop *self = data;

  g_free (self->what);
  g_free (self->where);
  g_free (self);
}

static char *
what_of (const Schedule *schedule, const ScheduleItem *item)
{
  GString            *text = g_string_new (NULL);
  const ScheduleComm *comm;

  if (item->kind == ITEM_MOVE)
    {
      g_string_append (text, move_kind_name (item->collective));
      return g_string_free (text, FALSE);
    }
  comm = schedule_comm_info (schedule, item->ref);
  g_string_append_printf (text, "%s %u", collective_kind_name (item->collective), comm->group.size);
  if (comm->group.stride > 1)
    g_string_append_printf (text, " every %u", comm->group.stride);
  if (item->codec != NULL)
    g_string_append_printf (text, " %s", item->codec->name);
  return g_string_free (text, FALSE);
}

static char *
where_of (const Schedule *schedule, const ScheduleItem *item)
{
  const char         *stream = schedule_stream_info (schedule, item->stream)->name;
  const ScheduleComm *comm;

  if (item->kind == ITEM_MOVE)
    return g_strdup_printf ("on %s", stream);
  comm = schedule_comm_info (schedule, item->ref);
  return g_strdup_printf ("%s%s, on %s", comm->name,
                          comm->transport == TRANSPORT_HOST ? " of hosts" : "", stream);
}

/* The hop of HOPS that ITEM is one of. */
static Hop *
hop_of (GPtrArray *hops, const Schedule *schedule, const ScheduleItem *item)
{
  g_autofree char *what = what_of (schedule, item), *where = where_of (schedule, item);
  Hop             *hop;

  for (guint i = 0; i < hops->len; i++)
    {
      hop = g_ptr_array_index (hops, i);
      if (g_str_equal (hop->what, what) && g_str_equal (hop->where, where))
        return hop;
    }
  hop = g_new0 (Hop, 1);
  hop->what = g_steal_pointer (&what);
  hop->where = g_steal_pointer (&where);
  g_ptr_array_add (hops, hop);
  return hop;
}

static GPtrArray *
read_hops (const Schedule *schedule, guint role)
{
  ScheduleItems        items = schedule_items (schedule, role, SECTION_STEADY);
  GPtrArray           *hops = g_ptr_array_new_with_free_func (hop_free);
  guint                n_micros, at = 0, micro = 0, step = 0;
  const ScheduleMicro *micros = schedule_micros (schedule, role, SECTION_STEADY, &n_micros);

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];

      for (; at < n_micros && micros[at].item <= i; at++)
        micro = micros[at].micro;
      step += item->kind == ITEM_STEP;
      micro = item->kind == ITEM_STEP ? 0 : micro;
      if (item->kind != ITEM_COLLECTIVE && item->kind != ITEM_MOVE)
        continue;
      ck_assert_uint_lt (step, MAX_STEPS);
      hop_of (hops, schedule, item)->in[step] |= phase_bit (item->phase, micro);
    }
  return hops;
}

/* ---- in words -------------------------------------------------------------------------------- */

/* " F123 B3": passes of micro-steps. */
static void
append_passes (GString *text, guint64 in)
{
  static const char letters[PHASE_N] = { '?', 'F', 'R', 'B', 'O', 'X' };

  for (guint phase = 0; phase < PHASE_N; phase++)
    {
      if ((in >> (8 * phase) & 255) == 0)
        continue;
      g_string_append_printf (text, " %c", letters[phase]);
      for (guint micro = 0; micro < 8 && phase < PHASE_OPTIMIZER; micro++)
        if ((in & phase_bit (phase, micro)) > 0)
          g_string_append_printf (text, "%u", micro + 1);
    }
}

static gboolean
is_of_exchange (const Hop *hop, guint n_steps)
{
  for (guint step = 0; step < n_steps; step++)
    if (hop->in[step] != 0)
      return hop->in[step] >> (8 * PHASE_OUTER) > 0;
  return FALSE;
}

static char *
text_of (const Hop *hop, guint n_steps)
{
  GString *text = g_string_new (hop->what);

  g_string_append_c (text, ':');
  if (is_of_exchange (hop, n_steps))
    {
      for (guint step = 0; step < n_steps; step++)
        if (hop->in[step] != 0)
          g_string_append_printf (text, " X%u", step + 1);
    }
  else
    {
      for (guint step = 1; step < n_steps; step++) /* the inner strategy's steps are alike */
        ck_assert_uint_eq (hop->in[step], hop->in[0]);
      append_passes (text, hop->in[0]);
    }
  g_string_append_printf (text, ", %s", hop->where);
  return g_string_free (text, FALSE);
}

static gint
compare_texts (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

static char *
sorted (GPtrArray *lines)
{
  g_ptr_array_sort (lines, compare_texts);
  g_ptr_array_add (lines, NULL);
  return g_strjoinv ("\n", (char **) lines->pdata);
}

static char *
hops_of (const Schedule *schedule, guint role)
{
  g_autoptr (GPtrArray) hops = read_hops (schedule, role);
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < hops->len; i++)
    g_ptr_array_add (lines,
                     text_of (g_ptr_array_index (hops, i), schedule_steps_per_period (schedule)));
  return sorted (lines);
}

static char *
written (const char *hops)
{
  g_auto (GStrv)        words = g_strsplit (hops, "\n", -1);
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);

  for (char **word = words; *word != NULL; word++)
    if (**word != '\0')
      g_ptr_array_add (lines, g_strdup (*word));
  return sorted (lines);
}

/* ---- the test -------------------------------------------------------------------------------- */

typedef struct
{
  Workload *workload;
  gpointer  options[2];
  Schedule *schedule;
} Built;

static Built
build (const System *system, const char *inner, const char *training)
{
  const Strategy      *outer = strategy_find (system->strategy);
  const Strategy      *under = inner != NULL ? strategy_find (inner) : NULL;
  g_autofree char     *text = g_strdup_printf ("grad_accum=3%s%s", training != NULL ? ";" : "",
                                           training != NULL ? training : "");
  Built                self = { .workload = llama_trained (3, text) };
  const PlanInput      in = { .workload = self.workload,
                              .mesh = { .n_ranks = 8, .ranks_per_node = 2, .world = 8 } };
  StrategyChoice       inside = { under, NULL, NULL };
  StrategyChoice       choice = { outer, NULL, under != NULL ? &inside : NULL };
  g_autoptr (DiagList) diags = diag_list_new ();

  choice.options = self.options[0] = g_malloc0 (outer->options_size);
  set_options (outer, self.options[0], system->options);
  if (under != NULL)
    {
      inside.options = self.options[1] = g_malloc0 (under->options_size);
      set_options (under, self.options[1], "");
    }
  self.schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (self.schedule != NULL && schedule_check (self.schedule, &in.mesh, NULL, diags),
                 "%s", diag_list_first_message (diags));
  option_table_clear (outer->options, self.options[0]);
  if (under != NULL)
    option_table_clear (under->options, self.options[1]);
  return self;
}

static void
built_clear (Built *self)
{
  schedule_free_all (self->schedule);
  workload_free (self->workload);
  g_free (self->options[0]);
  g_free (self->options[1]);
}

static void
assert_hops (const System *system, const char *inner, const char *others, const char *training)
{
  Built built = build (system, inner, training);

  for (guint role = 0; role < schedule_n_roles (built.schedule); role++)
    {
      g_autofree char *want = written (role > 0 && others != NULL ? others : system->hops);
      g_autofree char *got = hops_of (built.schedule, role);

      ck_assert_msg (g_str_equal (got, want), "%s %s, role %u:\n%s\nby hand:\n%s", system->strategy,
                     system->options, role, got, want);
    }
  ck_assert_uint_eq (schedule_n_roles (built.schedule), others != NULL ? 2 : 1);
  built_clear (&built);
}

START_TEST (test_hops)
{
  assert_hops (&hop_rows[_i], NULL, NULL, NULL);
}
END_TEST

START_TEST (test_nested)
{
  assert_hops (&hop_rows_nested[_i].system, hop_rows_nested[_i].inner, hop_rows_nested[_i].others,
               hop_rows_nested[_i].training);
}
END_TEST

START_TEST (test_all_strategies)
{
  for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
    {
      gboolean found = FALSE;

      for (guint i = 0; i < hop_rows_n; i++)
        found |= g_str_equal (hop_rows[i].strategy, (*list)->name);
      for (guint i = 0; i < hop_rows_nested_n; i++)
        found |= g_str_equal (hop_rows_nested[i].system.strategy, (*list)->name);
      ck_assert_msg (found, "nobody wrote down what %s sends", (*list)->name);
    }
}
END_TEST

SUITE_MAIN (hops)
{
  Suite *suite = suite_create ("hops");
  TCase *tcase = tcase_create ("all");

  tcase_add_loop_test (tcase, test_hops, 0, hop_rows_n);
  tcase_add_loop_test (tcase, test_nested, 0, hop_rows_nested_n);
  tcase_add_test (tcase, test_all_strategies);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
