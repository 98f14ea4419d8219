/*
 * Bindings, kept for other plans that bind alike: those that issue the same collectives and
 * messages on the same cluster, whatever they compute. Two meshes of a search, or two sequence
 * lengths of a sweep, often do. For any number of threads.
 */
#pragma once

#include <glib.h>

typedef struct _BindingStore BindingStore;

BindingStore *binding_store_new (void);
void          binding_store_free (BindingStore *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BindingStore, binding_store_free)

/* How often one of it served. For tests. */
guint binding_store_n_found (const BindingStore *self);
