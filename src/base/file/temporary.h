/*
 * Files and folders that this process makes on the way to others, and that go when it is
 * interrupted.
 *
 * A signal comes to a process, not to a simulation, so the list of them is the process's, behind a
 * lock. Where `temporary_watch_signals` was called, SIGINT, SIGTERM and
 * SIGHUP are taken by a thread of their own, in which nothing has to be async-signal-safe: it ends
 * the child process, removes what is listed, and lets the process die by the signal; work that can
 * end by itself is asked to first (temporary_set_stop). Without that
 * call, as in other programs that use the library, nothing is changed about signals.
 */
#pragma once

#include <sys/types.h>

#include "base/stop.h"

/* To be called once, before there are threads. What was ignored (nohup) stays so. */
void temporary_watch_signals (void);

/*
 * From now on the first SIGINT or SIGTERM is told to STOP, which outlives the call with NULL, and
 * ends nothing by itself; a second one, from a third of a second on, ends the process as ever.
 */
void temporary_set_stop (Stop *stop);

/* As an interrupt does, of a process that is about to end; nothing where another thread does so. */
void temporary_clean_up (void);

/* What an interrupt says on stderr before it ends the process; copied. NULL: nothing. */
void temporary_set_last_words (const char *words);

/*
 * Makes a file and opens it for writing. NAME ends in "XXXXXX", which is filled in. -1 with errno
 * set.
 */
int temporary_file (char *name);

/* Makes a folder, which goes with the files in it. FALSE with errno set. */
gboolean temporary_folder (char *name);

/* Makes a folder of just this name, which goes if it is empty. FALSE with errno set. */
gboolean temporary_new_folder (const char *name);

/* Removes NAME, which is temporary, and forgets it. */
void temporary_remove (const char *name);

/* Forgets NAME, which stays. */
void temporary_keep (const char *name);

/*
 * The temporary files FROM take the names TO, all N of them or none. A signal waits until it is
 * done. Returns 0 or an errno; then *FAILED is the one that could not. Of several, what stood there
 * before has the name FROM.old meanwhile, which is what a power failure can leave.
 */
int temporary_rename (const char *const *from, const char *const *to, guint n, guint *failed);

/*
 * Runs WORDS (a program and its arguments) in FOLDER, a temporary one, and waits for it: the one
 * child process, which an interrupt ends from its first moment to its last. FALSE with ERROR set
 * when it cannot be started; else *GOOD says whether its exit status is 0, and *MESSAGES (newly
 * allocated) what it wrote to stderr.
 */
gboolean temporary_run (const char *folder, const char *const *words, gboolean *good,
                        char **messages, GError **error);
