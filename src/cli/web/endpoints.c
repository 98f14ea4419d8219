#include "cli/web/endpoints.h"

#include <json-c/json.h>
#include <string.h>

#include "base/config/diag.h"
#include "base/file/given-files.h"
#include "base/limits.h"
#include "report/document/answer.h"

#define A_PREDICTION 60  /* s */
#define A_SEARCH     600 /* s: what shows partial results when it is stopped */

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

static const Endpoint endpoints[] = {
  { "/api/predict", shardsim_predict_until, A_PREDICTION },
  { "/api/propose", shardsim_predict_until, A_SEARCH }, /* with what would fit, or be faster */
  { "/api/scenario", scenario, A_PREDICTION },
  { "/api/machine", machine, A_PREDICTION },
  { "/api/timeline", shardsim_timeline, A_PREDICTION },
  { "/api/maximum", shardsim_maximum, A_SEARCH },
  { "/api/search", shardsim_search, A_SEARCH },
  { "/api/plan", shardsim_plan, A_SEARCH },
  { "/api/sensitivity", shardsim_sensitivity, A_SEARCH },
};

const Endpoint *
endpoint_find (const char *path)
{
  for (guint i = 0; i < G_N_ELEMENTS (endpoints); i++)
    if (g_str_equal (endpoints[i].path, path))
      return &endpoints[i];
  return NULL;
}

gboolean
endpoint_searches (const Endpoint *self)
{
  return self->seconds == A_SEARCH;
}

/* ---- requests -------------------------------------------------------------------------------- */

char *
endpoint_refusal (const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  GString             *out = g_string_new (NULL);

  diag_error (diags, NULL, NULL, "%s", message);
  report_answer_around (NULL, diags, NULL, out);
  return g_string_free (out, FALSE);
}

/* BODY as an object; NULL with WHY set. */
static struct json_object *
parse (const char *body, gsize length, char **why)
{
  struct json_tokener    *tokener = json_tokener_new_ex (CONFIG_MAX_DEPTH);
  struct json_object     *root = NULL;
  enum json_tokener_error error;

  json_tokener_set_flags (tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
  root = json_tokener_parse_ex (tokener, body, (int) length);
  error = json_tokener_get_error (tokener);
  if (error == json_tokener_continue)
    *why = g_strdup ("the request ends in the middle of a value");
  else if (error != json_tokener_success)
    *why = g_strdup_printf ("the request is no JSON: %s at byte %zu",
                            json_tokener_error_desc (error), json_tokener_get_parse_end (tokener));
  else if (!json_object_is_type (root, json_type_object))
    *why = g_strdup ("the request is no map of keys");
  if (*why != NULL)
    g_clear_pointer (&root, json_object_put);
  json_tokener_free (tokener);
  return root;
}

/* Whether KEY, which opens what lies on this machine, is in ROOT. */
static gboolean
has_private_key (struct json_object *root, char **why)
{
  static const char *const keys[] = { "file", "plugins", "hwprofiles" };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    if (json_object_object_get_ex (root, keys[i], NULL))
      {
        *why = g_strdup_printf ("'%s' is not taken here: upload what is to be read", keys[i]);
        return TRUE;
      }
  return FALSE;
}

char *
endpoint_request (const char *body, gsize length, char **why)
{
  g_autofree char    *message = NULL;
  struct json_object *root = length < G_MAXINT ? parse (body, length, &message) : NULL;
  char               *request = NULL;

  if (root != NULL && !has_private_key (root, &message))
    request = g_strdup (json_object_to_json_string_ext (root, JSON_C_TO_STRING_PLAIN));
  json_object_put (root);
  if (request == NULL)
    *why = endpoint_refusal (message != NULL ? message : "the request is too long");
  return request;
}

/* ---- what there is --------------------------------------------------------------------------- */

#define LISTS "/api/list/"

static char *
version (void)
{
  return g_strdup_printf ("{\"version\": \"%s\"}\n", shardsim_version ());
}

char *
endpoint_get (const char *path)
{
  if (g_str_equal (path, "/api/version"))
    return version ();
  if (g_str_equal (path, "/api/options"))
    return shardsim_options ();
  if (g_str_equal (path, "/api/validate"))
    return shardsim_track_record ();
  return g_str_has_prefix (path, LISTS) ? shardsim_list (path + strlen (LISTS)) : NULL;
}

/* NAME's ending, of letters alone: the reader of a file goes by it. */
static const char *
ending_of (const char *name)
{
  static const char *const known[] = { ".json", ".yaml", ".yml" };

  for (guint i = 0; i < G_N_ELEMENTS (known); i++)
    if (name != NULL && g_str_has_suffix (name, known[i]))
      return known[i];
  return ".json";
}

char *
endpoint_give (const char *name, const char *text, gsize length)
{
  g_autofree char *file = given_files_add (text, length, ending_of (name));

  return file != NULL ? g_strdup_printf ("{\"file\": \"%s\"}\n", file)
                      : endpoint_refusal ("the file is too long");
}
