#include "strategy/plugin-file.h"

#include <link.h>
#include <string.h>

gboolean
plugin_file_is_cut (const char *file)
{
  g_autoptr (GMappedFile) mapped = g_mapped_file_new (file, FALSE, NULL);
  const gsize             length = mapped != NULL ? g_mapped_file_get_length (mapped) : 0;
  ElfW (Ehdr) header;
  ElfW (Phdr) segment;

  if (length < sizeof header)
    return FALSE;
  memcpy (&header, g_mapped_file_get_contents (mapped), sizeof header);
  if (memcmp (header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof segment)
    return FALSE;
  if (header.e_phoff > length || header.e_phnum > (length - header.e_phoff) / sizeof segment)
    return TRUE;
  for (guint i = 0; i < header.e_phnum; i++)
    {
      memcpy (&segment, g_mapped_file_get_contents (mapped) + header.e_phoff + i * sizeof segment,
              sizeof segment);
      if (segment.p_type == PT_LOAD
          && (segment.p_offset > length || segment.p_filesz > length - segment.p_offset))
        return TRUE;
    }
  return FALSE;
}
