/*
 * Links that need no file, by their names: "wan-10g-50ms", "wan-200m-5ms" are a rate and a one-way
 * time, "lan-50m" is a rate; all else is what the profile BASE says. Whole numbers only: an id has
 * to name one link in one way.
 */
#pragma once

#include "hardware/profile/profile.h"

typedef struct
{
  const char *base;    /* the profile whose rate, and time, the name replaces */
  double      rate;    /* B/s */
  double      latency; /* s one way; < 0: the base's */
} NamedLink;

/* FALSE: ID is no such name. */
gboolean named_link_parse (const char *id, NamedLink *link);

/* Makes LINK, a profile of NAMED's base, what the name says. */
void named_link_set (LinkProfile *link, const NamedLink *named);
