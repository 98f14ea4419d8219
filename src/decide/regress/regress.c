/* Results against those of the baseline, each within its limit; and which inputs changed. */
#include "decide/regress/regress.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/config/units.h"

/* ---- limits ---------------------------------------------------------------------------------- */

#define ALL "all"

/* FALSE: it is no number from 0 on with an optional '%'. */
static gboolean
parse_value (const char *text, RegressLimit *limit)
{
  char *end;

  if (g_str_equal (text, "any"))
    {
      limit->any = TRUE;
      return TRUE;
    }
  limit->value = g_ascii_strtod (text, &end);
  if (end == text || !number_is_usable (limit->value) || limit->value < 0)
    return FALSE;
  while (g_ascii_isspace (*end))
    end++;
  limit->relative = *end == '%' || limit->value == 0;
  if (*end == '%')
    {
      limit->value /= 100;
      end++;
    }
  return *end == '\0';
}

gboolean
regress_limit_parse (const char *text, const char *const *names, RegressLimit *limit,
                     DiagList *diags)
{
  const char      *equals = strchr (text, '=');
  g_autofree char *name = g_strndup (text, equals != NULL ? (gsize) (equals - text) : 0);
  const gint       index = name_index (name, names);

  *limit = (RegressLimit){ 0 };
  if (equals == NULL || !parse_value (equals + 1, limit))
    {
      diag_error (diags, NULL,
                  "such as step_time_s=0.5%, peak_host_gib=0.25 (in its unit) or "
                  "binding_resource=any",
                  "'%s' is no tolerance", text);
      return FALSE;
    }
  if (index < 0 && !g_str_equal (name, ALL))
    {
      g_autofree char *hint = suggest_hint (name, names);

      diag_error (diags, NULL, hint, "there is no result '%s'", name);
      return FALSE;
    }
  limit->name = index < 0 ? ALL : names[index];
  return TRUE;
}

/* The last of LIMITS that names NAME, else the last for all, else none: every difference counts. */
static RegressLimit
limit_of (const GArray *limits, const char *name)
{
  RegressLimit found = { .name = name, .relative = TRUE };

  for (guint pass = 0; pass < 2; pass++)
    for (guint i = 0; limits != NULL && i < limits->len; i++)
      {
        const RegressLimit *limit = &g_array_index (limits, RegressLimit, i);

        if (g_str_equal (limit->name, pass == 0 ? ALL : name))
          found = *limit;
      }
  found.name = name;
  return found;
}

/* ---- one result ------------------------------------------------------------------------------ */

static const char *const verdict_names[REGRESS_N] = { "same", "within", "moved", "new" };

const char *
regress_verdict_name (RegressVerdict verdict)
{
  return verdict_names[verdict];
}

/* Whether two numbers differ, and whether by more than LIMIT. */
static RegressVerdict
judge_numbers (double was, double now, const RegressLimit *limit)
{
  const double difference = fabs (now - was), allowed = limit->value;

  if (isnan (was) || isnan (now))
    {
      if (isnan (was) && isnan (now))
        return REGRESS_SAME;
      return limit->any ? REGRESS_WITHIN : REGRESS_MOVED;
    }
  if (difference <= REGRESS_EQUAL * fabs (was))
    return REGRESS_SAME;
  if (limit->any || difference <= (limit->relative ? allowed * fabs (was) : allowed))
    return REGRESS_WITHIN;
  return REGRESS_MOVED;
}

static RegressVerdict
judge (RegressChange *change)
{
  const RegressResult *was = change->was, *now = change->now;

  change->change = NAN;
  if (was == NULL)
    return REGRESS_NEW;
  if (now == NULL)
    return change->limit.any ? REGRESS_WITHIN : REGRESS_MOVED;
  if (was->text == NULL && now->text == NULL)
    {
      change->change = (now->number - was->number) / fabs (was->number);
      return judge_numbers (was->number, now->number, &change->limit);
    }
  if (g_strcmp0 (was->text, now->text) == 0)
    return REGRESS_SAME;
  return change->limit.any ? REGRESS_WITHIN : REGRESS_MOVED;
}

/* FALSE after a diagnostic: words where there should be a number. */
static gboolean
is_comparable (const RegressResult *was, const RegressResult *now, DiagList *diags)
{
  if (was == NULL || now == NULL || now->text != NULL || was->text == NULL || isnan (now->number))
    return TRUE;
  diag_error (diags, &was->mark, "--update writes the file anew",
              "'%s' is to be a number, got '%s'", was->name, was->text);
  return FALSE;
}

/* WAS or NOW may be NULL: that side has no result NAME. */
static void
add_change (RegressComparison *self, const char *name, const RegressResult *was,
            const RegressResult *now, const GArray *limits, DiagList *diags)
{
  RegressChange change = { .row = self->now, .was = was, .now = now };

  if (!is_comparable (was, now, diags))
    return;
  change.limit = limit_of (limits, name);
  change.verdict = judge (&change);
  self->n[change.verdict]++;
  g_array_append_val (self->changes, change);
}

/* ---- causes ---------------------------------------------------------------------------------- */

static void
cause_clear (gpointer data)
{
  RegressCause *cause = data;

  g_free (cause->group);
  g_free (cause->key);
  g_free (cause->was);
  g_free (cause->now);
  g_clear_pointer (&cause->effects, g_array_unref);
}

static const char *
value_of (const RegressInput *input)
{
  return input != NULL ? input->value : NULL;
}

/* Of a strategy that is another one, its name alone is told: its options come with it. */
static gboolean
is_of_other_strategy (const RegressComparison *self, const char *group, const char *key)
{
  g_autofree char *section = g_strdup (key);
  char            *dot;

  if (!g_str_equal (group, "options") || !g_str_has_prefix (key, "strategy."))
    return FALSE;
  while ((dot = strrchr (section, '.')) != NULL)
    {
      g_autofree char *name = NULL;

      *dot = '\0';
      name = g_strconcat (section, ".name", NULL);
      if (!g_str_equal (name, key)
          && g_strcmp0 (value_of (regress_row_input (self->was, group, name)),
                        value_of (regress_row_input (self->now, group, name)))
                 != 0)
        return TRUE;
    }
  return FALSE;
}

/* Whether the option model.KEY says the same. */
static gboolean
follows_from_option (const RegressComparison *self, const char *group, const char *key)
{
  g_autofree char *option = g_strconcat ("model.", key, NULL);

  if (!g_str_equal (group, "model"))
    return FALSE;
  return g_strcmp0 (value_of (regress_row_input (self->was, "options", option)),
                    value_of (regress_row_input (self->now, "options", option)))
             != 0
         || g_strcmp0 (value_of (regress_row_input (self->was, "options", "model.config")),
                       value_of (regress_row_input (self->now, "options", "model.config")))
                != 0;
}

/* A profile that only one of them uses is one cause, not a hundred. */
static gboolean
is_of_one_side (const RegressComparison *self, const char *group)
{
  return !g_str_equal (group, "options")
         && regress_row_has_group (self->was, group) != regress_row_has_group (self->now, group);
}

static void
add_cause (RegressComparison *self, const char *group, const char *key, const char *was,
           const char *now)
{
  const RegressCause cause = { g_strdup (group), g_strdup (key), g_strdup (was), g_strdup (now),
                               NULL };

  for (guint i = 0; i < self->causes->len; i++)
    {
      const RegressCause *known = &g_array_index (self->causes, RegressCause, i);

      if (g_str_equal (known->group, group) && g_str_equal (known->key, key))
        {
          cause_clear ((gpointer) &cause);
          return;
        }
    }
  g_array_append_val (self->causes, cause);
}

/* What INPUTS have that differs on the other side. */
static void
add_causes (RegressComparison *self, const GArray *inputs)
{
  for (guint i = 0; i < inputs->len; i++)
    {
      const RegressInput *input = &g_array_index (inputs, RegressInput, i);
      const char         *was = value_of (regress_row_input (self->was, input->group, input->key));
      const char         *now = value_of (regress_row_input (self->now, input->group, input->key));

      if (was == NULL && input->is_default) /* an option that the program has gained since */
        continue;
      if (g_strcmp0 (was, now) == 0 || is_of_other_strategy (self, input->group, input->key)
          || follows_from_option (self, input->group, input->key))
        continue;
      if (is_of_one_side (self, input->group))
        add_cause (self, input->group, "", was != NULL ? "used" : "not used",
                   now != NULL ? "used" : "not used");
      else
        add_cause (self, input->group, input->key, was, now);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

void
regress_comparison_free (RegressComparison *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->changes);
  g_array_unref (self->causes);
  g_clear_pointer (&self->program, g_array_unref);
  g_free (self);
}

RegressComparison *
regress_compare (const Baseline *baseline, const RegressRow *now, const GArray *limits,
                 DiagList *diags)
{
  RegressComparison *self = g_new0 (RegressComparison, 1);
  const GArray      *olds;

  self->now = now;
  self->was = baseline_find (baseline, now->scenario);
  self->changes = g_array_new (FALSE, FALSE, sizeof (RegressChange));
  self->causes = g_array_new (FALSE, FALSE, sizeof (RegressCause));
  g_array_set_clear_func (self->causes, cause_clear);
  for (guint i = 0; i < now->results->len; i++)
    {
      const RegressResult *result = &g_array_index (now->results, RegressResult, i);

      add_change (self, result->name,
                  self->was != NULL ? regress_row_result (self->was, result->name) : NULL, result,
                  limits, diags);
    }
  if (self->was == NULL)
    return self;
  olds = self->was->results;
  for (guint i = 0; i < olds->len; i++)
    {
      const RegressResult *result = &g_array_index (olds, RegressResult, i);

      if (regress_row_result (now, result->name) == NULL)
        add_change (self, result->name, result, NULL, limits, diags);
    }
  add_causes (self, self->was->inputs);
  add_causes (self, now->inputs);
  return self;
}

const RegressChange *
regress_headline (const RegressComparison *self, guint *index)
{
  static const char *const first[] = { "step_time_s", "tokens_per_s_per_gpu", "peak_device_gib",
                                       NULL };
  const RegressChange     *headline = NULL;
  guint                    rank = G_MAXUINT;

  for (guint i = 0; i < self->changes->len; i++)
    {
      const RegressChange *change = &g_array_index (self->changes, RegressChange, i);
      guint                own = 0;

      if (change->verdict != REGRESS_MOVED || !isfinite (change->change))
        continue;
      while (first[own] != NULL && !g_str_equal (first[own], change->now->name))
        own++;
      if (own < rank)
        {
          headline = change;
          *index = i;
          rank = own;
        }
    }
  return headline;
}
