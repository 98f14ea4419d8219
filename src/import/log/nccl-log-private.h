/*
 * What the readers of text and JSON make of a log: runs, one after another. A run goes to
 * log_add_run when it is complete, which holds it against itself and against the hardware, and
 * makes rows of it.
 */
#pragma once

#include "import/log/nccl-log.h"

enum
{
  LOG_OUT_OF_PLACE,
  LOG_IN_PLACE,
  LOG_N_HALVES,
};

/* One half of a row. */
typedef struct
{
  double     time_us; /* 0: was not timed */
  double     rate;    /* its algbw, GB/s */
  SourceMark missing; /* where the log says so instead of a time; line 0: nowhere */
} LogHalf;

typedef struct
{
  guint64    bytes, count;
  guint      element;   /* bytes of an element; 0: a type that is not known */
  gboolean   described; /* it says whether it reduces, and whether there is a root */
  gboolean   reduces, rooted;
  LogHalf    halves[LOG_N_HALVES];
  SourceMark mark;
} LogRow;

/* A line of "Using devices". */
typedef struct
{
  gint64     rank, group, pid;  /* pid -1: not said */
  guint      n_ranks;           /* that the line stands for: the JSON has one a process */
  char      *host, *gpu, *slot; /* slot: number and bus address of the GPU; NULL: not known */
  SourceMark mark, gpu_mark;
} LogRank;

typedef struct
{
  SourceMark mark;                 /* its first line, or its header */
  char      *test;                 /* "all_reduce"; NULL: nothing says it */
  char      *library;              /* "2.18.5", "RCCL"; NULL: nothing says it */
  char      *algorithm, *protocol; /* that NCCL_ALGO and NCCL_PROTO ask for; NULL: nothing */
  GString   *words;                /* further words for `env`, each with a space before it */
  GArray    *ranks;                /* LogRank */
  GArray    *rows;                 /* LogRow */
  guint      n_ranks;              /* that the head says; 0: it does not */
  guint      n_threads, n_gpus;    /* of a process; 0: not said */
  gboolean   predicted;            /* printed by `shardsim collective` */
} LogRun;

/* Where runs go. */
typedef struct
{
  const char               *file; /* interned */
  const MeasurementContext *context;
  GPtrArray                *rows;        /* Measurement */
  guint                     n_ids;       /* given so far */
  gboolean                  no_hardware; /* that was said */
  DiagList                 *diags;
} LogTarget;

LogRun *log_run_new (const SourceMark *mark);
void    log_run_free (LogRun *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LogRun, log_run_free)

/* Sets the library's version; one that differs from what stands is diagnosed at MARK. */
void log_run_set_library (LogRun *self, const char *version, const SourceMark *mark,
                          DiagList *diags);

/* The same from NCCL's number for it: 22809, 2708. */
void log_run_set_library_code (LogRun *self, guint64 code, const SourceMark *mark, DiagList *diags);

/*
 * Notes what NAME=VALUE of the environment asks for, if anything. A choice that no simulation
 * follows is diagnosed at MARK.
 */
void log_run_set_variable (LogRun *self, const char *name, const char *value,
                           const SourceMark *mark, DiagList *diags);

/* Adds a word for `env`, once. */
void log_run_add_word (LogRun *self, const char *word);

/* Bytes of an element of nccl-tests' type NAME; 0: not known. */
guint log_element_size (const char *name, gsize length);

/*
 * TEST of "/opt/all_reduce_perf" or "all_reduce_perf_mpi" somewhere in TEXT: newly allocated
 * "all_reduce", or NULL.
 */
char *log_test_name (const char *text);

/* What the ranks' lines add up to. */
typedef struct
{
  guint       n_ranks, n_hosts, per_host; /* 0: no lines */
  guint       n_processes;
  gboolean    shared; /* ranks share a GPU */
  const char *gpu;
} LogLayout;

/*
 * What RUN's ranks add up to. FALSE after a diagnostic: ranks that are not each there once, in one
 * group, on one kind of GPU. Where some lines are missing and the caller says all of the hardware,
 * that stands, with a warning.
 */
gboolean log_read_layout (const LogTarget *target, const LogRun *run, LogLayout *layout);

/*
 * Fills OPTIONS (zeroed) with the run's hardware: the caller's, and the log's where that is open.
 * FALSE after a diagnostic.
 */
gboolean log_settle_hardware (LogTarget *target, const LogRun *run, const LogLayout *layout,
                              ClusterOptions *options);

/* The place to name for what concerns all ranks. */
const SourceMark *log_ranks_mark (const LogRun *run);

/* Takes RUN's rows, or says why not. */
void log_add_run (LogTarget *target, const LogRun *run);
