/*
 * Layouts of collectives, kept for plans on other clusters of the same options and profiles: most
 * of a grid's runs lay the same rings over the same nodes. For any number of threads.
 */
#pragma once

#include "cost/collective/library/collective.h"

LayoutStore *layout_store_new (void);
void         layout_store_free (LayoutStore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LayoutStore, layout_store_free)

/* How many it has been asked for and had not. For tests. */
guint layout_store_n_made (const LayoutStore *self);
