#include "schedule/schedule-private.h"

char *
schedule_item_place (const Schedule *self, guint role, ScheduleSection section, guint item)
{
  ScheduleItems items = schedule_items (self, role, section);
  GString      *text = g_string_new (NULL);

  g_string_append_printf (text, "role %u, %s section, item %u", role,
                          schedule_section_name (section), item);
  if (item < items.n)
    {
      const ScheduleItem *at = &items.items[item];

      g_string_append_printf (text, " (%s", schedule_item_kind_name (at->kind));
      if (at->label != NULL)
        g_string_append_printf (text, " '%s'", at->label);
      if (at->unit != SCHEDULE_NONE)
        g_string_append_printf (text, ", %s", schedule_unit_name (self, at->unit));
      g_string_append_c (text, ')');
    }
  return g_string_free (text, FALSE);
}

static void
append_kernel (GString *out, const KernelDesc *kernel)
{
  g_string_append_printf (out, " %s", kernel_kind_name (kernel->kind));
  if (kernel->kind == KERNEL_MATMUL)
    g_string_append_printf (out, " %" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT,
                            kernel->m, kernel->n, kernel->k);
  if (kernel->kind == KERNEL_MATMUL && kernel->batch > 1)
    g_string_append_printf (out, " batch %" G_GUINT64_FORMAT, kernel->batch);
  if (kernel->flops > 0)
    g_string_append_printf (out, " %.0f FLOP", kernel->flops);
  g_string_append_printf (out, " %.0f B", kernel->read_bytes + kernel->write_bytes);
}

static void
append_buffer (const Schedule *self, guint role, const ScheduleItem *item, GString *out)
{
  const ScheduleBuffer *buffer = schedule_buffer_info (self, role, item->ref);

  g_string_append_printf (out, " b%u %s %s", item->ref, place_name (buffer->place),
                          pool_category_name (buffer->category));
  if (item->kind == ITEM_ALLOC)
    g_string_append_printf (out, " %" G_GUINT64_FORMAT " B", buffer->bytes);
  if (item->event != SCHEDULE_NONE)
    g_string_append_printf (out, " after e%u", item->event);
}

/* What the kind of the item does not say by itself. */
static void
append_details (const Schedule *self, guint role, const ScheduleItem *item, GString *out)
{
  if (item->stream != SCHEDULE_NONE)
    g_string_append_printf (out, " [%s]", schedule_stream_info (self, item->stream)->name);
  if (item->label != NULL)
    g_string_append_printf (out, " %s", item->label);
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      append_kernel (out, item->kernel);
      break;
    case ITEM_COLLECTIVE:
      g_string_append_printf (out, " %s over %s %" G_GUINT64_FORMAT " B",
                              collective_kind_name ((CollectiveKind) item->collective),
                              schedule_comm_info (self, item->ref)->name, item->bytes);
      if (item->codec != NULL)
        g_string_append_printf (out, " as %s", item->codec->name);
      break;
    case ITEM_MOVE:
      g_string_append_printf (out, " %s %" G_GUINT64_FORMAT " B", move_kind_name (item->collective),
                              item->bytes);
      break;
    case ITEM_HOST_OP:
      g_string_append_printf (out, " %" G_GUINT64_FORMAT " elements %.0f B", item->host->elements,
                              item->host->read_bytes + item->host->write_bytes);
      break;
    case ITEM_P2P:
      g_string_append_printf (out, " %s %s %u over %s %" G_GUINT64_FORMAT " B%s",
                              schedule_message_name ((ScheduleMessage) item->collective),
                              item->collective == MESSAGE_SEND ? "to" : "from", item->peer,
                              schedule_comm_info (self, item->ref)->name, item->bytes,
                              item->more ? " and" : "");
      break;
    case ITEM_RECORD:
    case ITEM_WAIT:
    case ITEM_HOST_WAIT:
    case ITEM_CARRY:
    case ITEM_TAKE:
      g_string_append_printf (out, " e%u", item->ref);
      break;
    case ITEM_HOST_HOOK:
      g_string_append_printf (out, " x%u", item->ref);
      break;
    case ITEM_ALLOC:
    case ITEM_FREE:
      append_buffer (self, role, item, out);
      break;
    case ITEM_PASS:
      g_string_append_printf (out, " b%u as b%u", item->ref, item->event);
      break;
    case ITEM_STEP:
    case ITEM_N_KINDS:
      break;
    }
}

void
schedule_dump (const Schedule *self, guint role, ScheduleSection section, GString *out)
{
  ScheduleItems items = schedule_items (self, role, section);

  for (guint i = 0; i < items.n; i++)
    {
      const ScheduleItem *item = &items.items[i];
      const char *unit = item->unit != SCHEDULE_NONE ? schedule_unit_name (self, item->unit) : "-";

      g_string_append_printf (out, "%6u  %-9s  %-18s  %-10s ", i,
                              item->phase == PHASE_NONE ? "-" : schedule_phase_name (item->phase),
                              unit, schedule_item_kind_name (item->kind));
      append_details (self, role, item, out);
      while (out->len > 0 && out->str[out->len - 1] == ' ')
        g_string_truncate (out, out->len - 1);
      g_string_append_c (out, '\n');
    }
}
