/*
 * When long work ends early, with what it has: a time limit, or a signal. Who does such work asks
 * before each further piece; the engine asks as well, so that a long piece ends soon, too.
 */
#pragma once

#include <glib.h>

/* Zeroed: never. Any thread asks, and one sets the signal (base/file/temporary.h). */
typedef struct
{
  gint64 deadline;   /* us of the monotonic clock; 0: none. Set before there are threads */
  gint   signal;     /* that came first; 0: none */
  gint   cut;        /* something was left out */
  gint   asked;      /* times that work asked whether it is cut, where MOST_ASKED is set */
  gint   most_asked; /* tests': due from so many times on; 0: however often */
} Stop;

/* What is said of a piece that was. */
#define STOP_LEFT_OUT "left out: the time limit or an interrupt came first"

/* From now on SECONDS are left; 0: as many as it takes. */
void stop_after (Stop *self, double seconds);

/* The signal NUMBER came; FALSE: it is not the first. */
gboolean stop_by_signal (Stop *self, int number);

/* Whether the time is over, or a signal came; never of NULL. */
gboolean stop_is_due (const Stop *self);

/* The same, of who leaves something out when it is: what the work gives is not all then. */
gboolean stop_cuts (Stop *self);

/*
 * How a loop of many short turns asks: each turn calls stop_poll, which reads the clock every few
 * thousandth time. Zeroed but for STOP, which may be NULL.
 */
typedef struct
{
  Stop    *stop;
  guint    turns;
  gboolean cut; /* it stays so */
} StopPoll;

#define STOP_POLL_TURNS 4096

static inline gboolean
stop_poll_now (StopPoll *self)
{
  self->cut = stop_cuts (self->stop) || self->cut;
  return self->cut;
}

static inline gboolean
stop_poll (StopPoll *self)
{
  return G_UNLIKELY (++self->turns % STOP_POLL_TURNS == 0) ? stop_poll_now (self) : self->cut;
}

/* What was done when work was cut. Whoever fills it says who owns its texts; most are static. */
typedef struct
{
  const char *reason;     /* "time limit", "SIGINT"; NULL: the work is whole */
  const char *step;       /* that was under way: "screening structures"; NULL: nobody said */
  guint       done, todo; /* of the pieces of that step; 0 of 0: nobody knows */
  gboolean    more;       /* nobody knows how many there are: TODO are those known by then */
} Partial;

/* "ended by the time limit while screening structures, after 12 of 40". Newly allocated. */
char *partial_text (const Partial *self);

/* Why SELF cut the work; NULL: it did not. */
const char *stop_reason (const Stop *self);
