#include "report/remedies-private.h"

#include "report/json-private.h"
#include "report/terminal-private.h"

static char *
bytes (guint64 value)
{
  return quantity_format (QUANTITY_BYTES, (double) value, 4);
}

static void
append_tier (const char *tier, const MemoryUse *use, GString *out)
{
  g_autofree char *excess = bytes (use->excess), *peak = bytes (use->device),
                  *capacity = bytes (use->capacity);

  if (use->fits)
    return;
  g_string_append_printf (
      out, PRINTABLE_ALERT "DOES NOT FIT" PRINTABLE_PLAIN ": %s lacks %s at %s (%s of %s)", tier,
      excess, use->place, peak, capacity);
  if (use->overflow_op != NULL)
    g_string_append_printf (out, "; overflows first at: %s", use->overflow_op);
  g_string_append_c (out, '\n');
}

static void
append_found (const Remedies *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "OPTIONS", FALSE },
    { "STEP TIME", TRUE },
    { "TOKENS/S/GPU", TRUE },
    { "PEAK", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  g_string_append (out, "\nWhat fits with the same global batch, fastest first:\n");
  for (guint i = 0; i < self->found->len; i++)
    {
      const Remedy *remedy = g_ptr_array_index (self->found, i);
      char         *cells[5] = { NULL };

      cells[0] = g_strdup (remedy->options);
      cells[1] = quantity_format (QUANTITY_TIME, remedy->prediction->step_time_s, 4);
      cells[2] = g_strdup_printf ("%.1f", remedy->prediction->tokens_per_s_per_gpu);
      cells[3] = bytes (remedy->prediction->hbm.device);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

static void
append_none (const Remedies *self, GString *out)
{
  g_autofree char *lacking = bytes (self->lacking);

  if (*self->nearest == '\0')
    g_string_append_printf (out, "\nNothing that was tried fits or lacks less than these %s.\n",
                            lacking);
  else
    g_string_append_printf (out,
                            "\nNothing that was tried fits. The nearest still lacks %s:\n  %s\n",
                            lacking, self->nearest);
  g_string_append (out, "What else you can change: more GPUs, GPUs or hosts with more memory, "
                        "a smaller batch, a smaller model.\n");
}

void
misfits_append_text (const Prediction *prediction, GString *out)
{
  append_tier ("GPU memory", &prediction->hbm, out);
  append_tier ("host memory", &prediction->host, out);
  append_tier ("NVMe", &prediction->drives, out);
}

void
remedies_append_text (const Prediction *prediction, GString *out)
{
  const Remedies  *self = prediction->remedies;
  const Partial    partial = { .reason = self != NULL ? self->ended_by : NULL };
  g_autofree char *ended = partial.reason != NULL ? partial_text (&partial) : NULL;
  g_autofree char *more = ended != NULL ? g_strdup_printf ("; partial: %s", ended)
                          : self != NULL && self->cut
                              ? g_strdup ("; there are more, but the search ends there")
                              : g_strdup ("");

  misfits_append_text (prediction, out);
  if (self != NULL && self->found->len > 0)
    append_found (self, out);
  else if (self != NULL)
    append_none (self, out);
  if (self != NULL)
    g_string_append_printf (out, "(%u changes planned, %u of them simulated%s)\n", self->n_planned,
                            self->n_simulated, more);
  g_string_append_c (out, '\n');
}

void
remedies_json_add (const Remedies *self, struct json_object *result)
{
  struct json_object *list = json_object_new_array (), *search = json_object_new_object ();

  for (guint i = 0; i < self->found->len; i++)
    {
      const Remedy       *remedy = g_ptr_array_index (self->found, i);
      const Prediction   *p = remedy->prediction;
      struct json_object *entry = json_object_new_object ();

      json_add_text (entry, "options", remedy->options);
      json_add_number (entry, "step_time_s", p->step_time_s);
      json_add_number (entry, "tokens_per_s_per_gpu", p->tokens_per_s_per_gpu);
      json_add_count (entry, "peak_bytes", p->hbm.device);
      json_add_count (entry, "host_peak_bytes", p->host.device);
      json_object_array_add (list, entry);
    }
  json_object_object_add (result, "remedies", list);
  json_add_count (search, "planned", self->n_planned);
  json_add_count (search, "simulated", self->n_simulated);
  json_object_object_add (search, "cut", json_object_new_boolean (self->cut));
  if (self->ended_by != NULL)
    json_add_text (search, "ended_by", self->ended_by);
  json_add_text (search, "nearest", self->nearest);
  if (self->nearest != NULL)
    json_add_count (search, "lacking_bytes", self->lacking);
  json_object_object_add (result, "remedy_search", search);
}
