/*
 * A growing array for inner loops, where g_array_append_val's call for every element is a good part
 * of the time. Elements beyond `len` keep what they held.
 */
#pragma once

#include <glib.h>
#include <string.h>

typedef struct
{
  char *data;
  guint len, room; /* elements */
  gsize width;     /* bytes of one */
} Vector;

static inline Vector *
vector_new (gsize width)
{
  Vector *self = g_new0 (Vector, 1);

  self->width = width;
  return self;
}

static inline void
vector_free (Vector *self)
{
  g_free (self->data);
  g_free (self);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Vector, vector_free)

#define vector_at(self, Type, i) (((Type *) (gpointer) (self)->data)[i])
#define vector_data(self, Type)  ((Type *) (gpointer) (self)->data)

/* Room for N elements. */
static inline void
vector_reserve (Vector *self, guint n)
{
  if (G_LIKELY (n <= self->room))
    return;
  self->room = MAX (n, MAX (8, 2 * self->room));
  self->data = g_realloc_n (self->data, self->room, self->width);
}

/* Appends VALUE. */
#define vector_push(self, value)                                               \
  G_STMT_START                                                                 \
  {                                                                            \
    vector_reserve ((self), (self)->len + 1);                                  \
    ((__typeof__ (value) *) (gpointer) (self)->data)[(self)->len++] = (value); \
  }                                                                            \
  G_STMT_END

/* Puts VALUE at place I, before what stood there. */
#define vector_insert(self, i, value)                                                   \
  G_STMT_START                                                                          \
  {                                                                                     \
    __typeof__ (value) *vector_place;                                                   \
                                                                                        \
    vector_push ((self), (value));                                                      \
    vector_place = &vector_at ((self), __typeof__ (value), (i));                        \
    memmove (vector_place + 1, vector_place, ((self)->len - 1 - (i)) * sizeof (value)); \
    *vector_place = (value);                                                            \
  }                                                                                     \
  G_STMT_END

/* Appends N elements that are 0. */
static inline void
vector_extend (Vector *self, guint n)
{
  vector_reserve (self, self->len + n);
  memset (self->data + self->len * self->width, 0, n * self->width);
  self->len += n;
}

/* Leaves the first N, of at least as many. */
static inline void
vector_cut (Vector *self, guint n)
{
  self->len = n;
}

/* Takes out N from place I on. */
static inline void
vector_remove (Vector *self, guint i, guint n)
{
  memmove (self->data + i * self->width, self->data + (i + n) * self->width,
           (self->len - i - n) * self->width);
  self->len -= n;
}
