/*
 * A configuration document: the tree of a YAML or JSON file, every node with its place.
 *
 * The loader sits on libyaml (JSON inputs go through it as well). Files above the limits of
 * base/limits.h, and binary, truncated or malformed text are diagnosed. Keys of a mapping are
 * scalars; duplicate keys are errors. Anchors and aliases are refused ("use 'extends:'").
 */
#pragma once

#include "base/config/diag.h"
#include "base/file/input-files.h"
#include "base/limits.h"

typedef enum
{
  CONFIG_SCALAR,
  CONFIG_LIST,
  CONFIG_MAP,
} ConfigKind;

typedef struct _ConfigNode ConfigNode; /* owned by its document */
typedef struct _ConfigDoc  ConfigDoc;

/*
 * Reads FILE. Returns NULL after adding to DIAGS when it cannot be read (missing, a directory, too
 * big, binary) or is not well formed; duplicate keys add a diagnostic each and keep the first. An
 * empty file is an empty map. The document must outlive its nodes.
 */
ConfigDoc *config_load (const char *file, DiagList *diags);

/*
 * The bytes of FILE, at most one more than CONFIG_MAX_BYTES; NULL with *ERROR an errno. For loaders
 * of other formats under the same bound.
 */
GByteArray *config_read_file (const char *file, int *error);

/*
 * The scalar of KEY in the top-level map of FILE, read no further than there: a name to show, where
 * reading all of many files would make the user wait. NULL where there is none, whatever the
 * reason. Newly allocated.
 */
char *config_peek (const char *file, const char *key);

/* config_load from memory; NAME is used in messages. */
ConfigDoc *config_load_text (const char *name, const char *text, gssize length, DiagList *diags);

/* The same of a file of another program: of two equal keys the last one counts, with a warning. */
ConfigDoc *config_load_text_foreign (const char *name, const char *text, DiagList *diags);

/*
 * Reads FILE and, while its top-level map has a key 'extends: NAME', the files that it extends,
 * found by RESOLVE (newly allocated path, or NULL: diagnosed with the key's place), deepest first,
 * and merges: maps merge key by key (the extending file wins), lists and scalars are replaced.
 * Cycles are diagnosed. The 'extends' key itself is dropped. FILES (may be NULL) keeps what each
 * file says, so that one that many extend is read once; the document must not outlive it.
 */
typedef char *(*ConfigResolve) (const char *name, gpointer user);
ConfigDoc *config_load_extended (const char *file, ConfigResolve resolve, gpointer user,
                                 InputFiles *files, DiagList *diags);

void config_doc_free (ConfigDoc *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ConfigDoc, config_doc_free)

const ConfigNode *config_doc_root (const ConfigDoc *self);

ConfigKind        config_node_kind (const ConfigNode *self);
const SourceMark *config_node_mark (const ConfigNode *self);
const char *config_node_text (const ConfigNode *self);    /* scalar text; NULL for lists and maps */
gboolean    config_node_is_null (const ConfigNode *self); /* plain null, ~ or empty */
guint       config_node_length (const ConfigNode *self);  /* entries of a list or map */
const ConfigNode *config_node_item (const ConfigNode *self, guint i); /* i-th element / value */
const char       *config_node_key (const ConfigNode *self, guint i);  /* i-th key of a map */
const SourceMark *config_node_key_mark (const ConfigNode *self, guint i);
const ConfigNode *config_node_get (const ConfigNode *self,
                                   const char       *key); /* NULL when absent or not a map */

/* Adds "expected a map/list/value, got a ..." and returns FALSE when SELF is not of KIND. */
gboolean config_node_expect (const ConfigNode *self, ConfigKind kind, DiagList *diags);
