/*
 * What each context rank attends to of a sequence that is packed of documents, under a causal mask
 * that ends at their ends.
 *
 * Per sequence: it is cut into 2 ranks chunks of equally many tokens, of which a rank has one and
 * its mirror image (Llama 3, arXiv:2407.21783, section 3.3.2). That balances one document, and not
 * several.
 *
 * Per document: each document is (WLB-LLM, arXiv:2503.17924, section 5.1); tokens that are left
 * over go to the chunks in turn, from document to document. Ranks have the same work but for that,
 * and more pieces, of which each fills blocks of a kernel of its own.
 *
 * Adaptive: of the two that by which the fullest rank's blocks compute fewer pairs (section 5.3).
 * The paper also weighs pairs by measured rates of short pieces, which are not published.
 */
#pragma once

#include <glib.h>

typedef enum
{
  SHARDING_AUTO, /* of a partition */
  SHARDING_PER_SEQUENCE,
  SHARDING_PER_DOCUMENT,
  SHARDING_ADAPTIVE,
} DocumentSharding;

/* Queries [from, to) of the DOCUMENT-th of a micro-batch, which attend to it from its begin on. */
typedef struct
{
  gint64 document, from, to;
} DocumentPiece;

/*
 * The pieces of RANK of RANKS, GArray of DocumentPiece, of SEQUENCES (GArray of gint64 each,
 * documents in order): tokens of each are a multiple of 2 RANKS where there are several ranks. Free
 * with g_array_unref.
 */
GArray *document_sharding_pieces (const GPtrArray *sequences, DocumentSharding how, guint ranks,
                                  guint rank);

/* What SHARDING_ADAPTIVE comes to. */
DocumentSharding document_sharding_choose (const GPtrArray *sequences, guint ranks);

/* Pairs that the mask leaves of a piece, each query attending to at most WINDOW keys ... */
double document_piece_pairs (const DocumentPiece *self, double window);

/*
 * ... and those that blocks of so many queries and keys compute, beginning with the piece's first
 * query and the document's first key: as in FlashAttention, and in the paper (section 5.2).
 */
#define DOCUMENT_BLOCK 128
double document_piece_computed (const DocumentPiece *self, double window);
