/* Modules as one script; that it runs is seen in a browser (tests/web/test-copy.py). */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "cli/web/bundle.h"

/* Pages of these names and texts, in turn, up to NULL. */
static GPtrArray *
pages_of (const char *const *words)
{
  GPtrArray *pages = page_files_new ();

  for (; *words != NULL; words += 2)
    g_ptr_array_add (pages, page_file_new (words[0], g_strdup (words[1]), strlen (words[1])));
  return pages;
}

START_TEST (test_modules)
{
  static const char *const words[] = {
    "app.js",  "import { a, b as c } from './b.js';\nimport {\n  d,\n} from './d.js';\nc(d);\n",
    "b.js",    "import { d } from './d.js';\nexport const a = d;\nexport function b() {}\n",
    "d.js",    "let x = 1;\nexport async function d() {\n  return x;\n}\n",
    "none.js", "never",
    NULL,
  };
  static const char     expected[] = "'use strict';\n"
                                     "const d_js = (() => {\n"
                                     "let x = 1;\nasync function d() {\n  return x;\n}\n\n"
                                     "return { d };\n})();\n"
                                     "const b_js = (() => {\n"
                                     "const { d } = d_js;\nconst a = d;\nfunction b() {}\n\n"
                                     "return { a, b };\n})();\n"
                                     "const app_js = (() => {\n"
                                     "const { a, b: c } = b_js;\nconst {  d,} = d_js;\nc(d);\n\n"
                                     "return {  };\n})();\n";
  g_autoptr (GPtrArray) pages = pages_of (words);
  g_autoptr (GError)    error = NULL;
  g_autofree char      *text = bundle_modules (pages, "app.js", &error);

  ck_assert_str_eq (text, expected);
}
END_TEST

/* What would be another program as a script is an error, not a guess. */
START_TEST (test_what_is_not_followed)
{
  static const struct
  {
    const char *text, *message;
  } cases[] = {
    { "import * as b from './b.js';\n", "the page's 'app.js' has an import of another form" },
    { "import { a } from '../b.js';\n", "the page's 'app.js' has an import of another form" },
    { "import { a } from './none.js';\n", "the page's 'none.js' has no file" },
    { "import { a } from './b.js';\n", "the page's 'app.js' has an import that comes back to it" },
    { "export let a = 1;\n", "the page's 'app.js' has an export of another form" },
    { "export default 1;\n", "the page's 'app.js' has an export of another form" },
    { "import { a } from", "the page's 'app.js' has an import of another form" },
  };
  const char *const     words[] = { "app.js", cases[_i].text, "b.js",
                                    "import { x } from './app.js';\nexport const a = 1;\n", NULL };
  g_autoptr (GPtrArray) pages = pages_of (words);
  g_autoptr (GError)    error = NULL;

  ck_assert_ptr_null (bundle_modules (pages, "app.js", &error));
  ck_assert_str_eq (error->message, cases[_i].message);
}
END_TEST

SUITE_MAIN (bundle)
{
  Suite *suite = suite_create ("bundle");
  TCase *tcase = tcase_create ("bundle");

  tcase_add_test (tcase, test_modules);
  tcase_add_loop_test (tcase, test_what_is_not_followed, 0, 7);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
