/*
 * The fluid engine: resources, ops, streams, hosts, pools and the clock. It knows no GPU.
 *
 * Mathematics. An op that has begun first spends its latency, then progresses from 0 to 1 at a rate
 * x (1/s) and holds x * amount_r on each resource r that it demands. Rates are the weighted max-min
 * fair ones, found by progressive filling of one level:
 *   traffic (copies, collectives):  x = level * share, over whole capacities;
 *   kernels:                        x = level * share, over what traffic (and kernels of higher
 *                                   priority) leave,
 * with share = weight / nominal bytes for traffic (so that the level is bytes/s per unit of weight)
 * and share = the stand-alone speed for kernels. An op's own cap limits x as well. Alone, an op
 * takes
 *   latency + max over r (amount_r / capacity_r).
 * Rates change only when an op begins, ends, or a reservation changes; events of one instant are
 * one batch.
 *
 * Determinism. Time is an integer count of picoseconds (SimTime); completions are rounded up to the
 * next picosecond; ties are broken by order of creation.
 */
#pragma once

#include "base/config/units.h"
#include "base/stop.h"
#include "base/vector.h"
#include "engine/pool.h"

typedef struct _Engine Engine;

typedef guint32 ResourceId;
typedef guint32 StreamId;
typedef guint32 HostId;
typedef guint32 OrderId;
typedef guint32 OpId; /* index of creation: also the index into the trace */

#define ENGINE_NONE G_MAXUINT32

Engine *engine_new (void);
void    engine_free (Engine *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Engine, engine_free)

/*
 * A capacity per second that ops share (B/s, SM-seconds per second, ...). NAME is copied; CAPACITY
 * > 0.
 */
ResourceId  engine_add_resource (Engine *self, const char *name, double capacity);
const char *engine_resource_name (const Engine *self, ResourceId id);
double      engine_resource_capacity (const Engine *self, ResourceId id);
guint       engine_n_resources (const Engine *self);

/*
 * An in-order queue of ops on one device (CUDA semantics). Kernels of a stream with a higher
 * PRIORITY are served before those of lower ones. DEPTH bounds the ops that are submitted and not
 * done (engine_stream_room); 0 = unbounded.
 */
StreamId engine_add_stream (Engine *self, const char *name, gint priority, guint depth);

/*
 * A second in-order constraint on ops, across streams and hosts: a communicator. Its ops run one
 * after another in the order in which they were created (head of line blocking included).
 */
OrderId engine_add_order (Engine *self, const char *name);

/* ---- ops ------------------------------------------------------------------------------------- */

typedef enum
{
  OP_TRAFFIC,
  OP_KERNEL,
} OpClass;

typedef struct
{
  ResourceId resource;
  double     amount; /* service units of the resource for the whole op; >= 0 */
} Demand;

/*
 * Whole units of work on a resource whose capacity counts slots (thread blocks on SMs). On n slots,
 * the integer part of what reservations leave of the capacity, the op needs ceil (units / n) waves
 * of `unit_seconds`, and occupies all n slots meanwhile: amount = waves * n * unit_seconds. A
 * kernel's time is thus a step function of the SMs left to it.
 */
typedef struct
{
  ResourceId resource; /* ENGINE_NONE: no such demand */
  double     units;
  double     unit_seconds;
} WaveDemand;

/*
 * Waves of several kernels that run as one op, one after another: `count` of them, each of `units`
 * and `unit_seconds`.
 */
typedef struct
{
  double units, unit_seconds, count; /* > 0 */
} WavePart;

typedef struct
{
  OpClass         class_;
  guint64         tag; /* the creator's; kept in the record */
  SimTime         latency;
  const Demand   *demands; /* copied; at most one entry a resource */
  guint           n_demands;
  WaveDemand      waves;      /* kernels only */
  const WavePart *wave_parts; /* instead of the units of `waves`; not copied: they outlive the op */
  guint           n_wave_parts;
  ResourceId      pieces_on; /* with `pieces`: its reservations wait for one of them to end */
  double   pieces;  /* kernels: equal parts that no reservation interrupts; 0 = the waves are */
  double   share;   /* > 0 unless there is no demand; see above */
  double   cap;     /* largest rate x in 1/s; 0 = none */
  guint    members; /* streams it must be submitted on: 1, or the ranks of a collective (begins
                      when the last arrived) */
  gboolean meets;   /* all for whom its members stand begin it together: engine_set_twins_apart */
  OrderId  order;   /* communicator, or ENGINE_NONE */
} OpSpec;

/* Whether every op that was created has ended. */
gboolean engine_is_idle (const Engine *self);

/* Creates an op. Nothing happens until it has been submitted on all its members' streams. */
OpId engine_op_new (Engine *self, const OpSpec *spec);

/*
 * OP, which nobody has submitted yet, stands for another one besides, with the same members,
 * latency, share and cap, but DEMANDS of its own. The other one has no record and stands in no
 * stream: it begins with OP, shares resources as OP does, and must end with it; else the run ends
 * with ENGINE_ERROR_UNLIKE.
 */
void engine_op_add_twin (Engine *self, OpId op, const Demand *demands, guint n_demands);

/*
 * Before anything runs: twins may end before their ops, which end with the last of them, as long as
 * that changes nothing (twins.c). Each stream and host then stands for several, of which some may
 * be ahead of it until they meet. It is the caller's to see that the kernels of a stream's device
 * run alone: what ends sooner must not lend them SMs or memory. Where an op with demands begins
 * that some of them would have begun sooner, or a host waits for memory, the run ends with
 * ENGINE_ERROR_UNLIKE.
 */
void engine_set_twins_apart (Engine *self, gboolean apart);

/* Whether some of those for whom HOST stands may be ahead of it now. */
gboolean engine_host_is_apart (const Engine *self, HostId host);

/*
 * Puts OP at the end of STREAM at the present time. `reserve` units of resource `reserve_on`
 * (ENGINE_NONE: nothing) are held from the time when this member arrives (its stream's turn has
 * come, its waits are over and OP heads its order) until OP ends. Where kernels with waves or
 * pieces run on that resource, the member arrives only after the longest of their running ones has
 * ended.
 */
void engine_submit (Engine *self, OpId op, StreamId stream, ResourceId reserve_on, double reserve);

/*
 * Ops submitted on STREAM after this wait until OP has ended (cudaStreamWaitEvent). No effect when
 * it has.
 */
void engine_stream_wait (Engine *self, StreamId stream, OpId op);

/*
 * The last op submitted on STREAM, or ENGINE_NONE: what an event recorded now stands for
 * (cudaEventRecord).
 */
OpId engine_stream_last (const Engine *self, StreamId stream);

/* ENGINE_NONE when STREAM takes another op, else the op whose end makes room. */
OpId engine_stream_room (const Engine *self, StreamId stream);

gboolean engine_op_done (const Engine *self, OpId op);

/* Room for N ops in all, so that their records need not move as they come. */
void engine_expect_ops (Engine *self, guint n);

/* ---- hosts ----------------------------------------------------------------------------------- */

typedef enum
{
  HOST_WORK,  /* busy for `work`, then called again */
  HOST_WAIT,  /* blocked until op `wait` has ended */
  HOST_ALLOC, /* takes `request` of `pool`; blocked while the device overflows with it and released
                 bytes still wait; where nothing else can happen, it overflows */
  HOST_END,   /* the program is over */
} HostYieldKind;

typedef struct
{
  HostYieldKind kind;
  SimTime       work;
  OpId          wait;
  PoolId        pool;
  PoolCategory  category;
  PoolRequest   request; /* of HOST_ALLOC; what it points to lives until the host goes on */
  guint64       tag;     /* of HOST_ALLOC: reported as the place of a peak or an overflow */
} HostYield;

/*
 * A rank's issuing thread: a coroutine. The engine calls STEP whenever the host is free; STEP
 * submits ops, records, waits and frees at the present time, and says how the host goes on. Hosts
 * are called in order of their ids at equal times.
 */
typedef HostYield (*HostStep) (Engine *self, HostId host, gpointer user);
HostId engine_add_host (Engine *self, const char *name, HostStep step, gpointer user);

/* ---- pools ----------------------------------------------------------------------------------- */

PoolId engine_add_pool (Engine *self, const char *name, guint64 capacity);

/*
 * Puts ALLOCATOR, which KIND calls and which the engine takes, between the hosts and POOL, before
 * anything is taken of it.
 */
void engine_pool_set_allocator (Engine *self, PoolId pool, const PoolAllocator *kind,
                                gpointer allocator);

/*
 * The host releases REQUEST: from now on its bytes are not `allocated`. With AFTER other than
 * ENGINE_NONE the device holds them until that op has ended (record_stream); otherwise they are
 * free at once, in host order, as a caching allocator reuses a block on the stream that it was used
 * on.
 */
void engine_pool_release (Engine *self, PoolId pool, PoolCategory category,
                          const PoolRequest *request, OpId after);

/*
 * Takes BYTES at the present time outside a host program and the allocator (what a process holds
 * before it runs).
 */
void engine_pool_take (Engine *self, PoolId pool, PoolCategory category, guint64 bytes,
                       guint64 tag);

const PoolStats *engine_pool_stats (const Engine *self, PoolId pool);
guint            engine_n_pools (const Engine *self);
const char      *engine_pool_name (const Engine *self, PoolId pool);

/*
 * From now on (KEEP) what hosts and ops do to the pools is noted, for engine_pool_repeat_calls; or
 * no more. What was noted before is forgotten.
 */
void engine_pool_note_calls (Engine *self, gboolean keep);

/* Notes the calls of one pool from now on, and of no resource what is used. */
void engine_pool_note_calls_of (Engine *self, PoolId id);

/* What an allocation has to do, from the least. */
typedef enum
{
  POOL_ADMITTED,
  POOL_TRIMMED, /* gives back what the allocator has cached: no time passes */
  POOL_WAITS,
} PoolAdmission;

/* Whether calls are noted, and no allocation since then has had to do more than WORST. */
gboolean engine_pool_calls_within (const Engine *self, PoolAdmission worst);

/*
 * Does to the pools what was noted once more, SPAN later and with TAG added to the tags, while no
 * op runs: what the same ops and hosts would do to them at that time. FALSE where an allocation
 * would have had to do more than WORST, POOL_ADMITTED or POOL_TRIMMED: then the pools are of no
 * more use.
 */
gboolean engine_pool_repeat_calls (Engine *self, SimTime span, guint64 tag, PoolAdmission worst);

/* What resources were used since they are noted counts once more. */
void engine_repeat_use (Engine *self);

/*
 * Whether to repeat what was done to the pools since they are noted, or since this was last asked,
 * would change nothing: not what they hold, nor their peaks. FALSE also where that is not known.
 */
gboolean engine_pools_repeat (Engine *self);

/*
 * Appends numbers (guint64) that say what a pool holds while no op runs: where they are the same,
 * the same calls have the same effects. FALSE where an op still uses what its host has released.
 */
gboolean engine_pool_holds (const Engine *self, PoolId id, GArray *numbers);

/*
 * Keeps (time, pool, category, bytes) of every change of what the device holds, for counters in a
 * trace. Off by default.
 */
void              engine_keep_pool_log (Engine *self, gboolean keep);
const PoolChange *engine_pool_log (const Engine *self, guint *n);

/* What ops take of RESOURCE, per second, from TIME on. */
typedef struct
{
  SimTime    time;
  ResourceId resource;
  double     use;
} UseChange;

/*
 * Keeps every change of what is taken of RESOURCE from now on: before anything runs. One change a
 * time and resource, in order of time.
 */
void             engine_keep_use (Engine *self, ResourceId resource);
const UseChange *engine_use_log (const Engine *self, guint *n);

/* ---- running --------------------------------------------------------------------------------- */

SimTime engine_now (const Engine *self);

/*
 * Before anything runs: with APART each op runs as if it had the machine to itself, so nothing is
 * shared, reserved or drained, and times are longest paths: none falls when an op takes longer.
 */
void engine_set_apart (Engine *self, gboolean apart);

/*
 * What engines that run one after another may do together. It is counted in events and not timed,
 * so that who tries many things within a bound gets the same on every machine.
 */
typedef struct
{
  guint64 done; /* events so far */
  guint64 most; /* of them; 0: no bound */
} EngineWork;

/* Whether nothing more may be done; not of NULL. */
gboolean engine_work_is_over (const EngineWork *work);

/* Says that in ERROR, or that STOP, which may be NULL, is due. */
void engine_set_over (Stop *stop, GError **error);

/* Says in ERROR that what one op or host stands for did not run as it did. */
void engine_set_unlike (GError **error);

/* Before it runs: what SELF does is part of WORK, which outlives it; NULL: nobody counts. */
void engine_set_work (Engine *self, EngineWork *work);

/* The same of STOP, which ends it, too; NULL: nothing does. */
void engine_set_stop (Engine *self, Stop *stop);

/*
 * Runs until every host program is over and every op has ended. FALSE with ERROR set when nothing
 * can happen any more although ops or hosts are left: a deadlock (the message names the first stuck
 * ones), or what is left takes too long for the clock; or when its work is over, its stop due, or
 * a twin unlike its op. Latencies and work saturate: what would end at SIM_TIME_MAX or later never
 * ends.
 */
gboolean engine_run (Engine *self, GError **error);

#define ENGINE_ERROR (engine_error_quark ())
GQuark engine_error_quark (void);
typedef enum
{
  ENGINE_ERROR_DEADLOCK,
  ENGINE_ERROR_TOO_LONG, /* an op or host's work would end after SIM_TIME_MAX; names the first */
  ENGINE_ERROR_OVER,     /* EngineWork or Stop allow for no more */
  ENGINE_ERROR_UNLIKE,   /* what one op stands for did not run as it did: twins.c */
} EngineError;

/* Sets ENGINE_ERROR_TOO_LONG: the one message of everything whose time passes SIM_TIME_MAX. */
void engine_set_too_long (GError **error, const char *where);

/* ---- trace ----------------------------------------------------------------------------------- */

typedef enum
{
  CAUSE_HOST,   /* not issued yet */
  CAUSE_STREAM, /* an earlier op of its stream */
  CAUSE_WAIT,   /* an op that its stream waits for */
  CAUSE_ORDER,  /* an earlier op of its communicator */
  CAUSE_PEER,   /* another rank of the collective had not arrived */
  CAUSE_DRAIN,  /* running waves held the SMs that it reserves */
  CAUSE_LATENCY,
  CAUSE_RESOURCE, /* a saturated resource */
  CAUSE_CAP,      /* its own cap */
  CAUSE_MEMORY,   /* a host blocked in an allocation */
  CAUSE_N,
} Cause;

const char *cause_name (Cause cause);

/*
 * A stretch of an op's run time and what held it back then. The segments of an op cover begin..end
 * without gaps.
 */
typedef struct
{
  SimTime    duration;
  Cause      cause;
  ResourceId resource; /* of CAUSE_RESOURCE */
} TraceSegment;

/*
 * One op. `issue` is the time of its last submission, `begin` the time when its last member had
 * arrived, `end` its end. `gate` says what made the last member arrive no sooner than `begin`:
 * CAUSE_HOST (then `gate_host` issued it just then), or CAUSE_STREAM, CAUSE_WAIT, CAUSE_ORDER with
 * `gate_op` having ended at `begin` (or `drain` before it). Of `drain_op`, which had begun by then,
 * a wave or all of it ended at `begin`, the last one that it had to wait for.
 */
typedef struct
{
  guint64  tag;
  SimTime  issue, begin, end;
  SimTime  first_arrival; /* of its first member: begin - first_arrival is the wait for peers */
  SimTime  drain;         /* part of the wait that was for running waves to drain */
  OpId     drain_op;      /* ENGINE_NONE where `drain` is 0 */
  Cause    gate;
  OpId     gate_op;
  HostId   gate_host;
  StreamId stream; /* of its last-arriving member */
  guint    first_segment, n_segments;
  gboolean apart; /* some of what it stands for may have ended sooner: engine_set_twins_apart */
} OpRecord;

guint               engine_n_ops (const Engine *self);              /* forgotten ones, too */
const OpRecord     *engine_op_record (const Engine *self, OpId op); /* not of a forgotten one */
const TraceSegment *engine_segments (const Engine *self, const OpRecord *record); /* NULL: none */

/*
 * While it runs: from now on nobody asks what an op did that has ended by now, but for when it did.
 * Their segments go, and so do records, of the first ops that were created up to one that ends
 * later: those behind it when it has. Nothing goes where twins may end apart.
 */
void engine_forget_past (Engine *self);

OpId    engine_first_op (const Engine *self);        /* of those that are not forgotten */
SimTime engine_op_end (const Engine *self, OpId op); /* that has ended: a forgotten one's, too */

/*
 * A time when a host was blocked: from `start` to `end` on `op` (CAUSE_WAIT), or in an allocation
 * (CAUSE_MEMORY).
 */
typedef struct
{
  SimTime start, end;
  Cause   cause;
  OpId    op;
} HostBlock;

const HostBlock *engine_host_blocks (const Engine *self, HostId host, guint *n); /* by time */

/* Amount that ops have moved over a resource so far (units of the resource). */
double engine_resource_used (const Engine *self, ResourceId id);

/* What ops had moved over each resource by a time. */
typedef struct
{
  SimTime time;
  double *used; /* [resources]; NULL: it has not come yet */
} UseNote;

/* Notes what is used by the end of OP, or by now where that is over. Returns the note's number. */
guint          engine_note_use (Engine *self, OpId op);
const UseNote *engine_use_note (const Engine *self, guint i);

/* Counters for benchmarks: events handled, solver calls, ops visited by the solver. */
typedef struct
{
  guint64 events, solves, visited;
} EngineCounters;
EngineCounters engine_counters (const Engine *self);
