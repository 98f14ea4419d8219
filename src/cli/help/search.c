#include "cli/help/search.h"

#include <string.h>

#include "base/config/config.h"
#include "base/config/suggest.h"
#include "cli/argument/section-options.h"
#include "cli/help/help-index.h"
#include "cli/help/pages.h"

typedef struct
{
  char     **words; /* lower case, '-' for '_' */
  GPtrArray *found; /* Found */
  GPtrArray *names; /* of everything, for a hint */
} Search;

static void
found_free (gpointer data)
{
  Found *self = data;

  if (self == NULL) /* what sort_found took */
    return;
  g_free (self->name);
  g_free (self->help);
  g_free (self);
}

/* As words are compared: lower case, '-' for '_', without leading dashes. */
static char *
plain (const char *text)
{
  return g_strdelimit (g_ascii_strdown (text + strspn (text, "-"), -1), "_", '-');
}

/* A shorter word inside another is chance: "tp" in "output". */
#define LEAST_PART 4

/* Whether WORD stands in TEXT; *BEGINS: some word of TEXT begins with it. */
static gboolean
stands_in (const char *text, const char *word, gboolean *begins)
{
  gboolean stands = FALSE;

  *begins = FALSE;
  for (const char *at = strstr (text, word); at != NULL; at = strstr (at + 1, word))
    {
      *begins |= at == text || !g_ascii_isalnum (at[-1]);
      stands |= *begins || strlen (word) >= LEAST_PART;
    }
  return stands;
}

/* FALSE: NAME and HELP, both plain, have nothing to do with WORD. */
static gboolean
is_near (const char *name, const char *help, const char *word, Nearness *nearness)
{
  gboolean begins;

  if (g_str_equal (name, word))
    *nearness = NEAR_NAME;
  else if (stands_in (name, word, &begins))
    *nearness = begins ? NEAR_WORD : NEAR_PART;
  else if (stands_in (help, word, &begins))
    *nearness = begins ? NEAR_HELP : NEAR_ANYWHERE;
  else
    return FALSE;
  return TRUE;
}

/* A hint may be a part of a name, too: "checkpointing". */
static void
add_hints (Search *self, const char *name)
{
  g_auto (GStrv) parts = g_strsplit (name, "-", -1);

  g_ptr_array_add (self->names, g_strdup (name));
  for (guint i = 0; parts[i] != NULL; i++)
    if (strlen (parts[i]) >= LEAST_PART)
      g_ptr_array_add (self->names, g_strdup (parts[i]));
}

/*
 * NAME is what a word is compared with, SHOWN ("--micro-batch") what is printed of it; VALUES,
 * which it may take (NULL: any), are as good as the text of HELP, but not printed.
 */
static void
consider (Search *self, const char *kind, const char *name, const char *shown, const char *help,
          const char *const *values)
{
  g_autofree char *list = values != NULL ? g_strjoinv (" ", (char **) values) : g_strdup ("");
  g_autofree char *text = g_strjoin (" ", help != NULL ? help : "", list, NULL);
  g_autofree char *plain_name = plain (name), *plain_help = plain (text);
  Nearness         farthest = NEAR_NAME;
  Found           *found;

  for (guint i = 0; self->words[i] != NULL; i++)
    {
      Nearness nearness;

      if (!is_near (plain_name, plain_help, self->words[i], &nearness))
        return;
      farthest = MAX (farthest, nearness);
    }
  found = g_new0 (Found, 1);
  found->kind = kind;
  found->name = g_strdup (shown);
  found->help = g_strdup (help != NULL ? help : "");
  found->nearness = farthest;
  g_ptr_array_add (self->found, found);
}

/* The same, of something whose name may be misspelt. */
static void
look_at (Search *self, const char *kind, const char *name, const char *shown, const char *help)
{
  g_autofree char *plain_name = plain (name);

  add_hints (self, plain_name);
  consider (self, kind, name, shown, help, NULL);
}

static void
look_at_values (Search *self, const char *name, const char *shown, const char *help,
                const OptionSpec *spec)
{
  g_autofree char *plain_name = plain (name);

  add_hints (self, plain_name);
  consider (self, "option", name, shown, help, spec != NULL ? spec->choices : NULL);
}

static void
look_at_keys (Search *self, const OptionSpec *table, const char *prefix)
{
  for (const OptionSpec *spec = table; spec != NULL && spec->key != NULL; spec++)
    {
      g_autofree char *shown = g_strconcat (prefix, spec->key, NULL);

      look_at_values (self, spec->key, shown, spec->help, spec);
    }
}

/* An option, and the pages on which its name and text are the same. */
typedef struct
{
  const PageOption *option;
  GPtrArray        *pages; /* const Page */
} SharedOption;

static void
shared_free (gpointer data)
{
  SharedOption *self = data;

  g_ptr_array_unref (self->pages);
  g_free (self);
}

static void
share (GPtrArray *shared, const Page *page, const PageOption *option)
{
  SharedOption *one = NULL;

  for (guint i = 0; one == NULL && i < shared->len; i++)
    {
      SharedOption *other = g_ptr_array_index (shared, i);

      if (g_str_equal (other->option->name, option->name)
          && g_str_equal (other->option->help, option->help))
        one = other;
    }
  if (one == NULL)
    {
      one = g_new0 (SharedOption, 1);
      one->option = option;
      one->pages = g_ptr_array_new ();
      g_ptr_array_add (shared, one);
    }
  g_ptr_array_add (one->pages, (gpointer) page);
}

/* "--steps" where many commands have it, else "simulate --max". */
static void
look_at_option (Search *self, const SharedOption *shared, guint n_pages)
{
  const PageOption   *option = shared->option;
  g_autoptr (GString) shown = g_string_new (NULL);

  if (g_str_has_prefix (option->name, "help-"))
    return;
  if (!option->of_section && shared->pages->len < n_pages / 2)
    for (guint i = 0; i < shared->pages->len; i++)
      g_string_append_printf (shown, "%s%s", i > 0 ? ", " : "",
                              ((const Page *) shared->pages->pdata[i])->command->name);
  g_string_append_printf (shown, "%s--%s", shown->len > 0 ? " " : "", option->name);
  look_at_values (self, option->name, shown->str,
                  option->of_section && option->spec != NULL ? option->spec->help : option->help,
                  option->spec);
}

static void
look_at_commands (Search *self)
{
  g_autoptr (GPtrArray) pages = pages_collect ();
  g_autoptr (GPtrArray) shared = g_ptr_array_new_with_free_func (shared_free);
  const PageOption     *option;

  for (guint p = 0; p < pages->len; p++)
    {
      const Page *page = g_ptr_array_index (pages, p);

      look_at (self, "command", page->command->name, page->command->name, page->command->help);
      for (guint i = 0; (option = page_option (page, i)) != NULL; i++)
        share (shared, page, option);
    }
  for (guint i = 0; i < shared->len; i++)
    look_at_option (self, g_ptr_array_index (shared, i), pages->len);
}

static void
look_at_profiles (Search *self, const char *search_path)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (search_path);

  for (guint k = 0; profile_kind_names[k] != NULL; k++)
    {
      const char    *kind = profile_kind_names[k];
      g_auto (GStrv) ids = profile_set_list (profiles, kind);

      for (guint i = 0; ids[i] != NULL; i++)
        {
          g_autofree char *file = profile_set_file (profiles, kind, ids[i]);
          g_autofree char *title = file != NULL ? config_peek (file, "title") : NULL;

          look_at (self, kind, ids[i], ids[i], title);
        }
    }
}

/*
 * Words of the documentation. Each word of a term is a name of its own, so that "vram" and "GPU
 * memory" both are what it is called.
 */
static void
look_at_documentation (Search *self)
{
  for (const HelpIndexEntry *entry = help_index; entry->kind != NULL; entry++)
    {
      g_autofree char *help = *entry->help != '\0'
                                  ? g_strdup_printf ("%s (%s)", entry->help, entry->page)
                                  : g_strdup (entry->page);
      g_autofree char *names =
          g_strjoin (", ", entry->name, *entry->also != '\0' ? entry->also : NULL, NULL);

      consider (self, entry->kind, names, entry->name, help, NULL);
    }
}

static void
look_at_all (Search *self, const Common *common)
{
  g_auto (GStrv) models = model_list_shipped ();

  look_at_commands (self);
  for (guint s = 0; s < N_OPTION_SECTIONS; s++)
    {
      g_autofree char *prefix = g_strdup_printf ("--set %s.", option_sections[s].name);

      if (option_sections[s].flags == 0)
        look_at_keys (self, scenario_section_table (option_sections[s].name), prefix);
    }
  for (const Strategy *const *list = strategy_set_list (common->strategies); *list != NULL; list++)
    {
      g_autofree char *prefix = g_strdup_printf ("%s: --set strategy.", (*list)->name);

      look_at (self, "strategy", (*list)->name, (*list)->name, (*list)->title);
      look_at_keys (self, (*list)->options, prefix);
    }
  look_at_profiles (self, common->hwprofiles);
  for (guint i = 0; models[i] != NULL; i++)
    look_at (self, "model", models[i], models[i], NULL);
  look_at_documentation (self);
}

/* ---- order ----------------------------------------------------------------------------------- */

static gint
kind_order (const char *kind)
{
  static const char *const first[] = { "term", "command", "option", "strategy", NULL };
  gint                     index = name_index (kind, first);

  /* Headings stand last: they say where to read, not what it is. */
  return index >= 0 ? index : (gint) G_N_ELEMENTS (first) + g_str_equal (kind, "page");
}

/* Those of a rank stay in the order in which they were found. */
static GPtrArray *
sort_found (GPtrArray *found)
{
  GPtrArray *sorted = g_ptr_array_new_with_free_func (found_free);
  gboolean   nearer = FALSE;

  for (guint i = 0; i < found->len; i++)
    nearer |= ((const Found *) found->pdata[i])->nearness < NEAR_ANYWHERE;
  for (gint kind = 0; kind <= kind_order ("page"); kind++)
    for (Nearness rank = NEAR_NAME; rank <= (nearer ? NEAR_HELP : NEAR_ANYWHERE); rank++)
      for (guint i = 0; i < found->len; i++)
        {
          Found *one = found->pdata[i];

          if (one != NULL && kind_order (one->kind) == kind && one->nearness == rank)
            g_ptr_array_add (sorted, g_steal_pointer (&found->pdata[i]));
        }
  return sorted;
}

GPtrArray *
search_all (const Common *common, char *const *words, char **hint)
{
  g_autoptr (GPtrArray)    found = g_ptr_array_new_with_free_func (found_free);
  g_autoptr (GPtrArray)    names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GStrvBuilder) builder = g_strv_builder_new ();
  g_auto (GStrv)           wanted = NULL;
  Search                   self = { .found = found, .names = names };

  for (guint i = 0; words[i] != NULL; i++)
    {
      g_autofree char *word = plain (words[i]);

      g_strv_builder_add (builder, word);
    }
  self.words = wanted = g_strv_builder_end (builder);
  look_at_all (&self, common);
  *hint = NULL;
  if (found->len == 0)
    {
      g_ptr_array_add (names, NULL);
      *hint = g_strdup (suggest_nearest (wanted[0], (const char *const *) names->pdata));
    }
  return sort_found (found);
}
