#include "report/answer/timeline.h"

#include "report/document/json-private.h"

#define PER_SECOND 1e12

/* A list of what boxes refer to, each once. */
typedef struct
{
  struct json_object *list;
  GHashTable         *places; /* key: place + 1 */
} Names;

typedef struct
{
  const Timeline *timeline;
  Names           lanes, labels, parts, bindings, phases;
} Writer;

static Names
names_new (void)
{
  return (Names){ json_object_new_array (), g_hash_table_new (NULL, NULL) };
}

/* The place of KEY; it is -1 where it is new, and the caller appends it to the list. */
static gint
place_of (const Names *self, gpointer key)
{
  return GPOINTER_TO_INT (g_hash_table_lookup (self->places, key)) - 1;
}

/* Takes VALUE. */
static gint
add_name (Names *self, gpointer key, struct json_object *value)
{
  json_object_array_add (self->list, value);
  g_hash_table_insert (self->places, key,
                       GINT_TO_POINTER ((gint) json_object_array_length (self->list)));
  return (gint) json_object_array_length (self->list) - 1;
}

/* TEXT may be NULL: -1. */
static gint
text_place (Names *self, const char *text)
{
  const gint place = text != NULL ? place_of (self, (gpointer) text) : -1;

  return place >= 0 || text == NULL
             ? place
             : add_name (self, (gpointer) text, json_object_new_string (text));
}

static gint
lane_place (Writer *self, guint lane)
{
  const TimelineLane *of = &g_array_index (self->timeline->lanes, TimelineLane, lane);
  const gint          place = place_of (&self->lanes, GUINT_TO_POINTER (lane + 1));
  struct json_object *value;

  if (place >= 0)
    return place;
  value = json_object_new_object ();
  json_add_text (value, "name", of->name);
  json_add_count (value, "rank", of->rank);
  return add_name (&self->lanes, GUINT_TO_POINTER (lane + 1), value);
}

static struct json_object *
box_json (Writer *self, const TimelineBox *box)
{
  const TimelineSlice *slice = box->longest;
  struct json_object  *row = json_object_new_array ();
  const char          *label = g_ptr_array_index (self->timeline->labels, slice->label);
  const char *phase = slice->phase != PHASE_NONE ? schedule_phase_name (slice->phase) : NULL;
  const gint  places[] = { text_place (&self->labels, label),
                           text_place (&self->parts, time_part_key ((TimePart) slice->part)),
                           text_place (&self->bindings, slice->binding), (gint) box->n,
                           text_place (&self->phases, phase) };

  json_object_array_add (row, json_object_new_int (lane_place (self, slice->lane)));
  json_object_array_add (row, json_number ((double) box->begin / PER_SECOND));
  json_object_array_add (row, json_number ((double) (box->end - box->begin) / PER_SECOND));
  for (guint i = 0; i < G_N_ELEMENTS (places); i++)
    json_object_array_add (row, json_object_new_int (places[i]));
  return row;
}

static void
add_window (const Timeline *self, const TimelineWindow *window, struct json_object *root)
{
  const SimTime       to = window->to == 0 ? self->length : MIN (window->to, self->length);
  struct json_object *ranks = json_object_new_array ();

  json_add_number (root, "length_s", (double) self->length / PER_SECOND);
  json_add_number (root, "period_s", (double) self->period / PER_SECOND);
  json_add_count (root, "n_steps", self->n_steps);
  json_add_number (root, "from_s", (double) MIN (window->from, to) / PER_SECOND);
  json_add_number (root, "to_s", (double) to / PER_SECOND);
  for (guint i = 0; i < self->ranks->len; i++)
    json_object_array_add (ranks, json_object_new_string (g_ptr_array_index (self->ranks, i)));
  json_object_object_add (root, "ranks", ranks);
  json_add_count (root, "n_left_out", self->n_left_out);
}

/* Takes what SELF has collected. */
static void
add_names (Names *self, const char *key, struct json_object *root)
{
  json_object_object_add (root, key, self->list);
  g_hash_table_unref (self->places);
}

void
report_timeline_json (const Timeline *self, const TimelineWindow *window, GString *out)
{
  g_autoptr (GArray)  boxes = timeline_boxes (self, window);
  struct json_object *root = json_document_new (), *list = json_object_new_array ();
  Writer writer = { self, names_new (), names_new (), names_new (), names_new (), names_new () };

  for (guint i = 0; i < boxes->len; i++)
    json_object_array_add (list, box_json (&writer, &g_array_index (boxes, TimelineBox, i)));
  add_window (self, window, root);
  add_names (&writer.lanes, "lanes", root);
  add_names (&writer.parts, "parts", root);
  add_names (&writer.labels, "labels", root);
  add_names (&writer.bindings, "bindings", root);
  add_names (&writer.phases, "phases", root);
  json_object_object_add (root, "boxes", list);
  json_finish (root, out);
}
