#include "base/version.h"

gboolean
version_is_valid (const char *text)
{
  if (text == NULL)
    return FALSE;
  do
    {
      if (!g_ascii_isdigit (*text))
        return FALSE;
      while (g_ascii_isdigit (*text))
        text++;
    }
  while (*text == '.' && *++text != '\0');
  return *text == '\0' && text[-1] != '.';
}

int
version_compare (const char *a, const char *b)
{
  for (;;)
    {
      char   *end_a, *end_b;
      guint64 x = g_ascii_strtoull (a, &end_a, 10), y = g_ascii_strtoull (b, &end_b, 10);

      if (x != y)
        return x < y ? -1 : 1;
      if (*end_a != '.' || *end_b != '.')
        return 0;
      a = end_a + 1;
      b = end_b + 1;
    }
}
