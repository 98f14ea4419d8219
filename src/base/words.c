#include "base/words.h"

GPtrArray *
words_of (const GArray *rows, gsize offset)
{
  const guint size = g_array_get_element_size ((GArray *) rows);
  GPtrArray  *words = g_ptr_array_new ();

  for (guint i = 0; i < rows->len; i++)
    {
      char *word = G_STRUCT_MEMBER (char *, rows->data + (gsize) i * size, offset);

      if (!g_ptr_array_find_with_equal_func (words, word, g_str_equal, NULL))
        g_ptr_array_add (words, word);
    }
  return words;
}
