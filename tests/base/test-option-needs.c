/*
 * What options need (option-needs.h): each kind of term where it holds and where it does not,
 * needs of what is needed, and that nobody is warned of what is as by default. Which options of the
 * tables need what is tested by their answers: api/test-option-effects.c.
 */
#include "../suite.h"
#include "base/config/option-needs.h"
#include "fixture.h"

typedef struct
{
  gint     scheme;
  gint64   rank, depth, unfilled;
  gboolean warm;
  char    *errors;
  double   budget;
} Options;

#define OPTION(member) .offset = G_STRUCT_OFFSET (Options, member)

static const char *const schemes[] = { "none", "factors", "largest", NULL };

static const OptionSpec table[] = {
  { .key = "scheme",
    .type = OPTION_ENUM,
    .choices = schemes,
    OPTION (scheme),
    .fallback = "none",
    .needs = "gradients" },
  { .key = "rank", .type = OPTION_INT, OPTION (rank), .fallback = "1", .needs = "scheme: factors" },
  { .key = "warm",
    .type = OPTION_BOOL,
    OPTION (warm),
    .fallback = "true",
    .needs = "scheme: factors|largest, rank > 1" },
  { .key = "errors", .type = OPTION_STRING, OPTION (errors), .optional = TRUE },
  { .key = "budget",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (budget),
    .fallback = "1",
    .needs = "no errors" },
  { .key = "depth", .type = OPTION_INT, OPTION (depth), .fallback = "4", .needs = "rank > 2" },
  { .key = "unfilled",
    .type = OPTION_INT,
    OPTION (unfilled),
    .fallback = "20",
    .min = 1,
    .max = 30,
    .needs = "scheme: factors" },
  { 0 },
};

static gboolean
is_set (gconstpointer about)
{
  return *(const gboolean *) about;
}

static const OptionFact facts[] = {
  { "gradients", is_set, "train something" },
  { 0 },
};

static const struct
{
  const char *settings; /* with semicolons between them */
  gboolean    gradients;
  const char *said; /* NULL: nothing */
} cases[] = {
  { "", FALSE, NULL },
  { "scheme=factors", TRUE, NULL },
  { "scheme=factors", FALSE,
    "warning: 'scheme' has no effect without gradients\n"
    "  hint: leave it out, or train something\n" },
  { "rank=1;warm=true;budget=1", FALSE, NULL }, /* as by default */
  { "rank=4", TRUE,
    "warning: 'rank' has no effect without 'scheme: factors'\n  hint: leave it out\n" },
  { "scheme=factors;rank=4", TRUE, NULL },
  { "scheme=factors;warm=false", TRUE,
    "warning: 'warm' has no effect without 'rank' above 1\n  hint: leave it out\n" },
  { "warm=false", TRUE,
    "warning: 'warm' has no effect without 'scheme: factors or largest'\n  hint: leave it out\n" },
  { "budget=2", TRUE, NULL },
  { "errors=a.csv;budget=2", TRUE,
    "warning: 'budget' has no effect beside 'errors'\n  hint: leave it out\n" },
  /* it needs what has no effect itself */
  { "scheme=largest;rank=4;depth=5", TRUE,
    "warning: 'rank' has no effect without 'scheme: factors'\n  hint: leave it out\n"
    "warning: 'depth' has no effect without 'scheme: factors'\n  hint: leave it out\n" },
};

START_TEST (test_needs)
{
  Options              options = { 0 };
  const OptionScope    scope = { table, &options, &options, facts, &cases[_i].gradients };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_auto (GStrv)       settings = g_strsplit (cases[_i].settings, ";", -1);
  g_autofree char     *text = NULL;

  option_table_defaults (table, &options);
  options.unfilled = 0; /* as nobody filled it */
  for (char **setting = settings; *setting != NULL; setting++)
    {
      g_auto (GStrv) parts = g_strsplit (*setting, "=", 2);

      ck_assert (option_set_key (table, &options, parts[0], parts[1], NULL, diags));
    }
  option_warn_idle (&scope, NULL, diags);
  text = diag_list_format (diags, FALSE);
  ck_assert_str_eq (text, cases[_i].said != NULL ? cases[_i].said : "");
  option_table_clear (table, &options);
}
END_TEST

SUITE_MAIN (option_needs)
{
  TCase *tcase = tcase_create ("needs");

  tcase_add_loop_test (tcase, test_needs, 0, G_N_ELEMENTS (cases));
  return run_case (suite_create ("option-needs"), tcase);
}
