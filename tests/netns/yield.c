/*
 * Loaded before the MPI library by tests/netns: a rank with nothing to do sleeps for a moment.
 *
 * Open MPI's ranks wait in a loop around sched_yield. With more ranks than cores they take all of
 * the processors' time from each other and from the kernel's network, and a message waits for its
 * rank's turn. Real hosts have a processor each. A nap of 50 us (and about as much of timer slack)
 * is nothing against the milliseconds that a message takes here.
 */
#include <sched.h>
#include <time.h>

int
sched_yield (void)
{
  nanosleep (&(struct timespec){ .tv_nsec = 50000 }, NULL);
  return 0;
}
