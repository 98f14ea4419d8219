#include "base/parallel.h"

#include <pthread.h>

/* Threads take the next job under the lock. */
typedef struct
{
  pthread_mutex_t lock;
  guint           next, n;
  ParallelJob     job;
  gpointer        user;
  WorkCount      *count;
} Queue;

static void *
work (void *data)
{
  Queue *self = data;

  for (;;)
    {
      guint i;

      pthread_mutex_lock (&self->lock);
      i = self->next < self->n && !work_count_is_cut (self->count) ? self->next++ : self->n;
      pthread_mutex_unlock (&self->lock);
      if (i == self->n)
        return NULL;
      self->job (i, self->user);
      if (self->count == NULL || !stop_is_due (self->count->stop)) /* else it may be cut, too */
        work_count_done (self->count);
    }
}

void
parallel_run (guint n, guint n_threads, ParallelJob job, gpointer user, WorkCount *count)
{
  Queue                 self = { .n = n, .job = job, .user = user, .count = count };
  guint                 started = 0, wanted = MIN (n, n_threads);
  g_autofree pthread_t *threads = g_new (pthread_t, MAX (wanted, 1));

  work_count_add (count, n);
  pthread_mutex_init (&self.lock, NULL);
  while (started + 1 < wanted && pthread_create (&threads[started], NULL, work, &self) == 0)
    started++;
  work (&self);
  for (guint i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
  pthread_mutex_destroy (&self.lock);
}
