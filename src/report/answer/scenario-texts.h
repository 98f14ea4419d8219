/* Scenarios as people keep them: a file each, and options of a command line. */
#pragma once

#include <glib.h>

/*
 * Appends {"options": OPTIONS, "scenarios": [{"name", "yaml"}]}: `yaml` is scenario_print of each
 * of SCENARIOS (Scenario).
 */
void report_scenario_texts_json (const GPtrArray *scenarios, const char *options, GString *out);
