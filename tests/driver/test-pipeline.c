/*
 * Pipeline schedules against the closed forms of their papers: a list scheduler runs the slots of
 * all stages in their order with given times and no communication; bubbles and activations held
 * must be what the papers say. And messages: every receive has its send, in the order of both ends.
 * That no call waits for ever is the checker's business (schedule-check).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "driver/oracle/expect-private.h"
#include "driver/walk/pipeline-slots.h"

typedef struct
{
  guint forward, input, weight; /* of a stage, whatever its chunks */
} Times;

static guint
time_of (const Pipeline *p, const Times *t, const PipelineSlot *slot)
{
  static const gboolean parts[][3] = {
    [PASS_FORWARD] = { 1, 0, 0 },
    [PASS_BACKWARD] = { 0, 1, 1 },
    [PASS_INPUT] = { 0, 1, 0 },
    [PASS_WEIGHT] = { 0, 0, 1 },
  };
  guint sum = parts[slot->pass][0] * t->forward + parts[slot->pass][1] * t->input
              + parts[slot->pass][2] * t->weight;
  guint share = p->kind == PIPELINE_DUALPIPE ? 1 : p->chunks; /* multiples of the chunks */

  ck_assert_uint_eq (sum % share, 0);
  return sum / share;
}

/* ---- a list scheduler ------------------------------------------------------------------------ */

typedef struct
{
  guint  bubble;  /* most that a stage idles between its first and last slot */
  guint  length;  /* from the first slot of all to the last */
  double held[2]; /* most activations on the first and on any stage, in micro-batches of a stage */
} Outcome;

typedef struct
{
  const Pipeline *p;
  GArray         *slots[16];
  guint           at[16];
  guint ends[3][16][8][512]; /* forward, input gradient, weight gradient: 1 + time, 0 = not yet */
  guint ready[16], begin[16];
} Lists;

/* When SLOT's input is there: 1 + time, 0 = not yet. */
static guint
input_ready (const Lists *self, guint stage, const PipelineSlot *slot)
{
  gboolean      forward = slot->pass == PASS_FORWARD;
  PipelinePlace at = { stage, slot->chunk }, from;
  guint own = forward ? 1 : self->ends[slot->pass == PASS_WEIGHT][stage][slot->chunk][slot->micro];
  guint other = 1;

  if (slot->pass != PASS_WEIGHT
      && (forward ? pipeline_previous (self->p, at, &from) : pipeline_next (self->p, at, &from)))
    other = self->ends[!forward][from.stage][from.chunk][slot->micro];
  return own == 0 || other == 0 ? 0 : MAX (own, other);
}

static void
run_slot (Lists *self, const Times *times, guint stage, const PipelineSlot *slot, guint ready)
{
  guint begin = MAX (self->ready[stage], ready - 1), end = begin + time_of (self->p, times, slot);

  if (self->at[stage] == 0)
    self->begin[stage] = begin;
  if (slot->pass == PASS_FORWARD)
    self->ends[0][stage][slot->chunk][slot->micro] = 1 + end;
  if (slot->pass == PASS_BACKWARD || slot->pass == PASS_INPUT)
    self->ends[1][stage][slot->chunk][slot->micro] = 1 + end;
  if (slot->pass == PASS_BACKWARD || slot->pass == PASS_WEIGHT)
    {
      ck_assert_uint_eq (self->ends[2][stage][slot->chunk][slot->micro], 0); /* once */
      self->ends[2][stage][slot->chunk][slot->micro] = 1 + end;
    }
  self->ready[stage] = end;
  self->at[stage]++;
}

/*
 * dualpipe runs a forward and a backward pass of the other direction as one, which is over when
 * both are.
 */
static gboolean
run_pair (Lists *self, const Times *times, guint stage, const PipelineSlot *slot)
{
  guint       ready = MAX (input_ready (self, stage, slot), input_ready (self, stage, slot + 1));
  guint       begin = MAX (self->ready[stage] + 1, ready);
  const Times sum = { 0, times->forward + times->input, times->weight };
  const Times none = { 0, 0, 0 };

  if (input_ready (self, stage, slot) == 0 || input_ready (self, stage, slot + 1) == 0)
    return FALSE;
  run_slot (self, &sum, stage, slot + 1, begin);
  run_slot (self, &none, stage, slot, self->ready[stage] + 1);
  return TRUE;
}

static gboolean
is_pair (const Lists *self, guint stage)
{
  const PipelineSlot *slot = &g_array_index (self->slots[stage], PipelineSlot, self->at[stage]);

  return self->p->kind == PIPELINE_DUALPIPE && slot->pass == PASS_FORWARD
         && slot[1].pass == PASS_BACKWARD && slot[1].chunk != slot->chunk;
}

static double
held_on (const Lists *self, guint stage)
{
  gint now = 0, most = 0;

  for (guint i = 0; i < self->slots[stage]->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (self->slots[stage], PipelineSlot, i);

      now += slot->pass == PASS_FORWARD ? 1 : slot->pass == PASS_INPUT ? 0 : -1;
      most = MAX (most, now);
    }
  ck_assert_int_eq (now, 0);
  return (double) most / (self->p->kind == PIPELINE_DUALPIPE ? 1 : self->p->chunks);
}

static void
finish_lists (Lists *self, const Times *times, Outcome *outcome)
{
  guint work = self->p->micros * (times->forward + times->input + times->weight);

  for (guint s = 0; s < self->p->stages; s++)
    {
      guint span = self->ready[s] - self->begin[s];

      for (guint c = 0; c < self->p->chunks; c++)
        for (guint m = 0; m < pipeline_chunk_micros (self->p); m++)
          ck_assert_uint_gt (self->ends[2][s][c][m], 0);
      outcome->bubble = MAX (outcome->bubble, span - work);
      outcome->length = MAX (outcome->length, self->ready[s]);
      outcome->held[1] = MAX (outcome->held[1], held_on (self, s));
      g_array_unref (self->slots[s]);
    }
}

static Outcome
run_lists (const Pipeline *p, Times times)
{
  g_autofree Lists *self = g_new0 (Lists, 1);
  Outcome           outcome = { 0 };
  gboolean          moved = TRUE;

  self->p = p;
  for (guint s = 0; s < p->stages; s++)
    self->slots[s] = pipeline_slots (p, s);
  outcome.held[0] = held_on (self, 0);
  while (moved)
    {
      moved = FALSE;
      for (guint s = 0; s < p->stages; s++)
        for (; self->at[s] < self->slots[s]->len; moved = TRUE)
          {
            const PipelineSlot *slot = &g_array_index (self->slots[s], PipelineSlot, self->at[s]);
            guint               ready = input_ready (self, s, slot);

            if (is_pair (self, s))
              {
                if (!run_pair (self, &times, s, slot))
                  break;
                continue;
              }
            if (ready == 0)
              break;
            run_slot (self, &times, s, slot, ready);
          }
    }
  finish_lists (self, &times, &outcome);
  return outcome;
}

/* ---- closed forms ---------------------------------------------------------------------------- */

static const Times sets_of_times[] = { { 1, 1, 1 }, { 2, 3, 1 }, { 5, 7, 4 } };

#define FOR_TIMES(t) \
  for (const Times *t = sets_of_times; t < sets_of_times + G_N_ELEMENTS (sets_of_times); t++)

/* (p - 1)(F + B + W) both; gpipe holds m micro-batches, 1f1b min (p, m) (arXiv:2104.04473, 2.2). */
START_TEST (gpipe_and_1f1b)
{
  for (guint p = 1; p <= 12; p++)
    for (guint m = 1; m <= 30; m++)
      FOR_TIMES (t)
      {
        const Pipeline gpipe = { PIPELINE_GPIPE, p, 1, m, 0, FALSE },
                       f1b1 = { PIPELINE_1F1B, p, 1, m, 0, FALSE };
        Outcome a = run_lists (&gpipe, *t), b = run_lists (&f1b1, *t);
        guint   sum = t->forward + t->input + t->weight;

        ck_assert_uint_eq (a.bubble, (p - 1) * sum);
        ck_assert_uint_eq (b.bubble, (p - 1) * sum);
        ck_assert_uint_eq (a.length, (m + p - 1) * sum);
        ck_assert_uint_eq (b.length, (m + p - 1) * sum);
        ck_assert_double_eq (a.held[1], m);
        ck_assert_double_eq (b.held[0], MIN (p, m));
        ck_assert_double_eq (b.held[1], MIN (p, m));
      }
}
END_TEST

/*
 * 1 / v of the bubble; p (1 + (p - 1) / (p v)) micro-batches on the first stage (arXiv:2104.04473,
 * 2.2; arXiv:2205.05198, 4.2.3).
 */
START_TEST (interleaved)
{
  for (guint p = 2; p <= 8; p++)
    for (guint v = 2; v <= 4; v++)
      for (guint groups = 1; groups <= 5; groups++)
        FOR_TIMES (t)
        {
          const Pipeline pipeline = { PIPELINE_INTERLEAVED, p, v, p * groups, 0, FALSE };
          Times          times = { t->forward * v, t->input * v, t->weight * v };
          Outcome        got = run_lists (&pipeline, times);

          ck_assert_uint_eq (got.bubble, (p - 1) * (t->forward + t->input + t->weight));
          ck_assert_double_eq_tol (got.held[0], groups == 1 ? p : p * (1 + (p - 1.0) / (p * v)),
                                   1e-12);
        }
}
END_TEST

/* Slots of STAGE as text: F or B, micro-batch, chunk as a letter. */
static char *
slots_text (const Pipeline *p, guint stage)
{
  g_autoptr (GArray) slots = pipeline_slots (p, stage);
  GString           *text = g_string_new (NULL);

  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);

      g_string_append_printf (text, "%s%c%u%c", i > 0 ? " " : "", "FBIW"[slot->pass], slot -> micro,
                              'a' + slot->chunk);
    }
  return g_string_free (text, FALSE);
}

/*
 * Megatron-Core's example (schedules.py, get_schedule_table): two stages of two chunks, five
 * micro-batches in groups of three. Both stages have the order 0 1 2, 0 1 2, 3 4, 3 4; the first
 * warms up with 2 (2 - 0 - 1) + (2 - 1) 3 = 5 passes, the last with 3.
 */
START_TEST (groups_of_three)
{
  const Pipeline   pipeline = { PIPELINE_INTERLEAVED, 2, 2, 5, 3, FALSE };
  g_autofree char *first = slots_text (&pipeline, 0), *last = slots_text (&pipeline, 1);

  ck_assert_str_eq (first, "F0a F1a F2a F0b F1b F2b B0b F3a B1b F4a B2b F3b B0a F4b B1a B2a B3b "
                           "B4b B3a B4a");
  ck_assert_str_eq (last, "F0a F1a F2a F0b B0b F1b B1b F2b B2b F3a B0a F4a B1a F3b B2a F4b B3b "
                          "B4b B3a B4a");
}
END_TEST

/*
 * Groups of n >= p micro-batches, the last of n or of p to n - 1: the bubble of groups of p; stage
 * s holds 2 (p - s - 1) + (v - 1) n + 1 chunks' activations (Megatron-Core's warm-up and one pass
 * more), never more than there are.
 */
START_TEST (interleaved_groups)
{
  for (guint p = 2; p <= 6; p++)
    for (guint v = 2; v <= 4; v++)
      for (guint n = p; n <= 3 * p; n++)
        for (guint m = 2 * n; m <= 3 * n; m++)
          {
            const Pipeline pipeline = { PIPELINE_INTERLEAVED, p, v, m, n, FALSE };
            Outcome        got;

            if (m % n > 0 && m % n < p)
              continue;
            got = run_lists (&pipeline, (Times){ 2 * v, 3 * v, v });
            ck_assert_uint_eq (got.bubble, (p - 1) * (2 + 3 + 1));
            ck_assert_double_eq_tol (
                got.held[0], MIN (2.0 * (p - 1) + (v - 1) * n + 1, (double) v * m) / v, 1e-12);
          }
}
END_TEST

/*
 * One group of fewer micro-batches than stages: each of the v chunks is over before the first
 * micro-batch is back for the next one, p - m passes later. A step is as long as one micro-batch
 * through all of the model and back, and m - 1 more behind it.
 */
START_TEST (one_short_group)
{
  for (guint p = 2; p <= 8; p++)
    for (guint v = 2; v <= 4; v++)
      for (guint m = 1; m < p; m++)
        {
          const Pipeline pipeline = { PIPELINE_INTERLEAVED, p, v, m, m, FALSE };
          Outcome        got = run_lists (&pipeline, (Times){ 2 * v, 3 * v, v });

          ck_assert_uint_eq (got.length, (v * p + m - 1) * (2 + 3 + 1));
          ck_assert_uint_eq (got.bubble, (p - 1 + (v - 1) * (p - m)) * (2 + 3 + 1));
        }
}
END_TEST

/*
 * (p - 1)(F + B - W) and (p - 1)(F + B - 2 W) where the times allow; p and 2 p - 1 micro-batches on
 * every stage (arXiv:2401.10241, 2).
 */
START_TEST (zero_bubble)
{
  for (guint p = 1; p <= 10; p++)
    for (guint m = 2 * p; m <= 4 * p; m += 3)
      {
        const Pipeline h1 = { PIPELINE_ZB_H1, p, 1, m, 0, FALSE },
                       h2 = { PIPELINE_ZB_H2, p, 1, m, 0, FALSE };
        const Times even = { 1, 1, 1 }, loose = { 4, 4, 3 };
        Outcome     one = run_lists (&h1, even), two = run_lists (&h2, even);

        ck_assert_uint_eq (one.bubble, p - 1);
        ck_assert_uint_eq (two.bubble, 0);
        ck_assert_double_eq (one.held[0], p);
        ck_assert_double_eq (one.held[1], p);
        ck_assert_double_eq (two.held[0], 2 * p - 1);
        ck_assert_double_eq (two.held[1], 2 * p - 1);
        ck_assert_uint_eq (run_lists (&h1, loose).bubble, (p - 1) * 5);
        ck_assert_uint_eq (run_lists (&h2, loose).bubble, (p - 1) * 2);
      }
}
END_TEST

/* No bubble for equal times, with the activations of 1f1b (arXiv:2401.10241, 6). */
START_TEST (zbv)
{
  for (guint p = 2; p <= 10; p++)
    for (guint m = 2 * p; m <= 4 * p; m += 3)
      {
        const Pipeline pipeline = { PIPELINE_ZBV, p, 2, m, 0, FALSE };
        Outcome        got = run_lists (&pipeline, (Times){ 2, 2, 2 });

        ck_assert_uint_eq (got.bubble, 0);
        ck_assert_double_eq (got.held[0], p);
        ck_assert_double_eq (got.held[1], p);
      }
}
END_TEST

/*
 * (p / 2 - 1)(F&B + B - 3 W), B with its weights, F&B as long as both; p + 1 micro-batches
 * (arXiv:2412.19437, table 2).
 */
START_TEST (dualpipe)
{
  for (guint p = 2; p <= 12; p += 2)
    for (guint m = 2 * p; m <= 4 * p; m += 2)
      {
        const Pipeline pipeline = { PIPELINE_DUALPIPE, p, 2, m, 0, FALSE };
        Outcome        got = run_lists (&pipeline, (Times){ 1, 1, 1 });

        ck_assert_uint_eq (got.bubble, (p / 2 - 1) * (3 + 2 - 3));
        ck_assert_double_eq (got.held[1], p + 1);
      }
}
END_TEST

/*
 * Which backward passes run with the forward pass before them, of the other direction: two of
 * each round of the main phase and one of each step of the one behind it (DeepSeek's dualpipe.py,
 * steps 4 and 5).
 */
START_TEST (dualpipe_concurrent)
{
  for (guint p = 2; p <= 10; p += 2)
    for (guint m = 2 * p; m <= 4 * p; m += 2)
      for (guint s = 0; s < p; s++)
        {
          const Pipeline     pipeline = { PIPELINE_DUALPIPE, p, 2, m, 0, FALSE };
          g_autoptr (GArray) actions = pipeline_actions (&pipeline, s, FALSE);
          guint              rank = MIN (s, p - 1 - s), n = 0;
          PipelineSlot       before = { 0 };

          for (guint i = 0; i < actions->len; i++)
            {
              const PipelineAction *a = &g_array_index (actions, PipelineAction, i);

              if (a->n_messages > 0)
                continue;
              if (a->concurrent)
                {
                  ck_assert_uint_eq (before.pass, PASS_FORWARD);
                  ck_assert_uint_eq (a->slot.pass, PASS_BACKWARD);
                  ck_assert_uint_eq (a->slot.chunk, 1 - before.chunk);
                  n++;
                }
              before = a->slot;
            }
          ck_assert_uint_eq (n, 2 * (m / 2 + rank + 1 - p) + p / 2 - rank - 1);
        }
}
END_TEST

/*
 * Interleaved, passes side by side: one more forward pass first, so that of v m backward passes
 * all have one beside them but those that drain the pipeline; never its own forward pass.
 */
START_TEST (interleaved_beside)
{
  for (guint p = 2; p <= 8; p++)
    for (guint v = 2; v <= 4; v++)
      for (guint groups = 2; groups <= 4; groups++)
        for (guint s = 0; s < p; s++)
          {
            const Pipeline     pipeline = { PIPELINE_INTERLEAVED, p, v, p * groups, 0, TRUE };
            g_autoptr (GArray) actions = pipeline_actions (&pipeline, s, FALSE);
            guint              n = 0;
            PipelineSlot       before = { 0 };

            for (guint i = 0; i < actions->len; i++)
              {
                const PipelineAction *a = &g_array_index (actions, PipelineAction, i);

                if (a->n_messages > 0)
                  continue;
                if (a->concurrent)
                  {
                    ck_assert_uint_eq (before.pass, PASS_FORWARD);
                    ck_assert_uint_eq (a->slot.pass, PASS_BACKWARD);
                    ck_assert (a->slot.chunk != before.chunk || a->slot.micro != before.micro);
                    n++;
                  }
                before = a->slot;
              }
            ck_assert_uint_eq (n, v * p * groups - (2 * (p - 1 - s) + (v - 1) * p + 1));
          }
}
END_TEST

/* Few micro-batches: no closed form, but all passes run. */
START_TEST (few_micro_batches)
{
  for (guint p = 2; p <= 9; p++)
    for (guint m = 1; m < 2 * p; m++)
      {
        run_lists (&(Pipeline){ PIPELINE_ZB_H1, p, 1, m, 0, FALSE }, (Times){ 1, 1, 1 });
        run_lists (&(Pipeline){ PIPELINE_ZB_H2, p, 1, m, 0, FALSE }, (Times){ 1, 1, 1 });
        run_lists (&(Pipeline){ PIPELINE_ZBV, p, 2, m, 0, FALSE }, (Times){ 2, 2, 2 });
      }
}
END_TEST

/* ---- the closed form ------------------------------------------------------------------------- */

/* Bytes of a chunk: what stays, the slice of a checkpoint and all of it, on the host. */
static const double chunk_bytes[][4] = {
  { 100, 7, 31, 5 },
  { 37, 11, 90, 13 },
  { 3, 2, 211, 17 },
  { 151, 1, 1, 2 },
};

/* What PASSES of the chunks have left on the GPU or, HOST, there. */
static double
left_by (const Pipeline *p, const ExpectPasses *passes, gboolean host)
{
  double sum = 0;

  for (guint c = 0; c < p->chunks; c++)
    {
      const double *bytes = chunk_bytes[c];

      sum += host ? ((double) passes[c].forward - passes[c].input) * bytes[3]
                  : passes[c].forward * (bytes[0] + bytes[1])
                        + passes[c].input * (bytes[2] - bytes[1])
                        - passes[c].weight * (bytes[0] + bytes[2]);
    }
  return sum;
}

/* The most that is left after any of the passes that STAGE walks, and of one chunk in flight. */
static void
walk_passes (const Pipeline *p, guint stage, double most[2], guint *in_flight)
{
  g_autoptr (GArray) slots = pipeline_slots (p, stage);
  ExpectPasses       passes[4] = { { 0 } };

  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);
      ExpectPasses       *of = &passes[slot->chunk];

      of->forward += slot->pass == PASS_FORWARD;
      of->input += slot->pass == PASS_BACKWARD || slot->pass == PASS_INPUT;
      of->weight += slot->pass == PASS_BACKWARD || slot->pass == PASS_WEIGHT;
      for (guint host = 0; host < 2; host++)
        most[host] = MAX (most[host], left_by (p, passes, host));
      *in_flight = MAX (*in_flight, of->forward - of->weight);
    }
}

/* The closed form has the peaks of the slots, to the byte: one does not call the other. */
static void
check_closed_form (const Pipeline *p)
{
  for (guint s = 0; s < p->stages; s++)
    {
      double       walked[2] = { 0 }, most[2] = { 0 };
      guint        in_flight = 0;
      ExpectPasses passes[4];

      walk_passes (p, s, walked, &in_flight);
      for (guint moment = 0; expect_passes (p, s, moment, passes); moment++)
        for (guint host = 0; host < 2; host++)
          most[host] = MAX (most[host], left_by (p, passes, host));
      for (guint host = 0; host < 2; host++)
        ck_assert_msg (most[host] == walked[host],
                       "kind %d p %u v %u m %u group %u stage %u: %g, %g", p->kind, p->stages,
                       p->chunks, p->micros, p->group, s, most[host], walked[host]);
      ck_assert_uint_eq (expect_in_flight (p, s), in_flight);
    }
}

START_TEST (closed_form)
{
  static const PipelineKind kinds[] = { PIPELINE_GPIPE, PIPELINE_1F1B, PIPELINE_ZB_H1,
                                        PIPELINE_ZB_H2 };

  for (guint p = 2; p <= 9; p++)
    for (guint m = 1; m <= 4 * p + 1; m++)
      {
        for (guint k = 0; k < G_N_ELEMENTS (kinds); k++)
          check_closed_form (&(Pipeline){ kinds[k], p, 1, m, 0, FALSE });
        check_closed_form (&(Pipeline){ PIPELINE_ZBV, p, 2, m, 0, FALSE });
        if (p % 2 == 0 && m % 2 == 0 && m >= 2 * p)
          check_closed_form (&(Pipeline){ PIPELINE_DUALPIPE, p, 2, m, 0, FALSE });
        for (guint v = 2; v <= 4; v++)
          for (guint group = 0; group <= p + 2; group++)
            for (guint beside = 0; beside < 2; beside++)
              check_closed_form (&(Pipeline){ PIPELINE_INTERLEAVED, p, v, m, group, beside == 1 });
      }
}
END_TEST

/* ---- messages -------------------------------------------------------------------------------- */

/* What travels: the place where it was made. */
static guint
made_at (const Pipeline *p, guint stage, const PipelineMessage *m)
{
  PipelinePlace at = { stage, m->chunk }, from = at;

  if (m->way == MESSAGE_RECEIVE)
    ck_assert (m->gradient ? pipeline_next (p, at, &from) : pipeline_previous (p, at, &from));
  ck_assert (m->way == MESSAGE_SEND || from.stage == m->peer);
  return from.chunk * 1000 + m->micro;
}

static void
check_pairs (const Pipeline *p, gboolean batched)
{
  GString *text[2][2]; /* [way][gradient] */

  for (guint a = 0; a < p->stages; a++)
    for (guint b = 0; b < p->stages; b++)
      {
        for (guint g = 0; g < 2; g++)
          for (guint w = 0; w < 2; w++)
            text[w][g] = g_string_new (NULL);
        for (guint side = 0; side < 2; side++)
          {
            guint              stage = side == 0 ? a : b, peer = side == 0 ? b : a;
            g_autoptr (GArray) actions = pipeline_actions (p, stage, batched);

            for (guint i = 0; i < actions->len; i++)
              {
                const PipelineAction *action = &g_array_index (actions, PipelineAction, i);

                for (guint k = 0; k < action->n_messages; k++)
                  if (action->messages[k].peer == peer
                      && action->messages[k].way == (side == 0 ? MESSAGE_SEND : MESSAGE_RECEIVE))
                    g_string_append_printf (text[side][action->messages[k].gradient], " %u",
                                            made_at (p, stage, &action->messages[k]));
              }
          }
        for (guint g = 0; g < 2; g++)
          {
            ck_assert_str_eq (text[0][g]->str, text[1][g]->str);
            for (guint w = 0; w < 2; w++)
              g_string_free (text[w][g], TRUE);
          }
      }
}

static const Pipeline message_cases[] = {
  { PIPELINE_GPIPE, 4, 1, 6, 0, FALSE },       { PIPELINE_1F1B, 4, 1, 2, 0, FALSE },
  { PIPELINE_1F1B, 5, 1, 9, 0, FALSE },        { PIPELINE_INTERLEAVED, 2, 2, 4, 0, FALSE },
  { PIPELINE_INTERLEAVED, 4, 3, 8, 0, FALSE }, { PIPELINE_INTERLEAVED, 3, 2, 3, 0, FALSE },
  { PIPELINE_ZB_H1, 4, 1, 9, 0, FALSE },       { PIPELINE_ZB_H2, 4, 1, 9, 0, FALSE },
  { PIPELINE_ZBV, 4, 2, 9, 0, FALSE },         { PIPELINE_DUALPIPE, 6, 2, 14, 0, FALSE },
  { PIPELINE_INTERLEAVED, 2, 2, 5, 3, FALSE }, { PIPELINE_INTERLEAVED, 4, 3, 13, 9, FALSE },
  { PIPELINE_INTERLEAVED, 5, 2, 3, 3, FALSE }, { PIPELINE_INTERLEAVED, 4, 3, 8, 0, TRUE },
};

START_TEST (receives_follow_sends)
{
  check_pairs (&message_cases[_i], TRUE);
  check_pairs (&message_cases[_i], FALSE);
}
END_TEST

/* ---- who waits for whom ---------------------------------------------------------------------- */

/* A stage runs its actions; messages that it has posted move when both ends are there. */
typedef struct
{
  GArray  *actions;
  guint    at;
  gboolean posted;     /* the call at `at` */
  GArray  *open[2][2]; /* PipelineMessage in the order of their calls, by way and gradient */
} Runner;

typedef struct
{
  const Pipeline *p;
  gboolean        batched;
  Runner          stages[16];
} Runners;

static gboolean
is_open (const Runner *r, ScheduleMessage way, gboolean gradient, guint chunk, guint micro)
{
  const GArray *open = r->open[way][gradient];

  for (guint i = 0; i < open->len; i++)
    {
      const PipelineMessage *m = &g_array_index (open, PipelineMessage, i);

      if (m->chunk == chunk && m->micro == micro)
        return TRUE;
    }
  return FALSE;
}

/* The oldest send of STAGE moves if it is its peer's oldest receive. */
static gboolean
move_one (Runners *self, guint stage, gboolean gradient)
{
  GArray                *sends = self->stages[stage].open[MESSAGE_SEND][gradient], *receives;
  const PipelineMessage *send, *receive;

  if (sends->len == 0)
    return FALSE;
  send = &g_array_index (sends, PipelineMessage, 0);
  receives = self->stages[send->peer].open[MESSAGE_RECEIVE][gradient];
  if (receives->len == 0)
    return FALSE;
  receive = &g_array_index (receives, PipelineMessage, 0);
  if (receive->peer != stage)
    return FALSE;
  ck_assert_uint_eq (made_at (self->p, stage, send), made_at (self->p, send->peer, receive));
  g_array_remove_index (receives, 0);
  g_array_remove_index (sends, 0);
  return TRUE;
}

static gboolean
call_is_over (const Runner *r, const PipelineAction *call)
{
  for (guint i = 0; i < call->n_messages; i++)
    {
      const PipelineMessage *m = &call->messages[i];

      if (is_open (r, m->way, m->gradient, m->chunk, m->micro))
        return FALSE;
    }
  return TRUE;
}

/* One action of a stage; FALSE: it has to wait. */
static gboolean
run_action (const Runners *self, Runner *r)
{
  const PipelineAction *action = &g_array_index (r->actions, PipelineAction, r->at);

  if (action->n_messages == 0)
    {
      if (is_open (r, MESSAGE_RECEIVE, action->slot.pass != PASS_FORWARD, action->slot.chunk,
                   action->slot.micro))
        return FALSE;
      r->at++;
      return TRUE;
    }
  for (guint i = 0; i < action->n_messages && !r->posted; i++)
    g_array_append_val (r->open[action->messages[i].way][action->messages[i].gradient],
                        action->messages[i]);
  r->posted = self->batched;
  if (self->batched && !call_is_over (r, action))
    return FALSE;
  r->posted = FALSE;
  r->at++;
  return TRUE;
}

/* Whether all stages come to the end of their actions. */
static gboolean
runs_through (const Pipeline *p, gboolean batched)
{
  Runners  self = { .p = p, .batched = batched };
  gboolean moved = TRUE, over = TRUE;

  for (guint s = 0; s < p->stages; s++)
    {
      self.stages[s].actions = pipeline_actions (p, s, batched);
      for (guint i = 0; i < 4; i++)
        self.stages[s].open[i / 2][i % 2] = g_array_new (FALSE, FALSE, sizeof (PipelineMessage));
    }
  while (moved)
    {
      moved = FALSE;
      for (guint s = 0; s < p->stages; s++)
        {
          Runner *r = &self.stages[s];

          while (r->at < r->actions->len && run_action (&self, r))
            moved = TRUE;
          while (move_one (&self, s, FALSE) || move_one (&self, s, TRUE))
            moved = TRUE;
        }
    }
  for (guint s = 0; s < p->stages; s++)
    {
      over &= self.stages[s].at == self.stages[s].actions->len;
      g_array_unref (self.stages[s].actions);
      for (guint i = 0; i < 4; i++)
        g_array_unref (self.stages[s].open[i / 2][i % 2]);
    }
  return over;
}

/* Whatever the groups, nobody waits for ever: 300 pipelines at random, and groups of p and less. */
START_TEST (groups_do_not_block)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20261126);

  for (guint i = 0; i < 300; i++)
    {
      guint    p = (guint) g_rand_int_range (rand, 2, 8);
      guint    v = (guint) g_rand_int_range (rand, 2, 5);
      guint    n = (guint) g_rand_int_range (rand, 1, (gint) (4 * p));
      guint    last = (guint) g_rand_int_range (rand, 0, (gint) n);
      guint    groups = n < p ? 1 : (guint) g_rand_int_range (rand, 1, 4);
      Pipeline pipeline = {
        PIPELINE_INTERLEAVED, p, v, n * groups + (last < p ? 0 : last), n, FALSE
      };

      for (guint batched = 0; batched < 2; batched++)
        ck_assert_msg (runs_through (&pipeline, batched == 1),
                       "%u stages, %u chunks, %u micro-batches in groups of %u%s", p, v,
                       pipeline.micros, n, batched == 1 ? ", batched" : "");
    }
}
END_TEST

/* The walk above sees a schedule that blocks: several groups of fewer than p - 1. */
START_TEST (short_groups_block)
{
  ck_assert (!runs_through (&(Pipeline){ PIPELINE_INTERLEAVED, 5, 2, 9, 3, FALSE }, FALSE));
}
END_TEST

/*
 * The calls of Megatron-LM's 1F1B on the second of three stages, five micro-batches
 * (arXiv:2104.04473, figure 4).
 */
START_TEST (calls_of_1f1b)
{
  const Pipeline      pipeline = { PIPELINE_1F1B, 3, 1, 3, 0, FALSE };
  g_autoptr (GArray)  actions = pipeline_actions (&pipeline, 1, TRUE);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < actions->len; i++)
    {
      const PipelineAction *action = &g_array_index (actions, PipelineAction, i);

      if (action->n_messages == 0)
        g_string_append_printf (text, "%c%u ", "FBIW"[action->slot.pass], action -> slot.micro);
      for (guint k = 0; k < action->n_messages; k++)
        g_string_append_printf (text, "%s%s%u%s",
                                action->messages[k].way == MESSAGE_SEND ? "send-" : "recv-",
                                action->messages[k].gradient ? "g" : "a", action->messages[k].micro,
                                k + 1 < action->n_messages ? "+" : " ");
    }
  ck_assert_str_eq (text->str, "recv-a0 F0 send-a0 recv-a1 F1 send-a1+recv-g0 B0 send-g0+recv-a2 "
                               "F2 send-a2+recv-g1 B1 send-g1 recv-g2 B2 send-g2 ");
}
END_TEST

/* Two tensor ranks, three stages, two data ranks: who is with rank 5 in either order. */
START_TEST (orders_of_ranks)
{
  static const Mesh meshes[] = {
    { .n_ranks = 2, .world = 12, .stride = 2, .stages = 3 },
    { .n_ranks = 2, .world = 12, .stride = 6, .stages = 3, .tensor = 2 },
  };
  static const guint32 tensor[][2] = { { 4, 5 }, { 4, 5 } };
  static const guint32 stages[][3] = { { 1, 5, 9 }, { 1, 3, 5 } };
  static const guint32 data[][2] = { { 5, 7 }, { 5, 11 } };
  guint32              members[3];

  ck_assert_uint_eq (mesh_tensor (&meshes[_i]).size, 2);
  mesh_group_members (mesh_tensor (&meshes[_i]), 5, members);
  ck_assert_mem_eq (members, tensor[_i], sizeof tensor[_i]);
  ck_assert_uint_eq (mesh_stages (&meshes[_i]).size, 3);
  mesh_group_members (mesh_stages (&meshes[_i]), 5, members);
  ck_assert_mem_eq (members, stages[_i], sizeof stages[_i]);
  ck_assert_uint_eq (mesh_all (&meshes[_i]).size, 2);
  mesh_group_members (mesh_all (&meshes[_i]), 5, members);
  ck_assert_mem_eq (members, data[_i], sizeof data[_i]);
}
END_TEST

SUITE_MAIN (pipeline)
{
  Suite *suite = suite_create ("pipeline");
  TCase *tcase = tcase_create ("all");

  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, gpipe_and_1f1b);
  tcase_add_test (tcase, interleaved);
  tcase_add_test (tcase, groups_of_three);
  tcase_add_test (tcase, interleaved_groups);
  tcase_add_test (tcase, one_short_group);
  tcase_add_test (tcase, zero_bubble);
  tcase_add_test (tcase, zbv);
  tcase_add_test (tcase, dualpipe);
  tcase_add_test (tcase, dualpipe_concurrent);
  tcase_add_test (tcase, interleaved_beside);
  tcase_add_test (tcase, few_micro_batches);
  tcase_add_test (tcase, closed_form);
  tcase_add_loop_test (tcase, receives_follow_sends, 0, G_N_ELEMENTS (message_cases));
  tcase_add_test (tcase, groups_do_not_block);
  tcase_add_test (tcase, short_groups_block);
  tcase_add_test (tcase, calls_of_1f1b);
  tcase_add_loop_test (tcase, orders_of_ranks, 0, 2);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
