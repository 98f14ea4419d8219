/*
 * A copy of the page that needs no server, with the answers of a grid: index.html, page.js (its
 * modules as one script), its styles and data.js, which alone differs from grid to grid.
 */
#pragma once

#include "base/work-count.h"
#include "decide/sweep/vary.h"

#define EXPORT_MOST_POINTS 2000
#define EXPORT_MOST_MIB    64 /* of data.js */

/*
 * The axes of TEXTS ("training.seq_len=2048,8192", strv or NULL), and of the usual grid those of
 * whose keys TEXTS say nothing. FALSE after diagnostics.
 */
gboolean export_grid_read (Vary *grid, char *const *texts, DiagList *diags);

typedef struct
{
  const char *page, *dir; /* folders: of the page, and of the copy, which is made */
  const Vary *grid;
  guint       n_threads;
  WorkCount  *count; /* is told of scenarios; where its stop is due, nothing is written */
} WebExport;

typedef struct
{
  guint n_points, n_refused; /* that cannot be; the copy says why */
  char *why;                 /* of the first of these; NULL: there is none */
  gsize n_bytes;             /* of all files */
} WebExported;

void web_exported_clear (WebExported *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (WebExported, web_exported_clear)

/*
 * Whether DIR could take a copy: it is not there, is empty, or holds an earlier one. FALSE with
 * ERROR set.
 */
gboolean web_export_check (const char *dir, GError **error);

/*
 * All files are written, or none; EXPORTED is zeroed. FALSE with ERROR set: also where none of the
 * grid can be.
 */
gboolean web_export (const WebExport *self, WebExported *exported, GError **error);
