#include "hardware/profile/named-link-private.h"

#include <string.h>

#define WAN_BASE "wan-1g-30ms"
#define LAN_BASE "lan-100m"

/* "10g", "200m" at TEXT: Gbit/s or Mbit/s. Where it ends; NULL: no such thing. */
static const char *
parse_rate (const char *text, double *rate)
{
  char *end;
  if (!g_ascii_isdigit (text[0]) || text[0] == '0')
    return NULL;
  const double number = (double) g_ascii_strtoull (text, &end, 10);
  if (*end != 'g' && *end != 'm')
    return NULL;
  *rate = number * (*end == 'g' ? 1e9 : 1e6) / 8;
  return *rate <= 1e12 ? end + 1 : NULL;
}

gboolean
named_link_parse (const char *id, NamedLink *link)
{
  const gboolean wan = g_str_has_prefix (id, "wan-");
  if (!wan && !g_str_has_prefix (id, "lan-"))
    return FALSE;
  *link = (NamedLink){ wan ? WAN_BASE : LAN_BASE, 0, -1 };
  const char *end = parse_rate (id + 4, &link->rate);
  if (end == NULL || !wan)
    return end != NULL && *end == '\0';
  if (*end != '-' || !g_ascii_isdigit (end[1]))
    return FALSE;
  char *unit;
  link->latency = (double) g_ascii_strtoull (end + 1, &unit, 10) / 1e3;
  return strcmp (unit, "ms") == 0 && link->latency <= 10;
}

static void
set_by_id (Figure *figure, double value)
{
  g_free (figure->source);
  *figure = (Figure){ value, value, value, CONFIDENCE_DATASHEET, g_strdup ("by its name") };
}

void
named_link_set (LinkProfile *link, const NamedLink *named)
{
  set_by_id (&link->bandwidth, named->rate);
  g_free (link->title);
  if (named->latency < 0)
    {
      link->title = g_strdup_printf ("Ethernet %g Mbit/s between plain hosts", named->rate * 8e-6);
      return;
    }
  set_by_id (&link->latency, named->latency);
  link->title = g_strdup_printf ("wide-area link, %g Gbit/s and %g ms", named->rate * 8e-9,
                                 named->latency * 1e3);
}
