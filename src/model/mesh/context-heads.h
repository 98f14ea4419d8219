/* Which numbers of context ranks can divide the heads among them (DeepSpeed-Ulysses, USP). */
#pragma once

#include "model/shape/model.h"

/*
 * The first key-value heads of one of TP tensor ranks of SHAPE that BY ranks neither divide nor are
 * a multiple of; 0: there are none.
 */
gint64 context_undivided_keys (const ModelShape *shape, gint64 tp, gint64 by);

/* Whether BY ranks can divide all heads of one of TP tensor ranks of SHAPE. */
gboolean context_can_divide (const ModelShape *shape, gint64 tp, gint64 by);
