#include "base/file/file-roles.h"
#include "report/plot/gnuplot-private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#define MAX_TITLE 100
#define OMISSION  "..."

static const char *const endings[] = { "dat", "gp", "svg", "png" };

/* ---- texts ----------------------------------------------------------------------------------- */

char *
gnuplot_plain_text (const char *given, glong most)
{
  g_autofree char *text = g_utf8_make_valid (given, -1);
  const glong      length = g_utf8_strlen (text, -1), kept = most - (glong) strlen (OMISSION);
  char            *plain = NULL;

  if (length > most)
    {
      g_autofree char *head = g_utf8_substring (text, 0, kept / 2);

      plain = g_strconcat (head, OMISSION,
                           g_utf8_offset_to_pointer (text, length - (kept - kept / 2)), NULL);
    }
  else
    plain = g_strdup (text);
  for (char *c = plain; *c != '\0'; c++)
    if (g_ascii_iscntrl (*c) || *c == '"' || *c == '\\')
      *c = ' ';
  return plain;
}

void
gnuplot_append_quoted (GString *out, const char *text)
{
  g_autofree char *plain = gnuplot_plain_text (text, MAX_TITLE);
  g_auto (GStrv)   pieces = g_strsplit (plain, "'", -1);
  g_autofree char *doubled = g_strjoinv ("''", pieces);

  g_string_append_printf (out, "'%s'", doubled);
}

void
gnuplot_append_tics (GString *out, char letter, const char *const *names, guint n, glong most)
{
  g_string_append_printf (out, "set %ctics (", letter);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = gnuplot_plain_text (names[i], most);
      g_auto (GStrv)   pieces = g_strsplit (name, "%", -1);
      g_autofree char *label = g_strjoinv ("%%", pieces); /* it is a format */

      g_string_append (out, i > 0 ? ", " : "");
      gnuplot_append_quoted (out, label);
      g_string_append_printf (out, " %u", i);
    }
  g_string_append (out, ")\n");
}

char *
gnuplot_script (const char *name, const char *style, const char *head, const char *plot,
                guint width, guint height)
{
  /* a drawing leaves its settings behind: the second one begins anew */
  return g_strdup_printf (
      "# Draws %s.png and %s.svg from %s.dat: gnuplot %s.gp\ndata = '%s.dat'\n"
      "set terminal pngcairo noenhanced font 'Liberation Sans,12' fontscale 1.6 size %u,%u\n"
      "set output '%s.png'\n%s\n%s\n%s\nreset\n"
      "set terminal svg noenhanced font 'Liberation Sans,12' size %u,%u background '#ffffff'\n"
      "set output '%s.svg'\n%s\n%s\n%s",
      name, name, name, name, name, 8 * width / 5, 8 * height / 5, name, style, head, plot, width,
      height, name, style, head, plot);
}

/* ---- the child process ----------------------------------------------------------------------- */

static gboolean
refuse_absent (GError **error)
{
  g_set_error (error, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT,
               "cannot draw: 'gnuplot' is not installed (Debian's package is gnuplot-nox)");
  return FALSE;
}

static gboolean
run_gnuplot (const char *dir, const char *script, GError **error)
{
  const char *const  words[] = { "gnuplot", "-d", script, NULL };
  g_autoptr (GError) own = NULL;
  g_autofree char   *message = NULL;
  gboolean           good;

  if (!temporary_run (dir, words, &good, &message, &own))
    {
      if (g_error_matches (own, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT))
        return refuse_absent (error);
      g_propagate_prefixed_error (error, g_steal_pointer (&own), "cannot run gnuplot: ");
      return FALSE;
    }
  if (good)
    return TRUE;
  g_set_error (error, G_IO_ERROR, G_IO_ERROR_FAILED, "gnuplot failed: %s",
               *g_strstrip (message) != '\0' ? message : "it ended without a message");
  return FALSE;
}

/* ---- files ----------------------------------------------------------------------------------- */

static gboolean
fail (GError **error, int code, const char *what, const char *path)
{
  g_set_error (error, G_IO_ERROR, (gint) g_io_error_from_errno (code), "cannot %s '%s': %s", what,
               path, g_strerror (code));
  return FALSE;
}

/* Makes DIR; MADE gets the folders that did not exist, the innermost first. */
static gboolean
make_folders (const char *dir, GPtrArray *made, GError **error)
{
  g_autofree char *parent = g_path_get_dirname (dir);

  if (g_file_test (dir, G_FILE_TEST_IS_DIR))
    return TRUE;
  if (!g_str_equal (parent, dir) && !make_folders (parent, made, error))
    return FALSE;
  if (temporary_new_folder (dir))
    g_ptr_array_insert (made, 0, g_strdup (dir));
  else if (errno != EEXIST || !g_file_test (dir, G_FILE_TEST_IS_DIR))
    return fail (error, errno, "make the folder", dir);
  return TRUE;
}

/* Path of NAME.ENDING in DIR. Newly allocated. */
static char *
file_of (const char *dir, const char *name, const char *ending)
{
  g_autofree char *file = g_strdup_printf ("%s.%s", name, ending);

  return g_build_filename (dir, file, NULL);
}

static gboolean
move_files (const char *name, const char *from, const char *to, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (endings); i++)
    {
      g_autofree char *source = file_of (from, name, endings[i]);
      g_autofree char *target = file_of (to, name, endings[i]);
      int              code;

      if (!file_roles_replace (target, error))
        return FALSE;
      code = output_keep_mode (source, target);

      if (code != 0 || g_rename (source, target) != 0)
        return fail (error, code != 0 ? code : errno, "write", target);
    }
  return TRUE;
}

static gboolean
draw_one (const GnuplotPicture *picture, const char *work, GError **error)
{
  g_autofree char *data = file_of (work, picture->name, "dat");
  g_autofree char *script = file_of (work, picture->name, "gp");
  g_autofree char *script_name = g_strconcat (picture->name, ".gp", NULL);

  return g_file_set_contents_full (data, picture->data, -1, G_FILE_SET_CONTENTS_NONE, 0666, error)
         && g_file_set_contents_full (script, picture->script, -1, G_FILE_SET_CONTENTS_NONE, 0666,
                                      error)
         && run_gnuplot (work, script_name, error);
}

/* The ending of a picture in the name DIR, which is no folder yet; NULL without one. */
static const char *
picture_ending (const char *dir)
{
  static const char *const pictures[] = { ".png", ".svg", ".pdf" };
  gsize                    length = strlen (dir);

  for (guint i = 0; i < G_N_ELEMENTS (pictures) && !g_file_test (dir, G_FILE_TEST_IS_DIR); i++)
    if (length >= strlen (pictures[i])
        && g_ascii_strcasecmp (dir + length - strlen (pictures[i]), pictures[i]) == 0)
      return dir + length - strlen (pictures[i]);
  return NULL;
}

gboolean
gnuplot_is_there (GError **error)
{
  g_autofree char *program = g_find_program_in_path ("gnuplot");

  return program != NULL || refuse_absent (error);
}

gboolean
gnuplot_check (const char *dir, GError **error)
{
  const char *ending = picture_ending (dir);

  if (ending != NULL)
    {
      g_set_error (error, G_IO_ERROR, G_IO_ERROR_NOT_DIRECTORY,
                   "cannot draw into '%s': a folder is wanted, into which .png and .svg files are"
                   " drawn: leave out '%s'",
                   dir, ending);
      return FALSE;
    }
  return gnuplot_is_there (error) && output_check (dir, OUTPUT_FOLDER, error);
}

gboolean
gnuplot_draw (const GnuplotPicture *pictures, guint n, const char *dir, GError **error)
{
  g_autoptr (GPtrArray) made = g_ptr_array_new_with_free_func (g_free);
  g_autofree char      *work = g_build_filename (dir, ".plot-XXXXXX", NULL);
  gboolean              drawn = FALSE;

  if (make_folders (dir, made, error))
    {
      if (!temporary_folder (work))
        fail (error, errno, "write in the folder", dir);
      else
        {
          /* everything is drawn in the folder WORK first; then files are moved */
          drawn = TRUE;
          for (guint i = 0; i < n && drawn; i++)
            drawn = draw_one (&pictures[i], work, error);
          for (guint i = 0; i < n && drawn; i++)
            drawn = move_files (pictures[i].name, work, dir, error);
          temporary_remove (work);
        }
    }
  for (guint i = 0; i < made->len; i++)
    if (drawn)
      temporary_keep (g_ptr_array_index (made, i));
    else
      temporary_remove (g_ptr_array_index (made, i));
  return drawn;
}

char **
gnuplot_draw_svgs (const GnuplotPicture *pictures, guint n, GError **error)
{
  g_autofree char *work = g_build_filename (g_get_tmp_dir (), "shardsim-XXXXXX", NULL);
  char           **svgs = g_new0 (char *, n + 1);
  guint            drawn = 0;

  if (!temporary_folder (work))
    {
      fail (error, errno, "write in the folder", g_get_tmp_dir ());
      g_strfreev (svgs);
      return NULL;
    }
  for (; drawn < n && draw_one (&pictures[drawn], work, error); drawn++)
    {
      g_autofree char *file = file_of (work, pictures[drawn].name, "svg");

      if (!g_file_get_contents (file, &svgs[drawn], NULL, error))
        break;
    }
  temporary_remove (work);
  if (drawn == n)
    return svgs;
  g_strfreev (svgs);
  return NULL;
}

static void
picture_clear (gpointer data)
{
  GnuplotPicture *self = data;

  g_free (self->name);
  g_free (self->data);
  g_free (self->script);
}

GArray *
gnuplot_pictures_new (void)
{
  GArray *pictures = g_array_new (FALSE, FALSE, sizeof (GnuplotPicture));

  g_array_set_clear_func (pictures, picture_clear);
  return pictures;
}
