/*
 * Mutates inputs of lines, settings and command lines: adds an option of the program's own tables
 * with a value of its type or a nasty one, changes the value of a line, takes a line away or
 * writes it twice. Else as any bytes.
 */
#include "mutate.h"

#include <math.h>
#include <string.h>

#include "fuzz.h"

static const char *const nasty[] = {
  "",
  "0",
  "1",
  "2",
  "3",
  "-1",
  "-0",
  "1e308",
  "4e-324",
  "1e-299",
  "nan",
  "inf",
  "0.5",
  "1e9",
  "none",
  "auto",
  "on",
  "1:0.5",
  "0:1e-99",
  "0:4e-324",
  "1:3e-9",
  "0:1",
  "0:0.5,1:",
  "0.0:0.01",
  "9999999999",
  "9223372036854775807",
  "18446744073709551616",
  "67108864",
  "1 ps",
  "1e-12 s",
  "1 EB/s",
  "0.1 %",
  "%",
  "a",
  "b",
};

static const char *const sections[] = { "cluster", "model",  "training",  "mesh",
                                        "memory",  "replay", "collective" };

static const char *
pick (GRand *rand, const char *const *words, guint n)
{
  return words[g_rand_int_range (rand, 0, (gint) n)];
}

static char *
pick_string (GRand *rand, const char *key)
{
  static const struct
  {
    const char *key, *kind;
  } kinds[] = { { "gpu", "gpu" },   { "intra", "link" }, { "nic", "link" },
                { "node", "node" }, { "name", "node" },  { "framework", "framework" } };

  for (guint i = 0; i < G_N_ELEMENTS (kinds); i++)
    if (g_str_equal (kinds[i].key, key))
      {
        g_auto (GStrv) ids = profile_set_list (fuzz_profiles (), kinds[i].kind);

        return g_strdup (pick (rand, (const char *const *) ids, g_strv_length (ids)));
      }
  return g_strdup (pick (rand, nasty, G_N_ELEMENTS (nasty)));
}

static char *
pick_value (GRand *rand, const OptionSpec *spec)
{
  if (g_rand_int_range (rand, 0, 4) == 0)
    return g_strdup (pick (rand, nasty, G_N_ELEMENTS (nasty)));
  switch (spec->type)
    {
    case OPTION_BOOL:
      return g_strdup (g_rand_boolean (rand) ? "on" : "off");
    case OPTION_ENUM:
      return g_strdup (pick (rand, spec->choices, g_strv_length ((char **) spec->choices)));
    case OPTION_INT:
      return g_strdup_printf ("%d", g_rand_boolean (rand) ? g_rand_int_range (rand, 0, 9)
                                                          : 1 << g_rand_int_range (rand, 0, 20));
    case OPTION_QUANTITY:
      return quantity_format (spec->kind, pow (10, g_rand_double_range (rand, -13, 16)), 3);
    default:
      return pick_string (rand, spec->key);
    }
}

static char *
line_of_table (GRand *rand, const char *section, const OptionSpec *table)
{
  guint n = 0, i;

  while (table[n].key != NULL)
    n++;
  if (n == 0)
    return g_strdup ("");
  i = (guint) g_rand_int_range (rand, 0, (gint) n);
  {
    g_autofree char *value = pick_value (rand, &table[i]);

    return fuzz_option_line (section, table[i].key, value);
  }
}

static char *
new_line (GRand *rand)
{
  const Strategy *const *all = strategy_list ();
  guint                  n = 0;
  const Strategy        *strategy;

  while (all[n] != NULL)
    n++;
  strategy = all[g_rand_int_range (rand, 0, (gint) n)];
  switch (g_rand_int_range (rand, 0, 8))
    {
    case 0:
      return fuzz_option_line ("strategy", "name", strategy->name);
    case 1:
      return strategy->options != NULL ? line_of_table (rand, "strategy", strategy->options)
                                       : g_strdup ("");
    default:
      {
        const char *section = pick (rand, sections, G_N_ELEMENTS (sections));

        return line_of_table (rand, section, scenario_section_table (section));
      }
    }
}

/* LINE with another value. */
static char *
change_value (GRand *rand, const char *line)
{
  const char *equals = strchr (line, '=');
  const char *value = pick (rand, nasty, G_N_ELEMENTS (nasty));

  return equals != NULL ? g_strdup_printf ("%.*s=%s", (int) (equals - line), line, value)
                        : g_strdup (value);
}

static void
mutate_lines (GRand *rand, GPtrArray *lines)
{
  const guint at = (guint) g_rand_int_range (rand, 0, (gint) lines->len);

  switch (g_rand_int_range (rand, 0, 6))
    {
    case 0:
      g_ptr_array_remove_index (lines, at);
      break;
    case 1:
      g_ptr_array_insert (lines, (gint) at, g_strdup (g_ptr_array_index (lines, at)));
      break;
    case 2:
      g_ptr_array_insert (lines, (gint) at, change_value (rand, lines->pdata[at]));
      g_ptr_array_remove_index (lines, at + 1);
      break;
    default:
      g_ptr_array_insert (lines, (gint) at, new_line (rand));
    }
}

size_t
LLVMFuzzerCustomMutator (guint8 *data, size_t size, size_t max, unsigned seed)
{
  g_autoptr (GRand)     rand = g_rand_new_with_seed (seed);
  g_autofree char      *text = g_strndup ((const char *) data, size);
  g_auto (GStrv)        words = g_strsplit (text, "\n", -1);
  g_autoptr (GPtrArray) lines = g_ptr_array_new_with_free_func (g_free);
  g_autofree char      *made = NULL;

  if (g_rand_int_range (rand, 0, 3) == 0 || words[0] == NULL)
    return LLVMFuzzerMutate (data, size, max);
  for (guint i = 0; words[i] != NULL; i++)
    g_ptr_array_add (lines, g_strdup (words[i]));
  mutate_lines (rand, lines);
  g_ptr_array_add (lines, NULL);
  made = g_strjoinv ("\n", (char **) lines->pdata);
  size = MIN (strlen (made), max);
  memcpy (data, made, size);
  return size;
}
