#include "api/shardsim.h"

#include "report/document/answer.h"

static void
item_clear (gpointer data)
{
  AnswerItem *self = data;

  g_free (self->name);
  g_free (self->title);
}

static void
add_item (GArray *items, const char *name, const char *title)
{
  AnswerItem item = { g_strdup (name), g_strdup (title) };

  g_array_append_val (items, item);
}

char *
shardsim_list (const char *kind)
{
  g_autoptr (GArray)   items = g_array_new (FALSE, FALSE, sizeof (AnswerItem));
  g_autoptr (DiagList) diags = diag_list_new ();
  GString             *out = g_string_new (NULL);

  g_array_set_clear_func (items, item_clear);
  if (g_str_equal (kind, "strategies"))
    for (const Strategy *const *list = strategy_list (); *list != NULL; list++)
      add_item (items, (*list)->name, (*list)->title);
  else if (g_str_equal (kind, "models"))
    {
      g_auto (GStrv) names = model_list_shipped ();

      for (guint i = 0; names[i] != NULL; i++)
        add_item (items, names[i], NULL);
    }
  else if (g_strv_contains (profile_kind_names, kind))
    {
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      g_auto (GStrv)         ids = profile_set_list (profiles, kind);

      for (guint i = 0; ids[i] != NULL; i++)
        add_item (items, ids[i],
                  g_str_equal (kind, "cluster")
                      ? NULL
                      : profile_set_title (profiles, kind, ids[i], diags));
    }
  else
    {
      g_autofree char *kinds = g_strjoinv (", ", (char **) profile_kind_names);
      g_autofree char *hint = g_strdup_printf ("one of: strategies, models, %s", kinds);

      diag_error (diags, NULL, hint, "there are no lists of '%s'", kind);
    }
  report_items_json (items, diags, out);
  return g_string_free (out, FALSE);
}

const char *
shardsim_version (void)
{
  return layout_program_version ();
}

void
shardsim_free (char *text)
{
  g_free (text);
}
