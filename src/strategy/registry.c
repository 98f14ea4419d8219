#include "strategy/registry.h"

#include <gio/gio.h>
#include <gmodule.h>
#include <string.h>

#include "base/config/suggest.h"
#include "base/file/file-roles.h"
#include "strategy/plugin-file.h"

struct _StrategySet
{
  GPtrArray *strategies; /* const Strategy *, by name, NULL-terminated */
  GPtrArray *modules;    /* GModule *, kept open */
};

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp ((*(const Strategy *const *) a)->name, (*(const Strategy *const *) b)->name);
}

StrategySet *
strategy_set_new (void)
{
  StrategySet *self = g_new0 (StrategySet, 1);

  self->strategies = g_ptr_array_new ();
  self->modules = g_ptr_array_new ();
  for (const Strategy *const *s = strategy_list (); *s != NULL; s++)
    g_ptr_array_add (self->strategies, (gpointer) *s);
  g_ptr_array_add (self->strategies, NULL);
  return self;
}

void
strategy_set_free (StrategySet *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->modules->len; i++)
    g_module_close (g_ptr_array_index (self->modules, i));
  g_ptr_array_unref (self->modules);
  g_ptr_array_unref (self->strategies);
  g_free (self);
}

static gboolean
check_plugin (const StrategySet *self, const char *file, const Strategy *strategy, GError **error)
{
  if (strategy->api != STRATEGY_API_VERSION)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_SUPPORTED,
                 "plugin '%s' was built for strategy API %u, this program has %u: build it again",
                 file, strategy->api, STRATEGY_API_VERSION);
  else if (strategy->name == NULL || strategy->title == NULL)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA, "plugin '%s' has no name or no title",
                 file);
  else if (strategy_set_find (self, strategy->name) != NULL)
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_EXISTS,
                 "plugin '%s': a strategy '%s' exists already", file, strategy->name);
  else
    return TRUE;
  return FALSE;
}

gboolean
strategy_set_load (StrategySet *self, const char *file, GError **error)
{
  /* A bare name would be looked up on the library path. */
  g_autofree char *path = g_canonicalize_filename (file, NULL);
  GModule         *module;
  gpointer         symbol;

  if (!file_roles_add (path, FILE_ROLE_INPUT, error))
    return FALSE;
  if (plugin_file_is_cut (path))
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                   "cannot load plugin '%s': it is cut off: build or copy it again", file);
      return FALSE;
    }
  module = g_module_open (path, G_MODULE_BIND_LAZY | G_MODULE_BIND_LOCAL);

  if (module == NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "cannot load plugin '%s': %s", file,
                   g_module_error ());
      return FALSE;
    }
  if (!g_module_symbol (module, "shardsim_strategy", &symbol))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_INVALID_DATA,
                 "plugin '%s' does not export 'shardsim_strategy'", file);
  else if (check_plugin (self, file, symbol, error))
    {
      g_ptr_array_set_size (self->strategies, (gint) self->strategies->len - 1);
      g_ptr_array_add (self->strategies, symbol);
      g_ptr_array_sort (self->strategies, compare_names);
      g_ptr_array_add (self->strategies, NULL);
      g_ptr_array_add (self->modules, module);
      return TRUE;
    }
  g_module_close (module);
  return FALSE;
}

static const Strategy *
find_in (const Strategy *const *list, const char *name)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  gint                  index;

  for (guint i = 0; list[i] != NULL; i++)
    g_ptr_array_add (names, (gpointer) list[i]->name);
  g_ptr_array_add (names, NULL);
  index = name_index (name, (const char *const *) names->pdata);
  return index >= 0 ? list[index] : NULL;
}

const Strategy *
strategy_set_find (const StrategySet *self, const char *name)
{
  return find_in (strategy_set_list (self), name);
}

const Strategy *const *
strategy_set_list (const StrategySet *self)
{
  return (const Strategy *const *) self->strategies->pdata;
}

const Strategy *
strategy_find (const char *name)
{
  return find_in (strategy_list (), name);
}

/* What people call a family of strategies, and its members here. */
static const struct
{
  const char *word, *meant;
} families[] = {
  { "fsdp",
    "fsdp2 (PyTorch's fully_shard), fsdp1 (FullyShardedDataParallel), hsdp (with replicas)" },
  { "fsdp3", "fsdp2 (PyTorch's fully_shard), simplefsdp (compiled)" },
  { "zero", "zero1, zero2, zero3, zero-offload, zero-infinity, zeropp (ZeRO++)" },
};

char *
strategy_set_hint (const StrategySet *set, const char *name)
{
  const Strategy *const *list = set != NULL ? strategy_set_list (set) : strategy_list ();
  g_autoptr (GPtrArray)  names = g_ptr_array_new ();
  g_autofree char       *near = NULL, *all = NULL;

  for (guint i = 0; i < G_N_ELEMENTS (families); i++)
    if (g_ascii_strcasecmp (families[i].word, name) == 0)
      return g_strdup_printf ("did you mean one of %s?", families[i].meant);
  for (guint i = 0; list[i] != NULL; i++)
    g_ptr_array_add (names, (gpointer) list[i]->name);
  g_ptr_array_add (names, NULL);
  near = suggest_hint (name, (const char *const *) names->pdata);
  all = g_strjoinv (", ", (char **) names->pdata);
  return g_str_has_prefix (near, "did you") ? g_strdup_printf ("%s strategies: %s", near, all)
                                            : g_strdup_printf ("strategies: %s", all);
}
