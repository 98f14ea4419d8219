#include "hardware/profile/figure-settings.h"

#include <string.h>

#include "base/config/option-needs.h"
#include "base/intern.h"
#include "hardware/cluster/cluster-private.h"

typedef struct
{
  char  *name;
  double value;
} Setting;

static void
setting_clear (gpointer data)
{
  g_free (((Setting *) data)->name);
}

static gint
compare_settings (gconstpointer a, gconstpointer b)
{
  return strcmp (((const Setting *) a)->name, ((const Setting *) b)->name);
}

/* What is known of the figure NAME without a cluster; FALSE after a diagnostic. */
static gboolean
know_figure (const char *name, HardwareFigure *figure, const SourceMark *mark, DiagList *diags)
{
  g_autofree char *id = NULL, *hint = NULL;
  const char      *kind, *key;
  FigureView       view;

  if (!hardware_figure_split (name, &kind, &id, &key))
    {
      diag_error (diags, mark, "names begin with gpu, intra, nic, node or framework: nic.bandwidth",
                  "'%s' is no figure of the hardware", name);
      return FALSE;
    }
  if (!profile_kind_figure (kind, key, &view, &hint))
    {
      diag_error (diags, mark, hint, "'%s' is no figure of the hardware: a %s has no '%s'", name,
                  kind, key);
      return FALSE;
    }
  *figure = (HardwareFigure){ .name = name,
                              .kind = kind,
                              .key = view.key,
                              .quantity = view.kind,
                              .in_bits = g_str_has_prefix (name, "nic"),
                              .min = view.min,
                              .max = view.max };
  return TRUE;
}

/* NAME at VALUE into SETTINGS; FALSE after a diagnostic. */
static gboolean
set (GArray *settings, const char *name, const char *value, const SourceMark *mark, DiagList *diags)
{
  HardwareFigure figure;
  Setting        setting = { 0 };

  if (!know_figure (name, &figure, mark, diags)
      || !hardware_figure_parse (&figure, value, mark, &setting.value, diags))
    return FALSE;
  for (guint i = 0; i < settings->len; i++)
    if (g_str_equal (g_array_index (settings, Setting, i).name, name))
      {
        g_array_index (settings, Setting, i).value = setting.value;
        return TRUE;
      }
  setting.name = g_strdup (name);
  g_array_append_val (settings, setting);
  return TRUE;
}

/* All of TEXT (may be NULL) into SETTINGS; FALSE after diagnostics. */
static gboolean
read_text (GArray *settings, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) pairs = g_strsplit (text != NULL ? text : "", ",", -1);
  gboolean       ok = TRUE;

  for (char **pair = pairs; *pair != NULL; pair++)
    {
      char *equals = strchr (g_strstrip (*pair), '=');

      if (equals == NULL)
        {
          diag_error (diags, mark, "write NAME=VALUE, such as nic.bandwidth=200 Gbit/s",
                      "'%s' gives a figure no value", *pair);
          ok = FALSE;
          continue;
        }
      *equals = '\0';
      ok = set (settings, g_strchomp (*pair), g_strchug (equals + 1), mark, diags) && ok;
    }
  return ok;
}

static GArray *
settings_new (void)
{
  GArray *settings = g_array_new (FALSE, FALSE, sizeof (Setting));

  g_array_set_clear_func (settings, setting_clear);
  return settings;
}

static char *
write_text (GArray *settings)
{
  g_autoptr (GString)  text = g_string_new (NULL);
  g_autoptr (DiagList) none = diag_list_new ();

  g_array_sort (settings, compare_settings);
  for (guint i = 0; i < settings->len; i++)
    {
      const Setting   *setting = &g_array_index (settings, Setting, i);
      HardwareFigure   figure;
      g_autofree char *value = NULL;

      g_assert_true (know_figure (setting->name, &figure, NULL, none));
      value = hardware_figure_format_exact (&figure, setting->value);
      g_string_append_printf (text, "%s%s=%s", i > 0 ? ", " : "", setting->name, value);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* SETTINGS in the place of *TEXT, where they are OK. */
static gboolean
take (char **text, GArray *settings, gboolean ok)
{
  if (!ok)
    return FALSE;
  g_free (*text);
  *text = write_text (settings);
  return TRUE;
}

gboolean
figure_settings_add (char **text, const char *more, const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GArray) settings = settings_new ();

  return take (text, settings,
               read_text (settings, *text, mark, diags) && read_text (settings, more, mark, diags));
}

gboolean
figure_settings_set (char **text, const char *name, const char *value, const SourceMark *mark,
                     DiagList *diags)
{
  g_autoptr (GArray) settings = settings_new ();

  return take (text, settings,
               read_text (settings, *text, mark, diags)
                   && set (settings, name, value, mark, diags));
}

/* ---- of a cluster ---------------------------------------------------------------------------- */

/* Whether FIGURE, one of a cluster's, is meant by NAME: of the same part, and of that id. */
static gboolean
is_meant (const HardwareFigure *figure, const char *name)
{
  const gsize      part = strcspn (name, ":.");
  g_autofree char *id = NULL, *own = NULL;
  const char      *kind, *key, *own_kind, *own_key;

  return strcspn (figure->name, ":.") == part && strncmp (figure->name, name, part) == 0
         && hardware_figure_split (name, &kind, &id, &key)
         && hardware_figure_split (figure->name, &own_kind, &own, &own_key)
         && g_str_equal (key, own_key) && (id == NULL || g_str_equal (id, figure->id));
}

/* Cards that are others under older releases of the library are the same hardware. */
static void
add_older (GArray *changes, const Cluster *cluster, const FigureChange *change)
{
  for (guint i = 0; i < cluster->groups->len; i++)
    {
      const NodeGroup *group = &g_array_index (cluster->groups, NodeGroup, i);
      FigureChange     older = *change;

      if (group->older_nic == NULL || !g_str_equal (group->nic->id, change->id))
        continue;
      older.id = group->older_nic->id;
      g_array_append_val (changes, older);
    }
}

/* FALSE after a diagnostic. */
static gboolean
add_changes (GArray *changes, const Setting *setting, const GArray *figures, const Cluster *cluster,
             const SourceMark *mark, DiagList *diags)
{
  const guint before = changes->len;

  for (guint i = 0; i < figures->len; i++)
    {
      const HardwareFigure *figure = &g_array_index (figures, HardwareFigure, i);
      const FigureChange change = { figure->kind, figure->id, figure->key, setting->value, FALSE };

      if (!is_meant (figure, setting->name))
        continue;
      g_array_append_val (changes, change);
      if (g_str_has_prefix (figure->name, "nic"))
        add_older (changes, cluster, &change);
    }
  return changes->len > before
         || hardware_figure_find (figures, setting->name, mark, diags) != NULL;
}

/* Which framework a scenario runs on is not known here: those of all of them are changed. */
static gboolean
add_framework (GArray *changes, const Setting *setting)
{
  const char      *kind, *key;
  g_autofree char *id = NULL;

  if (!hardware_figure_split (setting->name, &kind, &id, &key) || !g_str_equal (kind, "framework"))
    return FALSE;
  /* the key is a part of the setting's name, which does not live as long */
  g_array_append_val (changes, ((FigureChange){ kind, id != NULL ? intern_text (id) : NULL,
                                                intern_text (key), setting->value, FALSE }));
  return TRUE;
}

GArray *
figure_settings_changes (const ClusterOptions *options, const Cluster *cluster,
                         const SourceMark *mark, DiagList *diags)
{
  g_autoptr (GArray) settings = settings_new ();
  g_autoptr (GArray) changes = g_array_new (FALSE, FALSE, sizeof (FigureChange));
  g_autoptr (GArray) figures =
      hardware_figures (cluster, options, NULL, cluster_profiles (cluster));
  gboolean ok = read_text (settings, options->figure, mark, diags);

  for (guint i = 0; i < settings->len; i++)
    {
      const Setting *setting = &g_array_index (settings, Setting, i);

      if (!add_framework (changes, setting))
        ok = add_changes (changes, setting, figures, cluster, mark, diags) && ok;
    }
  return ok ? g_steal_pointer (&changes) : NULL;
}

GArray *
figure_settings_list (const char *text)
{
  g_autoptr (GArray)   settings = settings_new ();
  g_autoptr (DiagList) none = diag_list_new ();
  GArray              *figures = g_array_new (FALSE, FALSE, sizeof (HardwareFigure));

  read_text (settings, text, NULL, none);
  for (guint i = 0; i < settings->len; i++)
    {
      const Setting *setting = &g_array_index (settings, Setting, i);
      HardwareFigure figure;

      if (!know_figure (intern_text (setting->name), &figure, NULL, none))
        continue;
      figure.value = setting->value;
      g_array_append_val (figures, figure);
    }
  return figures;
}
