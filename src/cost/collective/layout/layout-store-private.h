/* A layout for a plan, from a store where there is one. */
#pragma once

#include "cost/collective/layout/layout-private.h"
#include "cost/collective/layout/layout-store.h"

/* As collective_layout_new; ALGORITHM NULL: as collective_layout_new_message. SELF may be NULL. */
CollectiveLayout *layout_store_get (LayoutStore *self, const Cluster *cluster, CollectiveKind kind,
                                    const Algorithm *algorithm, const Members *members,
                                    const guint32 *ranks, guint flows);
