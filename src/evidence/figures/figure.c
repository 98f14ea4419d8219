#include "evidence/figures/figure-private.h"

#include <string.h>

#include "base/config/suggest.h"
#include "base/file/layout.h"

static const FigureComputation *const kinds[FIGURE_N_KINDS] = {
  [FIGURE_PUBLISHED] = &figure_published,
  [FIGURE_APART] = &figure_apart,
  [FIGURE_CURVES] = &figure_curves,
  [FIGURE_GRIDS] = &figure_grids,
  [FIGURE_MAP] = &figure_map,
  [FIGURE_MEMBAND] = &figure_memband,
  [FIGURE_PADDING] = &figure_padding,
  [FIGURE_REGION] = &figure_region,
  [FIGURE_SCALING] = &figure_scaling,
  [FIGURE_SLIM] = &figure_slim,
  [FIGURE_SPLIT] = &figure_split,
  [FIGURE_SUBMISSIONS] = &figure_submissions,
  [FIGURE_UTILISATION] = &figure_utilisation,
};

char *
figure_file (const char *folder, const char *name, const char *suffix)
{
  g_autofree char *file = g_strconcat (name, suffix, NULL);

  return g_build_filename (folder, file, NULL);
}

const char *
figure_keep (Figures *self, const char *text)
{
  return text != NULL ? g_string_chunk_insert_const (self->strings, text) : NULL;
}

void
figure_add_evidence (Figures *self, const char *row, const char *metric, double published,
                     double low, double high)
{
  const FigureEvidence one = {
    figure_keep (self, row), metric, published, published, low, high, TRUE
  };

  if (published > 0)
    g_array_append_val (self->evidence, one);
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **
figures_list (const char *folder)
{
  g_autoptr (GDir)      dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char           *entry;

  while (dir != NULL && (entry = g_dir_read_name (dir)) != NULL)
    for (guint k = 0; k < FIGURE_N_KINDS; k++)
      {
        /*
         * Kinds with scenarios are known by them, which are the first one's row. No name has a dot:
         * "epsl.star.yaml" is no figure 'epsl.star'.
         */
        const char *ending = kinds[k]->alone ? kinds[k]->suffix : k == 0 ? ".yaml" : NULL;

        if (ending != NULL && g_str_has_suffix (entry, ending)
            && strcspn (entry, ".") == strlen (entry) - strlen (ending))
          g_ptr_array_add (names, g_strndup (entry, strlen (entry) - strlen (ending)));
      }
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

/* The kind of the figure NAME in FOLDER. FALSE after a diagnostic: it is of two. */
static gboolean
find_kind (const char *folder, const char *name, FigureKind *kind, DiagList *diags)
{
  *kind = FIGURE_PUBLISHED;
  for (guint k = FIGURE_PUBLISHED + 1; k < FIGURE_N_KINDS; k++)
    {
      g_autofree char *file = figure_file (folder, name, kinds[k]->suffix);

      if (!g_file_test (file, G_FILE_TEST_EXISTS))
        continue;
      if (*kind != FIGURE_PUBLISHED)
        {
          diag_error (diags, NULL, "figures are of one kind: give each table a name of its own",
                      "'%s%s' and '%s%s' make figures of two kinds", name, kinds[*kind]->suffix,
                      name, kinds[k]->suffix);
          return FALSE;
        }
      *kind = (FigureKind) k;
    }
  return TRUE;
}

Figures *
figure_of_kind (const char *folder, const char *name, FigureKind kind, const FigureInput *input,
                DiagList *diags)
{
  const FigureComputation *computation = kinds[kind];
  g_autofree char         *file = figure_file (folder, name, computation->suffix);
  g_autoptr (Figures)      self = g_new0 (Figures, 1);

  self->kind = kind;
  self->folder = g_strdup (folder);
  self->name = g_strdup (name);
  self->strings = g_string_chunk_new (4096);
  self->lines = figure_table_lines (&computation->lines);
  self->evidence = g_array_new (FALSE, TRUE, sizeof (FigureEvidence));
  if (computation->row_size > 0)
    {
      self->rows = g_array_new (FALSE, TRUE, (guint) computation->row_size);
      g_array_set_clear_func (self->rows, computation->clear_row);
    }
  else
    self->rows = g_array_ref (self->lines);
  if (computation->lines.n > 0
      && !figure_table_read (file, &computation->lines, self, self->lines, self->strings, diags))
    return NULL;
  if (!computation->alone && input->scenarios == NULL)
    return NULL;
  return computation->compute (self, input, diags) ? g_steal_pointer (&self) : NULL;
}

Figures *
figures_compute (const char *folder, const char *name, const PredictOptions *options,
                 guint n_threads, DiagList *diags)
{
  g_auto (GStrv)        known = figures_list (folder);
  const gint            index = name_index (name, (const char *const *) known);
  const char           *meant = index >= 0 ? known[index] : name;
  g_autofree char      *own = g_build_filename (folder, meant, NULL);
  g_autofree char      *shipped = layout_data_file ("hwprofiles");
  g_autofree char      *path = NULL;
  g_autofree char      *yaml = figure_file (folder, meant, ".yaml");
  g_autoptr (GPtrArray) scenarios = NULL;
  PredictOptions        over = *options;
  FigureInput           input = { &over, n_threads, NULL };
  FigureKind            kind;

  if (!find_kind (folder, meant, &kind, diags))
    return NULL;
  if (index < 0)
    {
      g_autofree char *hint = suggest_hint (name, (const char *const *) known);

      diag_error (diags, NULL, hint, "there are no figures '%s'", name);
      return NULL;
    }
  path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, own,
                    options->profile_dir != NULL ? options->profile_dir : shipped, NULL);
  over.profile_dir = path;
  if (!kinds[kind]->alone)
    scenarios = scenario_load (NULL, yaml, NULL, 0, diags);
  input.scenarios = scenarios;
  return figure_of_kind (folder, meant, kind, &input, diags);
}

void
figures_free (Figures *self)
{
  if (self == NULL)
    return;
  figures_free (self->base);
  if (self->free_extra != NULL)
    self->free_extra (self->extra);
  g_clear_pointer (&self->regions, g_array_unref);
  g_array_unref (self->rows);
  g_array_unref (self->lines);
  g_array_unref (self->evidence);
  g_string_chunk_free (self->strings);
  g_free (self->folder);
  g_free (self->name);
  g_free (self);
}
