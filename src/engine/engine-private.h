/*
 * What the modules of the engine share. Live ops sit in recycled slots; an op's record stays until
 * it is forgotten, its end for good. Every list that one op's end must walk hangs off its slot as
 * nodes of one arena.
 */
#pragma once

#include "base/vector.h"
#include "engine/engine.h"
#include "engine/event-heap.h"
#include "engine/fluid.h"

/*
 * An event's sequence is its kind above its id: at one time ops come first, then twins, drains and
 * hosts.
 */
#define SEQUENCE_KIND_SHIFT 56
typedef enum
{
  EVENT_OP,
  EVENT_TWIN,
  EVENT_DRAIN,
  EVENT_HOST,
} EventKind;

static inline guint64
event_sequence (EventKind kind, guint32 id)
{
  return (guint64) kind << SEQUENCE_KIND_SHIFT | id;
}

/* A queue of values in order of arrival; what has been taken is trimmed now and then. */
typedef struct
{
  Vector *items;
  guint   head;
} Fifo;

static inline guint
fifo_length (const Fifo *self)
{
  return self->items->len - self->head;
}

static inline void
fifo_drop (Fifo *self)
{
  self->head++;
  if (self->head == self->items->len)
    {
      vector_cut (self->items, 0);
      self->head = 0;
    }
  else if (self->head >= 32 && self->head * 2 >= self->items->len)
    {
      vector_remove (self->items, 0, self->head);
      self->head = 0;
    }
}

#define fifo_at(self, Type, i) (vector_at ((self)->items, Type, (self)->head + (i)))

typedef struct
{
  const char *name;
  double      used; /* by ops that have ended, and by earlier amounts of running ones */
  double      reserved;
  guint       n_reserved;
  StreamId    first_drain; /* streams whose head drains here, linked by `next_drain` */
  gboolean    kept;        /* changes of `use` are logged */
  double      use;         /* per second, while it is kept */
  guint       n_users;     /* ops behind it: none, and it is 0 whatever the sums' last digits say */
  guint32     last_change; /* in `use_log`, or ENGINE_NONE */
} EngineResource;

typedef enum
{
  OP_WAITING, /* not all members have arrived */
  OP_LATENCY,
  OP_FLOWING,
  OP_FLOWN, /* but some of its twins still flow */
} OpState;

/* A list of nodes in an arena: first and last index, ENGINE_NONE when empty. */
typedef struct
{
  guint32 first, last;
} NodeList;

typedef struct
{
  OpId            id;
  OpState         state;
  OpClass         class_;
  SimTime         latency;
  Demand          few[2];  /* its demands, */
  Demand         *demands; /* or those of more than these; the array stays with the slot */
  guint           n_demands, demand_room;
  WaveDemand      waves;
  const WavePart *wave_parts;
  guint           n_wave_parts;
  ResourceId drain_on; /* reservations of it wait for a part of the op to end; or ENGINE_NONE */
  double     pieces;   /* of the op; 0: its waves */
  double     share, cap;
  guint      members, n_submitted, n_arrived;
  StreamId   one_member; /* when `members` is 1, else `streams` */
  StreamId  *streams;
  OrderId    order;
  OpId       order_prev; /* the op before it in its order */
  SimTime    last_arrival;
  NodeList   waiters;     /* WaiterNode */
  NodeList   segments;    /* SegmentNode */
  guint32    twins;       /* first Twin, or ENGINE_NONE */
  guint      n_flowing;   /* of them, where they may end apart */
  SimTime    first_over;  /* when the first of it and its twins had flown, where they may */
  gboolean   meets, sure; /* `sure`: no stream that a last member stands for came sooner */
  gboolean   apart;       /* some of what it stands for may have begun sooner */
  EventId    event;
  /* while it flows */
  FluidOp flow;
  double  progress; /* at `settled` */
  SimTime settled;
  double  rate;
  double  wave_amount, accounted; /* amount of the waves, counted in `used` up to this progress */
  Cause   cause;                  /* of the segment that is open since `cause_start` */
  ResourceId cause_resource;
  SimTime    cause_start;
} LiveOp;

/* What an op stands for besides itself; recycled. Among the users of the solver it is TWIN_USER. */
typedef struct
{
  Demand  *demands; /* the array stays with the place */
  guint    n_demands, demand_room;
  guint32  next;
  OpId     op;
  EventId  event; /* its end, where twins may end apart; kept, or ENGINE_NONE */
  gboolean flows;
  /* while it does */
  FluidOp flow;
  double  progress, rate; /* as in LiveOp */
  SimTime settled, end;   /* `end`: at this rate */
} Twin;

#define TWIN_USER ((guint32) 1 << 31)

typedef enum
{
  WAITER_STREAM,
  WAITER_HOST,
  WAITER_RELEASE,
  WAITER_USE_NOTE,
} WaiterKind;

typedef struct
{
  WaiterKind   kind;
  guint32      id; /* stream, host, pool or note */
  PoolCategory category;
  guint64      bytes;
  guint32      detached; /* of a release: what the allocator gives back, or POOL_DETACHED_NONE */
  guint32      next;
} WaiterNode;

typedef struct
{
  TraceSegment segment;
  guint32      next;
} SegmentNode;

/* A member of an op in its stream's queue, with the waits that stand before it. */
typedef struct
{
  OpId       op;
  guint32    n_waits;
  SimTime    issue;
  HostId     host;
  gboolean   apart; /* some hosts may have issued it sooner */
  ResourceId reserve_on;
  double     reserve;
} Turn;

/* A kernel's wave that must end before a draining member arrives. */
typedef struct
{
  OpId   op;
  double target; /* progress at its end */
} DrainTarget;

typedef struct
{
  const char *name;
  gint        priority;
  guint       depth;
  Fifo        turns;         /* Turn */
  Fifo        waits;         /* OpId */
  guint       pending_waits; /* behind the last turn */
  OpId        last;          /* submitted */
  OpId        last_done;
  /* of the turn at the head */
  gboolean started; /* its gate is being determined */
  gboolean ready;   /* its waits are over */
  SimTime  gate_time, ready_time;
  SimTime  sure_time; /* no stream that it stands for was ready before */
  Cause    gate;
  OpId     gate_op;
  Vector  *drain_targets; /* DrainTarget; NULL until needed */
  EventId  drain_event;
  StreamId next_drain;
  OpId     drain_op; /* of the targets the one that is reached last */
  gboolean draining, drain_dirty;
} Stream;

typedef struct
{
  const char *name;
  OpId        last; /* created */
} Order;

typedef enum
{
  HOST_RUNNABLE,
  HOST_BLOCKED_WAIT,
  HOST_BLOCKED_ALLOC,
  HOST_OVER,
} HostState;

typedef struct
{
  const char *name;
  HostStep    step;
  gpointer    user;
  HostState   state;
  EventId     event;
  SimTime     block_start;
  OpId        blocked_on;
  gboolean    apart;  /* some that it stands for may be ahead */
  Vector     *blocks; /* HostBlock; NULL until needed */
} Host;

typedef struct
{
  HostId       host;
  PoolCategory category;
  guint64      tag;
  PoolRequest  request;
  guint        done; /* steps of it that went through */
} BlockedAlloc;

typedef struct
{
  const char          *name;
  PoolStats            stats;
  const PoolAllocator *kind;         /* NULL: no allocator */
  gpointer             allocator;    /* of this kind */
  guint                n_deferred;   /* releases that wait for an op's end */
  Vector              *blocked;      /* BlockedAlloc */
  gboolean             noted;        /* its calls are, where calls are */
  guint64 before[POOL_N_CATEGORIES]; /* what lived where a stretch began: pool-calls.c */
} Pool;

/* pool-allocator.c */

/* Goes on with ALLOC in the allocator that POOL has. */
PoolAdmission engine_allocator_admits (Pool *pool, BlockedAlloc *alloc);

/* Gives what is cached back to the device, and takes ALLOC: it overflows if that is too little. */
void engine_allocator_retry (Pool *pool, BlockedAlloc *alloc);

/* What was added to what a resource has been used. */
typedef struct
{
  ResourceId resource;
  double     amount;
} UseCall;

/* What was done to a pool. */
typedef enum
{
  POOL_CALL_TAKE,
  POOL_CALL_RELEASE,
  POOL_CALL_DETACH,
  POOL_CALL_GIVE,
} PoolCallKind;

typedef struct
{
  PoolCallKind kind;
  PoolId       pool;
  PoolCategory category;
  guint32      detached; /* of POOL_CALL_DETACH and POOL_CALL_GIVE */
  PoolRequest  request;
  guint64      tag;
  SimTime      time;
} PoolCall;

struct _Engine
{
  SimTime       now;
  Fluid        *fluid;
  EventHeap    *heap;
  GStringChunk *names;
  Vector       *resources; /* EngineResource */
  Vector       *streams;   /* Stream */
  Vector       *orders;    /* Order */
  Vector       *hosts;     /* Host */
  Vector       *pools;     /* Pool */
  SimTime       past;      /* nobody asks what ops did that ended by then; 0: any are asked for */
  Vector       *forgotten; /* SimTime by OpId: the ends of the ops that come first */
  Vector       *records;   /* OpRecord of those behind them, by OpId */
  Vector       *slots;     /* guint32, of the same: index into `live`, ENGINE_NONE when done */
  Vector       *live;      /* LiveOp */
  Vector       *unused;    /* guint32: free slots of `live` */
  Vector       *waiters;   /* WaiterNode: an arena */
  Vector       *pending;   /* SegmentNode: an arena */
  Vector       *twins;     /* Twin: an arena */
  guint32       free_waiter, free_pending, free_twin;
  gboolean      unlike; /* what one op or host stands for does not do what it does */
  gboolean      twins_apart;
  Vector       *segments;        /* TraceSegment, of ops that have ended, behind ... */
  guint         n_segments_gone; /* ... so many that are forgotten */
  Vector       *pool_log;        /* PoolChange */
  Vector       *use_log;         /* UseChange */
  GArray       *use_notes;       /* UseNote, or NULL */
  Vector       *arrivals;        /* StreamId: heads that are ready and reserve, settled last */
  Vector       *drains;          /* StreamId: drains to be keyed again after the next solve */
  guint         n_live, n_hosts_left;
  HostId        issuing; /* the host whose step runs, or ENGINE_NONE */
  gboolean      log_pools, log_use;
  Vector       *pool_calls;  /* PoolCall; NULL: they are not noted */
  Vector       *use_calls;   /* UseCall, beside them */
  PoolAdmission pools_worst; /* of the allocations since they are */
  guint64       events;
  EngineWork   *work;  /* or NULL */
  Stop         *stop;  /* or NULL */
  guint64       asked; /* events when STOP and the memory were asked last */
  guint64       until; /* as many events may be before that, or before WORK is done */
};

/* Nothing is left to be done at the present time but events. */
static inline gboolean
engine_is_settled (const Engine *self)
{
  return self->arrivals->len == 0 && self->drains->len == 0 && !fluid_is_dirty (self->fluid);
}

/* Whether the record of ID is gone. */
static inline gboolean
engine_op_is_forgotten (const Engine *self, OpId id)
{
  return id < self->forgotten->len;
}

/* Where ID is in `live`, or ENGINE_NONE: it has ended. */
static inline guint32
engine_op_slot (const Engine *self, OpId id)
{
  return engine_op_is_forgotten (self, id)
             ? ENGINE_NONE
             : vector_at (self->slots, guint32, id - self->forgotten->len);
}

static inline LiveOp *
engine_live_op (const Engine *self, OpId id)
{
  guint32 slot = engine_op_slot (self, id);

  return slot == ENGINE_NONE ? NULL : &vector_at (self->live, LiveOp, slot);
}

static inline EngineResource *
engine_resource_at (const Engine *self, ResourceId id)
{
  return &vector_at (self->resources, EngineResource, id);
}

static inline Stream *
engine_stream_at (const Engine *self, StreamId id)
{
  return &vector_at (self->streams, Stream, id);
}

static inline Host *
engine_host_at (const Engine *self, HostId id)
{
  return &vector_at (self->hosts, Host, id);
}

static inline Pool *
engine_pool_at (const Engine *self, PoolId id)
{
  return &vector_at (self->pools, Pool, id);
}

static inline OpRecord *
engine_record_at (const Engine *self, OpId id)
{
  return &vector_at (self->records, OpRecord, id - self->forgotten->len);
}

/* Whether a twin of ID, which has ended, may have ended sooner: none is forgotten where any may. */
static inline gboolean
engine_op_was_apart (const Engine *self, OpId id)
{
  return self->twins_apart && engine_record_at (self, id)->apart;
}

/*
 * keys.c: keys EVENT SPAN from now. What would happen at SIM_TIME_MAX or later is not keyed: the
 * run ends before it, with ENGINE_ERROR_TOO_LONG.
 */
void engine_key_after (Engine *self, EventId event, SimTime span, guint64 sequence);

/* keys.c: drains whose end has to be keyed again after the next solve; keys them. */
void engine_mark_drain (Engine *self, StreamId id);
void engine_touch_drains (Engine    *self,
                          ResourceId id); /* waves there run at another rate, or have ended */
void engine_key_drains (Engine *self);

/* pool-calls.c: notes a call, where they are noted. */
void engine_pool_note (Engine *self, PoolCall call);

/* AMOUNT of a resource has been used. */
static inline void
engine_add_use (Engine *self, ResourceId id, double amount)
{
  UseCall call = { id, amount };

  engine_resource_at (self, id)->used += amount;
  if (self->use_calls != NULL)
    vector_push (self->use_calls, call);
}

/* records.c: where records have no room for another op: those go that have become the past's. */
void engine_forget_more (Engine *self);

/* op-end.c */
void engine_op_event (Engine *self, OpId id);        /* its latency or its flow is over */
void engine_twin_event (Engine *self, guint32 twin); /* its flow is over, maybe before its op's */

/* op.c */
void   engine_op_begin (Engine *self, OpId id);                   /* all members have arrived */
double engine_op_progress (const Engine *self, const LiveOp *op); /* now */
void   engine_solve (Engine *self); /* new rates, and what follows from them */
/* Its latency is over: it begins to flow. FALSE where it has flowed, or nothing flows. */
gboolean engine_op_flow (Engine *self, LiveOp *op);
void     engine_op_end_flow (Engine *self, LiveOp *op);
/* It has ended: its record is full, and its slot unused. Those who wait for it are not called. */
void engine_op_close (Engine *self, LiveOp *op);
void engine_op_add_waiter (Engine *self, OpId op, const WaiterNode *waiter);

/* Writes note I down. */
void engine_take_use_note (Engine *self, guint i);
/* Appends the first op that has begun, when nothing happens any more: its end is too late. */
gboolean engine_describe_late_op (const Engine *self, GString *text);

/* twins.c: the twins of an op begin to flow, and end, as it does. */
void engine_twins_flow (Engine *self, LiveOp *op, FluidSpec *spec);
void engine_twins_end (Engine *self, LiveOp *op);
void engine_twin_apply_rate (Engine *self, guint32 twin);
/* Where twins may end apart: TWIN has flown. Returns its op. */
LiveOp *engine_twin_end_apart (Engine *self, guint32 twin);
/* Where some of what OP stands for may have begun before now. */
void engine_op_note_apart (Engine *self, LiveOp *op);
/* What TWIN has moved of its demands and not counted yet: a part of the whole. */
double engine_twin_progress (const Engine *self, guint32 twin);
void   engine_twins_clear (Engine *self);

/* stream.c */
void     engine_stream_advance (Engine  *self,
                                StreamId id); /* something that its head waited for has happened */
void     engine_stream_finish (Engine *self, StreamId id, OpId op); /* its head has ended */
void     engine_settle_arrivals (Engine *self);
void     engine_drain_event (Engine *self, StreamId id);
void     engine_stream_clear (Stream *stream);
gboolean engine_describe_stuck_stream (const Engine *self, StreamId id, GString *text);

/* host.c */
void engine_host_run (Engine *self, HostId id);
void engine_host_wake (Engine *self, HostId id, Cause cause, OpId op);
/*
 * Where nothing else can happen, the memory that an allocation waits for is used by what waits for
 * its host: the first one that waits goes through, and overflows. FALSE: none waits.
 */
gboolean engine_pools_overflow (Engine *self);
void     engine_pool_release_deferred (Engine *self, const WaiterNode *release, OpId op);
gboolean engine_describe_stuck_host (const Engine *self, HostId id, GString *text);
gboolean engine_describe_late_host (const Engine *self, HostId id, GString *text);

/* Tests: solve everything at every event, the reference for the incremental solver. */
void engine_set_full_resolve (Engine *self, gboolean full);
