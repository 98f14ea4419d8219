#include "calibrate/profile.h"

#include <math.h>
#include <string.h>

#define MAX_UNLIKE 0.1 /* of a GPU's multiprocessors against its profile's, without a warning */

/* ---- rules ----------------------------------------------------------------------------------- */

static void
fitted_value_free (gpointer data)
{
  FittedValue *self = data;

  g_free (self->what);
  g_free (self->why);
  g_free (self);
}

/* NULL of a plain key. */
static const FigureView *
find_view (const GArray *views, const char *key)
{
  for (guint i = 0; i < views->len; i++)
    if (strcmp (g_array_index (views, FigureView, i).key, key) == 0)
      return &g_array_index (views, FigureView, i);
  return NULL;
}

/* The spread holds the value, and both what the format of profiles takes for plausible. */
static void
check_value (FittedValue *value, const FigureView *view, const char *base)
{
  g_autofree char *low = NULL, *high = NULL, *got = NULL;

  if (value->after < view->min || value->after > view->max)
    {
      low = quantity_format (view->kind, view->min, 4);
      high = quantity_format (view->kind, view->max, 4);
      got = quantity_format (view->kind, value->after, 4);
      calibration_refuse (
          value, FIT_CONTRADICTORY,
          g_strdup_printf ("%s is not between %s and %s: is '%s' the right profile?", got, low,
                           high, base));
      return;
    }
  if (isnan (value->low) || isnan (value->high))
    return;
  value->low = CLAMP (value->low, view->min, value->after);
  value->high = CLAMP (value->high, value->after, view->max);
}

static void
apply_rule (Calibration *self, const FitRule *rule, const GArray *views, ProfileSet *profiles)
{
  FittedValue      *value = g_new0 (FittedValue, 1);
  const FigureView *view = rule->figure != NULL ? find_view (views, rule->figure) : NULL;

  *value = (FittedValue){
    .figure = rule->figure,
    .what = g_strdup (rule->what),
    .kind = rule->kind,
    .before = view != NULL && view->figure->source != NULL ? view->figure->value : NAN,
    .after = NAN,
    .low = NAN,
    .high = NAN,
    .residual_median = NAN,
    .residual_p90 = NAN,
  };
  rule->fit (self, rule, value);
  if (value->verdict == FIT_GOOD && view != NULL)
    check_value (value, view, self->result->base);
  if (value->verdict == FIT_GOOD && view != NULL)
    profile_set_override (profiles, self->result->kind, self->result->base, rule->figure,
                          value->after);
  g_ptr_array_add (self->result->fits, value);
}

/*
 * Part of a GPU, or another one, has figures all the same: they would be read against the wrong
 * datasheet.
 */
static void
warn_of_size (const ProfileCalibration *self, DiagList *diags)
{
  for (guint i = 0; i < self->fits->len; i++)
    {
      const FittedValue *value = g_ptr_array_index (self->fits, i);

      if (g_strcmp0 (value->figure, "sms") == 0 && value->verdict == FIT_GOOD
          && fabs (value->after / value->before - 1) > MAX_UNLIKE)
        diag_warning (diags, NULL, "rates are read against that profile's datasheet",
                      "the device has %.0f multiprocessors and '%s' %.0f: is it part of a GPU, or "
                      "another one",
                      value->after, self->base, value->before);
    }
}

/* What is fitted of each kind of profile. */
static const struct
{
  const char    *kind;
  const FitRule *rules;
} kinds[] = {
  { "gpu", calibrate_device_rules },
  { "link", calibrate_network_rules },
  { "node", calibrate_host_rules },
};

const char *
calibrate_profile_kind (const BenchResults *results)
{
  return *results->device != '\0' ? "gpu" : "link";
}

ProfileCalibration *
calibrate_profile (const BenchResults *results, ProfileSet *profiles, const char *kind,
                   const char *base, DiagList *diags)
{
  g_autoptr (GHashTable)         used = g_hash_table_new (NULL, NULL);
  g_autoptr (ProfileCalibration) result = g_new0 (ProfileCalibration, 1);
  g_autoptr (GArray)             views = profile_set_figures (profiles, kind, base, diags);
  Calibration                    self = { .results = results, .used = used, .result = result };

  result->results = results;
  result->kind = kind;
  result->base = g_strdup (base);
  result->fits = g_ptr_array_new_with_free_func (fitted_value_free);
  if (views == NULL)
    return NULL;
  if (strcmp (kind, "gpu") == 0)
    self.gpu = profile_set_gpu (profiles, base, NULL, diags);
  else if (strcmp (kind, "link") == 0)
    self.link = profile_set_link (profiles, base, NULL, diags);
  else
    self.node = profile_set_node (profiles, base, NULL, diags);
  result->title = g_strdup (profile_set_title (profiles, kind, base, diags));
  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    for (const FitRule *rule = kinds[i].rules;
         strcmp (kinds[i].kind, kind) == 0 && rule->what != NULL; rule++)
      apply_rule (&self, rule, views, profiles);
  if (self.gpu != NULL)
    result->products = calibration_products (&self);
  warn_of_size (result, diags);
  calibration_report_others (&self);
  return g_steal_pointer (&result);
}

void
profile_calibration_free (ProfileCalibration *self)
{
  g_free (self->base);
  g_free (self->title);
  g_ptr_array_unref (self->fits);
  g_clear_pointer (&self->products, g_array_unref);
  g_free (self);
}

gboolean
profile_calibration_is_good (const ProfileCalibration *self)
{
  guint n = 0;

  for (guint i = 0; i < self->fits->len; i++)
    {
      const FittedValue *value = g_ptr_array_index (self->fits, i);

      if (value->figure == NULL)
        continue;
      if (value->verdict == FIT_CONTRADICTORY)
        return FALSE;
      n += value->verdict == FIT_GOOD;
    }
  return n > 0;
}

/* ---- the profile that a device's name means -------------------------------------------------- */

/* Words of TEXT in lower case: runs of letters and digits, "80GB" as "80" and "gb". */
static GPtrArray *
words_of (const char *text)
{
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);

  while (*text != '\0')
    {
      gsize n = 0, digits = strspn (text, "0123456789");

      while (g_ascii_isalnum (text[n]))
        n++;
      if (digits > 0 && digits < n && g_ascii_strncasecmp (text + digits, "gb", n - digits) == 0)
        n = digits;
      if (n > 0)
        g_ptr_array_add (words, g_ascii_strdown (text, (gssize) n));
      text += MAX (n, 1);
    }
  return words;
}

/* What tells no GPU from another: the vendor, and what the memory is called. */
static gboolean
is_idle (const char *word)
{
  static const char *const idle[] = { "nvidia",   "amd", "tesla", "geforce",
                                      "instinct", "gpu", "gb",    NULL };

  return g_strv_contains (idle, word) || g_str_has_prefix (word, "hbm");
}

static gboolean
has_word (const GPtrArray *words, const char *word)
{
  return g_ptr_array_find_with_equal_func ((GPtrArray *) words, word, g_str_equal, NULL);
}

/* Drivers name the boards that are none of the usual ones of a server: "H200 NVL", "A100-PCIE". */
static gboolean
is_of_board (const GPtrArray *have, const GPtrArray *want)
{
  static const char *const boards[] = { "nvl", "pcie" };

  for (gsize i = 0; i < G_N_ELEMENTS (boards); i++)
    if (has_word (have, boards[i]) && !has_word (want, boards[i]))
      return FALSE;
  return TRUE;
}

static gboolean
has_words (const GPtrArray *have, const GPtrArray *want)
{
  guint n = 0;

  for (guint i = 0; i < want->len; i++)
    {
      const char *word = g_ptr_array_index (want, i);

      if (is_idle (word))
        continue;
      n++;
      if (!has_word (have, word))
        return FALSE;
    }
  return n > 0;
}

/* The ids of the profiles that hold the words WANT (NULL: of all); BOARD: and are of its board. */
static GPtrArray *
candidates (ProfileSet *profiles, const char *kind, const GPtrArray *want, gboolean board)
{
  g_auto (GStrv)       ids = profile_set_list (profiles, kind);
  GPtrArray           *found = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (DiagList) none = diag_list_new ();

  for (guint i = 0; ids[i] != NULL; i++)
    {
      const GpuProfile *gpu = want != NULL ? profile_set_gpu (profiles, ids[i], NULL, none) : NULL;
      g_autofree char  *text = gpu != NULL ? g_strconcat (gpu->title, " ", ids[i], NULL) : NULL;
      g_autoptr (GPtrArray) have = words_of (text != NULL ? text : "");

      if (want == NULL || (has_words (have, want) && (!board || is_of_board (have, want))))
        g_ptr_array_add (found, g_strdup (ids[i]));
    }
  return found;
}

static char *
join (GPtrArray *ids)
{
  g_ptr_array_add (ids, NULL);
  return g_strjoinv (", ", (char **) ids->pdata);
}

char *
calibrate_profile_guess (const BenchResults *results, ProfileSet *profiles, const char *kind,
                         DiagList *diags)
{
  gboolean              named = strcmp (kind, "gpu") == 0;
  g_autoptr (GPtrArray) want = words_of (results->device), found = NULL, of_board = NULL;
  g_autofree char      *list = NULL, *hint = NULL;

  found = candidates (profiles, kind, named ? want : NULL, FALSE);
  if (named && found->len == 1)
    return g_strdup (g_ptr_array_index (found, 0));
  of_board = candidates (profiles, kind, named ? want : NULL, TRUE);
  if (named && of_board->len == 1)
    return g_strdup (g_ptr_array_index (of_board, 0));
  if (found->len == 0)
    {
      g_ptr_array_unref (found);
      found = candidates (profiles, kind, NULL, FALSE);
    }
  list = join (found);
  hint = g_strdup_printf ("name the datasheet's profile with --extends: %s", list);
  if (named)
    diag_error (diags, NULL, hint, "which profile '%s' extends is not clear", results->device);
  else
    diag_error (diags, NULL, hint, "which %s these results are of is not said", kind);
  return NULL;
}
