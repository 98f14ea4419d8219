#include "report/answer/job.h"

#include <string.h>

#define LINE 100

/* Appends WORDS after HEAD, as many a line as it holds. */
static void
append_list (GString *out, const char *head, const GPtrArray *words)
{
  gsize at = 0;

  for (guint i = 0; i < words->len; i++)
    {
      const char *word = g_ptr_array_index (words, i);

      if (at > 0 && at + strlen (word) + 2 > LINE)
        {
          g_string_append (out, ",\n    ");
          at = 4;
        }
      else if (at > 0)
        {
          g_string_append (out, ", ");
          at += 2;
        }
      else
        {
          g_string_append_printf (out, "  %s: ", head);
          at = strlen (head) + 4;
        }
      g_string_append (out, word);
      at += strlen (word);
    }
  if (words->len > 0)
    g_string_append_c (out, '\n');
}

/* Entries of USE as words. */
static GPtrArray *
collect (const JobAccount *account, JobUse use)
{
  GPtrArray *words = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < account->entries->len; i++)
    {
      const JobEntry *entry = g_ptr_array_index (account->entries, i);

      if (entry->use != use)
        continue;
      if (use == JOB_ASSUMED)
        {
          g_autofree char *option = scenario_option_word (entry->option);

          g_ptr_array_add (words, entry->set != NULL
                                      ? g_strdup_printf ("%s (%s meanwhile)", option, entry->set)
                                      : g_strdup (option));
        }
      else if (use == JOB_FILLED && entry->option != NULL && entry->set != NULL
               && !g_str_has_prefix (entry->option, "fact."))
        {
          g_autofree char *option = scenario_short_key (entry->option);

          g_ptr_array_add (words, g_strdup_printf ("%s %s", option, entry->set));
        }
      else if (use != JOB_FILLED && entry->key != NULL)
        g_ptr_array_add (words, g_strdup (entry->key));
    }
  return words;
}

static void
append_use (const JobAccount *account, JobUse use, const char *head, GString *out)
{
  g_autoptr (GPtrArray) words = collect (account, use);

  append_list (out, head, words);
}

/* Keys of USE: each once, though it sets several options. */
static guint
count_keys (const JobAccount *account, JobUse use)
{
  g_autoptr (GHashTable) keys = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < account->entries->len; i++)
    {
      const JobEntry *entry = g_ptr_array_index (account->entries, i);

      if (entry->use == use && entry->key != NULL)
        g_hash_table_add (keys, entry->key);
    }
  return g_hash_table_size (keys);
}

void
report_job (const JobAccount *account, GString *out)
{
  const guint unknown = count_keys (account, JOB_UNKNOWN);

  g_string_append_printf (out, "job of %s: %s\n  keys: %u taken, %u of no effect here",
                          account->framework, account->file, count_keys (account, JOB_TAKEN),
                          count_keys (account, JOB_NO_EFFECT));
  if (unknown > 0)
    g_string_append_printf (out, ", %u unknown", unknown);
  g_string_append_c (out, '\n');
  append_use (account, JOB_FILLED, "the framework's own", out);
  append_use (account, JOB_NOT_FOLLOWED, "not followed", out);
  append_use (account, JOB_ASSUMED, "yours to give", out);
}

void
report_job_keys (const JobAccount *account, GString *out)
{
  report_job (account, out);
  for (guint i = 0; i < account->entries->len; i++)
    {
      const JobEntry *entry = g_ptr_array_index (account->entries, i);

      if (entry->key == NULL)
        continue;
      g_string_append_printf (out, "  %u: %s: %s", entry->mark.line, entry->key, entry->value);
      if (entry->option != NULL && entry->use != JOB_NO_EFFECT)
        g_string_append_printf (out, " -> %s %s", entry->option,
                                entry->set != NULL ? entry->set : "");
      else
        g_string_append (out, entry->use == JOB_NO_EFFECT      ? ": of no effect here"
                              : entry->use == JOB_TAKEN        ? ": as it is here"
                              : entry->use == JOB_NOT_FOLLOWED ? ": not followed"
                                                               : ": unknown");
      if (entry->why != NULL)
        g_string_append_printf (out, " (%s)", entry->why);
      g_string_append_c (out, '\n');
    }
}
