/*
 * A small XML document as a tree, every element with its place: what the importers of topology
 * files read.
 *
 * The loader sits on GMarkup. Files over 16 MiB, nesting deeper than 64, and binary, truncated or
 * malformed text are diagnosed. Comments, processing instructions and document types are skipped.
 */
#pragma once

#include "base/config/config.h"

#define XML_MAX_BYTES CONFIG_MAX_BYTES
#define XML_MAX_DEPTH 64

typedef struct _XmlDoc XmlDoc;

typedef struct
{
  char       *name;
  char      **attributes; /* name, value, name, value, ..., NULL */
  GPtrArray  *children;   /* of XmlNode, in order; NULL without any */
  char       *text;       /* the first of its own before any child; NULL without */
  guint       line, column;
  const char *at; /* where it starts in the document's text */
} XmlNode;        /* owned by its document */

/*
 * FALSE after adding to DIAGS when TEXT is too long or no text; a byte order mark is passed over.
 * For other files of these tools, too.
 */
gboolean xml_check_text (const char *name, const char **text, gsize *length, DiagList *diags);

/* NULL after adding to DIAGS when FILE cannot be read or is not well formed. */
XmlDoc *xml_doc_load (const char *file, DiagList *diags);

/* The same from memory; NAME is used in messages. */
XmlDoc *xml_doc_load_text (const char *name, const char *text, gsize length, DiagList *diags);
void    xml_doc_free (XmlDoc *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (XmlDoc, xml_doc_free)

const XmlNode *xml_doc_root (const XmlDoc *self);

/*
 * The place of NODE, or of its attribute KEY where it has one (NULL: the element). Texts belong to
 * the document.
 */
SourceMark xml_doc_mark (const XmlDoc *self, const XmlNode *node, const char *key);

guint          xml_node_length (const XmlNode *self); /* children */
const XmlNode *xml_node_child (const XmlNode *self, guint i);
gboolean       xml_node_is (const XmlNode *self, const char *name);
const char    *xml_node_get (const XmlNode *self, const char *key); /* NULL when absent */

/* The first child of NAME, or NULL. */
const XmlNode *xml_node_find (const XmlNode *self, const char *name);

/*
 * An attribute as a whole number of base 10, or 16 with "0x". FALSE when it is absent or no such
 * number.
 */
gboolean xml_node_number (const XmlNode *self, const char *key, guint64 *number);

/*
 * Adds an error at NODE, or at its attribute KEY, with HINT (both may be NULL). Beyond
 * DIAG_LIST_MAX they are counted, and not even formatted.
 */
void xml_doc_error (const XmlDoc *self, const XmlNode *node, const char *key, DiagList *diags,
                    const char *hint, const char *format, ...) G_GNUC_PRINTF (6, 7);

/* Adds "<pci> without 'busid'" and returns NULL when the attribute is absent or empty. */
const char *xml_node_require (const XmlDoc *doc, const XmlNode *self, const char *key,
                              DiagList *diags);
