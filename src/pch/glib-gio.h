/*
 * Precompiled: what nearly every file includes, and what takes two fifths of the time to compile
 * one. Files still include what they use: builds with -Db_pch=false hold that.
 */
#include <gio/gio.h>
#include <glib.h>
