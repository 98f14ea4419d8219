/*
 * The tree behind ConfigDoc: shared by its accessors (config.c), its loader (config-yaml.c) and
 * what merges documents (config-extend.c).
 */
#pragma once

#include "base/config/config.h"

typedef struct
{
  char             *key; /* NULL in a list */
  SourceMark        mark;
  const ConfigNode *value;
} ConfigEntry;

struct _ConfigNode
{
  ConfigKind  kind;
  gboolean    plain; /* a scalar without quotes */
  SourceMark  mark;
  char       *text;    /* of a scalar */
  GArray     *entries; /* of ConfigEntry; NULL for a scalar */
  GHashTable *index;   /* key -> position + 1; NULL for small maps; keys owned by the entries */
};

/*
 * A document owns its nodes and the source text that their marks point into. One that is merged
 * from others owns these where nobody else keeps them, because nodes of all stand in its tree.
 */
struct _ConfigDoc
{
  const char *name;  /* interned */
  char       *text;  /* the input, each line ended by a NUL */
  GArray     *lines; /* of const char *: start of each line */
  GPtrArray  *nodes; /* of ConfigNode, owned */
  GPtrArray  *bases; /* of ConfigDoc, owned */
  ConfigNode *root;
};

/* A document without nodes over a copy of TEXT. */
ConfigDoc *config_doc_new (const char *name, const char *text, gsize length);

/* Adds an empty node, owned by the document. */
ConfigNode *config_doc_add_node (ConfigDoc *self, ConfigKind kind, const SourceMark *mark);

/* The place of LINE and COLUMN (from 0). */
SourceMark config_doc_mark (const ConfigDoc *self, gsize line, gsize column);

/* Appends VALUE to a list (KEY is NULL) or to a map that lacks KEY. Copies KEY. */
void config_node_append (ConfigNode *self, const char *key, const SourceMark *mark,
                         const ConfigNode *value);

/* The I-th entry of a list or a map. */
ConfigEntry *config_node_entry (const ConfigNode *self, guint i);

/* Entry of KEY in a map, or NULL. Valid until the next append. */
ConfigEntry *config_node_find (const ConfigNode *self, const char *key);
