/* The mutator of inputs of lines, for libFuzzer alone. */
#pragma once

#include <glib.h>

/* Of the target: the line that sets an option. Newly allocated. */
char *fuzz_option_line (const char *section, const char *key, const char *value);

/* libFuzzer's. */
size_t LLVMFuzzerMutate (guint8 *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator (guint8 *data, size_t size, size_t max, unsigned seed);
