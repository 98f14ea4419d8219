#include "cli/argument/model-argument.h"

#define DEFAULT_SEQ_LEN 2048

gboolean
model_argument_read (const char *word, gint64 seq_len, ModelShape *shape, TrainingOptions *training,
                     DiagList *diags)
{
  ModelOptions options = { 0 };
  gboolean     resolved;

  option_table_defaults (model_options, &options);
  option_table_defaults (training_options, training);
  g_free (options.config);
  options.config = g_strdup (word);
  resolved = model_resolve (&options, NULL, NULL, shape, NULL, diags);
  if (resolved)
    {
      gboolean learned = shape->position == MODEL_POSITION_LEARNED && shape->max_positions > 0;

      training->seq_len = seq_len > 0 ? seq_len
                          : learned   ? MIN (DEFAULT_SEQ_LEN, shape->max_positions)
                                      : DEFAULT_SEQ_LEN;
      training->micro_batch = 1;
    }
  option_table_clear (model_options, &options);
  return resolved;
}
