/*
 * A wire of some length between each host of tests/netns and its port on the bridge: what a host is
 * sent arrives DELAY later; what it sends passes at once.
 *
 *   delay MILLISECONDS NODE HOST...
 *
 * NODE is the device file of TUN. For each HOST it makes two TAP devices, wireHOST, to be moved
 * into the host, and portHOST, for the bridge, prints "ready", and carries frames until it is
 * killed. Both ends are interfaces like any others: HTB limits what they send. The kernel's own
 * emulator (netem) is not built into every kernel; and on the sender's card it would hold back
 * TCP, which has no more than a few packets in a card's queue.
 *
 * Frames keep their virtio header: trains of up to 64 KiB are not cut, and checksums that nobody
 * has computed are not missed.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define MAX_HOSTS  8
#define MAX_FRAME  (70u << 10)
#define MAX_FRAMES 16384u /* on their way: 1 GiB at most, and never more than TCP's windows */

typedef struct
{
  double   due; /* s */
  int      to;
  uint32_t bytes;
  char    *data;
} Frame;

/* All wires are of one length: what came first is due first. */
static Frame    frames[MAX_FRAMES];
static unsigned first, n_frames;

static double
now (void)
{
  struct timespec t;

  clock_gettime (CLOCK_MONOTONIC, &t);
  return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static int
open_tap (const char *node, const char *kind, const char *host)
{
  struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
  int          fd = open (node, O_RDWR | O_NONBLOCK | O_CLOEXEC);

  if (fd < 0)
    err (1, "%s", node);
  snprintf (request.ifr_name, sizeof request.ifr_name, "%s%s", kind, host);
  if (ioctl (fd, TUNSETIFF, &request) < 0)
    err (1, "%s", request.ifr_name);
  if (ioctl (fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) < 0)
    err (1, "%s: whole trains of packets", request.ifr_name);
  return fd;
}

/* A device that is not up yet, or whose queue is full, loses the frame, as a real one does. */
static void
deliver (int to, const char *data, size_t bytes)
{
  if (write (to, data, bytes) < 0)
    warn ("a frame of %zu bytes is lost", bytes);
}

static void
hold (int to, const char *data, uint32_t bytes, double due)
{
  Frame *frame = &frames[(first + n_frames) % MAX_FRAMES];

  if (n_frames == MAX_FRAMES)
    errx (1, "more than %u frames on their way", MAX_FRAMES);
  *frame = (Frame){ .due = due, .to = to, .bytes = bytes, .data = malloc (bytes) };
  if (frame->data == NULL)
    err (1, "a frame");
  memcpy (frame->data, data, bytes);
  n_frames++;
}

static void
release (double until)
{
  for (; n_frames > 0 && frames[first].due <= until; n_frames--)
    {
      deliver (frames[first].to, frames[first].data, frames[first].bytes);
      free (frames[first].data);
      first = (first + 1) % MAX_FRAMES;
    }
}

/* All that FROM has: to TO at once, or DELAY later. */
static void
carry (int from, int to, double delay)
{
  static char data[MAX_FRAME];
  ssize_t     bytes;

  while ((bytes = read (from, data, sizeof data)) > 0)
    if (delay > 0)
      hold (to, data, (uint32_t) bytes, now () + delay);
    else
      deliver (to, data, (size_t) bytes);
}

/* Until the next frame is due; with none on its way, for ever. */
static void
wait_for (struct pollfd *polls, unsigned n)
{
  double          left = n_frames > 0 ? frames[first].due - now () : 0;
  struct timespec timeout = { 0 };

  if (left > 0)
    {
      timeout.tv_sec = (time_t) left;
      timeout.tv_nsec = (long) (1e9 * (left - (double) timeout.tv_sec));
    }
  if (ppoll (polls, n, n_frames > 0 ? &timeout : NULL, NULL) < 0)
    err (1, "ppoll");
}

int
main (int argc, char **argv)
{
  struct pollfd  polls[2 * MAX_HOSTS];
  const unsigned n = argc > 3 ? (unsigned) argc - 3 : 0;
  const double   delay = n > 0 ? 1e-3 * atof (argv[1]) : 0;

  if (n == 0 || n > MAX_HOSTS || !(delay > 0))
    errx (2, "delay MILLISECONDS NODE HOST...");
  for (unsigned i = 0; i < 2 * n; i++)
    polls[i] = (struct pollfd){
      .fd = open_tap (argv[2], i % 2 == 0 ? "wire" : "port", argv[3 + i / 2]),
      .events = POLLIN,
    };
  /* A wire waits for no processor. Where that is not allowed it is only less exact. */
  (void) sched_setscheduler (0, SCHED_FIFO, &(struct sched_param){ .sched_priority = 1 });
  puts ("ready");
  fflush (stdout);
  for (;;)
    {
      wait_for (polls, 2 * n);
      for (unsigned i = 0; i < 2 * n; i++)
        if (polls[i].revents != 0)
          carry (polls[i].fd, polls[i ^ 1].fd, i % 2 == 0 ? 0 : delay);
      release (now ());
    }
}
