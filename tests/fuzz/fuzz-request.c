/*
 * Requests of the C interface: a line with the function's name, then the request. The call is
 * stopped before it begins, so that what is read is all that happens; a prediction that was not
 * made is no crash. Texts with a slash are left out: they name files of this machine.
 */
#include <json-c/json.h>
#include <string.h>

#include "api/shardsim.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

static char *
scenario (const char *request, G_GNUC_UNUSED ShardsimStop *stop)
{
  return shardsim_scenario (request);
}

static char *
machine (const char *request, G_GNUC_UNUSED ShardsimStop *stop)
{
  return shardsim_machine (request);
}

static const struct
{
  const char *name;
  char *(*call) (const char *request, ShardsimStop *stop);
} functions[] = {
  { "predict", shardsim_predict_until },
  { "search", shardsim_search },
  { "plan", shardsim_plan },
  { "sensitivity", shardsim_sensitivity },
  { "maximum", shardsim_maximum },
  { "timeline", shardsim_timeline },
  { "scenario", scenario },
  { "machine", machine },
};

/* Whether DIAGNOSTICS hold an error. */
static gboolean
has_error (struct json_object *diagnostics)
{
  for (gsize i = 0; i < json_object_array_length (diagnostics); i++)
    {
      struct json_object *one = json_object_array_get_idx (diagnostics, i), *severity, *message;

      g_assert (json_object_object_get_ex (one, "severity", &severity));
      g_assert (json_object_object_get_ex (one, "message", &message));
      g_assert (*json_object_get_string (message) != '\0');
      if (g_str_equal (json_object_get_string (severity), "error"))
        return TRUE;
    }
  return FALSE;
}

/* An answer is a document, and one without a result says why. */
static void
check_answer (const char *answer)
{
  struct json_object *root = json_tokener_parse (answer), *diagnostics, *error;

  g_assert (root != NULL && g_utf8_validate (answer, -1, NULL));
  g_assert (json_object_object_get_ex (root, "diagnostics", &diagnostics));
  g_assert (json_object_object_get_ex (root, "error", &error));
  if (json_object_object_length (root) == 4) /* schema and version, and these */
    g_assert (error != NULL || has_error (diagnostics));
  json_object_put (root);
}

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  g_autofree char *text = g_strndup ((const char *) data, size);
  char            *request = strchr (text, '\n');

  if (request == NULL || strchr (text, '/') != NULL || !g_utf8_validate (text, -1, NULL))
    return 0;
  *request++ = '\0';
  fuzz_begin ();
  for (guint i = 0; i < G_N_ELEMENTS (functions); i++)
    if (g_str_equal (functions[i].name, text))
      {
        ShardsimStop *stop = shardsim_stop_new ();
        char         *answer;

        shardsim_stop_now (stop);
        answer = functions[i].call (request, stop);
        check_answer (answer);
        shardsim_free (answer);
        shardsim_stop_free (stop);
      }
  return 0;
}
