/* What the profile of a release of kernels holds, and which one a name means. */
#include "hardware/profile/kernel-release.h"

#include <string.h>

#include "base/version.h"
#include "hardware/profile/profile-tables-private.h"

#define RELEASE(member) G_STRUCT_OFFSET (KernelRelease, member)
#define SHARE           QUANTITY_RATIO
#define LEAST           0.05
#define MOST            1.5

static const OptionSpec scalars[] = {
  { .key = "title", .type = OPTION_STRING, .offset = RELEASE (title), .help = "what it is" },
  { .key = "family",
    .type = OPTION_STRING,
    .offset = RELEASE (family),
    .help = "the vendor's platform: releases are ordered inside of one" },
  { .key = "version",
    .type = OPTION_STRING,
    .offset = RELEASE (version),
    .help = "the first release that has these figures" },
  { .key = "runs_on",
    .type = OPTION_STRING,
    .offset = RELEASE (runs_on),
    .help = "architectures of GPUs that it has kernels for" },
  { .key = "differs_on",
    .type = OPTION_STRING,
    .offset = RELEASE (differs_on),
    .optional = TRUE,
    .help = "those of them that its figures are of" },
  { 0 },
};

static const FigureSpec figures[] = {
  { "matmul", SHARE, RELEASE (matmul), 1, LEAST, MOST },
  { "flash", SHARE, RELEASE (flash), 1, LEAST, MOST },
  { "flash_backward", SHARE, RELEASE (flash_backward), 1, LEAST, MOST },
  { "cudnn", SHARE, RELEASE (cudnn), 1, LEAST, MOST },
  { "cudnn_backward", SHARE, RELEASE (cudnn_backward), 1, LEAST, MOST },
  { 0 },
};

/* ---- mistakes in a file ---------------------------------------------------------------------- */

static const SourceMark *
mark_of (const ConfigNode *root, const char *key)
{
  const ConfigNode *node = config_node_get (root, key);

  return config_node_mark (node != NULL ? node : root);
}

/* Every word of WORDS (may be NULL), the value of KEY, is one of ALLOWED. */
static void
check_words (const char *key, const char *words, const char *const *allowed, const char *hint,
             const ConfigNode *root, DiagList *diags)
{
  g_auto (GStrv) split = g_strsplit (words != NULL ? words : "", " ", -1);

  for (guint i = 0; split[i] != NULL; i++)
    if (*split[i] != '\0' && !g_strv_contains (allowed, split[i]))
      diag_error (diags, mark_of (root, key), hint, "'%s' of '%s' is no architecture of those",
                  split[i], key);
}

static gboolean
has_figures (const KernelRelease *self)
{
  return self->matmul.source != NULL || self->flash.source != NULL
         || self->flash_backward.source != NULL || self->cudnn.source != NULL
         || self->cudnn_backward.source != NULL;
}

static void
release_check (gpointer profile, const ConfigNode *root, DiagList *diags)
{
  const KernelRelease *self = profile;
  g_auto (GStrv)       own = g_strsplit (self->runs_on != NULL ? self->runs_on : "", " ", -1);

  if (self->version != NULL && !version_is_valid (self->version))
    diag_error (diags, mark_of (root, "version"), "numbers and dots, such as \"12.1\"",
                "'%s' is no version", self->version);
  check_words ("runs_on", self->runs_on, profile_architectures, "as profiles of GPUs have them",
               root, diags);
  check_words ("differs_on", self->differs_on, (const char *const *) own, "name it in 'runs_on'",
               root, diags);
  if (has_figures (self) != (self->differs_on != NULL))
    diag_error (diags, config_node_mark (root), "'differs_on' names the GPUs that figures are of",
                "figures and 'differs_on' go together");
}

const ProfileKind kernel_release_kind = { .name = "kernels",
                                          .size = sizeof (KernelRelease),
                                          .scalars = scalars,
                                          .figures = figures,
                                          .check = release_check,
                                          .shipped_too = TRUE };

/* ---- which one ------------------------------------------------------------------------------- */

static gint
by_family_newest_first (gconstpointer a, gconstpointer b)
{
  const KernelRelease *const *x = a, *const *y = b;
  const gint                  families = strcmp ((*x)->family, (*y)->family);

  return families != 0 ? families : version_compare ((*y)->version, (*x)->version);
}

GPtrArray *
profile_set_kernel_releases (ProfileSet *self, DiagList *diags)
{
  g_auto (GStrv)        ids = profile_set_list (self, kernel_release_kind.name);
  g_autoptr (GPtrArray) releases = g_ptr_array_new ();

  for (guint i = 0; ids[i] != NULL; i++)
    {
      gpointer one = profile_set_get (self, &kernel_release_kind, ids[i], NULL, diags);

      if (one == NULL)
        return NULL;
      g_ptr_array_add (releases, one);
    }
  g_ptr_array_sort (releases, by_family_newest_first);
  return g_steal_pointer (&releases);
}

/* "cuda-12.8, cuda-12.6": newly allocated. */
static char *
known_names (const GPtrArray *releases)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; i < releases->len; i++)
    {
      const KernelRelease *one = g_ptr_array_index (releases, i);

      g_string_append_printf (text, "%s%s-%s", i > 0 ? ", " : "", one->family, one->version);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* The newest of FAMILY that is not newer than VERSION, else its oldest; NULL: no such family. */
static const KernelRelease *
nearest (const GPtrArray *releases, const char *family, const char *version)
{
  const KernelRelease *found = NULL;

  for (guint i = 0; i < releases->len; i++)
    {
      const KernelRelease *one = g_ptr_array_index (releases, i);

      if (g_ascii_strcasecmp (one->family, family) != 0)
        continue;
      found = one;
      if (version_compare (version, one->version) >= 0)
        break;
    }
  return found;
}

const KernelRelease *
kernel_release_find (const GPtrArray *releases, const char *name, const SourceMark *mark,
                     DiagList *diags)
{
  const char          *dash = strchr (name, '-'), *version = dash != NULL ? dash + 1 : "";
  g_autofree char     *family = g_strndup (name, strcspn (name, "-")), *known = NULL, *hint = NULL;
  const KernelRelease *found =
      version_is_valid (version) ? nearest (releases, family, version) : NULL;

  if (found != NULL && version_compare (found->version, version) == 0)
    return found;
  known = known_names (releases);
  hint = g_strdup_printf ("known: %s", known);
  if (found == NULL)
    diag_error (diags, mark, hint, "'%s' is no release of kernels, such as 'cuda-12.1'", name);
  else
    diag_warning (diags, mark, hint, "no profile of the kernels of '%s': taken as those of '%s-%s'",
                  name, found->family, found->version);
  return found;
}

gboolean
kernel_release_runs_on (const KernelRelease *self, const GpuProfile *gpu)
{
  return profile_words_have (self->runs_on, gpu->architecture);
}

gboolean
kernel_release_differs_on (const KernelRelease *self, const GpuProfile *gpu)
{
  return profile_words_have (self->differs_on, gpu->architecture);
}
