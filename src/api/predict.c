#include "api/shardsim.h"

#include "api/request-private.h"
#include "base/parallel.h"
#include "report/answer.h"

/* Everything of one call. */
typedef struct
{
  Request        request;
  RequestRun     run;
  PredictOptions options;
  GPtrArray     *scenarios;
  guint          n;           /* of the scenarios; slots of what follows */
  Prediction   **predictions; /* a slot a scenario; NULL: it failed */
  DiagList     **diags;       /* the same */
  GError       **errors;
} Call;

static void
predict_one (guint i, gpointer user)
{
  Call *self = user;

  self->predictions[i] = predict (g_ptr_array_index (self->scenarios, i), &self->options,
                                  self->diags[i], &self->errors[i]);
}

static void
predict_all (Call *self)
{
  const guint n = self->scenarios->len;
  DiagList   *all = self->request.diags;
  gboolean    whole = TRUE;

  self->n = n;
  self->options = request_predict_options (&self->request, &self->run);
  self->predictions = g_new0 (Prediction *, n);
  self->diags = g_new0 (DiagList *, n);
  self->errors = g_new0 (GError *, n);
  for (guint i = 0; i < n; i++)
    self->diags[i] = diag_list_new ();
  parallel_run (n, request_n_threads (&self->request), predict_one, self, &self->request.count);
  diag_list_drop_repeats (all, TRUE);
  for (guint i = 0; i < n; i++)
    {
      diag_list_append (all, self->diags[i]);
      if (diag_list_has_errors (self->diags[i]))
        g_clear_pointer (&self->predictions[i], prediction_free);
      if (self->request.error == NULL)
        self->request.error = g_steal_pointer (&self->errors[i]);
      whole = whole && self->predictions[i] != NULL;
    }
  if (!whole)
    request_is_whole (&self->request);
  diag_list_drop_repeats (all, FALSE);
}

/* The names of the scenarios that have no prediction. */
static char **
name_left_out (const Call *self)
{
  g_autoptr (GStrvBuilder) names = g_strv_builder_new ();

  for (guint i = 0; self->scenarios != NULL && i < self->scenarios->len; i++)
    if (self->predictions[i] == NULL)
      g_strv_builder_add (names, ((const Scenario *) self->scenarios->pdata[i])->name);
  return g_strv_builder_end (names);
}

static char *
answer (const Call *self)
{
  g_autoptr (GPtrArray) predictions = g_ptr_array_new ();
  g_auto (GStrv)        left_out = name_left_out (self);
  GString              *out = g_string_new (NULL);

  for (guint i = 0; i < self->n; i++)
    if (self->predictions[i] != NULL)
      g_ptr_array_add (predictions, self->predictions[i]);
  report_answer_json (predictions, left_out, self->request.diags,
                      self->request.error != NULL ? self->request.error->message : NULL, out);
  return g_string_free (out, FALSE);
}

static void
call_clear (Call *self)
{
  for (guint i = 0; i < self->n; i++)
    {
      prediction_free (self->predictions[i]);
      diag_list_free (self->diags[i]);
      g_clear_error (&self->errors[i]);
    }
  g_free (self->predictions);
  g_free (self->diags);
  g_free (self->errors);
  g_clear_pointer (&self->scenarios, g_ptr_array_unref);
  request_clear (&self->request);
}

char *
shardsim_predict (const char *request)
{
  return shardsim_predict_until (request, NULL);
}

char *
shardsim_predict_until (const char *request, ShardsimStop *stop)
{
  Call              self = { 0 };
  const RequestPart parts[] = { { request_run_options, &self.run }, { NULL, NULL } };
  char             *text;

  if (request_read (&self.request, request, stop, parts, NULL))
    self.scenarios = request_load (&self.request, FALSE);
  if (self.scenarios != NULL)
    predict_all (&self);
  text = answer (&self);
  call_clear (&self);
  return text;
}
