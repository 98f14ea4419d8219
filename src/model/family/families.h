/* The families whose config.json is read, in words: what docs/models.md lists. */
#pragma once

#include <glib.h>

typedef struct
{
  char *name;          /* model_type */
  char *aliases;       /* other values of it that are read alike, by blanks; "": none */
  char *architectures; /* what architectures[0] begins with, by blanks */
  char *block;         /* what its blocks are made of, where a file says nothing else */
} ModelFamily;

/* The I-th, from 0. FALSE: there are not so many. */
gboolean model_family_at (guint i, ModelFamily *family);
void     model_family_clear (ModelFamily *self);
