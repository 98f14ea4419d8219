/*
 * Words of the matrix of `nvidia-smi topo -m`, and its lines put together again where a terminal or
 * a mail wrapped them. Private to the reader.
 */
#pragma once

#include "import/topology/import-smi.h"

#define SMI_BLANKS "\t "

/* A piece of a line. */
typedef struct
{
  const char *at;
  gsize       length;
} SmiWord;

/* The word from P on, past what parts it; FALSE at the end of the line. */
gboolean smi_next_word (const char **p, SmiWord *word);

/* The I-th of LINE; length 0: it has fewer. */
SmiWord  smi_word_of (const char *line, guint i);
gboolean smi_word_is (const SmiWord *word, const char *text);
gboolean smi_is_gpu (const SmiWord *word); /* "GPU0" */

/* "NV12", "PIX", "X"; FALSE: no distance. */
gboolean    smi_parse_cell (const SmiWord *word, SmiCell *cell);
gboolean    smi_is_distance (const SmiWord *word);
const char *smi_near_name (guint near);

/* What stands for a distance in the matrix of peer access. */
gboolean smi_is_peer (const SmiWord *word);

/*
 * Joins the pieces of the line of names, HEADER of LINES (char *, owned), and of the rows below it;
 * what was joined to another is empty afterwards. What is cut inside of a word behind the cells is
 * dropped, with a warning.
 */
void smi_unfold (GPtrArray *lines, guint header, const char *name, DiagList *diags);
