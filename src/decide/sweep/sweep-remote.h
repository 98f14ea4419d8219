/*
 * A keeper's desk in another process: its calls as bytes, whatever carries them. One process of a
 * world keeps (rank 0), the others work.
 */
#pragma once

#include "decide/sweep/sweep-keeper.h"

/* Answers a call: BYTES in, REPLY (empty at first) out. FALSE: the caller says good-bye. */
typedef gboolean (*WorldAnswer) (const guint8 *bytes, gsize n, GByteArray *reply, gpointer user);

/* The processes that a launcher started together. */
typedef struct
{
  guint rank, size;
  /* Rank 0 answers the others until all have said good-bye. */
  void (*serve) (WorldAnswer answer, gpointer user);
  /* The others: one call, from one thread at a time. */
  void (*call) (const guint8 *bytes, gsize n, GByteArray *reply);
  void (*end) (void); /* in every process, the last thing */
} SweepWorld;

/* Rank 0's answers, for what KEEPER's desk does. */
void sweep_remote_serve (SweepKeeper *keeper, const SweepWorld *world);

/* The desk of the others, for any number of threads. */
typedef struct _SweepRemote SweepRemote;

SweepRemote *sweep_remote_new (const SweepWorld *world);
SweepDesk   *sweep_remote_desk (SweepRemote *self);
/* Says good-bye, and frees. */
void sweep_remote_free (SweepRemote *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SweepRemote, sweep_remote_free)
