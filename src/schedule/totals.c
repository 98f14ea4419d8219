#include <math.h>

#include "schedule/schedule-private.h"

/* Sums of the same whole numbers in another order, in doubles. */
#define TOTALS_TOLERANCE 1e-9

static TrafficTotal *
find_traffic (const PlanTotals *totals, CollectiveKind kind, MeshGroup group)
{
  for (guint i = 0; i < totals->n_traffic; i++)
    {
      const TrafficTotal *entry = &totals->traffic[i];

      if (entry->kind == kind && entry->group.size == group.size
          && entry->group.stride == group.stride)
        return (TrafficTotal *) entry;
    }
  return NULL;
}

void
plan_totals_add (PlanTotals *totals, CollectiveKind kind, MeshGroup group, double bytes)
{
  TrafficTotal *entry = find_traffic (totals, kind, group);

  if (group.size == 1 || bytes == 0)
    return;
  if (entry == NULL)
    {
      g_assert (totals->n_traffic < TOTALS_MAX_TRAFFIC);
      entry = &totals->traffic[totals->n_traffic++];
      *entry = (TrafficTotal){ .kind = kind, .group = group };
    }
  entry->bytes += bytes;
}

double
plan_totals_traffic (const PlanTotals *totals, CollectiveKind kind, MeshGroup group)
{
  const TrafficTotal *entry = find_traffic (totals, kind, group);

  return entry != NULL ? entry->bytes : 0;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static void
add_steady_item (const Schedule *self, const ScheduleItem *item, PlanTotals *totals)
{
  switch (item->kind)
    {
    case ITEM_COLLECTIVE:
      plan_totals_add (totals, (CollectiveKind) item->collective,
                       schedule_comm_info (self, item->ref)->group, (double) item->bytes);
      break;
    case ITEM_P2P:
      if (item->collective == MESSAGE_SEND)
        plan_totals_add (totals, COLLECTIVE_SEND_RECV, schedule_comm_info (self, item->ref)->group,
                         (double) item->bytes);
      break;
    case ITEM_COPY:
      totals->copies[item->collective] += (double) item->bytes;
      break;
    case ITEM_KERNEL:
      if (kernel_desc_is_product (item->kernel))
        totals->flops += item->kernel->flops;
      break;
    default:
      break;
    }
}

/* Host order: a buffer counts from its ALLOC to its FREE, whatever event the FREE names. */
static void
measure_peaks (const Schedule *self, guint role, guint64 peaks[TIER_N])
{
  guint64 held[TIER_N] = { 0 };

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
            held[buffer->tier] -= buffer->bytes;
          else
            held[buffer->tier] += buffer->bytes;
          if (item->kind == ITEM_ALLOC)
            peaks[buffer->tier] = MAX (peaks[buffer->tier], held[buffer->tier]);
        }
    }
}

/* What init allocates lives for ever. */
static double
measure_states (const Schedule *self, guint role)
{
  ScheduleItems init = schedule_items (self, role, SECTION_INIT);
  double        sum = 0;

  for (guint i = 0; i < init.n; i++)
    {
      const ScheduleBuffer *buffer;

      if (init.items[i].kind != ITEM_ALLOC)
        continue;
      buffer = schedule_buffer_info (self, role, init.items[i].ref);
      if (buffer->tier == TIER_HBM)
        sum += (double) buffer->bytes;
    }
  return sum;
}

void
schedule_totals (const Schedule *self, guint role, PlanTotals *totals)
{
  ScheduleItems steady = schedule_items (self, role, SECTION_STEADY);
  guint64       peaks[TIER_N] = { 0 };

  *totals = (PlanTotals){ 0 };
  for (guint i = 0; i < steady.n; i++)
    add_steady_item (self, &steady.items[i], totals);
  measure_peaks (self, role, peaks);
  totals->states = measure_states (self, role);
  totals->hbm_low = totals->hbm_high = (double) peaks[TIER_HBM];
  totals->host_low = totals->host_high = (double) peaks[TIER_HOST];
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
      const TrafficTotal *form = find_traffic (expected, entry->kind, entry->group);
      double              high = form != NULL ? form->bytes : 0;
      g_autofree char    *what = g_strdup_printf ("%s bytes in groups of %u, stride %u",
                                                  collective_kind_name (entry->kind),
                                                  entry->group.size, entry->group.stride);

      if (!value_within (what, plan_totals_traffic (measured, entry->kind, entry->group),
                         form != NULL ? high - form->slack : 0, high, why))
        return FALSE;
    }
  return TRUE;
}

gboolean
plan_totals_match (const PlanTotals *measured, const PlanTotals *expected, char **why)
{
  const double *copies = expected->copies;

  *why = NULL;
  return traffic_matches (expected, measured, expected, why)
         && traffic_matches (measured, measured, expected, why)
         && value_within ("bytes copied to the host", measured->copies[COPY_TO_HOST],
                          copies[COPY_TO_HOST] - expected->copies_slack[COPY_TO_HOST],
                          copies[COPY_TO_HOST], why)
         && value_within ("bytes copied from the host", measured->copies[COPY_FROM_HOST],
                          copies[COPY_FROM_HOST] - expected->copies_slack[COPY_FROM_HOST],
                          copies[COPY_FROM_HOST], why)
         && value_within ("FLOPs", measured->flops, expected->flops, expected->flops, why)
         && value_within ("states in GPU memory", measured->states, expected->states,
                          expected->states, why)
         && value_within ("peak of GPU memory", measured->hbm_high, expected->hbm_low,
                          expected->hbm_high, why)
         && value_within ("peak of host memory", measured->host_high, expected->host_low,
                          expected->host_high, why);
}
