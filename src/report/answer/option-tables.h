/*
 * The options of scenarios and strategies as JSON, for whoever draws a form of them: what a key
 * means, takes, is by default and needs.
 */
#pragma once

#include <glib.h>

/*
 * Appends {"sections": [{"name": "training", "options": [OPTION]}], "strategies": [{"name",
 * "title", "outer", "options": [OPTION]}], "commands": [{"name": "plan", "options": [OPTION]}]}: of
 * commands those beside the scenario's. OPTION: {"key": "micro_batch", "type": "text",
 * "switch", "number", "word" or "quantity", "units" and "example" of a quantity, "default" (null:
 * none), "choices" of a word, "min" and "max" (null: none), "needs", "follows", "file" (whether it
 * may name one), "help", "source"}.
 */
void report_option_tables_json (GString *out);
