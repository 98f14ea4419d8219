/*
 * What a framework's release implies for a row of a table of training runs, where no column says it
 * (when gradients are reduced, how pipeline stages send): `implies` of its profile.
 */
#pragma once

#include "hardware/profile/profile.h"

typedef struct _Implied Implied;

/* PROFILES outlives it. */
Implied *implied_new (ProfileSet *profiles);
void     implied_free (Implied *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Implied, implied_free)

ProfileSet *implied_profiles (const Implied *self);

/*
 * The framework called TEXT; NULL: there is no profile of it, which DIAGS are told once. Owned by
 * the profiles.
 */
const FrameworkProfile *implied_framework (Implied *self, const char *text, DiagList *diags);

/*
 * Settings (FrameworkImplied) that the framework called TEXT implies, in order; NULL where there
 * are none. A mistake in its profile (a key or a strategy that there is not, a bad value) is added
 * to DIAGS, once. Owned by the profiles.
 */
const GArray *implied_find (Implied *self, const char *text, DiagList *diags);

/* What ROW has for KEY ("mesh.cp"); NULL: nothing, which no condition takes. */
typedef const char *(*ImpliedLookup) (gconstpointer row, const char *key);

/* Whether ROW's settings are as `below` and `where` of SETTING say. */
gboolean implied_fits (const FrameworkImplied *setting, ImpliedLookup find, gconstpointer row);

/*
 * SETTING holds for a row of that STRATEGY whose framework is called TEXT, on GPUs of ARCHITECTURE
 * (NULL: not known, which holds for settings of any GPU only).
 */
gboolean implied_holds (const FrameworkImplied *setting, const char *text, const char *strategy,
                        const char *architecture);
