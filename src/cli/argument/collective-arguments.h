/*
 * Words of `shardsim collective`: sizes as nccl-tests reads them, ranks, names, and what runs
 * beside.
 */
#pragma once

#include "cli/argument/common.h"
#include "predict/collective-sweep.h"

/*
 * What the options of COMMON_NETWORK set; of COMMON_CLUSTER where LIBRARY is NULL. MARKS and
 * LIBRARY_MARKS (may be NULL) get where those of the cluster and of the library stand.
 */
void apply_network_options (const Common *common, ClusterOptions *cluster,
                            CollectiveConfig *library, OptionMarks *marks,
                            OptionMarks *library_marks, DiagList *diags);

/* Where VALUE of OPTION stands, for diagnostics. */
SourceMark argument_mark (const char *option, const char *value);

/* "8", "64K", "1.5M", "8G": suffixes are binary. 0 after a diagnostic. */
guint64 parse_size (const SourceMark *mark, const char *text, DiagList *diags);

/*
 * GPUs in group order, "0-7,16"; each once. TEXT NULL: all N_GPUS. N_GPUS 0: it is not known, and
 * only the form is checked. Newly allocated array of guint32.
 */
GArray *parse_ranks (const SourceMark *mark, const char *text, guint n_gpus, DiagList *diags);

/* Index of TEXT among NAMES (NULL-terminated); 0 after a diagnostic. */
guint parse_word (const SourceMark *mark, const char *what, const char *text,
                  const char *const *names, DiagList *diags);

/* COLLECTIVE_ALL_GATHER after a diagnostic. */
CollectiveKind parse_kind (const SourceMark *mark, const char *text, DiagList *diags);

/*
 * "all_gather:256M:ranks=8-15:start=10us:algo=ring:proto=simple": a collective, its S ("same": that
 * of each row), then any of the keys. What is not given is all GPUs, 0, and LIBRARY's.
 */
typedef struct
{
  CollectiveNeighbour neighbour; /* ranks borrowed from below */
  GArray             *ranks;     /* guint32 */
  gboolean            forced_algorithm, forced_protocol;
} Concurrent;

void parse_concurrent (const char *text, guint n_gpus, const CollectiveOptions *library,
                       Concurrent *concurrent, DiagList *diags);
void concurrent_clear (gpointer data);
