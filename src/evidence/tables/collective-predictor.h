/*
 * Predicts the rows of a table of measured collectives. Clusters and plans are made once for all
 * rows that share them, when a row first needs them. Not shared between threads.
 */
#pragma once

#include "import/log/measurement.h"

typedef struct _CollectivePredictor CollectivePredictor;

/* ROWS (of Measurement) and PROFILES must outlive it. */
CollectivePredictor *collective_predictor_new (const GPtrArray *rows, ProfileSet *profiles);
void                 collective_predictor_free (CollectivePredictor *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectivePredictor, collective_predictor_free)

/* What row ROW costs. NULL, or why it cannot be simulated: owned by the predictor. */
const char *collective_predictor_cost (CollectivePredictor *self, guint row, CollectiveCost *cost);

/*
 * Errors at the words of tables' `env` that no run can have had on its hardware, and warnings of
 * words that look misspelt and of hardware that is unknown: each communicator once. Such rows
 * have a reason, too.
 */
void collective_predictor_check_words (CollectivePredictor *self, DiagList *diags);

/* Ranks of row ROW, which has been predicted. */
guint collective_predictor_n_ranks (CollectivePredictor *self, guint row);

/* Nodes that the ranks of row ROW, which has been predicted, are on. */
guint collective_predictor_n_nodes (CollectivePredictor *self, guint row);

/* Cluster of row ROW; NULL where it cannot be simulated. */
const Cluster *collective_predictor_cluster (CollectivePredictor *self, guint row);

/* What profiles_used says of row ROW's cluster; NULL where it cannot be simulated. */
const char *collective_predictor_profiles (CollectivePredictor *self, guint row);

/* Links that row ROW crosses; NULL where it has several nodes of one GPU, or one node. */
const LinkProfile *collective_predictor_intra (CollectivePredictor *self, guint row);
const LinkProfile *collective_predictor_nic (CollectivePredictor *self, guint row);

/* Drops what was made with the link profile LINK: call it after a figure of it has changed. */
void collective_predictor_forget (CollectivePredictor *self, const char *link);
