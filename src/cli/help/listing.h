/* A table that a command prints as text, CSV or JSON: rows of texts under named columns. */
#pragma once

#include "cli/argument/common.h"

typedef enum
{
  LISTING_TEXT,
  LISTING_NUMBER, /* right-aligned; a number or null in JSON */
} ListingType;

typedef struct
{
  const char *name; /* "default": CSV header and JSON key; upper case as text */
  ListingType type;
} ListingColumn;

typedef struct _Listing Listing;

/* COLUMNS end with a NULL name and outlive the listing. NAME is the key of the rows in JSON. */
Listing *listing_new (const char *name, const ListingColumn *columns);
void     listing_free (Listing *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Listing, listing_free)

/* Adds a row of N cells, one a column (copied; NULL = empty). */
void listing_add_row (Listing *self, const char *const *cells, guint n);

#define LISTING_CELLS(...) ((const char *const[]){ __VA_ARGS__ })
#define listing_add(self, ...) \
  listing_add_row (self, LISTING_CELLS (__VA_ARGS__), G_N_ELEMENTS (LISTING_CELLS (__VA_ARGS__)))

/*
 * As text for a terminal: columns FIRST.. of the rows whose first column is PART (NULL: of all
 * rows). Nothing when there are none.
 */
void listing_append_text (const Listing *self, guint first, const char *part, GString *out);

/* The whole table to stdout in CSV or JSON, or TEXT (NULL: the table). */
ExitStatus listing_print (const Listing *self, DocumentFormat format, const GString *text);
