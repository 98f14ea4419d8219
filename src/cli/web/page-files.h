/* The files that the page is made of, as they lie in its folder. */
#pragma once

#include <gio/gio.h>

typedef struct
{
  char       *name; /* "app.js" */
  char       *path; /* "/app.js"; of index.html "/" */
  const char *type; /* "text/javascript; charset=utf-8" */
  GBytes     *content;
} PageFile;

/* TEXT is taken; of no type. */
PageFile *page_file_new (const char *name, char *text, gsize length);

/* Of PageFile, owned by the array. */
GPtrArray *page_files_new (void);

/* Those of FOLDER. NULL with ERROR set: also where FOLDER holds no page. */
GPtrArray *page_files_read (const char *folder, GError **error);

/* That of PATH; NULL: there is none. */
const PageFile *page_files_find (const GPtrArray *self, const char *path);
