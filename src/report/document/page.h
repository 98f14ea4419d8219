/*
 * What commands say as one HTML page (html.h) and as pictures in a folder (plot.h):
 * `--html` and `--plot`.
 */
#pragma once

#include <gio/gio.h>

#include "predict/prediction.h"

/* Whether a page could be written to FILE, to be asked before the work. FALSE with ERROR set. */
gboolean report_page_check (const char *file, GError **error);

typedef enum
{
  FORMAT_TEXT,
  FORMAT_CSV,
  FORMAT_JSON,
  FORMAT_PAGE,
} DocumentFormat;

/*
 * How the answer of a command is shown. The header of the answer's report names its kind, and what
 * kind of thing ANSWER is.
 */
typedef struct _PageKind PageKind;

/* ANSWER as text, CSV or JSON, appended to OUT. */
void report_answer (const PageKind *kind, gconstpointer answer, DocumentFormat format,
                    GString *out);

/*
 * The page of ANSWER. PARTIAL: what was left out of it (partial_text); NULL: nothing. STYLE_FILE as
 * of report_plot_write. FILE is whole or untouched. FALSE with ERROR set.
 */
gboolean report_page_of (const PageKind *kind, gconstpointer answer, const char *partial,
                         const char *style_file, const char *file, GError **error);

/* The pictures of ANSWER in the folder DIR, as report_plot_write leaves them; none may be. */
gboolean report_pictures_of (const PageKind *kind, gconstpointer answer, const char *style_file,
                             const char *dir, GError **error);

/*
 * The page of PREDICTIONS, at least one: of a single one all that is known of it, of several their
 * table, what tells them apart, and each by itself. REPLAYS: one a prediction, which kept its
 * pools, or NULL; any may be NULL. STYLE_FILE as of report_plot_write. FILE is whole or untouched.
 * FALSE with ERROR set.
 */
gboolean report_page_write (const GPtrArray *predictions, const Replay *const *replays,
                            const char *style_file, const char *file, GError **error);
