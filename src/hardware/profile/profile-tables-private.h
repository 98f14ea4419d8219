/*
 * What each kind of hardware profile holds: the tables that drive its loader. Private to the
 * layer.
 */
#pragma once

#include "hardware/profile/profile.h"

/*
 * A figure: a map with value, source, confidence and optionally a range. The table ends with a
 * NULL key.
 */
typedef struct
{
  const char  *key;
  QuantityKind kind;
  gsize        offset;
  double       fallback; /* base unit; NAN: the figure is required */
  double       min, max; /* inclusive; a value outside is a mistake in the profile */
} FigureSpec;

/*
 * A fact: a map with value, source and confidence, which may be missing. The table ends with a NULL
 * key.
 */
typedef struct
{
  const char       *key;
  gsize             offset; /* of a Fact */
  const OptionSpec *trait;  /* its value is one of these as well; NULL: words */
} FactSpec;

/*
 * A list of numbers from 0 on or 'none': where each of some things hangs. The table ends with a
 * NULL key.
 */
typedef struct
{
  const char *key;
  gsize       offset; /* of a GArray * of gint */
} ListSpec;

/* A list of maps that are alike. */
typedef struct
{
  const char       *key;
  gsize             offset; /* of a GArray *, NULL where the profile has none */
  gsize             size;   /* of an element */
  gsize             mark;   /* in it, of the SourceMark of the map */
  const OptionSpec *keys;   /* of the map */
} RecordSpec;

/* A table of measurements that may stand beside a profile: ID.NAME.csv. */
typedef struct
{
  const char *name;
  gsize       offset;      /* of a GArray *, NULL where there is none */
  gsize       measured_on; /* of a pointer to a profile, see GpuProfile */
  GArray *(*load) (const char *file, DiagList *diags);
} TableSpec;

/*
 * Files of one folder of hwprofiles/. `scalars` are the plain keys, `figures` the measured and
 * quoted quantities.
 */
typedef struct
{
  const char       *name; /* of the folder, and the word in messages */
  gsize             size; /* of the struct that holds one */
  const OptionSpec *scalars;
  const FigureSpec *figures;
  const ListSpec   *lists; /* may be NULL */
  void (*check) (gpointer profile, const ConfigNode *root, DiagList *diags);
  const TableSpec  *table;   /* may be NULL */
  const FactSpec   *facts;   /* may be NULL */
  const RecordSpec *records; /* ends with a NULL key; may be NULL */
  /* figures that are numbers of parts: NULL-terminated keys; may be NULL */
  const char *const *shapes;
  gboolean           shipped_too; /* other folders have the shipped ones beside their own */
} ProfileKind;

/* profile.c */
struct _ProfileSet
{
  char      **dirs;         /* the first that has a profile gives it */
  char      **with_shipped; /* and behind them the shipped ones: libraries are everybody's */
  ProfileEnd  end;
  GArray     *changes; /* FigureChange, strings interned */
  gboolean    todays_frameworks;
  GPtrArray  *dated;  /* FrameworkProfile that are some strategy's default; NULL: nobody asked */
  char       *key;    /* folders and end, for names in `files` */
  InputFiles *files;  /* what has been read */
  InputFiles *own;    /* the same where nobody shares it, or NULL */
  GHashTable *loaded; /* "gpu/a40-48" -> LoadedProfile of `files`, whose diagnostics are told */
};

/* placement.c: lengths and ranges of the lists of a node profile. */
void placement_check (const NodeProfile *profile, const ConfigNode *root, DiagList *diags);

/* The I-th of FACTS and its key; NULL at the end. */
const char *profile_fact_at (const FactSpec *facts, gconstpointer profile, guint i,
                             const Fact **fact);

/* Whether WORD (NULL: none) is one of WORDS (may be NULL), separated by spaces. */
gboolean profile_words_have (const char *words, const char *word);

/* Fills FACT, all zero, from NODE, { value, source, confidence }; diagnostics name KEY. */
void profile_read_fact (const char *key, const ConfigNode *node, Fact *fact, DiagList *diags);

extern const ProfileKind framework_profile_kind; /* framework-profile.c */
extern const ProfileKind library_profile_kind;   /* library-profile.c */
extern const ProfileKind kernel_release_kind;    /* kernel-release.c */
extern const ProfileKind tuner_profile_kind;     /* tuner-profile.c */

/* Generations of GPUs; words of Confidence: NULL-terminated. */
extern const char *const profile_architectures[], *const profile_confidences[];

/* NULL-terminated: gpu, link, node, framework, library, kernels, tuner. */
extern const ProfileKind *const profile_kinds[];

/* The profile of SET, or NULL after diagnostics. */
gpointer profile_set_get (ProfileSet *set, const ProfileKind *kind, const char *id,
                          const SourceMark *mark, DiagList *diags);

/* By name; NULL when there is none. */
const ProfileKind *profile_kind_find (const char *name);

/* How many keys of ROOT profiles of KIND have. */
guint profile_kind_count (const ProfileKind *kind, const ConfigNode *root);

/* ---- one profile that has been read (profile-read.c) ---- */

/* What every profile struct begins with. */
typedef struct
{
  char *id, *title;
} NamedProfile;

typedef struct
{
  const ProfileKind *kind;
  gpointer           profile;
} LoadedProfile;

/* Mistakes of the file at ROOT go to DIAGS. */
LoadedProfile *loaded_profile_read (const ProfileKind *kind, const char *id, const ConfigNode *root,
                                    DiagList *diags);
void           loaded_profile_free (gpointer data); /* a GDestroyNotify */

/*
 * The table beside the first of FILES that has one: those of the profile's own id, from the top.
 * FALSE after diagnostics.
 */
gboolean loaded_profile_read_table (LoadedProfile *self, const GPtrArray *files, DiagList *diags);

/* Figures that make hardware better or worse to END of their ranges. */
void loaded_profile_move (LoadedProfile *self, ProfileEnd end);

/* The figure KEY has VALUE, and no range. FALSE where there is no such figure. */
gboolean loaded_profile_set (LoadedProfile *self, const char *key, double value);

/* The same for CHANGES; a table beside the profile remains one of what it was before. */
void loaded_profile_change (LoadedProfile *self, const FigureChange *const *changes, guint n);

Figure *profile_figure (gpointer profile, const FigureSpec *spec);
