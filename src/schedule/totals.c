#include <math.h>

#include "schedule/schedule-private.h"

/* Sums of the same whole numbers in another order, in doubles. */
#define TOTALS_TOLERANCE 1e-9

static TrafficTotal *
find_traffic (const PlanTotals *totals, CollectiveKind kind, MeshGroup group, const Codec *codec)
{
  for (guint i = 0; i < totals->n_traffic; i++)
    {
      const TrafficTotal *entry = &totals->traffic[i];

      if (entry->kind == kind && mesh_group_equal (entry->group, group) && entry->codec == codec)
        return (TrafficTotal *) entry;
    }
  return NULL;
}

void
plan_totals_add_encoded (PlanTotals *totals, CollectiveKind kind, MeshGroup group,
                         const Codec *codec, double bytes)
{
  TrafficTotal *entry = find_traffic (totals, kind, group, codec);

  if (group.size == 1 || bytes == 0)
    return;
  if (entry == NULL)
    {
      g_assert (totals->n_traffic < TOTALS_MAX_TRAFFIC);
      entry = &totals->traffic[totals->n_traffic++];
      *entry = (TrafficTotal){ .kind = kind, .group = group, .codec = codec };
    }
  entry->bytes += bytes;
}

void
plan_totals_add (PlanTotals *totals, CollectiveKind kind, MeshGroup group, double bytes)
{
  plan_totals_add_encoded (totals, kind, group, NULL, bytes);
}

double
plan_totals_traffic (const PlanTotals *totals, CollectiveKind kind, MeshGroup group)
{
  const TrafficTotal *entry = find_traffic (totals, kind, group, NULL);

  return entry != NULL ? entry->bytes : 0;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void
add_steady_item (const Schedule *self, const ScheduleItem *item, PlanTotals *totals)
{
  switch (item->kind)
    {
    case ITEM_COLLECTIVE:
      plan_totals_add_encoded (totals, (CollectiveKind) item->collective,
                               schedule_comm_info (self, item->ref)->group, item->codec,
                               (double) item->bytes);
      break;
    case ITEM_P2P:
      if (item->collective == MESSAGE_SEND)
        plan_totals_add (totals, COLLECTIVE_SEND_RECV, schedule_comm_info (self, item->ref)->group,
                         (double) item->bytes);
      break;
    case ITEM_MOVE:
      totals->moves[item->collective] += (double) item->bytes;
      break;
    case ITEM_HOST_OP:
      totals->host[item->host->kind] += (double) item->host->elements;
      break;
    case ITEM_KERNEL:
      if (kernel_desc_is_product (item->kernel))
        totals->flops += item->kernel->flops;
      if (item->kernel->kind == KERNEL_CODEC)
        totals->coded += item->kernel->read_bytes + item->kernel->write_bytes;
      break;
    default:
      break;
    }
}

/* Host order: a buffer counts from its ALLOC to its FREE, whatever event the FREE names. */
static void
measure_peaks (const Schedule *self, guint role, guint64 peaks[PLACE_N])
{
  guint64 held[PLACE_N] = { 0 };

  for (guint s = 0; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (self, role, s);

      for (guint i = 0; i < items.n; i++)
        {
          const ScheduleItem   *item = &items.items[i];
          const ScheduleBuffer *buffer;

          if (item->kind != ITEM_ALLOC && item->kind != ITEM_FREE)
            continue;
          buffer = schedule_buffer_info (self, role, item->ref);
          if (item->kind == ITEM_FREE)
            held[buffer->place] -= buffer->bytes;
          else
            held[buffer->place] += buffer->bytes;
          if (item->kind == ITEM_ALLOC)
            peaks[buffer->place] = MAX (peaks[buffer->place], held[buffer->place]);
        }
    }
}

void
schedule_totals (const Schedule *self, guint role, PlanTotals *totals)
{
  ScheduleItems steady = schedule_items (self, role, SECTION_STEADY);
  guint64       peaks[PLACE_N] = { 0 };
  ScheduleItems init;
  double        sum = 0;

  *totals = (PlanTotals){ 0 };
  for (guint i = 0; i < steady.n; i++)
    add_steady_item (self, &steady.items[i], totals);
  measure_peaks (self, role, peaks);
  /* What init allocates lives for ever, but for what it carries. */
  init = schedule_items (self, role, SECTION_INIT);
  for (guint i = 0; i < init.n; i++)
    {
      const ScheduleBuffer *buffer;

      if (init.items[i].kind != ITEM_ALLOC && init.items[i].kind != ITEM_PASS)
        continue;
      buffer = schedule_buffer_info (self, role, init.items[i].ref);
      if (buffer->place == PLACE_HBM)
        sum += (init.items[i].kind == ITEM_ALLOC ? 1 : -1) * (double) buffer->bytes;
    }
  totals->states = sum;
  for (Place place = 0; place < PLACE_N; place++)
    totals->low[place] = totals->high[place] = (double) peaks[place];
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* LOW and HIGH are what is expected; equal ones are compared to the tolerance. */
static gboolean
value_within (const char *what, double measured, double low, double high, char **why)
{
  if (measured >= low - TOTALS_TOLERANCE * fabs (low)
      && measured <= high + TOTALS_TOLERANCE * fabs (high))
    return TRUE;
  if (low == high)
    *why = g_strdup_printf ("%s: the schedule has %.17g, expected %.17g", what, measured, high);
  else
    *why = g_strdup_printf ("%s: the schedule has %.17g, expected %.17g to %.17g", what, measured,
                            low, high);
  return FALSE;
}

/* Entry by entry of LIST, which is one of the two. */
static gboolean
traffic_matches (const PlanTotals *list, const PlanTotals *measured, const PlanTotals *expected,
                 char **why)
{
  for (guint i = 0; i < list->n_traffic; i++)
    {
      const TrafficTotal *entry = &list->traffic[i];
      const TrafficTotal *form = find_traffic (expected, entry->kind, entry->group, entry->codec);
      const TrafficTotal *has = find_traffic (measured, entry->kind, entry->group, entry->codec);
      double              high = form != NULL ? form->bytes : 0;
      g_autofree char    *what = g_strdup_printf (
             "%s bytes in groups of %u, stride %u%s%s", collective_kind_name (entry->kind),
             entry->group.size, entry->group.stride, entry->codec != NULL ? ", " : "",
          entry->codec != NULL ? entry->codec->name : "");

      if (!value_within (what, has != NULL ? has->bytes : 0, form != NULL ? high - form->slack : 0,
                         high, why))
        return FALSE;
    }
  return TRUE;
}

static gboolean
moves_match (const PlanTotals *measured, const PlanTotals *expected, char **why)
{
  for (guint m = 0; m < MOVE_N; m++)
    {
      g_autofree char *what = g_strdup_printf ("bytes moved from %s", move_kind_name (m));

      if (!value_within (what, measured->moves[m], expected->moves[m] - expected->moves_slack[m],
                         expected->moves[m], why))
        return FALSE;
    }
  return TRUE;
}

static gboolean
host_work_matches (const PlanTotals *measured, const PlanTotals *expected, char **why)
{
  for (guint h = 0; h < HOST_N_KINDS; h++)
    {
      g_autofree char *what = g_strdup_printf ("elements of %s", host_kind_name ((HostKind) h));

      if (!value_within (what, measured->host[h], expected->host[h] - expected->host_slack[h],
                         expected->host[h], why))
        return FALSE;
    }
  return TRUE;
}

static gboolean
peaks_match (const PlanTotals *measured, const PlanTotals *expected, char **why)
{
  for (Place place = 0; place < PLACE_N; place++)
    {
      g_autofree char *what = g_strdup_printf ("peak of %s", place_title (place));

      if (!value_within (what, measured->high[place], expected->low[place], expected->high[place],
                         why))
        return FALSE;
    }
  return TRUE;
}

gboolean
plan_totals_match (const PlanTotals *measured, const PlanTotals *expected, char **why)
{
  *why = NULL;
  return traffic_matches (expected, measured, expected, why)
         && traffic_matches (measured, measured, expected, why)
         && moves_match (measured, expected, why) && host_work_matches (measured, expected, why)
         && value_within ("bytes of codecs", measured->coded,
                          expected->coded - expected->coded_slack, expected->coded, why)
         && value_within ("FLOPs", measured->flops, expected->flops, expected->flops, why)
         && value_within ("states in GPU memory", measured->states, expected->states,
                          expected->states, why)
         && peaks_match (measured, expected, why);
}
