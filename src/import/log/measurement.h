/*
 * Measured collectives: a table of runs of nccl-tests or rccl-tests, one size a row (the second
 * line here is one line there).
 *
 *   id,source,nodes,gpus_per_node,gpu,intra,nics,nic,collective,bytes,time_us,healthy,nccl,env
 *   deepops-01,https://...,2,8,a100-sxm-40,nvlink3-switch,8,ib-hdr-200,all_reduce,1048576,93.1,
 *     yes,2.9.9,algo=ring
 *
 * `id`, `collective`, `bytes`, `time_us` and the hardware are needed; the hardware is nodes,
 * gpus_per_node, gpu, intra, nics and nic, or `node` or `name` instead; every key of the `cluster`
 * section may be a column. `healthy` is yes where absent. Rows of one id are one run.
 */
#pragma once

#include "cost/collective/library/config.h"
#include "replay/run/replay.h"

/* What logs cannot know. Tables have columns for it and take nothing from here. */
typedef struct
{
  const ClusterOptions *cluster; /* NULL: none given. Without `name`, nodes and gpus_per_node may be
                                    0: then a log's own are taken */
  ProfileSet           *profiles; /* of the hardware; not NULL */
  const char           *env;  /* words for the runs of logs that say nothing else about the same; or
                                NULL */
  CollectiveKind        kind; /* of logs that do not name theirs; COLLECTIVE_N_KINDS: none given */
  /*
   * Figures are fitted: a log of `shardsim collective` is an error, not a warning, and so is a row
   * with an unknown word, which else says why it counts nowhere.
   */
  gboolean measured;
} MeasurementContext;

typedef enum
{
  HEALTHY_YES,     /* looks as its hardware should */
  HEALTHY_UNCLEAR, /* something may be wrong */
  HEALTHY_NO,      /* something is wrong */
  HEALTHY_N,
} MeasurementHealth;

const char *measurement_health_name (MeasurementHealth health); /* "yes" */

/*
 * What becomes of a row with a word that is not known. What is wrong with a table itself is an
 * error either way.
 */
typedef enum
{
  BAD_ROWS_FAIL,    /* the table is refused: every bad cell is diagnosed by row and column */
  BAD_ROWS_EXPLAIN, /* the row is kept, with `reason`, and its bad cells are warnings */
} BadRows;

typedef struct
{
  char      *id, *source;
  char      *reason; /* NULL, or what is wrong with its words; then nothing is predicted of it */
  char      *collective; /* as the table spells it */
  char      *library;    /* version of NCCL; "unknown" */
  char      *env;        /* words, see measurement_environment */
  char      *env_line;   /* of the table, which env_mark shows */
  SourceMark place;      /* file and line of a table's row; without a file: of a log */
  SourceMark env_mark;   /* the cell `env`; without a file: of a log */
  CollectiveKind    kind;
  guint64           bytes; /* S of cost/collective/library/collective.h, as nccl-tests counts it */
  double            time_us;
  MeasurementHealth healthy;
  ClusterOptions    cluster;
} Measurement;

/* An empty array that owns its Measurement *. */
GPtrArray *measurement_array_new (void);

/* A healthy row of nothing, with the defaults of the cluster and an unknown library. */
Measurement *measurement_new (void);

/*
 * The rows of FILE, in order: newly allocated array of Measurement *, owned by the array. NULL
 * after diagnostics about unknown, missing or
 * doubled columns, rows of another length, no rows, and whatever BAD_ROWS adds.
 */
GPtrArray *measurement_table_load (const char *file, BadRows bad_rows, DiagList *diags);

/* ---- measurement-words.c --------------------------------------------------------------------- */

/*
 * What the words of SELF's `env` (separated by spaces or semicolons) ask for:
 *
 *   algo=ring proto=simple   forced choice
 *   single-process           one process drives all GPUs of a node
 *   no-gpudirect             cards do not read GPU memory
 *   nvls=0, nvls=1           multicast in NVLink switches is off; on
 *   pxn=0, pxn=1             messages leave by the sender's own card; by the receiver's rail
 *   sharp                    the network's switches reduce
 *   collnet=1                that was asked for in vain
 *   nchannels=16             channels of rings and trees
 *   nchannels_per_net_peer=4 channels of a send/receive pair over the network
 *   buffsize=8MiB            a connection's buffer under Simple
 *   qps=8, split-data        queue pairs of a connection; messages are cut over them
 *   torch                    torch.distributed's benchmark: each call is timed by itself
 *   acs-on                   peer traffic over PCIe goes up to the root complex
 *   no-cxi-hook              the cards are driven through sockets
 *   in-place, out-of-place   nothing: the same traffic
 *   ranks=0,4-6              these ranks only, in group order
 *   beside=0-3               a second communicator of these ranks runs the same at the same time
 *
 * OPTIONS is filled (its strings are SELF's) and CLUSTER changed. NULL, or why the row cannot be
 * simulated (newly allocated). DIAGS (may be NULL) has the same at the word of a table: an error
 * where a word cannot be followed, a warning where it is none but looks like one. Other words keep
 * a row out on purpose.
 */
char *measurement_environment (const Measurement *self, CollectiveOptions *options,
                               ClusterOptions *cluster, DiagList *diags);

/* NULL, or what is wrong with the words of ENV (newly allocated). */
char *measurement_words_refusal (const char *env);

/*
 * ENV and those of WORDS (NULL: none) that it has no word about, by what stands before the '='.
 * Newly allocated.
 */
char *measurement_words_merge (const char *env, const char *words);

/*
 * Where the word of SELF's `env` stands that begins with PREFIX, "" for the whole cell. FALSE: in
 * no table.
 */
gboolean measurement_word_mark (const Measurement *self, const char *prefix, SourceMark *mark);

/*
 * The ranks that WORD ("ranks" or "beside") of SELF's `env` names, of N_GPUS: newly allocated array
 * of guint32. NULL where there is no such word, or with *REASON set (newly allocated) where it
 * cannot be followed.
 */
GArray *measurement_group (const Measurement *self, const char *word, guint n_gpus, char **reason);

/*
 * The id without its trailing number: "deepops" of "deepops-01", the source that a refit leaves
 * out. Newly allocated.
 */
char *measurement_source_prefix (const Measurement *self);

/*
 * Family and generation of a link: its technology, and for links inside nodes their kind:
 * "infiniband", "nvlink3 mesh". Newly allocated.
 */
char *measurement_link_family (const LinkProfile *link);
