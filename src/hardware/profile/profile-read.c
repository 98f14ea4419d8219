/* One profile from its file: figures with their sources, plain keys and lists. */
#include "hardware/profile/profile-tables-private.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"

#define FIGURE_FORM "{ value: %s, source: \"...\", confidence: datasheet }"

const char *const profile_confidences[] = { "datasheet", "measured", "estimate", NULL };

const char *
confidence_name (Confidence confidence)
{
  return profile_confidences[confidence];
}

/* ---- one figure ------------------------------------------------------------------------------ */

Figure *
profile_figure (gpointer profile, const FigureSpec *spec)
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
read_confidence (const ConfigNode *node, Confidence *confidence, DiagList *diags)
{
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return;
  for (guint i = 0; profile_confidences[i] != NULL; i++)
    if (strcmp (profile_confidences[i], config_node_text (node)) == 0)
      {
        *confidence = (Confidence) i;
        return;
      }
  g_autofree char *hint = suggest_hint (config_node_text (node), profile_confidences);
  diag_error (diags, config_node_mark (node), hint, "unknown confidence '%s'",
              config_node_text (node));
}

static void
read_words (const ConfigNode *node, const char *key, char **words, DiagList *diags)
{
  if (!config_node_expect (node, CONFIG_SCALAR, diags))
    return;
  if (config_node_is_null (node))
    diag_error (diags, config_node_mark (node), NULL, "'%s' is empty", key);
  else
    *words = g_strdup (config_node_text (node));
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
figure_part (const char *figure, const ConfigNode *node, const char *key, DiagList *diags)
{
  const ConfigNode *value = config_node_get (node, "value");
  const ConfigNode *part = config_node_get (node, key);
  const SourceMark *mark = config_node_mark (value != NULL ? value : node);
  if (part == NULL)
    diag_error (diags, mark, NULL, "the figure '%s' has no '%s'", figure, key);
  else if (value != NULL && !same_file (value, part))
    {
      diag_error (diags, mark, "the extended profile's words are about its own value",
                  "the figure '%s' has a new value without its own '%s'", figure, key);
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
  const ConfigNode *value = figure_part (spec->key, node, "value", diags);
  const ConfigNode *source = figure_part (spec->key, node, "source", diags);
  const ConfigNode *confidence = figure_part (spec->key, node, "confidence", diags);
  const ConfigNode *range = config_node_get (node, "range");
  if (source != NULL)
    read_words (source, "source", &figure->source, diags);
  if (confidence != NULL)
    read_confidence (confidence, &figure->confidence, diags);
  if (value == NULL || !read_quantity (spec, value, &figure->value, diags))
    return;
  figure->low = figure->high = figure->value;
  if (range != NULL && same_file (value, range))
    read_range (spec, range, figure, diags);
}

static Fact *
fact_of (gpointer profile, const FactSpec *spec)
{
  return G_STRUCT_MEMBER_P (profile, spec->offset);
}

/* A figure without a number: what it has no use for is an error. */
void
profile_read_fact (const char *key, const ConfigNode *node, Fact *fact, DiagList *diags)
{
  if (config_node_kind (node) != CONFIG_MAP)
    {
      const char      *text = config_node_text (node);
      g_autofree char *hint =
          g_strdup_printf ("write " FIGURE_FORM, text != NULL && *text != '\0' ? text : "none");
      diag_error (diags, config_node_mark (node), hint, "'%s' needs a source and a confidence",
                  key);
      return;
    }
  check_figure_keys (node, diags);
  if (config_node_get (node, "range") != NULL)
    diag_error (diags, config_node_mark (config_node_get (node, "range")), NULL,
                "'%s' is no figure: it has no range", key);
  const ConfigNode *value = figure_part (key, node, "value", diags);
  const ConfigNode *source = figure_part (key, node, "source", diags);
  const ConfigNode *confidence = figure_part (key, node, "confidence", diags);
  if (value != NULL)
    read_words (value, "value", &fact->value, diags);
  if (source != NULL)
    read_words (source, "source", &fact->source, diags);
  if (confidence != NULL)
    read_confidence (confidence, &fact->confidence, diags);
}

static void
read_facts (const ProfileKind *kind, gpointer profile, const ConfigNode *root, DiagList *diags)
{
  for (const FactSpec *spec = kind->facts; spec != NULL && spec->key != NULL; spec++)
    {
      const ConfigNode *node = config_node_get (root, spec->key);
      if (node != NULL)
        {
          Fact *fact = fact_of (profile, spec);

          /* A fact, or a trait, which is an option as well. */
          profile_read_fact (spec->key, node, fact, diags);
          if (fact->value != NULL && spec->trait != NULL)
            option_set (spec->trait, profile, fact->value,
                        config_node_mark (config_node_get (node, "value")), diags);
        }
    }
}

/* ---- one file -------------------------------------------------------------------------------- */

static void
read_figures (const ProfileKind *kind, gpointer profile, const ConfigNode *root, DiagList *diags)
{
  for (const FigureSpec *spec = kind->figures; spec->key != NULL; spec++)
    {
      const ConfigNode *node = config_node_get (root, spec->key);
      Figure           *figure = profile_figure (profile, spec);
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
      else if (spec->optional && config_node_kind (node) == CONFIG_SCALAR
               && config_node_is_null (node))
        option_unset (spec, profile); /* what it extends has one */
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

static GArray **
records_of (gpointer profile, const RecordSpec *spec)
{
  return G_STRUCT_MEMBER_P (profile, spec->offset);
}

static void
read_records (const ProfileKind *kind, gpointer profile, const ConfigNode *root, DiagList *diags)
{
  for (const RecordSpec *spec = kind->records; spec != NULL && spec->key != NULL; spec++)
    {
      const ConfigNode *node = config_node_get (root, spec->key);
      GArray           *records;

      /* Lists are replaced as a whole by a profile that extends; an empty value takes them back. */
      if (node == NULL || (config_node_kind (node) == CONFIG_SCALAR && config_node_is_null (node))
          || !config_node_expect (node, CONFIG_LIST, diags))
        continue;
      records = g_array_sized_new (FALSE, TRUE, (guint) spec->size, config_node_length (node));
      *records_of (profile, spec) = g_array_set_size (records, config_node_length (node));
      for (guint i = 0; i < config_node_length (node); i++)
        {
          const ConfigNode *item = config_node_item (node, i);
          gpointer          record = records->data + i * spec->size;
          if (!config_node_expect (item, CONFIG_MAP, diags))
            continue;
          G_STRUCT_MEMBER (SourceMark, record, spec->mark) =
              source_mark_keep (config_node_mark (item));
          if (option_load_map (spec->keys, record, item, NULL, diags))
            option_check_required (spec->keys, record, config_node_mark (item), diags);
        }
    }
}

static void
clear_records (const ProfileKind *kind, gpointer profile)
{
  for (const RecordSpec *spec = kind->records; spec != NULL && spec->key != NULL; spec++)
    {
      GArray *records = *records_of (profile, spec);
      for (guint i = 0; records != NULL && i < records->len; i++)
        option_table_clear (spec->keys, records->data + i * spec->size);
      g_clear_pointer (&records, g_array_unref);
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
  for (const FactSpec *spec = kind->facts; spec != NULL && spec->key != NULL; spec++)
    g_ptr_array_add (keys, (gpointer) spec->key);
  for (const RecordSpec *spec = kind->records; spec != NULL && spec->key != NULL; spec++)
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

guint
profile_kind_count (const ProfileKind *kind, const ConfigNode *root)
{
  g_autoptr (GPtrArray) keys = known_keys (kind);
  guint                 n = 0;

  for (guint i = 0; i < config_node_length (root); i++)
    n += g_strv_contains ((const char *const *) keys->pdata, config_node_key (root, i));
  return n;
}

static GArray **
table_of (LoadedProfile *self)
{
  return &G_STRUCT_MEMBER (GArray *, self->profile, self->kind->table->offset);
}

static gpointer *
measured_on (LoadedProfile *self)
{
  return &G_STRUCT_MEMBER (gpointer, self->profile, self->kind->table->measured_on);
}

void
loaded_profile_free (gpointer data)
{
  LoadedProfile *self = data;
  char         **id = self->profile;
  for (const FigureSpec *spec = self->kind->figures; spec->key != NULL; spec++)
    g_free (profile_figure (self->profile, spec)->source);
  for (const ListSpec *spec = self->kind->lists; spec != NULL && spec->key != NULL; spec++)
    g_clear_pointer (list_of (self->profile, spec), g_array_unref);
  for (const FactSpec *spec = self->kind->facts; spec != NULL && spec->key != NULL; spec++)
    {
      g_free (fact_of (self->profile, spec)->value);
      g_free (fact_of (self->profile, spec)->source);
    }
  if (self->kind->table != NULL)
    {
      g_clear_pointer (table_of (self), g_array_unref);
      g_free (*measured_on (self));
    }
  clear_records (self->kind, self->profile);
  option_table_clear (self->kind->scalars, self->profile);
  g_free (*id);
  g_free (self->profile);
  g_free (self);
}

LoadedProfile *
loaded_profile_read (const ProfileKind *kind, const char *id, const ConfigNode *root,
                     DiagList *diags)
{
  LoadedProfile *loaded = g_new (LoadedProfile, 1);
  loaded->kind = kind;
  loaded->profile = g_malloc0 (kind->size);
  *(char **) loaded->profile = g_strdup (id);
  option_table_defaults (kind->scalars, loaded->profile);
  read_scalars (kind, loaded->profile, root, diags);
  read_figures (kind, loaded->profile, root, diags);
  read_lists (kind, loaded->profile, root, diags);
  read_facts (kind, loaded->profile, root, diags);
  read_records (kind, loaded->profile, root, diags);
  check_keys (kind, root, diags);
  if (kind->check != NULL)
    kind->check (loaded->profile, root, diags);
  return loaded;
}

gboolean
loaded_profile_read_table (LoadedProfile *self, const GPtrArray *files, DiagList *diags)
{
  for (guint i = 0; self->kind->table != NULL && i < files->len; i++)
    {
      const char      *profile = g_ptr_array_index (files, i);
      g_autofree char *stem = g_strndup (profile, strlen (profile) - strlen (".yaml"));
      g_autofree char *file = g_strdup_printf ("%s.%s.csv", stem, self->kind->table->name);

      if (!g_file_test (file, G_FILE_TEST_EXISTS))
        continue;
      *table_of (self) = self->kind->table->load (file, diags);
      return *table_of (self) != NULL;
    }
  return TRUE;
}

/* Figures that grade hardware otherwise than their kind does: 1 more is better, -1 less is. */
static const struct
{
  const char *key;
  int         sense;
} graded[] = {
  { "matmul_k_overhead", -1 },  { "attention_softmax_dims", -1 }, { "cudnn_softmax_dims", -1 },
  { "fmha_softmax_dims", -1 },  { "small_tile_power", -1 },       { "jitter", -1 },
  { "unaligned_slowdown", -1 }, { "experts_k_overhead", -1 },     { "cpu_adam_rate", 1 },
};

/* Which way is better: 1 more, -1 less, 0 neither (most counts and sizes do not grade hardware). */
static int
figure_sense (const FigureSpec *spec)
{
  for (guint i = 0; i < G_N_ELEMENTS (graded); i++)
    if (strcmp (graded[i].key, spec->key) == 0)
      return graded[i].sense;
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

void
loaded_profile_move (LoadedProfile *self, ProfileEnd end)
{
  for (const FigureSpec *spec = self->kind->figures; spec->key != NULL; spec++)
    {
      Figure *figure = profile_figure (self->profile, spec);
      int     side = figure_sense (spec) * (int) end;
      if (side != 0)
        figure->value = side > 0 ? figure->high : figure->low;
    }
}

gboolean
loaded_profile_set (LoadedProfile *self, const char *key, double value)
{
  for (const FigureSpec *spec = self->kind->figures; spec->key != NULL; spec++)
    if (strcmp (spec->key, key) == 0)
      {
        Figure *figure = profile_figure (self->profile, spec);

        figure->value = figure->low = figure->high = value;
        return TRUE;
      }
  return FALSE;
}

/* How many of CHANGES are AS_WRITTEN; they are made. */
static guint
make_changes (LoadedProfile *self, const FigureChange *const *changes, guint n, gboolean as_written)
{
  guint n_made = 0;

  for (guint i = 0; i < n; i++)
    if (changes[i]->as_written == as_written)
      n_made += loaded_profile_set (self, changes[i]->key, changes[i]->value);
  return n_made;
}

/* The copy shares what the profile owns. */
void
loaded_profile_change (LoadedProfile *self, const FigureChange *const *changes, guint n)
{
  g_autofree gpointer before = NULL;

  make_changes (self, changes, n, TRUE);
  before = g_memdup2 (self->profile, self->kind->size);
  if (make_changes (self, changes, n, FALSE) > 0 && self->kind->table != NULL)
    *measured_on (self) = g_steal_pointer (&before);
}
