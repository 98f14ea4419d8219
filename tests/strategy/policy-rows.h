/*
 * Strategies of the tests alone: policies over the issues as they are, with hops that no built-in
 * system has. NULL-terminated.
 */
#pragma once

#include "driver/policy/strategy.h"

extern const Strategy *const policy_rows[];
