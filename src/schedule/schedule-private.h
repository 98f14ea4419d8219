/* What the files of this layer share: the bodies of a schedule and of its builder. */
#pragma once

#include "base/vector.h"
#include "schedule/builder.h"

/*
 * `part` of `buffer` is touched by the op at `item`, or (what is not modelled) by STREAM or the
 * host just before `item`. In that order: what is before an item, then what the item does.
 */
typedef struct
{
  guint32 item, buffer, part;
  guint16 stream; /* StreamRef, USE_BY_ITEM or USE_BY_HOST */
  guint8  access; /* ScheduleAccess */
} ScheduleUse;

#define USE_BY_ITEM G_MAXUINT16
#define USE_BY_HOST (G_MAXUINT16 - 1)

/* Numbers from here on are of data without memory: schedule_data. */
#define SCHEDULE_FIRST_DATA 0x80000000u

typedef struct
{
  Vector *items;  /* ScheduleItem */
  Vector *uses;   /* ScheduleUse */
  GArray *micros; /* ScheduleMicro */
  guint   n_events;
} ScheduleProgram;

/* A buffer that crosses the ends of sections: the number that it has behind them. */
typedef struct
{
  const char *name; /* interned */
  BufferRef   buffer;
} CarriedBuffer;

typedef struct
{
  ScheduleProgram programs[SECTION_N];
  GArray         *buffers; /* ScheduleBuffer */
  GPtrArray      *carried; /* interned names: slots of what crosses the ends of sections */
  GArray         *passed;  /* CarriedBuffer */
  GPtrArray      *data;    /* interned labels of what schedule_data returned */
  guint           stage;
  guint           unit_offset; /* parts of buffers are units of the stage, counted from this one */
  const Workload *workload;
} ScheduleRole;

struct _Schedule
{
  const Workload *workload;
  GArray         *units; /* ScheduleUnit */
  ScheduleRole   *roles;
  guint           n_roles, n_stages;
  guint32        *role_of_rank; /* NULL when there is one role */
  guint           n_ranks;
  guint           steps_per_period, gap, ahead;
  gboolean        crosses;
  GArray         *streams; /* ScheduleStream */
  GArray         *comms;   /* ScheduleComm */
  GPtrArray      *kernels; /* copies of descriptions that are not the workload's */
  GStringChunk   *strings; /* per schedule: threads that build side by side share nothing */
};

/*
 * Numbers that strategies get for events carry their section in the top bits, so that a number kept
 * from another section cannot pass for one of this section. Items hold the bare index; a foreign
 * number becomes SCHEDULE_FOREIGN, which the checker reports.
 */
#define SCHEDULE_EVENT_BITS 30
#define SCHEDULE_FOREIGN    (G_MAXUINT32 - 1)

/* Units that are alike have alike kernels around them, a few kinds in turn. */
#define RECENT_KERNELS 8
#define RECENT_TEXTS   64 /* as many as a strategy has names for what it does */

struct _ScheduleBuilder
{
  Schedule         *schedule;
  GPtrArray        *layers; /* distinct LayerDesc of the workload */
  ScheduleRole     *role;
  ScheduleProgram  *program;
  ScheduleSection   section;
  SchedulePhase     phase;
  guint             unit;                   /* among all units */
  guint             unit_offset;            /* of the stage's: callers count from it */
  StreamRef         compute;                /* what SCHEDULE_COMPUTE stands for at present */
  StreamRef         other_compute;          /* what else it stood for, or SCHEDULE_COMPUTE */
  OpRef             last_op;                /* SCHEDULE_NONE when the last call emitted nothing */
  guint32           last_at;                /* then: the item that it would have been, */
  StreamRef         last_stream;            /* and its stream; SCHEDULE_NONE before the first op */
  StopPoll          poll;                   /* a turn for each item */
  const KernelDesc *recent[RECENT_KERNELS]; /* a ring of those of the schedule's own */
  guint             n_kept;                 /* of them so far */
  const char       *texts[RECENT_TEXTS];    /* interned lately, by where they came from */
};

/* A new item of the current phase and unit; puts ITEM at the end of the section: its index. */
ScheduleItem builder_item (const ScheduleBuilder *b, ItemKind kind);
guint        builder_append (ScheduleBuilder *b, const ScheduleItem *item);
/* TEXT as the schedule keeps it: one pointer for equal texts. */
const char *builder_intern (ScheduleBuilder *b, const char *text);
/* What SCHEDULE_COMPUTE stands for at present; other streams are themselves. */
StreamRef builder_stream (const ScheduleBuilder *b, StreamRef stream);
/* EVENT without its section, or SCHEDULE_FOREIGN. */
guint32         builder_event (const ScheduleBuilder *b, EventRef event);
ScheduleBuffer *builder_buffer (const ScheduleBuilder *b, BufferRef buffer);

static inline ScheduleProgram *
schedule_program (const Schedule *self, guint role, ScheduleSection section)
{
  g_assert (role < self->n_roles && section < SECTION_N);
  return &self->roles[role].programs[section];
}

/* Sections that differ: without the steady one where every role shares it. */
static inline guint
schedule_n_sections (const Schedule *self)
{
  return schedule_first_is_steady (self) ? SECTION_STEADY : SECTION_N;
}

/*
 * For each role the lowest role that it meets, directly or through others, in the groups of COMM.
 * Newly allocated.
 */
guint *schedule_comm_roles (const Schedule *self, CommRef comm);

/* Sends and receives of one section, paired (partners.c); where POLL is cut, some of them. */
typedef struct _Partners Partners;

Partners *partners_new (const Schedule *schedule, ScheduleSection section, StopPoll *poll);
void      partners_free (Partners *self);
/*
 * The role at the other end of message ITEM of ROLE, and the item there: SCHEDULE_NONE when it has
 * too few.
 */
guint partners_role (const Partners *self, guint role, const ScheduleItem *item);
guint partners_item (const Partners *self, guint role, guint item);

/* What a role's programs are, but for amounts (sound-programs.c). */
typedef struct
{
  guint64 a, b;
} ProgramPrint;

ProgramPrint program_print (const Schedule *schedule, guint role);
gboolean     sound_programs_have (SoundPrograms *self, const ProgramPrint *print);
void         sound_programs_add (SoundPrograms *self, const ProgramPrint *print);

/*
 * Whether events order what touches the same data, for a role whose programs are sound otherwise
 * (data-check.c). FALSE after diagnostics, or where POLL is cut.
 */
gboolean schedule_check_data (const Schedule *self, guint role, StopPoll *poll, DiagList *diags);

/* Deadlock across roles (check.c calls it once the programs themselves are sound); as above. */
gboolean schedule_check_progress (const Schedule *self, StopPoll *poll, DiagList *diags);
/* "role 0, steady section, item 12 ('all_gather', block 0)". Newly allocated. */
char *schedule_item_place (const Schedule *self, guint role, ScheduleSection section, guint item);
