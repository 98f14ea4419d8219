/*
 * How far a stage of a pipeline is, in closed form: how many passes of each chunk are over at each
 * of the moments in which it can hold most. These are the ends of forward passes and, where the
 * backward pass is split, of its first halves, which bring whole checkpoints back.
 *
 * Set: p stages, s this one, M micro-batches, v chunks, w passes before the first backward one.
 */
#include "driver/oracle/expect-private.h"

/* What is left of TIMES when PARTS of it are over. */
static guint
beyond (guint times, guint parts)
{
  return times > parts ? times - parts : 0;
}

/* ---- whole backward passes ------------------------------------------------------------------- */

/*
 * One chunk has MOST micro-batches before its first backward pass, M or p - s (arXiv:2104.04473,
 * 2.2), and then as many others after each, which may be longer ones.
 */
static gboolean
passes_in_order (guint micros, guint most, guint moment, ExpectPasses *passes)
{
  passes[0] = (ExpectPasses){ most + moment, moment, moment };
  return most + moment <= micros;
}

/*
 * Of the first K passes of an interleaved stage those of its TURN-th chunk: groups of N
 * micro-batches, the last one maybe smaller, go through all chunks in turn.
 */
static guint
passes_of_turn (const Pipeline *pipeline, guint k, guint turn)
{
  guint n = pipeline_group_size (pipeline), whole = k / (n * pipeline->chunks);
  guint size = MIN (n, pipeline->micros - whole * n);

  return whole * n + MIN (beyond (k - whole * n * pipeline->chunks, turn * size), size);
}

/*
 * w = 2 (p - s - 1) + (v - 1) n, one more where passes run beside each other; all of them where
 * M = p (Megatron-LM, core/pipeline_parallel/schedules.py).
 */
static gboolean
passes_interleaved (const Pipeline *pipeline, guint stage, guint moment, ExpectPasses *passes)
{
  guint v = pipeline->chunks, all = pipeline->micros * v;
  guint ahead = 2 * (pipeline->stages - stage - 1) + (v - 1) * pipeline_group_size (pipeline)
                + pipeline->beside + 1;
  guint forward = pipeline->micros == pipeline->stages ? all : MIN (all, ahead + moment);

  for (guint c = 0; c < v; c++)
    {
      guint backward = passes_of_turn (pipeline, moment, v - 1 - c);

      passes[c] = (ExpectPasses){ passes_of_turn (pipeline, forward, c), backward, backward };
    }
  return moment == 0 || ahead + moment <= all;
}

/* ---- split backward passes ------------------------------------------------------------------- */

/*
 * ZB-H1 (reach 1) and ZB-H2 (reach 2), arXiv:2401.10241: in its turn t a stage has made t + 1 + w
 * forward passes, w = reach (p - 1 - s), t or t + 1 input halves, and weights reach s turns later.
 */
static gboolean
passes_zero_bubble (const Pipeline *pipeline, guint stage, guint reach, guint moment,
                    ExpectPasses *passes)
{
  guint micros = pipeline->micros, turn = moment / 2, lag = reach * stage;

  passes[0] = (ExpectPasses){
    .forward = MIN (micros, turn + 1 + reach * (pipeline->stages - 1 - stage)),
    .input = MIN (micros, turn + moment % 2),
    .weight = MIN (micros, beyond (turn, lag)),
  };
  return turn < micros + lag;
}

/*
 * A stretch of a schedule in which each of TURNS turns has the same moments: how far the chunks are
 * at its begin, and what each of its moments adds to that for the turns before it and in it.
 */
typedef struct
{
  guint        turns, moments;
  ExpectPasses begin[2]; /* before its first turn */
  ExpectPasses each[2];  /* what a turn adds */
  ExpectPasses at[4][2]; /* what of that is there at each of its moments */
} Stretch;

static guint
along (guint begin, guint each, guint turn, guint at)
{
  return begin + turn * each + at;
}

/* MOMENT of the N STRETCHES one after another; FALSE: it is beyond them. */
static gboolean
passes_along (const Stretch *stretches, guint n, guint moment, ExpectPasses passes[2])
{
  for (guint i = 0; i < n; i++)
    {
      const Stretch *s = &stretches[i];
      guint          length = s->turns * s->moments;

      if (moment >= length)
        {
          moment -= length;
          continue;
        }
      for (guint c = 0; c < 2; c++)
        {
          const ExpectPasses *begin = &s->begin[c], *each = &s->each[c];
          const ExpectPasses *at = &s->at[moment % s->moments][c];
          guint               turn = moment / s->moments;

          passes[c] = (ExpectPasses){ along (begin->forward, each->forward, turn, at->forward),
                                      along (begin->input, each->input, turn, at->input),
                                      along (begin->weight, each->weight, turn, at->weight) };
        }
      return TRUE;
    }
  return FALSE;
}

/*
 * ZBV (arXiv:2401.10241, 6): 2 p - s - 1 micro-batches enter the first chunk and s the second
 * before the first backward pass; then the second chunk fills up to p, one pass of each follows the
 * other until no forward pass is left, and weights of the first chunk stay for s turns. It is
 * planned for at least 2 p - 1 micro-batches; of fewer, the others' passes are left out.
 */
static gboolean
passes_zbv (const Pipeline *pipeline, guint stage, guint moment, ExpectPasses *passes)
{
  const guint   p = pipeline->stages, s = stage, all = MAX (2 * p - 1, pipeline->micros);
  const guint   rest = all - p;
  const Stretch stretches[] = {
    { 1, 1, .begin = { { .forward = 2 * p - s - 1 }, { .forward = s } } },
    { p - s, 2, .begin = { { .forward = 2 * p - s - 1 }, { .forward = s } },
      .each = { { 0 }, { 1, 1, 1 } },
      .at = { { { 0 }, { .forward = 1 } }, { { 0 }, { .forward = 1, .input = 1 } } } },
    { rest, 4, .begin = { { .forward = 2 * p - s - 1 }, { p, p - s, p - s } },
      .each = { { 1, 1, 1 }, { 1, 1, 1 } },
      .at = { { { .forward = 1 }, { 0 } },
              { { .forward = 1, .input = 1 }, { 0 } },
              { { 1, 1, 1 }, { .forward = 1 } },
              { { 1, 1, 1 }, { .forward = 1, .input = 1 } } } },
    { s, 2, .begin = { { all, rest, rest }, { all, all - s, all - s } },
      .each = { { .input = 1 }, { .input = 1 } },
      .at = { { { .input = 1 }, { 0 } }, { { .input = 1 }, { .input = 1 } } } },
    { p - s, 1, .begin = { { all, rest + s, rest }, { all, all, all - s } },
      .each = { { .input = 1, .weight = 1 }, { 0 } }, .at = { { { .input = 1 }, { 0 } } } },
  };

  if (!passes_along (stretches, G_N_ELEMENTS (stretches), moment, passes))
    return FALSE;
  for (guint c = 0; c < 2; c++)
    passes[c] = (ExpectPasses){ MIN (passes[c].forward, pipeline->micros),
                                MIN (passes[c].input, pipeline->micros),
                                MIN (passes[c].weight, pipeline->micros) };
  return TRUE;
}

/*
 * DualPipe's end (arXiv:2412.19437, 3.2.1), N = rank + 1 and H = p / 2: the two directions end in
 * turn, direction 1 with its last N micro-batches; the second half of these put their weights off.
 * Then direction 0 ends alone, and weights are made up for in the order in which they were put off.
 */
static gboolean
passes_dual_end (guint m, guint h, guint n, guint moment, ExpectPasses passes[2])
{
  const guint late[] = { n - n / 2, n / 2 };
  const guint alone = moment < 2 * n ? 0 : moment - 2 * n + 1; /* turns of direction 0 alone */
  const guint done[] = { alone > 0 ? n + alone : (moment + 1) / 2, alone > 0 ? n : moment / 2 + 1 };
  const guint made_up = MIN ((alone + 1 - n % 2) / 2, late[1]); /* of direction 1 */

  passes[0] =
      (ExpectPasses){ m, m - h + done[0], m - h + MIN (done[0], n - late[0]) + alone - made_up };
  passes[1] = (ExpectPasses){ m, m - n + done[1], m - n + MIN (done[1], n - late[1]) + made_up };
  return alone <= h - n;
}

/*
 * DualPipe by direction, M micro-batches in each: direction 0 is the one that begins at this half
 * of the stages, N = rank + 1 counts from that end.
 */
static gboolean
passes_by_direction (guint p, guint m, guint n, guint moment, ExpectPasses passes[2])
{
  const guint   h = p / 2, middle = m + n - p;
  const Stretch stretches[] = {
    { 1, 1, .begin = { { .forward = p - n }, { .forward = n } } },
    { h - n, 2, .begin = { { .forward = p - n }, { .forward = n } }, .each = { { 0 }, { 1, 1, 1 } },
      .at = { { { 0 }, { .input = 1 } }, { { 0 }, { 1, 1, 1 } } } },
    { middle, 2, .begin = { { .forward = p - n }, { h, h - n, h - n } },
      .each = { { 1, 1, 1 }, { 1, 1, 1 } },
      .at = { { { .forward = 1 }, { 0 } }, { { .forward = 1 }, { 1, 1, 1 } } } },
    { h - n, 1, .begin = { { m, middle, middle }, { m + n - h, m - h, m - h } },
      .each = { { 0, 1, 1 }, { 1, 1, 1 } }, .at = { { { 0 }, { 1, 1, 1 } } } },
  };
  const guint before = 1 + 3 * (h - n) + 2 * middle;

  return moment < before ? passes_along (stretches, G_N_ELEMENTS (stretches), moment, passes)
                         : passes_dual_end (m, h, n, moment - before, passes);
}

static gboolean
passes_dualpipe (const Pipeline *pipeline, guint stage, guint moment, ExpectPasses *passes)
{
  guint        p = pipeline->stages, turned = stage >= p / 2;
  guint        n = MIN (stage, p - 1 - stage) + 1;
  ExpectPasses directions[2];

  if (!passes_by_direction (p, pipeline->micros / 2, n, moment, directions))
    return FALSE;
  for (guint d = 0; d < 2; d++)
    passes[d ^ turned] = directions[d];
  return TRUE;
}

/* ---- all of them ----------------------------------------------------------------------------- */

gboolean
expect_passes (const Pipeline *pipeline, guint stage, guint moment, ExpectPasses *passes)
{
  switch (pipeline->kind)
    {
    case PIPELINE_GPIPE:
      return passes_in_order (pipeline->micros, pipeline->micros, moment, passes);
    case PIPELINE_AUTO:
    case PIPELINE_1F1B:
      break;
    case PIPELINE_INTERLEAVED:
      return passes_interleaved (pipeline, stage, moment, passes);
    case PIPELINE_ZB_H1:
      return passes_zero_bubble (pipeline, stage, 1, moment, passes);
    case PIPELINE_ZB_H2:
      return passes_zero_bubble (pipeline, stage, 2, moment, passes);
    case PIPELINE_ZBV:
      return passes_zbv (pipeline, stage, moment, passes);
    case PIPELINE_DUALPIPE:
      return passes_dualpipe (pipeline, stage, moment, passes);
    }
  return passes_in_order (pipeline->micros, MIN (pipeline->micros, pipeline->stages - stage),
                          moment, passes);
}

guint
expect_in_flight (const Pipeline *pipeline, guint stage)
{
  g_autofree ExpectPasses *passes = g_new (ExpectPasses, pipeline->chunks);
  guint                    most = 0;

  for (guint moment = 0; expect_passes (pipeline, stage, moment, passes); moment++)
    for (guint c = 0; c < pipeline->chunks; c++)
      most = MAX (most, passes[c].forward - passes[c].weight);
  return most;
}
