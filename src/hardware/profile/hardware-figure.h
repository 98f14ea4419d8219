/*
 * The figures of the hardware of one scenario, by the part that they have in it: "nic.bandwidth",
 * and where its nodes have unlike cards "nic:ib-hdr-200.bandwidth". What a what-if question
 * changes.
 */
#pragma once

#include "hardware/cluster/cluster.h"

typedef struct
{
  const char  *name;            /* interned, as the others */
  const char  *kind, *id, *key; /* of the profile; of kind "cluster": an option of the section */
  QuantityKind quantity;
  gboolean     in_bits;         /* people say it in bit/s: of network cards */
  double       value, min, max; /* base unit; within plausible values */
} HardwareFigure;

/*
 * Those of the profiles of CLUSTER's GPUs, links and nodes, and of FRAMEWORK (NULL: none), all of
 * PROFILES, that a run could have more or less of (no numbers of parts, nothing that a profile
 * leaves out), and what OPTIONS say of the fabric: newly allocated array of HardwareFigure. Figures
 * of the collective library's own tables are not hardware's.
 */
GArray *hardware_figures (const Cluster *cluster, const ClusterOptions *options,
                          const FrameworkProfile *framework, ProfileSet *profiles);

/* The one that is called NAME; NULL after a diagnostic at MARK, with a hint. */
const HardwareFigure *hardware_figure_find (const GArray *figures, const char *name,
                                            const SourceMark *mark, DiagList *diags);

/*
 * Whether NAME begins as figures of profiles do: "nic.", "nic:ib-hdr-200.". Then *KIND is that of
 * the profiles, *ID is "ib-hdr-200", newly allocated, or NULL, and *KEY is in NAME.
 */
gboolean hardware_figure_split (const char *name, const char **kind, char **id, const char **key);

/* Whether NAME is a figure of the fabric, which an option has: "cluster.taper". */
gboolean hardware_figure_is_option (const char *name);

/* VALUE as near as can be: plausible, counts whole. */
double hardware_figure_clamp (const HardwareFigure *self, double value);

/*
 * Whether hardware with more of it is better (1), worse (-1: latencies), or neither: what says how
 * software cuts its work, and what a network's plug-in tells the collective library of itself.
 */
gint hardware_figure_better (const HardwareFigure *self);

/* "180 Gbit/s". Newly allocated. */
char *hardware_figure_format (const HardwareFigure *self, double value);

/* The same, read back as exactly VALUE. */
char *hardware_figure_format_exact (const HardwareFigure *self, double value);

/* The value that TEXT says; FALSE after a diagnostic at MARK. */
gboolean hardware_figure_parse (const HardwareFigure *self, const char *text,
                                const SourceMark *mark, double *value, DiagList *diags);
