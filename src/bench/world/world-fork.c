/*
 * Ranks that the program starts itself on this machine: one process each, forked before CUDA is
 * touched.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/world/world-private.h"

static void
stop_all (const pid_t *ranks, unsigned n)
{
  for (unsigned i = 0; i < n; i++)
    if (ranks[i] > 0)
      kill (ranks[i], SIGTERM);
}

/*
 * The first status that is not 0 is the run's; the other ranks are stopped then, since they may
 * wait for the one that has ended.
 */
static int
wait_for_all (pid_t *ranks, unsigned n)
{
  int status = 0;

  for (unsigned left = n; left > 0;)
    {
      int   how;
      pid_t ended = wait (&how);
      int   code;

      if (ended < 0 && errno == EINTR)
        continue;
      if (ended < 0)
        break;
      code = WIFEXITED (how) ? WEXITSTATUS (how) : 128 + WTERMSIG (how);
      for (unsigned i = 0; i < n; i++)
        if (ranks[i] == ended)
          {
            ranks[i] = 0;
            left--;
            if (WIFSIGNALED (how) && status == 0 && WTERMSIG (how) != SIGINT)
              fprintf (stderr, "shardsim-bench: rank %u was ended by signal %d (%s)\n", i,
                       WTERMSIG (how), strsignal (WTERMSIG (how)));
          }
      if (code != 0 && status == 0)
        {
          status = code;
          stop_all (ranks, n);
        }
    }
  return status;
}

bool
world_fork (unsigned n, unsigned *rank, int *status, const char **error)
{
  pid_t *ranks = calloc (n, sizeof *ranks);
  pid_t  parent = getpid ();

  if (ranks == NULL)
    {
      *error = "out of memory";
      return false;
    }
  for (unsigned i = 0; i < n; i++)
    {
      ranks[i] = fork ();
      if (ranks[i] == 0)
        {
          free (ranks);
          prctl (PR_SET_PDEATHSIG, SIGTERM);
          if (getppid () != parent) /* it has gone meanwhile */
            _exit (1);
          *rank = i;
          return true;
        }
      if (ranks[i] > 0)
        continue;
      *error = strerror (errno);
      stop_all (ranks, i);
      wait_for_all (ranks, i);
      free (ranks);
      return false;
    }
  signal (SIGINT, SIG_IGN); /* the ranks get it, too; this process stays to collect them */
  *status = wait_for_all (ranks, n);
  free (ranks);
  return false;
}
