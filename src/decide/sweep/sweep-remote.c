#include "decide/sweep/sweep-remote.h"

#include <pthread.h>
#include <string.h>

/*
 * Calls are variants of one type: what, a digest, a point, a row. Replies: yes or no, a point.
 * Texts are bytes: names of files may be in them.
 */
#define ROW_TYPE   "(sstmaymayaaya(ixdmay))"
#define ROW_FORMAT "(sstm^aym^ay^aaya(ixdmay))"
#define CALL_TYPE  "(ystm" ROW_TYPE ")"
#define REPLY_TYPE "(bt)"

enum
{
  CALL_NEXT,
  CALL_WANTS,
  CALL_PUT,
  CALL_GOOD_BYE,
};

/* ---- rows ------------------------------------------------------------------------------------ */

static GVariant *
row_variant (const ResultRow *row)
{
  GVariantBuilder values;

  g_variant_builder_init (&values, G_VARIANT_TYPE ("a(ixdmay)"));
  for (guint i = 0; i < row->n_values; i++)
    g_variant_builder_add (&values, "(ixdm^ay)", (gint32) row->values[i].type, row->values[i].whole,
                           row->values[i].real, row->values[i].text);
  return g_variant_new (ROW_FORMAT, row->digest, row->base, row->point, row->failure, row->warning,
                        row->settings, &values);
}

static ResultRow *
row_of_variant (GVariant *variant)
{
  ResultRow    *row = g_new0 (ResultRow, 1);
  GVariantIter *values;
  ResultValue   value;
  gint32        type;

  g_variant_get (variant, ROW_FORMAT, &row->digest, &row->base, &row->point, &row->failure,
                 &row->warning, &row->settings, &values);
  if (row->failure == NULL)
    row->values = g_new0 (ResultValue, g_variant_iter_n_children (values) + 1);
  while (
      row->values != NULL
      && g_variant_iter_next (values, "(ixdm^ay)", &type, &value.whole, &value.real, &value.text))
    {
      value.type = (ResultType) type;
      row->values[row->n_values++] = value;
    }
  g_variant_iter_free (values);
  return row;
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

static gboolean
answer (const guint8 *bytes, gsize n, GByteArray *reply, gpointer user)
{
  SweepDesk           *desk = sweep_keeper_desk (user);
  g_autoptr (GVariant) call = g_variant_ref_sink (
      g_variant_new_from_data (G_VARIANT_TYPE (CALL_TYPE), bytes, n, FALSE, NULL, NULL));
  g_autoptr (GVariant) row = NULL, said = NULL;
  const char          *digest;
  guint64              point;
  guint8               what;
  gboolean             yes = FALSE;

  g_variant_get (call, "(y&stm@" ROW_TYPE ")", &what, &digest, &point, &row);
  if (what == CALL_NEXT)
    yes = desk->next (desk, &point);
  else if (what == CALL_WANTS)
    yes = desk->wants (desk, digest, point);
  else if (what == CALL_PUT && row != NULL)
    desk->put (desk, row_of_variant (row));
  said = g_variant_ref_sink (g_variant_new (REPLY_TYPE, yes, point));
  g_byte_array_append (reply, g_variant_get_data (said), (guint) g_variant_get_size (said));
  return what != CALL_GOOD_BYE;
}

void
sweep_remote_serve (SweepKeeper *keeper, const SweepWorld *world)
{
  world->serve (answer, keeper);
}

/* ---- the others ------------------------------------------------------------------------------ */

struct _SweepRemote
{
  SweepDesk         desk; /* the first member */
  const SweepWorld *world;
  pthread_mutex_t   lock; /* one call at a time */
};

/* ROW: floating, or NULL. *POINT goes and comes. */
static gboolean
call (SweepDesk *desk, guint8 what, const char *digest, guint64 *point, GVariant *row)
{
  SweepRemote           *self = (SweepRemote *) desk;
  g_autoptr (GByteArray) reply = g_byte_array_new ();
  g_autoptr (GVariant)   said = NULL, asked = g_variant_ref_sink (g_variant_new (
                                          "(ystm@" ROW_TYPE ")", what, digest, *point, row));
  gboolean               yes;

  pthread_mutex_lock (&self->lock);
  self->world->call (g_variant_get_data (asked), g_variant_get_size (asked), reply);
  pthread_mutex_unlock (&self->lock);
  said = g_variant_ref_sink (g_variant_new_from_data (G_VARIANT_TYPE (REPLY_TYPE), reply->data,
                                                      reply->len, FALSE, NULL, NULL));
  g_variant_get (said, REPLY_TYPE, &yes, point);
  return yes;
}

static gboolean
remote_next (SweepDesk *desk, guint64 *point)
{
  *point = 0;
  return call (desk, CALL_NEXT, "", point, NULL);
}

static gboolean
remote_wants (SweepDesk *desk, const char *digest, guint64 point)
{
  return call (desk, CALL_WANTS, digest, &point, NULL);
}

static void
remote_put (SweepDesk *desk, ResultRow *row)
{
  guint64 point = row->point;

  call (desk, CALL_PUT, row->digest, &point, row_variant (row));
  result_row_free (row);
}

SweepRemote *
sweep_remote_new (const SweepWorld *world)
{
  SweepRemote *self = g_new0 (SweepRemote, 1);

  self->desk = (SweepDesk){ remote_next, remote_wants, remote_put };
  self->world = world;
  pthread_mutex_init (&self->lock, NULL);
  return self;
}

SweepDesk *
sweep_remote_desk (SweepRemote *self)
{
  return &self->desk;
}

void
sweep_remote_free (SweepRemote *self)
{
  guint64 point = 0;

  if (self == NULL)
    return;
  call (&self->desk, CALL_GOOD_BYE, "", &point, NULL);
  pthread_mutex_destroy (&self->lock);
  g_free (self);
}
