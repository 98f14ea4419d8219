/*
 * Figures of the hardware that are not as their profiles say: the option `cluster.figure`, "NAME=
 * VALUE" with commas between several, as in "gpu.hbm_bandwidth=3 TB/s, nic.bandwidth=200 Gbit/s".
 * Names are those of hardware-figure.h; one without a profile's id is of all profiles in that part.
 * The text that this makes is the same for the same figures: sorted, each once, values exact.
 */
#pragma once

#include "hardware/profile/hardware-figure.h"

/*
 * Puts the figures of MORE, such a text, into *TEXT (NULL: none yet), in the place of those of the
 * same names. FALSE after diagnostics at MARK, of names that no profile has and of bad values; then
 * *TEXT stays as it is.
 */
gboolean figure_settings_add (char **text, const char *more, const SourceMark *mark,
                              DiagList *diags);

/* The same of the figure NAME. */
gboolean figure_settings_set (char **text, const char *name, const char *value,
                              const SourceMark *mark, DiagList *diags);

/*
 * What OPTIONS set, as changes of the profiles that CLUSTER has without them: newly allocated array
 * of FigureChange. NULL after diagnostics at MARK: CLUSTER has no such figure.
 */
GArray *figure_settings_changes (const ClusterOptions *options, const Cluster *cluster,
                                 const SourceMark *mark, DiagList *diags);

/*
 * The figures of TEXT (NULL: none), in its order: newly allocated array of HardwareFigure. Their
 * names may stand for those of several profiles, so `id` is NULL.
 */
GArray *figure_settings_list (const char *text);
