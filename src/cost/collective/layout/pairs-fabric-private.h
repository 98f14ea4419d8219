/* What an all-to-all puts on the fabric between its members' cards. */
#pragma once

#include "cost/collective/layout/exits-private.h"

/* Every member sends BYTES to every other of another node. */
void pairs_add_fabric (const Exits *exits, double bytes);
