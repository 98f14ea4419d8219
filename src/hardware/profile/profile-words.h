/*
 * All that a profile says, as text: what two states of it are compared by.
 */
#pragma once

#include "hardware/profile/profile.h"

typedef struct
{
  const char  *key;   /* static */
  char        *value; /* "989 TFLOP/s", "true", "0 0 1 1"; of tables and records a digest */
  gboolean     is_figure;
  QuantityKind kind; /* of a figure: quantity_parse reads its value back exactly */
} ProfileWord;

/*
 * What predictions are made of in KIND/ID ("gpu", "link", "node", "framework" or "library"), in the
 * order of its tables: newly allocated array of ProfileWord that frees its values; what is not said
 * is left out. NULL after diagnostics.
 */
GArray *profile_set_words (ProfileSet *self, const char *kind, const char *id, DiagList *diags);

/* The same of the cluster profile FILE, whose only word is a digest. */
GArray *profile_set_cluster_words (ProfileSet *self, const char *file, DiagList *diags);
