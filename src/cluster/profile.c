#include "cluster/profile.h"

#include <math.h>
#include <string.h>

#include "base/layout.h"
#include "base/suggest.h"
#include "cluster/profile-tables-private.h"

#define FIGURE_FORM "{ value: %s, source: \"...\", confidence: datasheet }"

static const char *const confidence_names[] = { "datasheet", "measured", "estimate", NULL };

struct _ProfileSet
{
  char      **dirs; /* the first that has a profile gives it */
  ProfileEnd  end;
  GHashTable *loaded; /* "gpu/a40-48" -> LoadedProfile; looked up only */
};

/* The first member of every profile struct is its id. */
typedef struct
{
  const ProfileKind *kind;
  gpointer           profile;
} LoadedProfile;

const char *
confidence_name (Confidence confidence)
{
  return confidence_names[confidence];
}

/* ---- one figure ------------------------------------------------------------------------------ */

static Figure *
figure_of (gpointer profile, const FigureSpec *spec)
{
  return G_STRUCT_MEMBER_P (profile, spec->offset);
}

static gboolean
read_quantity (const FigureSpec *spec, const ConfigNode *node, double *value, DiagList *diags)
{
  g_autofree char *why = NULL;
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return FALSE;
  if (!quantity_parse (spec->kind, config_node_text (node), value, &why))
    {
      diag_error (diags, config_node_mark (node), NULL, "%s", why);
      return FALSE;
    }
  if (*value < spec->min || *value > spec->max)
    {
      g_autofree char *low = quantity_format (spec->kind, spec->min, 4);
      g_autofree char *high = quantity_format (spec->kind, spec->max, 4);
      g_autofree char *hint = g_strdup_printf ("plausible values lie between %s and %s", low, high);
      diag_error (diags, config_node_mark (node), hint, "'%s' of '%s' is out of range",
                  config_node_text (node), spec->key);
      return FALSE;
    }
  if (spec->kind == QUANTITY_COUNT && *value != floor (*value))
    {
      diag_error (diags, config_node_mark (node), NULL, "'%s' must be a whole number", spec->key);
      return FALSE;
    }
  return TRUE;
}

static void
read_confidence (const ConfigNode *node, Figure *figure, DiagList *diags)
{
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return;
  for (guint i = 0; confidence_names[i] != NULL; i++)
    if (strcmp (confidence_names[i], config_node_text (node)) == 0)
      {
        figure->confidence = (Confidence) i;
        return;
      }
  g_autofree char *hint = suggest_hint (config_node_text (node), confidence_names);
  diag_error (diags, config_node_mark (node), hint, "unknown confidence '%s'",
              config_node_text (node));
}

static void
read_source (const ConfigNode *node, Figure *figure, DiagList *diags)
{
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return;
  if (config_node_is_null (node))
    diag_error (diags, config_node_mark (node), NULL, "'source' is empty");
  else
    figure->source = g_strdup (config_node_text (node));
}

static void
read_range (const FigureSpec *spec, const ConfigNode *node, Figure *figure, DiagList *diags)
{
  double low, high;
  if (!config_node_expect (node, CONFIG_LIST, diags))
    return;
  if (config_node_length (node) != 2)
    diag_error (diags, config_node_mark (node), "write [low, high]", "a range has two ends, got %u",
                config_node_length (node));
  else if (read_quantity (spec, config_node_item (node, 0), &low, diags)
           && read_quantity (spec, config_node_item (node, 1), &high, diags))
    {
      if (low > figure->value || high < figure->value)
        diag_error (diags, config_node_mark (node), NULL,
                    "the range of '%s' does not hold its value", spec->key);
      figure->low = low;
      figure->high = high;
    }
}

static const char *const figure_keys[] = { "value", "source", "confidence", "range", NULL };

static void
check_figure_keys (const ConfigNode *node, DiagList *diags)
{
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char *key = config_node_key (node, i);
      if (g_strv_contains (figure_keys, key))
        continue;
      g_autofree char *hint = suggest_hint (key, figure_keys);
      diag_error (diags, config_node_key_mark (node, i), hint, "unknown key '%s' in a figure", key);
    }
}

/* A new value under `extends` must not borrow the words that vouched for the old one. */
static gboolean
same_file (const ConfigNode *value, const ConfigNode *other)
{
  return g_strcmp0 (config_node_mark (value)->file, config_node_mark (other)->file) == 0;
}

static const ConfigNode *
figure_part (const FigureSpec *spec, const ConfigNode *node, const char *key, DiagList *diags)
{
  const ConfigNode *value = config_node_get (node, "value");
  const ConfigNode *part = config_node_get (node, key);
  const SourceMark *mark = config_node_mark (value != NULL ? value : node);
  if (part == NULL)
    diag_error (diags, mark, NULL, "the figure '%s' has no '%s'", spec->key, key);
  else if (value != NULL && !same_file (value, part))
    {
      diag_error (diags, mark, "the extended profile's words are about its own value",
                  "the figure '%s' has a new value without its own '%s'", spec->key, key);
      return NULL;
    }
  return part;
}

static void
read_figure (const FigureSpec *spec, const ConfigNode *node, Figure *figure, DiagList *diags)
{
  if (config_node_kind (node) != CONFIG_MAP)
    {
      const char      *text = config_node_text (node);
      gboolean         plain = text != NULL && *text != '\0';
      g_autofree char *hint =
          g_strdup_printf ("write " FIGURE_FORM, plain ? text : quantity_kind_example (spec->kind));
      diag_error (diags, config_node_mark (node), hint,
                  "'%s' is a figure: it needs a source and a confidence", spec->key);
      return;
    }
  check_figure_keys (node, diags);
  const ConfigNode *value = figure_part (spec, node, "value", diags);
  const ConfigNode *source = figure_part (spec, node, "source", diags);
  const ConfigNode *confidence = figure_part (spec, node, "confidence", diags);
  const ConfigNode *range = config_node_get (node, "range");
  if (source != NULL)
    read_source (source, figure, diags);
  if (confidence != NULL)
    read_confidence (confidence, figure, diags);
  if (value == NULL || !read_quantity (spec, value, &figure->value, diags))
    return;
  figure->low = figure->high = figure->value;
  if (range != NULL && same_file (value, range))
    read_range (spec, range, figure, diags);
}

/* ---- one file -------------------------------------------------------------------------------- */

static void
read_figures (const ProfileKind *kind, gpointer profile, const ConfigNode *root, DiagList *diags)
{
  for (const FigureSpec *spec = kind->figures; spec->key != NULL; spec++)
    {
      const ConfigNode *node = config_node_get (root, spec->key);
      Figure           *figure = figure_of (profile, spec);
      if (node != NULL)
        read_figure (spec, node, figure, diags);
      else if (isnan (spec->fallback))
        {
          g_autofree char *hint =
              g_strdup_printf ("write %s: " FIGURE_FORM ", or extend a profile that has it",
                               spec->key, quantity_kind_example (spec->kind));
          diag_error (diags, config_node_mark (root), hint, "missing '%s'", spec->key);
        }
      else
        {
          figure->value = figure->low = figure->high = spec->fallback;
          figure->confidence = CONFIDENCE_ESTIMATE;
        }
    }
}

static void
read_scalars (const ProfileKind *kind, gpointer profile, const ConfigNode *root, DiagList *diags)
{
  for (const OptionSpec *spec = kind->scalars; spec->key != NULL; spec++)
    {
      const ConfigNode *node = config_node_get (root, spec->key);
      if (node == NULL)
        {
          if (spec->fallback == NULL && !spec->optional)
            diag_error (diags, config_node_mark (root), NULL, "missing '%s'", spec->key);
        }
      else if (config_node_expect (node, CONFIG_SCALAR, diags))
        option_set (spec, profile, config_node_text (node), config_node_mark (node), diags);
    }
}

static GArray **
list_of (gpointer profile, const ListSpec *spec)
{
  return G_STRUCT_MEMBER_P (profile, spec->offset);
}

static gint
read_place (const ConfigNode *node, DiagList *diags)
{
  const char *text = config_node_text (node);
  guint64     number;
  if (!config_node_expect (node, CONFIG_SCALAR, diags) || strcmp (text, "none") == 0)
    return PLACEMENT_NONE;
  if (g_ascii_string_to_unsigned (text, 10, 0, G_MAXINT, &number, NULL))
    return (gint) number;
  diag_error (diags, config_node_mark (node), "they are counted from 0",
              "expected a number or 'none', got '%s'", text);
  return PLACEMENT_NONE;
}

/* An empty value takes back the list of the extended profile. */
static void
read_lists (const ProfileKind *kind, gpointer profile, const ConfigNode *root, DiagList *diags)
{
  for (const ListSpec *spec = kind->lists; spec != NULL && spec->key != NULL; spec++)
    {
      const ConfigNode *node = config_node_get (root, spec->key);
      if (node == NULL || (config_node_kind (node) == CONFIG_SCALAR && config_node_is_null (node))
          || !config_node_expect (node, CONFIG_LIST, diags))
        continue;
      *list_of (profile, spec) = g_array_new (FALSE, FALSE, sizeof (gint));
      for (guint i = 0; i < config_node_length (node); i++)
        {
          const gint place = read_place (config_node_item (node, i), diags);
          g_array_append_val (*list_of (profile, spec), place);
        }
    }
}

char *
placement_format (const GArray *list)
{
  GString *text = g_string_new (NULL);
  for (guint i = 0; i < list->len; i++)
    {
      const gint place = g_array_index (list, gint, i);
      g_string_append (text, i > 0 ? " " : "");
      if (place == PLACEMENT_NONE)
        g_string_append (text, "none");
      else
        g_string_append_printf (text, "%d", place);
    }
  return g_string_free (text, FALSE);
}

static GPtrArray *
known_keys (const ProfileKind *kind)
{
  GPtrArray *keys = g_ptr_array_new ();
  for (const OptionSpec *spec = kind->scalars; spec->key != NULL; spec++)
    g_ptr_array_add (keys, (gpointer) spec->key);
  for (const FigureSpec *spec = kind->figures; spec->key != NULL; spec++)
    g_ptr_array_add (keys, (gpointer) spec->key);
  for (const ListSpec *spec = kind->lists; spec != NULL && spec->key != NULL; spec++)
    g_ptr_array_add (keys, (gpointer) spec->key);
  g_ptr_array_add (keys, NULL);
  return keys;
}

static void
check_keys (const ProfileKind *kind, const ConfigNode *root, DiagList *diags)
{
  g_autoptr (GPtrArray) keys = known_keys (kind);
  const char *const    *names = (const char *const *) keys->pdata;
  for (guint i = 0; i < config_node_length (root); i++)
    {
      const char *key = config_node_key (root, i);
      if (g_strv_contains (names, key))
        continue;
      g_autofree char *hint = suggest_hint (key, names);
      diag_error (diags, config_node_key_mark (root, i), hint, "unknown key '%s' in a %s profile",
                  key, kind->name);
    }
}

static void
loaded_profile_free (gpointer data)
{
  LoadedProfile *self = data;
  char         **id = self->profile;
  for (const FigureSpec *spec = self->kind->figures; spec->key != NULL; spec++)
    g_free (figure_of (self->profile, spec)->source);
  for (const ListSpec *spec = self->kind->lists; spec != NULL && spec->key != NULL; spec++)
    g_clear_pointer (list_of (self->profile, spec), g_array_unref);
  option_table_clear (self->kind->scalars, self->profile);
  g_free (*id);
  g_free (self->profile);
  g_free (self);
}

static LoadedProfile *
read_profile (const ProfileKind *kind, const char *id, const ConfigNode *root, DiagList *diags)
{
  LoadedProfile *loaded = g_new (LoadedProfile, 1);
  loaded->kind = kind;
  loaded->profile = g_malloc0 (kind->size);
  *(char **) loaded->profile = g_strdup (id);
  option_table_defaults (kind->scalars, loaded->profile);
  read_scalars (kind, loaded->profile, root, diags);
  read_figures (kind, loaded->profile, root, diags);
  read_lists (kind, loaded->profile, root, diags);
  check_keys (kind, root, diags);
  if (kind->check != NULL)
    kind->check (loaded->profile, root, diags);
  return loaded;
}

/* Which way is better: 1 more, -1 less, 0 neither (counts and sizes do not grade hardware). */
static int
figure_sense (const FigureSpec *spec)
{
  switch (spec->kind)
    {
    case QUANTITY_BANDWIDTH:
    case QUANTITY_COMPUTE:
    case QUANTITY_RATIO:
    case QUANTITY_FREQUENCY:
      return 1;
    case QUANTITY_TIME:
      return -1;
    default:
      return 0;
    }
}

static void
move_figures (LoadedProfile *self, ProfileEnd end)
{
  for (const FigureSpec *spec = self->kind->figures; spec->key != NULL; spec++)
    {
      Figure *figure = figure_of (self->profile, spec);
      int     side = figure_sense (spec) * (int) end;
      if (side != 0)
        figure->value = side > 0 ? figure->high : figure->low;
    }
}

/* ---- the set --------------------------------------------------------------------------------- */

ProfileSet *
profile_set_new (const char *dir)
{
  return profile_set_new_at (dir, PROFILE_AS_GIVEN);
}

ProfileSet *
profile_set_new_at (const char *dir, ProfileEnd end)
{
  ProfileSet *self = g_new (ProfileSet, 1);
  self->end = end;
  g_autofree char *shipped = layout_data_file ("hwprofiles");
  self->dirs = dir != NULL ? g_strsplit (dir, G_SEARCHPATH_SEPARATOR_S, -1)
                           : g_strdupv ((char *[]){ shipped, NULL });
  self->loaded = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, loaded_profile_free);
  return self;
}

void
profile_set_free (ProfileSet *self)
{
  g_hash_table_unref (self->loaded);
  g_strfreev (self->dirs);
  g_free (self);
}

/* Ids are file names: nothing in them may lead out of the folder. */
static gboolean
id_is_plain (const char *id)
{
  if (!g_ascii_isalnum (id[0]))
    return FALSE;
  for (const char *p = id; *p != '\0'; p++)
    if (!g_ascii_isalnum (*p) && strchr ("-_.", *p) == NULL)
      return FALSE;
  return TRUE;
}

/* The file of KIND/ID in the first folder from the FIRST-th on that has it; *LAYER says which. */
static char *
find_file (ProfileSet *self, const char *kind, const char *id, guint first, guint *layer)
{
  g_autofree char *name = g_strconcat (id, ".yaml", NULL);
  if (!id_is_plain (id))
    return NULL;
  for (guint i = first; self->dirs[i] != NULL; i++)
    {
      g_autofree char *file = g_build_filename (self->dirs[i], kind, name, NULL);
      *layer = i;
      if (g_file_test (file, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&file);
    }
  return NULL;
}

char *
profile_set_file (ProfileSet *self, const char *kind, const char *id)
{
  guint layer;
  return find_file (self, kind, id, 0, &layer);
}

static int
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **
profile_set_list (ProfileSet *self, const char *kind)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray             *ids = g_ptr_array_new ();
  for (guint i = 0; self->dirs[i] != NULL; i++)
    {
      g_autofree char *folder = g_build_filename (self->dirs[i], kind, NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char      *name;
      while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *id = g_strdup (name);
          if (!g_str_has_suffix (name, ".yaml"))
            continue;
          id[strlen (name) - strlen (".yaml")] = '\0';
          if (g_hash_table_add (seen, id))
            g_ptr_array_add (ids, g_steal_pointer (&id));
        }
    }
  g_ptr_array_sort (ids, compare_names);
  g_ptr_array_add (ids, NULL);
  return (char **) g_ptr_array_free (ids, FALSE);
}

void
profile_set_unknown (ProfileSet *self, const char *kind, const char *id, const SourceMark *mark,
                     DiagList *diags)
{
  g_auto (GStrv)   ids = profile_set_list (self, kind);
  g_autofree char *hint = NULL;
  if (ids[0] != NULL)
    hint = suggest_hint (id, (const char *const *) ids);
  else
    hint = g_strdup_printf ("there are no profiles in '%s/%s'", self->dirs[0], kind);
  diag_error (diags, mark, hint, "unknown %s '%s'", kind, id);
}

typedef struct
{
  ProfileSet        *set;
  const ProfileKind *kind;
  const char        *id;    /* that is loaded */
  guint              layer; /* its folder */
} ResolveContext;

/* A profile that extends its own name is laid over that of a later folder. */
static char *
resolve_extended (const char *name, gpointer user)
{
  ResolveContext *context = user;
  gboolean        own = strcmp (name, context->id) == 0;
  guint           layer;
  char           *file =
      find_file (context->set, context->kind->name, name, own ? context->layer + 1 : 0, &layer);
  if (own && file != NULL)
    context->layer = layer;
  return file;
}

/* ---- wide-area links --------------------------------------------------------------------------- */

#define WAN_BASE "wan-1g-30ms"

/*
 * "wan-10g-50ms", "wan-200m-5ms": rate in Gbit/s or Mbit/s and one-way time. Whole numbers only: an
 * id has to name one link in one way.
 */
static gboolean
parse_wan (const char *id, double *rate, double *latency)
{
  char *end;
  if (!g_str_has_prefix (id, "wan-") || !g_ascii_isdigit (id[4]) || id[4] == '0')
    return FALSE;
  const double number = (double) g_ascii_strtoull (id + 4, &end, 10);
  if ((*end != 'g' && *end != 'm') || end[1] != '-' || !g_ascii_isdigit (end[2]))
    return FALSE;
  *rate = number * (*end == 'g' ? 1e9 : 1e6) / 8;
  *latency = (double) g_ascii_strtoull (end + 2, &end, 10) / 1e3;
  return strcmp (end, "ms") == 0 && *rate <= 1e12 && *latency <= 10;
}

static gboolean
is_wan (const ProfileKind *kind, const char *id)
{
  double rate, latency;
  return strcmp (kind->name, "link") == 0 && parse_wan (id, &rate, &latency);
}

static void
set_by_id (Figure *figure, double value)
{
  g_free (figure->source);
  *figure = (Figure){ value, value, value, CONFIDENCE_DATASHEET, g_strdup ("by its name") };
}

static void
set_wan (LinkProfile *link)
{
  double rate, latency;
  if (!parse_wan (link->id, &rate, &latency))
    return;
  set_by_id (&link->bandwidth, rate);
  set_by_id (&link->latency, latency);
  g_free (link->title);
  link->title = g_strdup_printf ("wide-area link, %g Gbit/s and %g ms", rate * 8e-9, latency * 1e3);
}

gboolean
profile_set_has (ProfileSet *self, const char *kind, const char *id)
{
  const ProfileKind *table = profile_kind_find (kind);
  g_autofree char   *file = profile_set_file (self, kind, id);
  g_autofree char   *base = profile_set_file (self, kind, WAN_BASE);
  return file != NULL || (table != NULL && base != NULL && is_wan (table, id));
}

/* ---- loading ----------------------------------------------------------------------------------- */

static LoadedProfile *
load_profile (ProfileSet *self, const ProfileKind *kind, const char *id, const SourceMark *mark,
              DiagList *diags)
{
  ResolveContext   context = { self, kind, id, 0 };
  g_autofree char *file = find_file (self, kind->name, id, 0, &context.layer);
  guint            errors = diag_list_n_errors (diags);
  const gboolean   wan = file == NULL && is_wan (kind, id);
  if (wan)
    file = profile_set_file (self, kind->name, WAN_BASE);
  if (file == NULL)
    {
      profile_set_unknown (self, kind->name, id, mark, diags);
      return NULL;
    }
  g_autoptr (ConfigDoc) doc = config_load_extended (file, resolve_extended, &context, diags);
  if (doc == NULL || !config_node_expect (config_doc_root (doc), CONFIG_MAP, diags))
    return NULL;
  LoadedProfile *loaded = read_profile (kind, id, config_doc_root (doc), diags);
  if (diag_list_n_errors (diags) == errors)
    {
      if (wan)
        set_wan (loaded->profile);
      move_figures (loaded, self->end);
      return loaded;
    }
  loaded_profile_free (loaded);
  return NULL;
}

static gpointer
get_profile (ProfileSet *self, const ProfileKind *kind, const char *id, const SourceMark *mark,
             DiagList *diags)
{
  g_autofree char *key = g_strdup_printf ("%s/%s", kind->name, id);
  LoadedProfile   *loaded = g_hash_table_lookup (self->loaded, key);
  if (loaded == NULL)
    {
      loaded = load_profile (self, kind, id, mark, diags);
      if (loaded == NULL)
        return NULL;
      g_hash_table_insert (self->loaded, g_steal_pointer (&key), loaded);
    }
  return loaded->profile;
}

const GpuProfile *
profile_set_gpu (ProfileSet *self, const char *id, const SourceMark *mark, DiagList *diags)
{
  return get_profile (self, profile_kind_find ("gpu"), id, mark, diags);
}

const LinkProfile *
profile_set_link (ProfileSet *self, const char *id, const SourceMark *mark, DiagList *diags)
{
  return get_profile (self, profile_kind_find ("link"), id, mark, diags);
}

const NodeProfile *
profile_set_node (ProfileSet *self, const char *id, const SourceMark *mark, DiagList *diags)
{
  return get_profile (self, profile_kind_find ("node"), id, mark, diags);
}

/* TRUE when one of the framework's names is TEXT or, for FAMILY, has the same first word. */
static gboolean
is_called (const FrameworkProfile *framework, const char *text, gboolean family)
{
  g_auto (GStrv) names = g_strsplit (framework->names != NULL ? framework->names : "", ";", -1);
  gsize          word = strcspn (text, " ,");

  for (guint i = 0; names[i] != NULL; i++)
    {
      const char *name = g_strstrip (names[i]);

      if (family ? strcspn (name, " ,") == word && g_ascii_strncasecmp (name, text, word) == 0
                 : g_ascii_strcasecmp (name, text) == 0)
        return TRUE;
    }
  return FALSE;
}

const FrameworkProfile *
profile_set_framework (ProfileSet *self, const char *text, const SourceMark *mark, DiagList *diags)
{
  const ProfileKind      *kind = profile_kind_find ("framework");
  g_auto (GStrv)          ids = profile_set_list (self, "framework");
  const FrameworkProfile *nearest = NULL;
  g_autofree char        *hint = NULL;

  if (g_strv_contains ((const char *const *) ids, text))
    return get_profile (self, kind, text, mark, diags);
  for (guint i = 0; ids[i] != NULL; i++)
    {
      const FrameworkProfile *framework = get_profile (self, kind, ids[i], mark, diags);

      if (framework == NULL)
        return NULL;
      if (is_called (framework, text, FALSE))
        return framework;
      if (is_called (framework, text, TRUE))
        nearest = framework;
    }
  if (nearest != NULL)
    return nearest;
  hint = suggest_hint (text, (const char *const *) ids);
  diag_warning (diags, mark, hint, "no profile of framework '%s': host costs are the node's", text);
  return NULL;
}

GArray *
profile_set_figures (ProfileSet *self, const char *kind, const char *id, DiagList *diags)
{
  const ProfileKind *table = profile_kind_find (kind);
  if (table == NULL)
    {
      diag_error (diags, NULL, "valid values: gpu, link, node, framework",
                  "no figures are kept for '%s'", kind);
      return NULL;
    }
  gpointer profile = get_profile (self, table, id, NULL, diags);
  if (profile == NULL)
    return NULL;
  GArray *views = g_array_new (FALSE, FALSE, sizeof (FigureView));
  for (const FigureSpec *spec = table->figures; spec->key != NULL; spec++)
    {
      FigureView view = { spec->key, spec->kind, figure_of (profile, spec) };
      g_array_append_val (views, view);
    }
  return views;
}

gboolean
profile_set_override (ProfileSet *self, const char *kind, const char *id, const char *key, double value)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const ProfileKind   *table = profile_kind_find (kind);
  gpointer             profile = table != NULL ? get_profile (self, table, id, NULL, diags) : NULL;
  for (const FigureSpec *spec = profile != NULL ? table->figures : NULL;
       spec != NULL && spec->key != NULL; spec++)
    if (strcmp (spec->key, key) == 0)
      {
        Figure *figure = figure_of (profile, spec);
        figure->value = figure->low = figure->high = value;
        return TRUE;
      }
  return FALSE;
}
