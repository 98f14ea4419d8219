/*
 * The schedule: what a strategy issues, per role a program of host actions and device ops, and the
 * builder that writes it.
 *
 * Semantics are CUDA's. A host program runs its items in order. Streams are in-order queues; an
 * event stands for what was submitted on a stream until it was recorded; a stream or the host waits
 * for events. Memory is taken and given back in host order. A program has three sections: init
 * (once), first (the first period), steady (repeated). Ops on one stream stay in order across
 * sections. An event recorded in one section is not visible in another unless it is carried there
 * by name: schedule_carry.
 */
#pragma once

#include "base/memory.h"
#include "base/stop.h"
#include "model/mesh/mesh.h"
#include "model/step/workload.h"
#include "schedule/sound-programs.h"
#include "vocabulary/dispatch.h"
#include "vocabulary/host-desc.h"
#include "vocabulary/payload.h"
#include "vocabulary/place.h"
#include "vocabulary/transport.h"

typedef enum
{
  SECTION_INIT,
  SECTION_FIRST,
  SECTION_STEADY,
  SECTION_N,
} ScheduleSection;

const char *schedule_section_name (ScheduleSection section); /* "init", "first", "steady" */

/*
 * Messages between two members of a group (pipeline stages). An ITEM_P2P is one message of a group
 * call: `collective` says which way it goes, `ref` the communicator, `peer` the index of the other
 * end in the group, `bytes` its size. While `more` is set the next item is a message of the same
 * call, on the same stream; it may be on another communicator.
 *
 * A group call is one launch. It takes its turn on its stream as any op does, and holds its SMs
 * from its own start. A message moves once the calls of both its ends have started (a send does not
 * end before its receive is there); the messages of a call move side by side. The call is over, for
 * its stream and for events recorded behind it, when its last message is.
 *
 * The n-th send of member a to member b on a communicator goes with the n-th receive of b from a,
 * of the same bytes, in each section anew: a section has as many sends as receives. Nothing else
 * orders messages: not those of other pairs, not those from b to a, not collectives on the
 * communicator. The last member may send to the first (interleaved stages).
 */
typedef enum
{
  MESSAGE_SEND,
  MESSAGE_RECEIVE,
  MESSAGE_N,
} ScheduleMessage;

const char *schedule_message_name (ScheduleMessage way); /* "send", "receive" */

typedef enum
{
  PHASE_NONE,
  PHASE_FORWARD,
  PHASE_RECOMPUTE,
  PHASE_BACKWARD,
  PHASE_OPTIMIZER,
  PHASE_OUTER, /* a local-update system's outer synchronisation */
  PHASE_N,
} SchedulePhase;

const char *schedule_phase_name (SchedulePhase phase);

typedef guint32 StreamRef;
typedef guint32 CommRef;
typedef guint32 EventRef;
typedef guint32 BufferRef;
typedef guint32 OpRef; /* index of the item in its section */

#define SCHEDULE_NONE    G_MAXUINT32
#define SCHEDULE_WHOLE   G_MAXUINT32 /* every part of a buffer */
#define SCHEDULE_COMPUTE 0           /* the default stream: kernels of the model */

typedef enum
{
  ITEM_KERNEL,
  ITEM_COLLECTIVE,
  ITEM_MOVE,      /* bytes go from one place to another, or within one */
  ITEM_HOST_OP,   /* the host's cores work; `host` says at what */
  ITEM_RECORD,    /* event := what stream holds now */
  ITEM_WAIT,      /* stream waits for event */
  ITEM_HOST_WAIT, /* host blocks until event */
  ITEM_HOST_HOOK, /* host time of `count` framework hooks */
  ITEM_ALLOC,
  ITEM_FREE,  /* in host order; with an event: when it has happened */
  ITEM_STEP,  /* a training step ends here (host order) */
  ITEM_CARRY, /* what is carried as `event` (a slot) := event `ref` */
  ITEM_TAKE,  /* event `ref` := what is carried as `event`; nothing yet: it has happened */
  ITEM_PASS,  /* buffer `ref` lives on as buffer `event`, over the ends of sections too */
  ITEM_P2P,   /* a message of a group call: see ScheduleMessage */
  ITEM_N_KINDS,
} ItemKind;

const char *schedule_item_kind_name (ItemKind kind); /* "host_wait" */

/* What a wait is for. */
typedef enum
{
  WAIT_FOR_DATA,
  WAIT_FOR_PACE, /* no data needs it: a framework bounds what is in flight, memory most of all */
} ScheduleWait;

/* How an op touches data. */
typedef enum
{
  ACCESS_READ = 1,
  ACCESS_WRITE = 2,
  ACCESS_READ_WRITE = ACCESS_READ | ACCESS_WRITE,
} ScheduleAccess;

typedef struct
{
  guint8  kind;       /* ItemKind */
  guint8  phase;      /* SchedulePhase */
  guint8  collective; /* CollectiveKind, move_kind or Message; of waits ScheduleWait */
  guint8  more : 1;   /* P2P: the next item is of the same group call */
  guint8  layer : 1;  /* KERNEL and COLLECTIVE: one of those that make up a layer */
  guint32 stream;     /* StreamRef of device items, RECORD and WAIT */
  guint32 unit;       /* unit of the plan it belongs to, or SCHEDULE_NONE */
  guint32 ref;        /* CommRef, EventRef or BufferRef; count of HOST_HOOK */
  guint32 event;      /* FREE: EventRef or SCHEDULE_NONE; CARRY, TAKE: the slot;
                         PASS: BufferRef */
  guint32 peer;       /* P2P: index in the communicator's group; COLLECTIVE of a layer: one
                         more than the SMs that it holds, 0: as many as it has channels */
  guint64 bytes;      /* of collectives (on the wire), moves and messages */
  union
  {
    const KernelDesc *kernel; /* owned by the workload or the schedule */
    const HostDesc   *host;   /* owned by the schedule */
    const Codec      *codec;  /* of collectives; NULL: sent as it is kept */
  };
  const char *label; /* interned: "all_gather block 3" is composed of label and unit by readers */
} ScheduleItem;

typedef enum
{
  STREAM_SERVES,   /* communication, copies, a runtime's own kernels */
  STREAM_COMPUTES, /* kernels of the model: SCHEDULE_COMPUTE, and passes that run with others */
} StreamRole;

typedef struct
{
  const char *name;
  gint        priority;
  StreamRole  role;
} ScheduleStream;

typedef enum
{
  COMM_EXCHANGES, /* each member has its own: replicas, workers, stages, sums of them */
  COMM_SHARES,    /* the members have one copy of something between them: shards, tensor, context
                     and expert ranks */
} CommRole;

typedef struct
{
  const char *name;
  MeshGroup   group;
  Transport   transport;
  CommRole    role;
  Dispatch    dispatch;   /* of its all-to-alls; none: zeroed */
  RingOrder   ring_order; /* of the hosts' rings */
} ScheduleComm;

/*
 * `bytes` is what counts as allocated; the rest says what the framework's allocator is asked for
 * (replay/memory/heap.h). Without PROGRAM that is one block.
 */
typedef struct
{
  Place                place;
  PoolCategory         category;
  guint64              bytes;
  const char          *label;
  guint32              unit;
  guint32              stream; /* StreamRef: the one that is current, from whose pool blocks come */
  const MemoryProgram *program; /* the workload's; its tensors live in `frame` */
  guint32              frame;   /* BufferRef or SCHEDULE_NONE; itself: restored */
  guint                n_frame; /* tensors of the programs whose frame this is; else 0 */
} ScheduleBuffer;

typedef struct
{
  const ScheduleItem *items;
  guint               n;
} ScheduleItems;

/*
 * The forward pass of micro-step `micro` of a step begins at `item`; where a stage has several
 * chunks, that of its first one.
 */
typedef struct
{
  guint32 item, micro;
} ScheduleMicro;

typedef struct _Schedule Schedule;

void schedule_free_all (Schedule *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Schedule, schedule_free_all)
guint           schedule_n_roles (const Schedule *self);
guint           schedule_role_of_rank (const Schedule *self, guint rank);
guint           schedule_role_stage (const Schedule *self, guint role); /* pipeline stage */
guint           schedule_n_stages (const Schedule *self);
const Workload *schedule_role_workload (const Schedule *self, guint role); /* its stage's */
ScheduleItems   schedule_items (const Schedule *self, guint role, ScheduleSection section);
/* Where its micro-steps begin, in order of the items. */
const ScheduleMicro *schedule_micros (const Schedule *self, guint role, ScheduleSection section,
                                      guint *n);
/*
 * N micro-batches of a steady period from number `first` on: what a role does from where it begins
 * the first of them until it begins the one behind them. None: the whole period.
 */
typedef struct
{
  guint first, n;
} MicroSpan;

#define WHOLE_PERIOD ((MicroSpan){ 0, 0 })

/* What ROLE, which begins more micro-batches than those, does in SPAN. */
ScheduleItems schedule_span (const Schedule *self, guint role, MicroSpan span);
/* Whether A and B are the same but for the numbers of events and buffers. */
gboolean schedule_items_alike (const ScheduleItem *a, const ScheduleItem *b);
/* Whether ROLE's steady program is its first one: the same items and buffers; and every role's. */
gboolean              schedule_shares_steady (const Schedule *self, guint role);
gboolean              schedule_first_is_steady (const Schedule *self);
guint                 schedule_n_events (const Schedule *self, guint role, ScheduleSection section);
guint                 schedule_n_streams (const Schedule *self);
const ScheduleStream *schedule_stream_info (const Schedule *self, StreamRef stream);
guint                 schedule_n_comms (const Schedule *self);
const ScheduleComm   *schedule_comm_info (const Schedule *self, CommRef comm);
guint                 schedule_n_carried (const Schedule *self, guint role); /* slots of events */
gboolean              schedule_carries_buffers (const Schedule *self, guint role);
guint                 schedule_n_buffers (const Schedule *self, guint role);
const ScheduleBuffer *schedule_buffer_info (const Schedule *self, guint role, BufferRef buffer);
guint                 schedule_steps_per_period (const Schedule *self);
/*
 * Where workers exchange now and then: the last step of each so many of a period uses what was sent
 * *AHEAD steps before; other steps are alike. The period, where they do not.
 */
guint schedule_exchange_gap (const Schedule *self, guint *ahead);
/* Whether some of what is sent in one step of a period is used in another. */
gboolean schedule_crosses_steps (const Schedule *self);
guint    schedule_n_units (const Schedule *self);
/* "embedding", "block 3", "block 3 mlp.up", "head" */
const char *schedule_unit_name (const Schedule *self, guint unit);
guint schedule_unit_layer (const Schedule *self, guint unit); /* whole model's: 0 the embedding */

/* ---- builder --------------------------------------------------------------------------------- */

typedef struct _ScheduleBuilder ScheduleBuilder;

/* The stream / communicator of that name, made at its first mention (same arguments every time). */
StreamRef schedule_stream (ScheduleBuilder *b, const char *name, gint priority);
/* One that computes, of priority 0. */
StreamRef schedule_compute_stream (ScheduleBuilder *b, const char *name);
CommRef   schedule_comm (ScheduleBuilder *b, const char *name, MeshGroup group);
/* One that shares; so is one that was mentioned before as one that exchanges. */
CommRef schedule_sharing_comm (ScheduleBuilder *b, const char *name, MeshGroup group);
/* The same of ranks that send each other tokens: its all-to-alls are such dispatches. */
CommRef schedule_token_comm (ScheduleBuilder *b, const char *name, MeshGroup group,
                             Dispatch dispatch);
/* A communicator of the hosts: its collectives read and write host memory. */
CommRef schedule_host_comm (ScheduleBuilder *b, const char *name, MeshGroup group);
/*
 * The same with rings that visit their members in ORDER. What its reductions send encoded by a
 * codec that decodes at every hop (Codec.every_hop) costs the hosts memory at each hop, first
 * encoding and last decoding included: emit no ops for these. One codec a communicator and kind:
 * the one that costs most counts for all.
 */
CommRef schedule_host_ring (ScheduleBuilder *b, const char *name, MeshGroup group, RingOrder order);

/* Device ops. LABEL is interned; a group of one member emits nothing and returns SCHEDULE_NONE. */
OpRef schedule_kernel (ScheduleBuilder *b, StreamRef stream,
                       const KernelDesc *kernel); /* copied unless it is the workload's */
OpRef schedule_collective (ScheduleBuilder *b, StreamRef stream, CommRef comm, CollectiveKind kind,
                           Payload payload, const char *label);
OpRef schedule_all_gather (ScheduleBuilder *b, StreamRef stream, CommRef comm, Payload payload,
                           const char *label);
OpRef schedule_reduce_scatter (ScheduleBuilder *b, StreamRef stream, CommRef comm, Payload payload,
                               const char *label);
OpRef schedule_all_reduce (ScheduleBuilder *b, StreamRef stream, CommRef comm, Payload payload,
                           const char *label);
/*
 * Bytes go from place FROM to place TO. What touches pageable memory blocks the host until it is
 * done (move_blocks_host).
 */
OpRef schedule_move (ScheduleBuilder *b, StreamRef stream, Place from, Place to, guint64 bytes,
                     const char *label);
/*
 * Work of the host's cores, in the order of STREAM: the host goes on and issues what comes next.
 * With BLOCKS the issuing thread itself works, or waits for those that do. HOST is copied.
 */
OpRef schedule_host_op (ScheduleBuilder *b, StreamRef stream, const HostDesc *host,
                        gboolean blocks);

typedef struct
{
  ScheduleMessage way;
  CommRef         comm;
  guint           peer;   /* index in the group */
  BufferRef       buffer; /* what a send reads and a receive writes */
  guint64         bytes;
  const char     *label;
} ScheduleP2p;

/*
 * One group call of N messages; those of no bytes or in groups of one member are left out. Returns
 * its last item, or SCHEDULE_NONE.
 */
OpRef schedule_p2p (ScheduleBuilder *b, StreamRef stream, const ScheduleP2p *messages, guint n);

/* Events. Waiting for SCHEDULE_NONE does nothing. */
EventRef schedule_record (ScheduleBuilder *b, StreamRef stream);
void     schedule_wait (ScheduleBuilder *b, StreamRef stream, EventRef event);
void     schedule_wait_stream (ScheduleBuilder *b, StreamRef waiting,
                               StreamRef for_stream); /* record + wait */
/* An event that has happened when both have. Either may be SCHEDULE_NONE: the other one. */
EventRef schedule_join (ScheduleBuilder *b, EventRef one, EventRef other);
void     schedule_host_wait (ScheduleBuilder *b, EventRef event);
/*
 * Carried events: what schedule_carry puts under NAME is what schedule_carried finds in the section
 * after it (a period's end is a section's); the last one put there counts. Where nothing has been
 * carried yet, a wait for it is none.
 */
void     schedule_carry (ScheduleBuilder *b, const char *name, EventRef event);
EventRef schedule_carried (ScheduleBuilder *b, const char *name);
/* The same waits where no data needs them: a WAIT_FOR_PACE. */
void schedule_pace (ScheduleBuilder *b, StreamRef stream, EventRef event);
void schedule_host_pace (ScheduleBuilder *b, EventRef event);
void schedule_host_hooks (ScheduleBuilder *b, guint n);

/*
 * Memory. A buffer allocated in init may live for ever; any other is freed in its own section, or
 * carried. Zero bytes: SCHEDULE_NONE.
 */
BufferRef schedule_alloc (ScheduleBuilder *b, Place place, PoolCategory category, guint64 bytes,
                          const char *label);
/*
 * Allocated while STREAM is current: a caching allocator keeps blocks per stream. schedule_alloc:
 * SCHEDULE_COMPUTE.
 */
BufferRef schedule_alloc_on (ScheduleBuilder *b, StreamRef stream, Place place,
                             PoolCategory category, guint64 bytes, const char *label);
/*
 * BUFFER is what PROGRAM (which must outlive the schedule) has alive at its peak beyond FRAME; its
 * tensors live in FRAME, a buffer that was allocated before and goes after BUFFER. Nothing happens
 * when one of the three is missing.
 */
void schedule_buffer_program (ScheduleBuilder *b, BufferRef buffer, const MemoryProgram *program,
                              BufferRef frame);
/* FRAME, just allocated, has from the start what PROGRAM leaves in a frame that starts empty. */
void schedule_buffer_restored (ScheduleBuilder *b, BufferRef frame, const MemoryProgram *program);
void schedule_free (ScheduleBuilder *b, BufferRef buffer);
void schedule_free_after (ScheduleBuilder *b, BufferRef buffer, EventRef event); /* record_stream */
/*
 * Carried buffers: BUFFER, which is not used under its own number again, is what
 * schedule_carried_buffer finds under NAME from here on, over the ends of sections too; it is freed
 * before the next one is carried. All under one name are alike; none is the frame of a memory
 * program, or has one. SCHEDULE_NONE where none has been carried yet.
 */
void      schedule_carry_buffer (ScheduleBuilder *b, const char *name, BufferRef buffer);
BufferRef schedule_carried_buffer (const ScheduleBuilder *b, const char *name);

/*
 * Data. A strategy says which op reads and writes what, and the checker proves that events order
 * them and that memory is not given back too early. PART divides a buffer that holds data of
 * several units: the unit's number, or SCHEDULE_WHOLE. Buffers of init that hold parameters or
 * optimizer states are filled when training begins; any other part is written before it is read.
 *
 * schedule_uses is about the op emitted last. One that was left out (a group of one member, no
 * bytes) stands for an op of no time at its place on its stream: its input is its output.
 */
void schedule_uses (ScheduleBuilder *b, BufferRef buffer, guint part, ScheduleAccess access);
/* An op that is not modelled touches BUFFER, here on STREAM; the host does, here in its program. */
void schedule_touches (ScheduleBuilder *b, StreamRef stream, BufferRef buffer, guint part,
                       ScheduleAccess access);
void schedule_host_touches (ScheduleBuilder *b, BufferRef buffer, guint part,
                            ScheduleAccess access);
/* The op emitted last uses all buffers of CATEGORY that init allocated in PLACE. */
void schedule_uses_kept (ScheduleBuilder *b, Place place, PoolCategory category,
                         ScheduleAccess access);
/* Data without memory of its own in the model, for the functions above. It lives for ever. */
BufferRef schedule_data (ScheduleBuilder *b, const char *label);

SchedulePhase schedule_set_phase (ScheduleBuilder *b, SchedulePhase phase); /* the old one */
guint         schedule_set_unit (ScheduleBuilder *b, guint unit);           /* likewise */

/* ---- checker --------------------------------------------------------------------------------- */

/*
 * Proves SELF sound: no cycle (an event waited for before it is recorded, an op that waits for
 * itself), events and buffers used in their section only, each buffer freed once and used only
 * while it lives, nothing but init's buffers left over at the end of a section, every op runs after
 * those that wrote what it reads, writes nothing that another may still use, and has memory that
 * nobody else still uses; ranks of a group issue the same collectives (kind, bytes) in the same
 * order on a communicator whatever their roles, sends and receives pair up, nobody waits for ever,
 * steps marked. Adds diagnostics that name the role, section, item and label. TRUE when sound;
 * FALSE without a diagnostic where STOP, which may be NULL, came first.
 */
gboolean schedule_check (const Schedule *self, const Mesh *mesh, Stop *stop, DiagList *diags);

/* The same; a role's programs are not looked at where KNOWN, which may be NULL, has their like. */
gboolean schedule_check_once (const Schedule *self, const Mesh *mesh, SoundPrograms *known,
                              Stop *stop, DiagList *diags);

/* ---- totals ---------------------------------------------------------------------------------- */

#define TOTALS_MAX_TRAFFIC 32

typedef struct
{
  CollectiveKind kind;
  MeshGroup      group;
  double         bytes; /* on the wire: sum of S a period, as one rank sees it; of messages between
                           stages what it sends */
  double         slack; /* of a closed form: it allows bytes - slack .. bytes; 0 = exact */
  const Codec   *codec; /* NULL: as it is kept */
} TrafficTotal;

/*
 * What a rank does in a steady period, and its peaks by host order: what a schedule has, or what a
 * closed form expects of it.
 */
typedef struct
{
  TrafficTotal traffic[TOTALS_MAX_TRAFFIC];
  guint        n_traffic;
  double       moves[MOVE_N];       /* bytes, by move_kind */
  double       moves_slack[MOVE_N]; /* of a closed form, as for traffic */
  double       host[HOST_N_KINDS];  /* elements that the host's cores work on */
  double       host_slack[HOST_N_KINDS];
  double       coded, coded_slack; /* bytes that kernels of codecs read and write */
  double       flops;              /* of matrix products and attention, recomputation included */
  /* peaks of allocated bytes over init, first and steady; a measured schedule has low = high */
  double states;                      /* bytes of HBM that live for ever: exact */
  double low[PLACE_N], high[PLACE_N]; /* per rank: of a node's memory and drives its share */
  /* of a closed form, for outer strategies: the trained parameters that a rank holds for ever */
  double resident; /* elements */
  Dtype  resident_dtype;
  Place  resident_home;
  /* and those whose optimizer it runs, where that is, with a copy in fp32 of so many */
  double updated;
  Place  updated_home;
  double mastered;
} PlanTotals;

/*
 * Adds BYTES to the entry of (KIND, GROUP), made when absent. Groups of one member and zero bytes
 * are left out.
 */
void plan_totals_add (PlanTotals *totals, CollectiveKind kind, MeshGroup group, double bytes);
/* The same of what travels as CODEC encodes it; BYTES on the wire. */
void   plan_totals_add_encoded (PlanTotals *totals, CollectiveKind kind, MeshGroup group,
                                const Codec *codec, double bytes);
double plan_totals_traffic (const PlanTotals *totals, CollectiveKind kind, MeshGroup group);

/* Measures the emitted schedule of ROLE. */
void schedule_totals (const Schedule *self, guint role, PlanTotals *totals);

/*
 * Compares a schedule's totals with the expected ones: payloads, copies and FLOPs to 1e-9 relative
 * (payloads may differ by the bytes of padding that the closed form states itself), peaks inside
 * the bounds. FALSE sets *WHY (newly allocated) to the first difference.
 */
gboolean plan_totals_match (const PlanTotals *measured, const PlanTotals *expected, char **why);

/* Human-readable dump of one role's section: a line an item (`shardsim schedule`). */
void schedule_dump (const Schedule *self, guint role, ScheduleSection section, GString *out);
