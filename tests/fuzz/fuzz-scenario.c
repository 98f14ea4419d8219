/*
 * scenario_load over arbitrary bytes: diagnostics, or scenarios that print as what reads back to the same. Files of more than a
 * hundred scenarios are only loaded.
 */
#include <glib/gstdio.h>
#include <unistd.h>

#include "replay/scenario.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

/* The loader reads files: an unlinked one stands for the bytes. */
static GPtrArray *
load_bytes (const void *data, gsize size, DiagList *diags)
{
  g_autofree char *path = NULL;
  int              fd = g_file_open_tmp ("shardsim-fuzz-XXXXXX", &path, NULL);
  GPtrArray       *all;

  g_assert (fd >= 0 && write (fd, data, size) == (gssize) size);
  close (fd);
  all = scenario_load (NULL, path, NULL, 0, diags);
  g_unlink (path);
  return all;
}

static void
check_round_trip (const Scenario *scenario)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *text = scenario_print (scenario);
  g_autoptr (GPtrArray) again = load_bytes (text, strlen (text), diags);
  g_autofree char      *messages = diag_list_format (diags, FALSE);
  g_autofree char      *second = NULL;

  if (again == NULL)
    g_error ("%s\n%s", text, messages);
  g_assert (again->len == 1);
  second = scenario_print (g_ptr_array_index (again, 0));
  g_assert_cmpstr (text, ==, second);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = load_bytes (data, size, diags);

  g_assert ((all == NULL) == diag_list_has_errors (diags));
  for (guint i = 0; all != NULL && all->len <= 100 && i < all->len; i++)
    check_round_trip (g_ptr_array_index (all, i));
  return 0;
}
