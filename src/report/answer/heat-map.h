/* Reports of a heat map: `sensitivity --map`. */
#pragma once

#include <gio/gio.h>

#include "decide/explore/heat-map.h"
#include "report/document/page.h"

/*
 * The answer is HeatMap: a matrix of tokens/s/GPU and one of step times. CSV has a row a cell, JSON
 * {"heat_map": {"strategy": ..., "cells": [...]}}.
 */
extern const PageKind heat_map_answer;

/* "heat-map": tokens/s/GPU as colours, as report_plot_write draws. */
gboolean report_heat_map_plot (const HeatMap *self, const char *dir, const char *style_file,
                               GError **error);
