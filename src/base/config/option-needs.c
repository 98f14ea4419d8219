#include "base/config/option-needs.h"

#include <string.h>

/* The first term of an option's needs that does not hold. */
typedef struct
{
  const OptionSpec *key;    /* the option that it is about; NULL: a fact */
  const OptionFact *fact;   /* or NULL */
  char             *wanted; /* "top-k", "1", or the default: newly allocated */
  char              how;    /* ':', '>', or '!' for the default */
} Term;

static void
term_clear (Term *self)
{
  g_clear_pointer (&self->wanted, g_free);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Term, term_clear)

/* "KEY: VALUES", "KEY > NUMBER", "no KEY" or a fact; the tables are wrong where it is none. */
static Term
read_term (const OptionScope *scope, const char *text)
{
  static const char *const marks[] = { ": ", " > " };
  Term                     self = { 0 };

  if (g_str_has_prefix (text, "no "))
    self = (Term){ .key = option_table_find (scope->table, text + 3), .how = '!' };
  for (guint i = 0; self.key == NULL && i < G_N_ELEMENTS (marks); i++)
    {
      g_auto (GStrv) parts = g_strsplit (text, marks[i], 2);

      if (parts[1] == NULL)
        continue;
      self.key = option_table_find (scope->table, parts[0]);
      self.how = ":>"[i];
      self.wanted = g_strdup (parts[1]);
      g_assert (self.key != NULL);
    }
  for (const OptionFact *fact = scope->facts; self.key == NULL && fact != NULL; fact++)
    {
      g_assert (fact->name != NULL);
      if (!g_str_equal (fact->name, text))
        continue;
      self.fact = fact;
      break;
    }
  g_assert (self.key != NULL || self.fact != NULL);
  return self;
}

static gboolean
term_holds (const OptionScope *scope, const Term *self)
{
  g_autofree char *value = NULL;
  g_auto (GStrv)   words = NULL;

  if (self->fact != NULL)
    return self->fact->holds (scope->about);
  if (self->how == '!')
    return option_is_default (self->key, scope->options);
  value = option_format (self->key, scope->options);
  if (self->how == '>')
    return g_ascii_strtod (value, NULL) > g_ascii_strtod (self->wanted, NULL);
  words = g_strsplit (self->wanted, "|", -1);
  return g_strv_contains ((const char *const *) words, value);
}

/* Whether SPEC lacks something: then *MISSING is what, the caller's. */
static gboolean
lacks (const OptionScope *scope, const OptionSpec *spec, Term *missing)
{
  g_auto (GStrv) terms = g_strsplit (spec->needs != NULL ? spec->needs : "", ", ", -1);

  for (char **text = terms; *text != NULL; text++)
    {
      g_auto (Term) term = read_term (scope, *text);

      if (!term_holds (scope, &term))
        {
          *missing = term;
          term = (Term){ 0 };
          return TRUE;
        }
      if (term.key != NULL && term.how != '!' && lacks (scope, term.key, missing))
        return TRUE;
    }
  return FALSE;
}

const OptionSpec *
option_short_of (const OptionScope *scope, const OptionSpec *spec)
{
  g_auto (GStrv) terms = g_strsplit (spec->needs != NULL ? spec->needs : "", ", ", -1);

  for (char **text = terms; *text != NULL; text++)
    {
      g_auto (Term) term = { 0 };

      if (strstr (*text, " > ") == NULL)
        continue;
      term = read_term (scope, *text);
      if (!term_holds (scope, &term))
        return term.key;
    }
  return NULL;
}

/* "without 'pp' above 1" */
static char *
describe (const Term *self)
{
  g_auto (GStrv)   words = NULL;
  g_autofree char *any = NULL;

  if (self->fact != NULL)
    return g_strdup_printf ("without %s", self->fact->name);
  if (self->how == '!')
    return g_strdup_printf ("beside '%s'", self->key->key);
  if (self->how == '>')
    return g_strdup_printf ("without '%s' above %s", self->key->key, self->wanted);
  words = g_strsplit (self->wanted, "|", -1);
  any = g_strjoinv (" or ", words);
  return g_strdup_printf ("without '%s: %s'", self->key->key, any);
}

gboolean
option_is_idle (const OptionScope *scope, const OptionSpec *spec)
{
  g_auto (Term) missing = { 0 };

  return spec->needs != NULL && !option_is_default (spec, scope->given)
         && lacks (scope, spec, &missing);
}

/* WHAT: "without experts". */
static void
warn (const char *name, const char *what, const char *how, const SourceMark *mark, DiagList *diags)
{
  g_autofree char *hint = how != NULL ? g_strdup_printf ("leave it out, or %s", how) : NULL;

  diag_warning (diags, mark, hint != NULL ? hint : "leave it out", "'%s' has no effect %s", name,
                what);
}

void
option_warn_without (const char *name, const char *without, const char *hint,
                     const SourceMark *mark, DiagList *diags)
{
  g_autofree char *what = g_strdup_printf ("without %s", without);

  warn (name, what, hint, mark, diags);
}

void
option_warn_idle (const OptionScope *scope, const OptionMarks *marks, DiagList *diags)
{
  for (const OptionSpec *spec = scope->table; spec != NULL && spec->key != NULL; spec++)
    {
      g_auto (Term)    missing = { 0 };
      g_autofree char *what = NULL;

      if (spec->needs == NULL || option_is_default (spec, scope->given)
          || (marks != NULL && !option_marks_has_own (marks, spec->key))
          || !lacks (scope, spec, &missing))
        continue;
      what = describe (&missing);
      diag_list_set_key (diags, spec->key);
      warn (spec->key, what, missing.fact != NULL ? missing.fact->hint : NULL,
            option_mark (marks, spec->key, NULL), diags);
      diag_list_set_key (diags, NULL);
    }
}
