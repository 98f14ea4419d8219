#include "report/answer/option-tables.h"

#include <math.h>

#include "decide/explore/sensitivity-options.h"
#include "decide/plan/plans.h"
#include "report/document/json-private.h"

static const char *const type_names[] = {
  [OPTION_STRING] = "text", [OPTION_BOOL] = "switch",       [OPTION_INT] = "number",
  [OPTION_ENUM] = "word",   [OPTION_QUANTITY] = "quantity",
};

static void
add_quantity (struct json_object *object, QuantityKind kind)
{
  json_add_text (object, "units", quantity_kind_units (kind));
  json_add_text (object, "example", quantity_kind_example (kind));
}

static void
add_choices (struct json_object *object, const char *const *choices)
{
  struct json_object *list = json_object_new_array ();

  for (; *choices != NULL; choices++)
    json_object_array_add (list, json_object_new_string (*choices));
  json_object_object_add (object, "choices", list);
}

static void
add_range (struct json_object *object, const OptionSpec *spec)
{
  const gboolean ranged = spec->min != 0 || spec->max != 0;

  json_add_number (object, "min", ranged ? spec->min : NAN);
  json_add_number (object, "max", ranged && spec->max >= spec->min ? spec->max : NAN);
}

static struct json_object *
option_json (const OptionSpec *spec)
{
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "key", spec->key);
  json_add_text (object, "type", type_names[spec->type]);
  json_add_text (object, "default", spec->fallback);
  if (spec->type == OPTION_QUANTITY)
    add_quantity (object, spec->kind);
  if (spec->type == OPTION_ENUM)
    add_choices (object, spec->choices);
  add_range (object, spec);
  json_add_text (object, "needs", spec->needs);
  json_add_text (object, "follows", spec->follows);
  json_object_object_add (object, "file", json_object_new_boolean (spec->file));
  json_add_text (object, "help", spec->help);
  json_add_text (object, "source", spec->source);
  return object;
}

/* TABLE may be NULL: none. */
static void
add_options (struct json_object *list, const OptionSpec *table)
{
  for (; table != NULL && table->key != NULL; table++)
    json_object_array_add (list, option_json (table));
}

static struct json_object *
options_json (const OptionSpec *table)
{
  struct json_object *list = json_object_new_array ();

  add_options (list, table);
  return list;
}

static struct json_object *
sections_json (void)
{
  static const char *const names[] = { "cluster", "model",      "training", "mesh",
                                       "memory",  "collective", "replay" };
  struct json_object      *list = json_object_new_array ();

  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      struct json_object *section = json_object_new_object ();

      json_add_text (section, "name", names[i]);
      json_object_object_add (section, "options", options_json (scenario_section_table (names[i])));
      json_object_array_add (list, section);
    }
  return list;
}

static struct json_object *
strategies_json (void)
{
  struct json_object *list = json_object_new_array ();

  for (const Strategy *const *i = strategy_list (); *i != NULL; i++)
    {
      struct json_object *strategy = json_object_new_object ();

      json_add_text (strategy, "name", (*i)->name);
      json_add_text (strategy, "title", (*i)->title);
      json_object_object_add (strategy, "outer", json_object_new_boolean ((*i)->outer));
      json_object_object_add (strategy, "options", options_json ((*i)->options));
      json_object_array_add (list, strategy);
    }
  return list;
}

/* Of the commands whose requests have options of their own, beside the scenario's. */
static struct json_object *
commands_json (void)
{
  static const struct
  {
    const char       *name;
    const OptionSpec *tables[2];
  } commands[] = { { "plan", { run_options, plan_options } },
                   { "sensitivity", { sensitivity_options } } };
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      struct json_object *command = json_object_new_object (), *options = json_object_new_array ();

      json_add_text (command, "name", commands[i].name);
      for (guint t = 0; t < G_N_ELEMENTS (commands[i].tables); t++)
        add_options (options, commands[i].tables[t]);
      json_object_object_add (command, "options", options);
      json_object_array_add (list, command);
    }
  return list;
}

void
report_option_tables_json (GString *out)
{
  struct json_object *root = json_document_new ();

  json_object_object_add (root, "sections", sections_json ());
  json_object_object_add (root, "strategies", strategies_json ());
  json_object_object_add (root, "commands", commands_json ());
  json_finish (root, out);
}
