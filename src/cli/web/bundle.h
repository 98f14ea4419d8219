/*
 * The page's modules as one script, for browsers load no module from a file. Each becomes a
 * function that gives what it exports; what they import comes before them.
 */
#pragma once

#include "cli/web/page-files.h"

/*
 * FIRST ("app.js") of PAGES and all that it imports. NULL with ERROR set: a module does what is not
 * followed. The forms that are: import { a, b as c } from './x.js'; and export before a function, a
 * class or a const. Newly allocated.
 */
char *bundle_modules (const GPtrArray *pages, const char *first, GError **error);
