/* The columns of a table of training runs: what each of them sets, and which must be there. */
#pragma once

#include "predict/prediction.h"

#define NO_COLUMN (-1) /* csv_reader_find */

/* A section whose keys are columns, and where a scenario keeps its options. */
typedef struct
{
  const char *name;
  gsize       offset; /* in Scenario */
} TrainingSection;

enum
{
  TRAINING_N_SECTIONS = 7
};

extern const TrainingSection training_sections[TRAINING_N_SECTIONS];

typedef enum
{
  COLUMN_ID,
  COLUMN_METRIC,
  COLUMN_VALUE,
  COLUMN_USE,
  COLUMN_STRATEGY,
  COLUMN_SHARD,
  COLUMN_OPTIONS,
  COLUMN_IGNORED,
  COLUMN_NETWORK, /* what was measured of it before the run */
  COLUMN_SETTING,
  COLUMN_UNKNOWN,
} TrainingColumnKind;

typedef struct
{
  TrainingColumnKind kind;
  const char        *key;     /* "training.seq_len"; of a network the column's name */
  guint              section; /* of a setting */
  const OptionSpec  *spec;
  CollectiveKind     collective; /* of a network */
  gboolean           required;   /* an empty cell is an error */
  gboolean           same_rank;  /* tells groups of layouts apart */
  gboolean           same_model; /* tells models and their cluster apart */
} TrainingColumn;

/* Newly allocated array of TrainingColumn; what is unknown or missing is added to DIAGS. */
GArray *training_columns_read (const CsvReader *reader, DiagList *diags);

/* The built-in strategy NAME, as tables spell it; NULL after an error with the nearest one. */
const Strategy *training_find_strategy (const char *name, const SourceMark *mark, DiagList *diags);

/* An option by the name of its column, and its section among training_sections; NULL: none. */
const OptionSpec *training_find_setting (const char *name, guint *section);
