/*
 * Flows and links as tables (CSV, also gzipped): see docs/flows.md for the columns.
 */
#pragma once

#include "base/config/diag.h"
#include "engine/flow-net.h"

typedef struct _FlowTable FlowTable;

/* Reads both files. NULL after diagnostics, which name every wrong field of both in one pass. */
FlowTable *flow_table_load (const char *links_file, const char *flows_file, DiagList *diags);
void       flow_table_free (FlowTable *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FlowTable, flow_table_free)

/* The flows on their links, ready to run; owned by the table. */
FlowNet *flow_table_net (FlowTable *self);

/* In the order of the files; owned by the table. */
const char *const *flow_table_link_names (const FlowTable *self);
const char *const *flow_table_flow_names (const FlowTable *self);

/* The column `finish_s` in seconds, with NAN for empty fields; NULL without that column. */
const double *flow_table_expected (const FlowTable *self);
