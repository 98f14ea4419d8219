/* The secret that lets others of the network ask: a file that its owner alone reads. */
#pragma once

#include <gio/gio.h>

#define TOKEN_LEAST 20 /* characters; each is a letter, a digit or one of -._~ */

/* 64 characters that nobody can guess. Newly allocated. */
char *token_draw (void);

/*
 * The token of FILE, which is made with a new one where there is no such file. NULL with ERROR set:
 * also where others may read FILE, or where it holds too little. Newly allocated.
 */
char *token_file_read (const char *file, GError **error);
