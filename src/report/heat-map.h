/* Reports of a heat map: `sensitivity --map`. */
#pragma once

#include <gio/gio.h>

#include "analysis/heat-map.h"

/* A matrix of tokens/s/GPU and one of step times. */
void report_heat_map_text (const HeatMap *self, GString *out);

/* A row a cell. */
void report_heat_map_csv (const HeatMap *self, GString *out);

/* {"schema": 1, "heat_map": {"x": ..., "y": ..., "cells": [...]}} */
void report_heat_map_json (const HeatMap *self, GString *out);

/* "heat-map": tokens/s/GPU as colours, as report_plot_write draws. */
gboolean report_heat_map_plot (const HeatMap *self, const char *dir, const char *style_file,
                               GError **error);
