#include "serve/ping-pong.h"

#define ALIKE 0.2 /* of the longer part, that the shorter one may lack */

static double
longer_part (const PingPong *self)
{
  return MAX (self->attention_s, self->experts_s);
}

/* S: a micro-batch alone, through a layer. */
static double
round_trip (const PingPong *self)
{
  return self->attention_s + self->experts_s + 2 * self->exchange_s;
}

double
ping_pong_seconds (const PingPong *self)
{
  const double slowest = MAX (longer_part (self), self->exchange_s);
  const double alone = round_trip (self), m = self->micro_batches;

  return alone + (self->layers - 1.0) * MAX (m * slowest, alone) + (m - 1) * slowest;
}

double
ping_pong_published_seconds (const PingPong *self)
{
  return round_trip (self) + longer_part (self) * ((double) self->micro_batches * self->layers - 1);
}

double
ping_pong_token_least (const PingPong *self)
{
  return round_trip (self) + self->micro_batches * longer_part (self) * (self->layers - 1.0);
}

double
ping_pong_token_most (const PingPong *self)
{
  return self->micro_batches * longer_part (self) * self->layers;
}

PingPongCheck
ping_pong_check (const PingPong *self, PingPongCondition condition)
{
  const double  longer = longer_part (self), shorter = MIN (self->attention_s, self->experts_s);
  PingPongCheck check = { 0 };

  switch (condition)
    {
    case PING_PONG_BALANCED:
      check =
          (PingPongCheck){ "T_a = T_e within a fifth", FALSE, FALSE, 1 - shorter / longer, ALIKE };
      break;
    case PING_PONG_HIDDEN:
      check = (PingPongCheck){ "T_c < T_f", FALSE, TRUE, self->exchange_s, longer };
      break;
    default:
      check = (PingPongCheck){ "2 (1 + T_c / T_f) <= m", FALSE, FALSE,
                               2 * (1 + self->exchange_s / longer), self->micro_batches };
    }
  check.holds = check.left <= check.right;
  return check;
}

/* ---- place by place -------------------------------------------------------------------------- */

typedef enum
{
  PLACE_ATTENTION,
  PLACE_OUT,
  PLACE_EXPERTS,
  PLACE_BACK,
  N_PLACES,
} Place;

/* When the work that came at READY has been done: a place takes it when it is done with others. */
static double
serve (double *free_at, double ready, double seconds)
{
  *free_at = MAX (*free_at, ready) + seconds;
  return *free_at;
}

PingPongRun
ping_pong_run (const PingPongLayer *layers, guint n, guint m)
{
  double             free_at[N_PLACES] = { 0 };
  g_autofree double *ready = g_new0 (double, m);
  PingPongRun        run = { 0 };

  for (guint l = 0; l < n; l++)
    {
      const PingPongLayer *layer = &layers[l];
      const double seconds[N_PLACES] = { layer->attention_s, layer->exchange_s, layer->experts_s,
                                         layer->exchange_s };
      const guint  places = layer->experts ? N_PLACES : PLACE_OUT;

      for (guint i = 0; i < m; i++)
        for (guint p = 0; p < places; p++)
          ready[i] = serve (&free_at[p], ready[i], seconds[p]);
      run.attention_busy_s += m * layer->attention_s;
      if (!layer->experts)
        continue;
      run.experts_busy_s += m * layer->experts_s;
      run.network_busy_s += m * layer->exchange_s;
    }
  run.seconds = ready[m - 1];
  return run;
}
