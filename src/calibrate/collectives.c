#include "calibrate/collectives.h"

#include <math.h>
#include <string.h>

#include "calibrate/link-families-private.h"

/* ---- what is fitted -------------------------------------------------------------------------- */

typedef enum
{
  FIT_INTRA = 1 << 0,   /* links inside nodes */
  FIT_NETWORK = 1 << 1, /* cards */
  FIT_SWITCH = 1 << 2,  /* links inside nodes that are switches */
  FIT_INSIDE = 1 << 3,  /* those that say what takes place inside a node alone */
} FitLinks;

/* What is known of a figure that no profile states. */
typedef enum
{
  KNOWN_SEARCH, /* what the library's search takes links to carry */
  KNOWN_TABLE,  /* the library's own table */
  KNOWN_START,  /* nothing comes on top of the kernel's start, which is what a distance is of */
} Known;

/*
 * Where both a hop's time and the link's `latency` add up to a step, they cannot be told apart:
 * `latency` stays. So do the rates of channels under Simple and of pairs: few runs are bound by
 * them, and those stand in the library's tables. A figure whose 0 stands for the library's own
 * table keeps it unless a value fits better.
 */
static const struct
{
  const char   *key;
  guint         links; /* FitLinks */
  MinimiseRange range;
  gboolean      per_link; /* one value a link, not a family */
  Known         known;
} parameters[] = {
  { "staged_rate", FIT_NETWORK, { 1e8, 2e11, TRUE }, FALSE, KNOWN_TABLE },
  { "efficiency", FIT_INTRA | FIT_NETWORK, { 0.3, 1, FALSE }, TRUE, KNOWN_SEARCH },
  { "ll_rate", FIT_INTRA | FIT_NETWORK, { 1e8, 2e11, TRUE }, FALSE, KNOWN_TABLE },
  { "ll128_rate", FIT_INTRA | FIT_NETWORK, { 1e8, 2e11, TRUE }, FALSE, KNOWN_TABLE },
  { "post_ll", FIT_NETWORK, { 1e-7, 1e-4, TRUE }, FALSE, KNOWN_TABLE },
  { "post_ll128", FIT_NETWORK, { 1e-7, 1e-4, TRUE }, FALSE, KNOWN_TABLE },
  { "inside_start_ll", FIT_INSIDE, { 1e-7, 1e-4, TRUE }, FALSE, KNOWN_TABLE },
  { "inside_hop_ll", FIT_INSIDE, { 1e-7, 1e-4, TRUE }, FALSE, KNOWN_TABLE },
  { "inside_ll_rate", FIT_INSIDE, { 1e8, 2e11, TRUE }, FALSE, KNOWN_TABLE },
  { "hop_ll", FIT_INTRA | FIT_NETWORK, { 1e-7, 1e-3, TRUE }, FALSE, KNOWN_TABLE },
  { "hop_ll128", FIT_INTRA | FIT_NETWORK, { 1e-7, 1e-3, TRUE }, FALSE, KNOWN_TABLE },
  { "hop_simple", FIT_INTRA | FIT_NETWORK, { 1e-7, 1e-3, TRUE }, FALSE, KNOWN_TABLE },
  { "sharp_efficiency", FIT_NETWORK, { 0.1, 1, FALSE }, FALSE, KNOWN_TABLE },
  { "peer_latency", FIT_NETWORK, { 1e-7, 1e-4, TRUE }, FALSE, KNOWN_TABLE },
  { "nvls_latency", FIT_SWITCH | FIT_NETWORK, { 1e-6, 1e-3, TRUE }, FALSE, KNOWN_TABLE },
  { "nvls_efficiency", FIT_SWITCH, { 0.3, 2, FALSE }, FALSE, KNOWN_TABLE },
  { "launch", FIT_INTRA, { 1e-7, 1e-4, TRUE }, FALSE, KNOWN_START },
};

static const MinimiseEffort effort = { .grid = 13, .sections = 6, .rounds = 4, .tolerance = 1e-3 };

#define MAX_TURNS    3    /* of all families */
#define PRIOR_STATED 0.02 /* misfit that leaving a stated figure by a factor of e is worth ... */
#define PRIOR_TABLE  0.01 /* ... and one that only the library's tables have */

typedef struct
{
  const GPtrArray     *measurements;
  ProfileSet          *profiles;
  CollectivePredictor *predictor;
  GPtrArray           *families; /* LinkFamily *, in the order of the calibration */
  LinkFamily          *current;
} Fit;

/* ---- figures --------------------------------------------------------------------------------- */

static gboolean
has_parameter (const LinkProfile *link, guint links)
{
  if (link->kind == LINK_NETWORK)
    return (links & FIT_NETWORK) != 0;
  return (links & FIT_INTRA) != 0 || (link->kind == LINK_SWITCH && (links & FIT_SWITCH) != 0)
         || (link->inside_hop_ll.value > 0 && (links & FIT_INSIDE) != 0);
}

static const char *
link_at (const LinkFamily *family, guint i)
{
  return g_ptr_array_index (family->result->links, i);
}

static const FittedFigure *
figure_at (const LinkFamily *family, guint i)
{
  return &g_array_index (family->result->figures, FittedFigure, i);
}

/*
 * A fit that leaves a source out must not start from what that source has taught: figures go back
 * to the library's tables, efficiencies to what its search takes links to carry (20 of an NVLink's
 * 25 GB/s, 24 of a card's 25).
 */
static void
forget_fits (Fit *fit, const LinkFamily *family)
{
  for (guint l = 0; l < family->result->links->len; l++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      const LinkProfile *link = profile_set_link (fit->profiles, link_at (family, l), NULL, diags);
      double             searched = link->kind == LINK_NETWORK ? 24.0 / 25 : 20.0 / 25;

      for (guint p = 0; p < G_N_ELEMENTS (parameters); p++)
        profile_set_override (fit->profiles, "link", link_at (family, l), parameters[p].key,
                              parameters[p].known == KNOWN_SEARCH ? searched : 0);
      collective_predictor_forget (fit->predictor, link_at (family, l));
    }
}

/* What LINK's profile says of the parameter KEY. */
static double
own_value (Fit *fit, const char *link, const char *key, QuantityKind *kind)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   figures = profile_set_figures (fit->profiles, "link", link, diags);

  for (guint i = 0; i < figures->len; i++)
    {
      const FigureView *view = &g_array_index (figures, FigureView, i);

      *kind = view->kind;
      if (strcmp (view->key, key) == 0)
        return view->figure->value;
    }
  g_assert_not_reached (); /* the table of parameters is wrong */
}

/* A variable of FAMILY: parameter P of its link LINK, or of all (NULL). */
static void
add_variable (Fit *fit, LinkFamily *family, guint p, const char *link)
{
  FittedFigure         fitted = { .key = parameters[p].key, .link = link };
  g_autoptr (DiagList) diags = diag_list_new ();
  const LinkProfile   *profile =
      profile_set_link (fit->profiles, link != NULL ? link : link_at (family, 0), NULL, diags);
  /* One that the family's links join. */
  const Cluster *cluster =
      collective_predictor_cluster (fit->predictor, g_array_index (family->rows, guint, 0));
  double known, beside = 0;

  fitted.before = fitted.after =
      own_value (fit, link != NULL ? link : link_at (family, 0), fitted.key, &fitted.kind);
  g_array_append_val (family->result->figures, fitted);
  g_array_append_val (family->ranges, parameters[p].range);
  g_array_append_val (family->values, fitted.before);
  known = fitted.before > 0
              ? fitted.before
              : collective_default_figure (cluster_library (cluster, NULL), profile,
                                           cluster_gpu_profile (cluster, 0), fitted.key);
  g_array_append_val (family->known, known);
  if (parameters[p].known == KNOWN_START)
    beside = cluster_gpu_profile (cluster, 0)->kernel_latency.value;
  g_array_append_val (family->beside, beside);
}

static void
take_parameters (Fit *fit, LinkFamily *family)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const LinkProfile   *link = profile_set_link (fit->profiles, link_at (family, 0), NULL, diags);

  for (guint p = 0; p < G_N_ELEMENTS (parameters); p++)
    {
      if (!has_parameter (link, parameters[p].links))
        continue;
      if (!parameters[p].per_link)
        add_variable (fit, family, p, NULL);
      for (guint l = 0; parameters[p].per_link && l < family->result->links->len; l++)
        add_variable (fit, family, p, link_at (family, l));
    }
  for (guint l = 0; l < family->result->links->len; l++)
    for (guint i = 0; i < family->result->figures->len; i++)
      {
        QuantityKind kind;
        double       own = own_value (fit, link_at (family, l), figure_at (family, i)->key, &kind);

        g_array_append_val (family->own, own);
      }
}

/* Gives the links of FAMILY the figures X; a value that has not moved leaves each link its own. */
static void
apply_values (Fit *fit, const LinkFamily *family, const double *x)
{
  guint n = family->result->figures->len;

  for (guint l = 0; l < family->result->links->len; l++)
    {
      for (guint i = 0; i < n; i++)
        {
          const FittedFigure *figure = figure_at (family, i);
          double              own = g_array_index (family->own, double, l *n + i);

          if (figure->link == NULL || strcmp (figure->link, link_at (family, l)) == 0)
            profile_set_override (fit->profiles, "link", link_at (family, l), figure->key,
                                  x[i] == figure->before ? own : x[i]);
        }
      collective_predictor_forget (fit->predictor, link_at (family, l));
    }
}

/* ---- the fit --------------------------------------------------------------------------------- */

static double
misfit (Fit *fit, const LinkFamily *family)
{
  double sum = 0;

  for (guint i = 0; i < family->rows->len; i++)
    {
      guint              index = g_array_index (family->rows, guint, i);
      const Measurement *row = g_ptr_array_index (fit->measurements, index);
      CollectiveCost     cost;

      if (collective_predictor_cost (fit->predictor, index, &cost) == NULL)
        sum += fabs (log (cost.time / (1e-6 * row->time_us)));
    }
  return sum / family->rows->len;
}

/*
 * What is known without the fit is worth something: a figure that few rows depend on must not
 * wander far for a small gain. A profile's statement counts for more than the library's table.
 */
static double
distance (const LinkFamily *family, const double *x)
{
  double sum = 0;

  for (guint i = 0; i < family->result->figures->len; i++)
    {
      double beside = g_array_index (family->beside, double, i);
      double known = g_array_index (family->known, double, i) + beside;

      if (known > 0 && x[i] + beside > 0)
        sum += (figure_at (family, i)->before > 0 ? PRIOR_STATED : PRIOR_TABLE)
               * fabs (log ((x[i] + beside) / known));
    }
  return sum;
}

static double
cost_of_values (const double *x, gpointer user)
{
  Fit *fit = user;

  apply_values (fit, fit->current, x);
  return misfit (fit, fit->current) + distance (fit->current, x);
}

static gboolean
same_thing (const Measurement *a, const Measurement *b)
{
  if (a->kind != b->kind || a->bytes != b->bytes || strcmp (a->env, b->env) != 0
      || strcmp (a->library, b->library) != 0)
    return FALSE;
  for (const OptionSpec *spec = cluster_options; spec->key != NULL; spec++)
    {
      g_autofree char *x = option_format (spec, &a->cluster),
                      *y = option_format (spec, &b->cluster);

      if (strcmp (x, y) != 0)
        return FALSE;
    }
  return TRUE;
}

/* Two healthy measurements of one thing that are far apart; NULL when there are none. */
static char *
find_contradiction (const Fit *fit, const LinkFamily *family)
{
  for (guint i = 0; i < family->rows->len; i++)
    for (guint j = 0; j < i; j++)
      {
        const Measurement *a =
            g_ptr_array_index (fit->measurements, g_array_index (family->rows, guint, j));
        const Measurement *b =
            g_ptr_array_index (fit->measurements, g_array_index (family->rows, guint, i));
        double ratio = MAX (a->time_us, b->time_us) / MIN (a->time_us, b->time_us);

        if (ratio > CALIBRATION_MAX_RATIO && same_thing (a, b))
          return g_strdup_printf (
              "contradictory: '%s' and '%s' differ by a factor of %.3g at %" G_GUINT64_FORMAT
              " bytes of %s",
              a->id, b->id, ratio, a->bytes, collective_kind_name (a->kind));
      }
  return NULL;
}

static void
check_data (const Fit *fit, LinkFamily *family)
{
  if (family->rows->len < CALIBRATION_MIN_ROWS)
    family->result->refusal =
        g_strdup_printf ("too little data: %u healthy rows, at least %d are needed",
                         family->rows->len, CALIBRATION_MIN_ROWS);
  else
    family->result->refusal = find_contradiction (fit, family);
}

static void
apply_all (Fit *fit, const LinkFamily *family)
{
  apply_values (fit, family, (const double *) (void *) family->values->data);
}

static double
total_misfit (Fit *fit)
{
  double sum = 0;

  for (guint i = 0; i < fit->families->len; i++)
    {
      const LinkFamily *family = g_ptr_array_index (fit->families, i);

      if (family->result->refusal == NULL)
        sum += misfit (fit, family);
    }
  return sum;
}

/* Families in turn, because rows between nodes need those of both their links. */
static void
fit_in_turn (Fit *fit)
{
  double before = total_misfit (fit);

  for (guint turn = 0; turn < MAX_TURNS; turn++)
    {
      double after;

      for (guint i = 0; i < fit->families->len; i++)
        {
          LinkFamily *family = g_ptr_array_index (fit->families, i);

          if (family->result->refusal != NULL)
            continue;
          fit->current = family;
          minimise_coordinates ((double *) (void *) family->values->data,
                                (const MinimiseRange *) (void *) family->ranges->data,
                                family->values->len, &effort, cost_of_values, fit);
          apply_all (fit, family);
        }
      after = total_misfit (fit);
      if (before - after <= effort.tolerance * fit->families->len)
        return;
      before = after;
    }
}

/* Rounds what was fitted to three significant digits: what a profile says. */
static void
round_family (Fit *fit, LinkFamily *family)
{
  for (guint i = 0; i < family->values->len; i++)
    {
      char          text[G_ASCII_DTOSTR_BUF_SIZE];
      FittedFigure *figure = &g_array_index (family->result->figures, FittedFigure, i);
      double       *value = &g_array_index (family->values, double, i);

      figure->moved = *value != figure->before;
      if (figure->moved)
        *value = g_ascii_strtod (g_ascii_formatd (text, sizeof text, "%.3g", *value), NULL);
      figure->after = *value;
    }
  apply_all (fit, family);
}

/* Takes back what was fitted where the model cannot bring the data together. */
static void
check_fit (Fit *fit, LinkFamily *family)
{
  FittedFamily *result = family->result;

  result->after = misfit (fit, family);
  if (result->refusal != NULL || result->after <= log (CALIBRATION_MAX_RATIO))
    return;
  result->refusal = g_strdup_printf (
      "contradictory: the best fit is off by a factor of %.3g, at most %g is taken",
      exp (result->after), CALIBRATION_MAX_RATIO);
  for (guint i = 0; i < family->values->len; i++)
    {
      FittedFigure *figure = &g_array_index (result->figures, FittedFigure, i);

      figure->moved = FALSE;
      figure->after = g_array_index (family->values, double, i) = figure->before;
    }
  apply_all (fit, family);
}

CollectiveCalibration *
calibrate_collectives (const GPtrArray *rows, ProfileSet *profiles, const char *left_out,
                       const GPtrArray *only)
{
  CollectiveCalibration          *self = g_new0 (CollectiveCalibration, 1);
  g_autoptr (CollectivePredictor) predictor = collective_predictor_new (rows, profiles);
  g_autoptr (GPtrArray) families = link_families_collect (rows, predictor, left_out, only);
  Fit                   fit = { rows, profiles, predictor, families, NULL };

  self->families = g_ptr_array_new_with_free_func (fitted_family_free);
  for (guint i = 0; i < families->len; i++)
    {
      LinkFamily *family = g_ptr_array_index (families, i);

      g_ptr_array_add (self->families, family->result);
      if (left_out != NULL)
        forget_fits (&fit, family);
      take_parameters (&fit, family);
      check_data (&fit, family);
    }
  for (guint i = 0; i < families->len; i++)
    {
      LinkFamily *family = g_ptr_array_index (families, i);

      family->result->before = misfit (&fit, family);
    }
  fit_in_turn (&fit);
  for (guint i = 0; i < families->len; i++)
    round_family (&fit, g_ptr_array_index (families, i));
  for (guint i = 0; i < families->len; i++)
    check_fit (&fit, g_ptr_array_index (families, i));
  return self;
}

void
collective_calibration_free (CollectiveCalibration *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->families);
  g_free (self);
}

const FittedFamily *
collective_calibration_find (const CollectiveCalibration *self, const char *family)
{
  for (guint i = 0; i < self->families->len; i++)
    {
      const FittedFamily *fitted = g_ptr_array_index (self->families, i);

      if (strcmp (fitted->name, family) == 0)
        return fitted;
    }
  return NULL;
}

void
collective_calibration_apply (const CollectiveCalibration *self, ProfileSet *profiles,
                              const GPtrArray *except)
{
  for (guint i = 0; i < self->families->len; i++)
    {
      const FittedFamily *family = g_ptr_array_index (self->families, i);

      if (g_ptr_array_find_with_equal_func ((GPtrArray *) except, family->name, g_str_equal, NULL))
        continue;
      for (guint f = 0; f < family->figures->len; f++)
        {
          const FittedFigure *figure = &g_array_index (family->figures, FittedFigure, f);

          for (guint l = 0; figure->moved && l < family->links->len; l++)
            {
              const char *link = g_ptr_array_index (family->links, l);

              if (figure->link == NULL || strcmp (figure->link, link) == 0)
                profile_set_override (profiles, "link", link, figure->key, figure->after);
            }
        }
    }
}
