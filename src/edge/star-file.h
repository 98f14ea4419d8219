/*
 * The file of a star: a map of settings, and the lists
 *
 *   assumptions  texts that say what its numbers rest on
 *   clients      a map each; `channels` is a list of numbers from 1
 *   layers       a map each, in the order of a forward pass
 *   panels       what is drawn: { figure, x, values: [..], series, of: [..], set: {..} }
 *
 * X and series are keys of the settings, and so are those of `set`; docs/figures-edge.md has all of
 * them.
 */
#pragma once

#include "edge/star.h"

/* What a kind of files has. */
typedef struct
{
  const OptionSpec *settings, *client, *layer;
  gboolean          channels; /* clients have channels of their own */
} StarForm;

/*
 * Reads FILE, and its settings into SETTINGS, a zeroed struct of the form's table, whose member at
 * RADIO is a Radio. NULL after diagnostics: a file that cannot be read, what is missing, unknown or
 * out of range, no client, no layer, a client that is neither at a distance nor has a gain.
 */
EdgeStar *star_load (const char *file, const StarForm *form, gpointer settings, gsize radio,
                     DiagList *diags);
void      star_free (EdgeStar *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EdgeStar, star_free)

/* The place of the file as a whole. */
const SourceMark *star_mark (const EdgeStar *self);

/* Sets KEY of SETTINGS as NODE says. FALSE after a diagnostic. */
gboolean star_set (const StarForm *form, gpointer settings, const char *key, const ConfigNode *node,
                   DiagList *diags);

/* Sets all keys of the panel's own settings. FALSE after diagnostics. */
gboolean star_set_panel (const StarForm *form, gpointer settings, const EdgePanel *panel,
                         DiagList *diags);
