/*
 * Lists of hosts: the file of a job's nodes as MPI launchers and Slurm take it, and the names of
 * all nodes of a machine in one word.
 */
#pragma once

#include "base/file/input-files.h"

typedef struct
{
  char      *name;
  guint      slots; /* processes that the launcher may start there; 0 = not said */
  SourceMark mark;
} HostLine;

/*
 * The lines of FILE, array of HostLine: a host each, 'name', 'name slots=8' (Open MPI) or 'name:8'
 * (MPICH); empty lines and what follows a '#' say nothing. Owned by FILES, which reads it once.
 * NULL after a diagnostic at MARK, of who named the file, with HINT.
 */
const GArray *host_file_get (InputFiles *files, const char *file, const SourceMark *mark,
                             const char *hint, DiagList *diags);

/*
 * Names from Slurm's form, 'gpu[001-128,200],login1': newly allocated array of strings. NULL after
 * a diagnostic at MARK.
 */
GPtrArray *host_names_expand (const char *text, const SourceMark *mark, DiagList *diags);
