/*
 * The tree that toml++ makes of a text, flat. Nothing else of the program is C++: there is no TOML
 * library in C that Debian has.
 */
#include <glib.h>

#include <sstream>
#include <string>
#include <string_view>
#include <toml++/toml.h>

/* Of job-toml.h, whose other half is not for C++. */
extern "C"
{
  typedef void (*JobTomlSetting) (gpointer user, const char *key, const char *value, guint line,
                                  guint column);

  typedef struct
  {
    char *message;
    guint line, column;
  } JobTomlError;

  gboolean job_toml_parse (const char *text, gsize length, JobTomlSetting setting, gpointer user,
                           JobTomlError *error);
}

namespace
{

struct Sink
{
  JobTomlSetting setting;
  gpointer       user;
};

std::string
text_of (const toml::node &node)
{
  std::ostringstream out;

  if (const auto *string = node.as_string ())
    return string->get ();
  if (const auto *boolean = node.as_boolean ())
    return boolean->get () ? "true" : "false";
  if (const auto *number = node.as_floating_point ())
    {
      char buffer[G_ASCII_DTOSTR_BUF_SIZE];

      return g_ascii_formatd (buffer, sizeof buffer, "%.15g", number->get ());
    }
  if (const auto *whole = node.as_integer ())
    return std::to_string (whole->get ());
  if (const auto *date = node.as_date ())
    out << date->get ();
  else if (const auto *time = node.as_time ())
    out << time->get ();
  else if (const auto *both = node.as_date_time ())
    out << both->get ();
  return out.str ();
}

void walk (const Sink &sink, const std::string &key, const toml::node &node);

void
walk_array (const Sink &sink, const std::string &key, const toml::array &array)
{
  std::string all;
  bool        nested = false;

  for (const auto &item : array)
    nested = nested || item.is_table () || item.is_array ();
  for (std::size_t i = 0; i < array.size (); i++)
    if (nested)
      walk (sink, key + "." + std::to_string (i), array[i]);
    else
      all += (i > 0 ? "," : "") + text_of (array[i]);
  if (!nested)
    sink.setting (sink.user, key.c_str (), all.c_str (), array.source ().begin.line,
                  array.source ().begin.column);
}

void
walk (const Sink &sink, const std::string &key, const toml::node &node)
{
  if (const auto *table = node.as_table ())
    for (const auto &[name, value] : *table)
      walk (sink, key.empty () ? std::string (name.str ()) : key + "." + std::string (name.str ()),
            value);
  else if (const auto *array = node.as_array ())
    walk_array (sink, key, *array);
  else
    sink.setting (sink.user, key.c_str (), text_of (node).c_str (), node.source ().begin.line,
                  node.source ().begin.column);
}

} // namespace

gboolean
job_toml_parse (const char *text, gsize length, JobTomlSetting setting, gpointer user,
                JobTomlError *error)
{
  try
    {
      const toml::table table = toml::parse (std::string_view (text, length));

      walk (Sink{ setting, user }, "", table);
      return TRUE;
    }
  catch (const toml::parse_error &wrong)
    {
      const std::string message (wrong.description ());

      error->message = g_strdup (message.c_str ());
      error->line = wrong.source ().begin.line;
      error->column = wrong.source ().begin.column;
    }
  catch (const std::exception &wrong)
    {
      error->message = g_strdup (wrong.what ());
      error->line = error->column = 0;
    }
  return FALSE;
}
