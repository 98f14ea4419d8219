#include "report/export/runners.h"

#include "report/export/emit.h"

struct _Runners
{
  PredictOptions predict;
  GPtrArray     *frameworks; /* Framework; NULL: nobody has asked */
  ProfileSet    *profiles;   /* of the scenarios; the same */
};

Runners *
runners_new (const PredictOptions *predict)
{
  Runners *self = g_new0 (Runners, 1);

  self->predict = *predict;
  return self;
}

void
runners_free (Runners *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->frameworks, g_ptr_array_unref);
  g_clear_pointer (&self->profiles, profile_set_free);
  g_free (self);
}

char *
runners_find (const Scenario *scenario, gpointer user)
{
  Runners                     *self = user;
  g_autoptr (DiagList)         untold = diag_list_new ();
  g_autoptr (ResolvedScenario) resolved = NULL;

  if (self->profiles == NULL)
    self->profiles = predict_profiles (&self->predict);
  if (self->frameworks == NULL)
    self->frameworks = framework_load_all (TRUE, untold);
  resolved = resolved_new (scenario, self->profiles, untold);
  return resolved != NULL ? emit_runners (self->frameworks, resolved) : NULL;
}
