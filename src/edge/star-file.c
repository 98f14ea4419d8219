#include "edge/star-file.h"

#define MAX_ENTRIES 1000 /* of a list: what is more is no star that anybody drew up */

static const char *const lists[] = { "assumptions", "clients", "layers", "panels", NULL };

#define PANEL(word, member)                                                           \
  {                                                                                   \
    .key = word, .type = OPTION_STRING, .offset = G_STRUCT_OFFSET (EdgePanel, member) \
  }

static const OptionSpec panel_options[] = {
  PANEL ("figure", figure),
  PANEL ("x", x),
  PANEL ("series", series),
  { 0 },
};

typedef struct
{
  const StarForm *form;
  EdgeStar       *star;
  const Radio    *radio;
  gboolean        placed; /* clients must have a gain or a distance */
  DiagList       *diags;
} Reader;

static void
clear_named (gpointer data)
{
  g_free (*(char **) data);
}

static void
clear_client (gpointer data)
{
  EdgeClient *self = data;

  g_free (self->name);
  g_clear_pointer (&self->channels, g_array_unref);
}

static void
clear_panel (gpointer data)
{
  EdgePanel *self = data;

  option_table_clear (panel_options, self);
  g_clear_pointer (&self->xs, g_ptr_array_unref);
  g_clear_pointer (&self->all_series, g_ptr_array_unref);
}

/* The list KEY of PARENT with an entry or more. NULL after a diagnostic, or where it is absent. */
static const ConfigNode *
get_list (const Reader *self, const ConfigNode *parent, const char *key, gboolean required)
{
  const ConfigNode *list = config_node_get (parent, key);

  if (list == NULL)
    {
      if (required)
        diag_error (self->diags, config_node_mark (parent), NULL, "missing '%s'", key);
      return NULL;
    }
  if (!config_node_expect (list, CONFIG_LIST, self->diags))
    return NULL;
  if (config_node_length (list) > 0 && config_node_length (list) <= MAX_ENTRIES)
    return list;
  diag_error (self->diags, config_node_mark (list), NULL, "'%s' has %u entries: give 1 to %d", key,
              config_node_length (list), MAX_ENTRIES);
  return NULL;
}

/* A map by TABLE, all of whose required keys are there. FALSE after diagnostics. */
static gboolean
read_map (const Reader *self, const OptionSpec *table, const ConfigNode *node,
          const char *const *ignored, gpointer structure)
{
  const guint errors = diag_list_n_errors (self->diags);

  option_table_defaults (table, structure);
  if (!config_node_expect (node, CONFIG_MAP, self->diags)
      || !option_load_map (table, structure, node, ignored, self->diags))
    return FALSE;
  option_check_required (table, structure, config_node_mark (node), self->diags);
  return diag_list_n_errors (self->diags) == errors;
}

/* ---- clients --------------------------------------------------------------------------------- */

static void
read_channels (const Reader *self, const ConfigNode *node, EdgeClient *client)
{
  const ConfigNode *list = get_list (self, node, "channels", TRUE);

  for (guint i = 0; list != NULL && i < config_node_length (list); i++)
    {
      const ConfigNode *item = config_node_item (list, i);
      const char       *text = config_node_text (item);
      guint64           number;
      guint             channel;

      if (text == NULL || !g_ascii_string_to_unsigned (text, 10, 1, 10000, &number, NULL))
        {
          diag_error (self->diags, config_node_mark (item), "channels are counted from 1",
                      "expected the number of a channel, got '%s'", text != NULL ? text : "a list");
          continue;
        }
      channel = (guint) number - 1;
      g_array_append_val (client->channels, channel);
    }
}

static void
check_place (const Reader *self, const ConfigNode *node, const EdgeClient *client)
{
  if (!self->placed || client->name == NULL)
    return;
  if ((client->gain > 0) == (client->distance > 0))
    diag_error (self->diags, config_node_mark (node), NULL,
                "client '%s' needs a 'gain' or a 'distance', and not both", client->name);
  else if (client->distance > 0 && (self->radio->frequency == 0 || self->radio->exponent == 0))
    diag_error (
        self->diags, config_node_mark (node), "set both, or give each client's 'gain' instead",
        "the 'distance' of client '%s' needs 'frequency' and 'path_loss_exponent'", client->name);
}

static void
read_clients (const Reader *self, const ConfigNode *root)
{
  static const char *const ignored[] = { "channels", NULL };
  const ConfigNode        *list = get_list (self, root, "clients", TRUE);

  for (guint i = 0; list != NULL && i < config_node_length (list); i++)
    {
      const ConfigNode *node = config_node_item (list, i);
      EdgeClient        client = { .channels = g_array_new (FALSE, FALSE, sizeof (guint)) };

      if (read_map (self, self->form->client, node, self->form->channels ? ignored : NULL, &client))
        {
          if (self->form->channels)
            read_channels (self, node, &client);
          check_place (self, node, &client);
        }
      g_array_append_val (self->star->clients, client);
    }
}

/* ---- layers and panels ----------------------------------------------------------------------- */

static void
read_layers (const Reader *self, const ConfigNode *root)
{
  const ConfigNode *list = get_list (self, root, "layers", TRUE);

  for (guint i = 0; list != NULL && i < config_node_length (list); i++)
    {
      EdgeLayer layer = { 0 };

      read_map (self, self->form->layer, config_node_item (list, i), NULL, &layer);
      g_array_append_val (self->star->layers, layer);
    }
}

static void
add_nodes (const ConfigNode *list, GPtrArray *nodes)
{
  for (guint i = 0; list != NULL && i < config_node_length (list); i++)
    g_ptr_array_add (nodes, (gpointer) config_node_item (list, i));
}

static void
read_panels (const Reader *self, const ConfigNode *root)
{
  static const char *const ignored[] = { "values", "of", "set", NULL };
  const ConfigNode        *list = get_list (self, root, "panels", FALSE);

  for (guint i = 0; list != NULL && i < config_node_length (list); i++)
    {
      const ConfigNode *node = config_node_item (list, i);
      EdgePanel         panel = { .xs = g_ptr_array_new (), .all_series = g_ptr_array_new () };

      if (read_map (self, panel_options, node, ignored, &panel))
        {
          add_nodes (get_list (self, node, "values", TRUE), panel.xs);
          add_nodes (get_list (self, node, "of", TRUE), panel.all_series);
          panel.settings = config_node_get (node, "set");
        }
      g_array_append_val (self->star->panels, panel);
    }
}

static void
read_assumptions (const Reader *self, const ConfigNode *root)
{
  const ConfigNode *list = get_list (self, root, "assumptions", FALSE);

  for (guint i = 0; list != NULL && i < config_node_length (list); i++)
    if (config_node_expect (config_node_item (list, i), CONFIG_SCALAR, self->diags))
      g_ptr_array_add (self->star->assumptions,
                       g_strdup (config_node_text (config_node_item (list, i))));
}

/* ---- the file -------------------------------------------------------------------------------- */

static EdgeStar *
star_new (ConfigDoc *doc)
{
  EdgeStar *self = g_new0 (EdgeStar, 1);

  self->doc = doc;
  self->clients = g_array_new (FALSE, TRUE, sizeof (EdgeClient));
  self->layers = g_array_new (FALSE, TRUE, sizeof (EdgeLayer));
  self->panels = g_array_new (FALSE, TRUE, sizeof (EdgePanel));
  self->assumptions = g_ptr_array_new_with_free_func (g_free);
  g_array_set_clear_func (self->clients, clear_client);
  g_array_set_clear_func (self->layers, clear_named);
  g_array_set_clear_func (self->panels, clear_panel);
  return self;
}

void
star_free (EdgeStar *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->clients);
  g_array_unref (self->layers);
  g_array_unref (self->panels);
  g_ptr_array_unref (self->assumptions);
  config_doc_free (self->doc);
  g_free (self);
}

EdgeStar *
star_load (const char *file, const StarForm *form, gpointer settings, gsize radio, DiagList *diags)
{
  ConfigDoc           *doc = config_load (file, diags);
  g_autoptr (EdgeStar) self = NULL;
  Reader               reader = { form, NULL, G_STRUCT_MEMBER_P (settings, radio), TRUE, diags };
  const guint          errors = diag_list_n_errors (diags);
  const ConfigNode    *root;

  if (doc == NULL)
    return NULL;
  reader.star = self = star_new (doc);
  root = config_doc_root (doc);
  if (!read_map (&reader, form->settings, root, lists, settings)
      && !config_node_expect (root, CONFIG_MAP, diags))
    return NULL;
  reader.placed = config_node_get (root, "snr") == NULL;
  read_clients (&reader, root);
  read_layers (&reader, root);
  read_panels (&reader, root);
  read_assumptions (&reader, root);
  return diag_list_n_errors (diags) == errors ? g_steal_pointer (&self) : NULL;
}

const SourceMark *
star_mark (const EdgeStar *self)
{
  return config_node_mark (config_doc_root (self->doc));
}

gboolean
star_set (const StarForm *form, gpointer settings, const char *key, const ConfigNode *node,
          DiagList *diags)
{
  return config_node_expect (node, CONFIG_SCALAR, diags)
         && option_set_key (form->settings, settings, key, config_node_text (node),
                            config_node_mark (node), diags);
}

gboolean
star_set_panel (const StarForm *form, gpointer settings, const EdgePanel *panel, DiagList *diags)
{
  return panel->settings == NULL
         || (config_node_expect (panel->settings, CONFIG_MAP, diags)
             && option_load_map (form->settings, settings, panel->settings, NULL, diags));
}
