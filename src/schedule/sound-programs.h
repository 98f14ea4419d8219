/*
 * Programs of roles that were found sound, kept for those to come that differ in amounts alone:
 * most of a grid's runs issue the same items in the same order, and the proof is a good part of a
 * short run. Of the last few. For any number of threads.
 */
#pragma once

#include <glib.h>

typedef struct _SoundPrograms SoundPrograms;

SoundPrograms *sound_programs_new (void);
void           sound_programs_free (SoundPrograms *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (SoundPrograms, sound_programs_free)

/* How many programs needed no proof. For tests. */
guint sound_programs_n_known (const SoundPrograms *self);
