#include "hardware/profile/profile.h"

#include <math.h>
#include <string.h>

#include "base/compare.h"
#include "base/config/suggest.h"
#include "base/file/layout.h"
#include "base/intern.h"
#include "hardware/profile/named-link-private.h"
#include "hardware/profile/profile-tables-private.h"

/* ---- the set --------------------------------------------------------------------------------- */

ProfileSet *
profile_set_new (const char *dir)
{
  return profile_set_new_at (dir, PROFILE_AS_GIVEN);
}

ProfileSet *
profile_set_new_at (const char *dir, ProfileEnd end)
{
  const ProfileVariant variant = { .end = end };

  return profile_set_new_shared (dir, &variant, NULL);
}

static void
keep_changes (ProfileSet *self, const FigureChange *changes, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      const FigureChange *given = &changes[i];
      const FigureChange  kept = { intern_text (given->kind), intern_text (given->id),
                                   intern_text (given->key), given->value, given->as_written };
      g_array_append_val (self->changes, kept);
    }
}

ProfileSet *
profile_set_new_shared (const char *dir, const ProfileVariant *variant, InputFiles *files)
{
  ProfileSet *self = g_new0 (ProfileSet, 1);
  self->end = variant != NULL ? variant->end : PROFILE_AS_GIVEN;
  self->changes = g_array_new (FALSE, FALSE, sizeof (FigureChange));
  if (variant != NULL)
    keep_changes (self, variant->changes, variant->n_changes);
  self->todays_frameworks = variant != NULL && variant->todays_frameworks;
  g_autofree char *shipped = layout_data_file ("hwprofiles");
  g_autofree char *libraries = g_strjoin (G_SEARCHPATH_SEPARATOR_S, dir, shipped, NULL);
  self->dirs = dir != NULL ? g_strsplit (dir, G_SEARCHPATH_SEPARATOR_S, -1)
                           : g_strdupv ((char *[]){ shipped, NULL });
  self->with_shipped =
      dir != NULL ? g_strsplit (libraries, G_SEARCHPATH_SEPARATOR_S, -1) : g_strdupv (self->dirs);
  self->key = g_strdup_printf ("%s at %d", dir != NULL ? dir : shipped, self->end);
  self->own = files == NULL ? input_files_new () : NULL;
  self->files = files != NULL ? files : self->own;
  self->loaded = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return self;
}

ProfileSet *
profile_set_new_changed (ProfileSet *self, const FigureChange *changes, guint n)
{
  ProfileSet *changed = g_new0 (ProfileSet, 1);

  changed->dirs = g_strdupv (self->dirs);
  changed->with_shipped = g_strdupv (self->with_shipped);
  changed->end = self->end;
  changed->changes = g_array_copy (self->changes);
  keep_changes (changed, changes, n);
  changed->todays_frameworks = self->todays_frameworks;
  changed->key = g_strdup (self->key);
  changed->files = self->files;
  changed->loaded = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  return changed;
}

InputFiles *
profile_set_files (const ProfileSet *self)
{
  return self->files;
}

const char *
profile_set_shared_key (const ProfileSet *self)
{
  return self->own == NULL && self->changes->len == 0 ? self->key : NULL;
}

gboolean
profile_set_is_varied (const ProfileSet *self)
{
  return self->end != PROFILE_AS_GIVEN || self->changes->len > 0;
}

void
profile_set_free (ProfileSet *self)
{
  g_hash_table_unref (self->loaded);
  g_clear_pointer (&self->dated, g_ptr_array_unref);
  input_files_free (self->own);
  g_array_unref (self->changes);
  g_free (self->key);
  g_strfreev (self->dirs);
  g_strfreev (self->with_shipped);
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

/* The folders that hold profiles of KIND. */
static char **
folders_of (ProfileSet *self, const char *kind)
{
  const ProfileKind *known = profile_kind_find (kind);

  return known != NULL && known->shipped_too ? self->with_shipped : self->dirs;
}

char *
profile_set_folders (ProfileSet *self, const char *kind)
{
  GString *text = g_string_new (NULL);

  for (char **at = folders_of (self, kind); *at != NULL; at++)
    g_string_append_printf (text, "%s'%s/%s'", text->len > 0 ? ", " : "", *at, kind);
  return g_string_free (text, FALSE);
}

/* Profiles are YAML, matrices of sites CSV. */
static const char *
ending_of (const char *kind)
{
  return strcmp (kind, "sites") == 0 ? ".csv" : ".yaml";
}

/* "mine/box.yaml" instead of an id: a profile that lies in no folder of profiles. */
static gboolean
is_path (const char *id)
{
  return g_str_has_suffix (id, ".yaml") && g_file_test (id, G_FILE_TEST_IS_REGULAR);
}

/*
 * The file of KIND/ID in the first folder from the FIRST-th on that has it; *LAYER says which. An
 * ID that is a file is that file.
 */
static char *
find_file (ProfileSet *self, const char *kind, const char *id, guint first, guint *layer)
{
  g_autofree char *name = g_strconcat (id, ending_of (kind), NULL);
  char           **dirs = folders_of (self, kind);
  if (first == 0 && is_path (id))
    {
      *layer = 0;
      return g_strdup (id);
    }
  if (!id_is_plain (id))
    return NULL;
  for (guint i = first; dirs[i] != NULL; i++)
    {
      g_autofree char *file = g_build_filename (dirs[i], kind, name, NULL);
      *layer = i;
      if (g_file_test (file, G_FILE_TEST_EXISTS))
        return g_steal_pointer (&file);
    }
  return NULL;
}

char **
profile_set_list (ProfileSet *self, const char *kind)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);
  GPtrArray             *ids = g_ptr_array_new ();
  for (char **at = folders_of (self, kind); *at != NULL; at++)
    {
      g_autofree char *folder = g_build_filename (*at, kind, NULL);
      g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
      const char      *name;
      while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
        {
          g_autofree char *id = g_strdup (name);
          if (!g_str_has_suffix (name, ending_of (kind)))
            continue;
          id[strlen (name) - strlen (ending_of (kind))] = '\0';
          if (g_hash_table_contains (seen, id))
            continue;
          g_hash_table_add (seen, id);
          g_ptr_array_add (ids, g_steal_pointer (&id));
        }
    }
  g_ptr_array_sort (ids, compare_texts);
  g_ptr_array_add (ids, NULL);
  return (char **) g_ptr_array_free (ids, FALSE);
}

/*
 * The id that ID means: itself where there is such a profile, else one that differs in the case of
 * letters only, else itself.
 */
static char *
meant_id (ProfileSet *self, const char *kind, const char *id)
{
  guint            layer;
  g_autofree char *file = find_file (self, kind, id, 0, &layer);
  g_auto (GStrv)   ids = file == NULL && id_is_plain (id) ? profile_set_list (self, kind) : NULL;
  gint             index = ids != NULL ? name_index (id, (const char *const *) ids) : -1;
  g_autofree char *lower = g_ascii_strdown (id, -1);
  NamedLink        named;

  if (index >= 0)
    return g_strdup (ids[index]);
  return g_strdup (file == NULL && named_link_parse (lower, &named) ? lower : id);
}

const char *
profile_file_kind (const char *file)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = config_load (file, diags);
  const ConfigNode     *root = doc != NULL ? config_doc_root (doc) : NULL;
  const char           *kind = "node"; /* whose reader has the words for what is no profile */
  guint                 most = 0;

  if (root == NULL || config_node_kind (root) != CONFIG_MAP)
    return kind;
  if (config_node_get (root, "groups") != NULL)
    return "cluster";
  for (guint i = 0; profile_kinds[i] != NULL; i++)
    {
      const guint known = profile_kind_count (profile_kinds[i], root);

      kind = known > most ? profile_kinds[i]->name : kind;
      most = MAX (most, known);
    }
  return kind;
}

/* What profile_set_file asks for. */
typedef struct
{
  ProfileSet *set;
  const char *kind, *id;
} FileName;

static gpointer
find_named (gconstpointer user, G_GNUC_UNUSED DiagList *diags)
{
  const FileName  *name = user;
  guint            layer;
  g_autofree char *meant = meant_id (name->set, name->kind, name->id);

  if (is_path (name->id) && !g_str_equal (profile_file_kind (name->id), name->kind))
    return NULL;
  return find_file (name->set, name->kind, meant, 0, &layer);
}

char *
profile_set_file (ProfileSet *self, const char *kind, const char *id)
{
  const FileName       name = { self, kind, id };
  g_autofree char     *key = g_strdup_printf ("file of %s/%s of %s", kind, id, self->key);
  g_autoptr (DiagList) none = diag_list_new ();

  return g_strdup (input_files_get (self->files, key, find_named, &name, g_free, none));
}

/*
 * Whether FILE has all of WORDS, without which its profile plays no part, or extends another that
 * may. What cannot be read, or is no text, may have anything: its loader says what is wrong.
 */
static gboolean
mentions (const char *file, const char *const *words)
{
  int                    error;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);
  g_autofree char       *text = NULL;
  gboolean               all = TRUE;

  if (bytes == NULL || (bytes->len > 0 && memchr (bytes->data, '\0', bytes->len) != NULL))
    return TRUE;
  text = g_strndup ((const char *) bytes->data, bytes->len);
  if (strstr (text, "extends") != NULL)
    return TRUE;
  for (guint i = 0; words[i] != NULL; i++)
    all = all && strstr (text, words[i]) != NULL;
  return all;
}

/* What profile_set_mentioning asks for. */
typedef struct
{
  ProfileSet        *set;
  const char        *kind;
  const char *const *words;
} MentionQuery;

static gpointer
find_mentioning (gconstpointer user, G_GNUC_UNUSED DiagList *diags)
{
  const MentionQuery *query = user;
  g_auto (GStrv)      ids = profile_set_list (query->set, query->kind);
  GPtrArray          *found = g_ptr_array_new ();

  for (guint i = 0; ids[i] != NULL; i++)
    {
      g_autofree char *file = profile_set_file (query->set, query->kind, ids[i]);

      if (file == NULL || query->words[0] == NULL || mentions (file, query->words))
        g_ptr_array_add (found, g_strdup (ids[i]));
    }
  g_ptr_array_add (found, NULL);
  return g_ptr_array_free (found, FALSE);
}

const char *const *
profile_set_mentioning (ProfileSet *self, const char *kind, const char *const *words)
{
  const MentionQuery   query = { self, kind, words };
  g_autofree char     *all = g_strjoinv (" ", (char **) words);
  g_autofree char     *key = g_strdup_printf ("%s with %s of %s", kind, all, self->key);
  g_autoptr (DiagList) none = diag_list_new ();

  return input_files_get (self->files, key, find_mentioning, &query, (GDestroyNotify) g_strfreev,
                          none);
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
    {
      g_autofree char *folders = profile_set_folders (self, kind);

      hint = g_strconcat ("there are no profiles in ", folders, NULL);
    }
  diag_error (diags, mark, hint, "unknown %s '%s'", kind, id);
}

typedef struct
{
  ProfileSet        *set;
  const ProfileKind *kind;
  const char        *id;     /* that is loaded */
  GHashTable        *layers; /* of each id of the chain so far: the folder it was last found in */
  GPtrArray         *files;  /* of this id that it is made of */
} ResolveContext;

/*
 * A profile that extends a name of its chain, its own or that of one that extends it, is laid over
 * that of a later folder. Where there is none it is a circle: the caller sees that the file has
 * been read.
 */
static char *
resolve_extended (const char *name, gpointer user)
{
  ResolveContext  *context = user;
  g_autofree char *meant = meant_id (context->set, context->kind->name, name);
  gpointer         last;
  const gboolean   again = g_hash_table_lookup_extended (context->layers, meant, NULL, &last);
  const guint      first = again ? GPOINTER_TO_UINT (last) + 1 : 0;
  guint            layer;
  char            *file = find_file (context->set, context->kind->name, meant, first, &layer);
  if (file == NULL)
    return again ? find_file (context->set, context->kind->name, meant, 0, &layer) : NULL;
  if (strcmp (meant, context->id) == 0)
    g_ptr_array_add (context->files, g_strdup (file));
  g_hash_table_insert (context->layers, g_steal_pointer (&meant), GUINT_TO_POINTER (layer));
  return file;
}

/* ---- links by their names -------------------------------------------------------------------- */

static gboolean
is_named_link (const ProfileKind *kind, const char *id, NamedLink *link)
{
  return strcmp (kind->name, "link") == 0 && named_link_parse (id, link);
}

gboolean
profile_set_has (ProfileSet *self, const char *kind, const char *id)
{
  const ProfileKind *table = profile_kind_find (kind);
  g_autofree char   *file = profile_set_file (self, kind, id);
  g_autofree char   *meant = meant_id (self, kind, id);
  NamedLink          named;
  if (file != NULL || table == NULL || !is_named_link (table, meant, &named))
    return file != NULL;
  g_autofree char *base = profile_set_file (self, kind, named.base);
  return base != NULL;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* What is read: the profile of exactly this id. */
typedef struct
{
  ProfileSet        *set;
  const ProfileKind *kind;
  const char        *id;
} Wanted;

/* The changes of KIND/ID: newly allocated array of pointers. */
static GPtrArray *
changes_of (const ProfileSet *self, const ProfileKind *kind, const char *id)
{
  GPtrArray *own = g_ptr_array_new ();
  for (guint i = 0; i < self->changes->len; i++)
    {
      FigureChange *change = &g_array_index (self->changes, FigureChange, i);
      if (strcmp (change->kind, kind->name) == 0
          && (change->id == NULL || strcmp (change->id, id) == 0))
        g_ptr_array_add (own, change);
    }
  return own;
}

/* What a profile is called in `files`: only one that is changed is read again. */
static char *
profile_key (const ProfileSet *self, const ProfileKind *kind, const char *id)
{
  g_autoptr (GPtrArray) changes = changes_of (self, kind, id);
  GString              *key = g_string_new (NULL);
  g_string_printf (key, "profile %s/%s of %s", kind->name, id, self->key);
  for (guint i = 0; i < changes->len; i++)
    {
      const FigureChange *change = changes->pdata[i];
      g_autofree char    *value = number_format_exact (change->value);
      g_string_append_printf (key, ", %s %s%s", change->key, value,
                              change->as_written ? " as written" : "");
    }
  return g_string_free (key, FALSE);
}

/* NULL, without a diagnostic, where there is no such file. */
static gpointer
read_profile (gconstpointer user, DiagList *diags)
{
  const Wanted          *wanted = user;
  ProfileSet            *self = wanted->set;
  const ProfileKind     *kind = wanted->kind;
  g_autoptr (GPtrArray)  changes = changes_of (self, kind, wanted->id);
  g_autoptr (GPtrArray)  files = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GHashTable) layers = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  ResolveContext         context = { self, kind, wanted->id, layers, files };
  guint                  layer = 0;
  g_autofree char       *file = find_file (self, kind->name, wanted->id, 0, &layer);
  guint                  errors = diag_list_n_errors (diags);
  NamedLink              named;
  const gboolean         by_name = file == NULL && is_named_link (kind, wanted->id, &named);
  if (by_name)
    {
      context.id = named.base;
      file = find_file (self, kind->name, named.base, 0, &layer);
    }
  if (file == NULL)
    return NULL;
  g_hash_table_insert (layers, g_strdup (context.id), GUINT_TO_POINTER (layer));
  g_ptr_array_add (files, g_strdup (file));
  g_autoptr (ConfigDoc) doc =
      config_load_extended (file, resolve_extended, &context, self->files, diags);
  if (doc == NULL || !config_node_expect (config_doc_root (doc), CONFIG_MAP, diags))
    return NULL;
  LoadedProfile *loaded = loaded_profile_read (kind, wanted->id, config_doc_root (doc), diags);
  if (diag_list_n_errors (diags) == errors && loaded_profile_read_table (loaded, files, diags))
    {
      if (by_name)
        named_link_set (loaded->profile, &named);
      loaded_profile_move (loaded, self->end);
      loaded_profile_change (loaded, (const FigureChange *const *) changes->pdata, changes->len);
      return loaded;
    }
  loaded_profile_free (loaded);
  return NULL;
}

/* The profile of exactly ID. NULL after diagnostics, or without them where there is none. */
static const LoadedProfile *
load_profile (ProfileSet *self, const ProfileKind *kind, const char *id, DiagList *diags)
{
  const Wanted         wanted = { self, kind, id };
  g_autofree char     *key = profile_key (self, kind, id);
  const LoadedProfile *loaded =
      input_files_get (self->files, key, read_profile, &wanted, loaded_profile_free, diags);
  if (loaded != NULL)
    g_hash_table_insert (self->loaded, g_strdup_printf ("%s/%s", kind->name, id),
                         (gpointer) loaded);
  return loaded;
}

gpointer
profile_set_get (ProfileSet *self, const ProfileKind *kind, const char *id, const SourceMark *mark,
                 DiagList *diags)
{
  g_autofree char     *key = g_strdup_printf ("%s/%s", kind->name, id);
  const LoadedProfile *loaded = g_hash_table_lookup (self->loaded, key);
  const guint          errors = diag_list_n_errors (diags);
  if (loaded == NULL)
    loaded = load_profile (self, kind, id, diags);
  if (loaded != NULL)
    return loaded->profile;
  if (diag_list_n_errors (diags) > errors)
    return NULL;
  g_autofree char *meant = meant_id (self, kind->name, id);
  if (strcmp (meant, id) != 0)
    return profile_set_get (self, kind, meant, mark, diags);
  profile_set_unknown (self, kind->name, id, mark, diags);
  return NULL;
}

static char *
resolve_cluster (const char *name, gpointer user)
{
  return profile_set_file (user, "cluster", name);
}

static gpointer
read_cluster (gconstpointer user, DiagList *diags)
{
  const Wanted *wanted = user;
  return config_load_extended (wanted->id, resolve_cluster, wanted->set, wanted->set->files, diags);
}

const ConfigDoc *
profile_set_cluster (ProfileSet *self, const char *file, DiagList *diags)
{
  const Wanted     wanted = { self, NULL, file };
  g_autofree char *key = g_strdup_printf ("cluster %s of %s", file, self->key);
  return input_files_get (self->files, key, read_cluster, &wanted, (GDestroyNotify) config_doc_free,
                          diags);
}

gboolean
gpu_profile_is_host (const GpuProfile *gpu)
{
  return strcmp (gpu->architecture, "host") == 0;
}

const GpuProfile *
profile_set_gpu (ProfileSet *self, const char *id, const SourceMark *mark, DiagList *diags)
{
  return profile_set_get (self, profile_kind_find ("gpu"), id, mark, diags);
}

const LinkProfile *
profile_set_link (ProfileSet *self, const char *id, const SourceMark *mark, DiagList *diags)
{
  return profile_set_get (self, profile_kind_find ("link"), id, mark, diags);
}

const NodeProfile *
profile_set_node (ProfileSet *self, const char *id, const SourceMark *mark, DiagList *diags)
{
  return profile_set_get (self, profile_kind_find ("node"), id, mark, diags);
}

const char *
profile_set_title (ProfileSet *self, const char *kind, const char *id, DiagList *diags)
{
  const NamedProfile *profile = profile_set_get (self, profile_kind_find (kind), id, NULL, diags);

  return profile != NULL ? profile->title : NULL;
}

GArray *
profile_set_figures (ProfileSet *self, const char *kind, const char *id, DiagList *diags)
{
  const ProfileKind *table = profile_kind_find (kind);
  if (table == NULL)
    {
      diag_error (diags, NULL, "valid values: gpu, link, node, framework, library, kernels, tuner",
                  "no figures are kept for '%s'", kind);
      return NULL;
    }
  gpointer profile = profile_set_get (self, table, id, NULL, diags);
  if (profile == NULL)
    return NULL;
  GArray *views = g_array_new (FALSE, FALSE, sizeof (FigureView));
  for (const FigureSpec *spec = table->figures; spec->key != NULL; spec++)
    {
      FigureView view = { spec->key,
                          spec->kind,
                          spec->min,
                          spec->max,
                          table->shapes != NULL && g_strv_contains (table->shapes, spec->key),
                          profile_figure (profile, spec) };
      g_array_append_val (views, view);
    }
  return views;
}

gboolean
profile_kind_figure (const char *kind, const char *key, FigureView *view, char **hint)
{
  const ProfileKind    *table = profile_kind_find (kind);
  g_autoptr (GPtrArray) keys = g_ptr_array_new ();

  for (const FigureSpec *spec = table->figures; spec->key != NULL; spec++)
    {
      const gboolean is_shape = table->shapes != NULL && g_strv_contains (table->shapes, spec->key);

      if (!is_shape)
        g_ptr_array_add (keys, (gpointer) spec->key);
      if (is_shape || strcmp (spec->key, key) != 0)
        continue;
      *view = (FigureView){ spec->key, spec->kind, spec->min, spec->max, FALSE, NULL };
      return TRUE;
    }
  g_ptr_array_add (keys, NULL);
  *hint = suggest_hint (key, (const char *const *) keys->pdata);
  return FALSE;
}

gboolean
profile_set_override (ProfileSet *self, const char *kind, const char *id, const char *key,
                      double value)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const ProfileKind   *table = profile_kind_find (kind);
  LoadedProfile        loaded = { .kind = table };
  g_assert (self->own != NULL); /* others would see it */
  if (table != NULL)
    loaded.profile = profile_set_get (self, table, id, NULL, diags);
  return loaded.profile != NULL && loaded_profile_set (&loaded, key, value);
}
