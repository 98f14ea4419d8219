/* shardsim validate kernels: single kernels, measured alone, against the kernel model. */
#include "cli/argument/validation-arguments.h"
#include "cli/output/progress.h"
#include "report/validation/validate-kernels.h"

typedef struct
{
  ValidationArguments shared;
} Settings;

static ExitStatus
print_result (const Common *common, const ValidationArguments *arguments,
              const KernelValidation *result)
{
  g_autoptr (GString) rows = g_string_new (NULL), summary = g_string_new (NULL);

  report_answer (&kernel_summary, result, FORMAT_TEXT, summary);
  report_answer (&kernel_rows, result, common->format, rows);
  return validation_print (arguments, common, rows, summary);
}

static ExitStatus
run (Common *common, gpointer data)
{
  const ValidationArguments   *arguments = &((const Settings *) data)->shared;
  g_autoptr (DiagList)         diags = diag_list_new ();
  g_autoptr (ProfileSet)       profiles = profile_set_new (common->hwprofiles);
  g_autoptr (KernelValidation) result = NULL;
  GArray                      *measured;
  Progress                    *progress;
  ExitStatus                   status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  measured = kernel_tables_load (common->files, diags);
  stream_report_diags (diags);
  if (measured == NULL)
    return EXIT_USAGE;
  progress = progress_start ("predicting", "kernels", NULL);
  result = validate_kernels (measured, profiles);
  progress_end (progress);
  status = validation_check_any (common, result->rows->len, result->n_failed,
                                 print_result (common, arguments, result));
  return status == EXIT_DONE ? validation_check_limit (arguments, common, "rows", result->errors.n,
                                                       result->errors.median_abs)
                             : status;
}

static const CommandOption options[] = {
  { OPTION_ROWS (shared) },
  { OPTION_MAX_ERROR (shared, "all rows") },
  { 0 },
};

const Command command_validate_kernels = {
  .name = "validate kernels",
  .help = "single kernels: products, attention, experts",
  .arguments = "FILE.csv...",
  .summary =
      "Predicts each row of tables of kernels that were measured alone on an idle GPU, and "
      "summarises the errors by kind, GPU and type, with the goals of their medians beside. The "
      "columns are those of aiconfigurator's tables: gpu (a profile), time_us, and of products "
      "gemm_dtype (bfloat16, fp8, fp8_block, nvfp4), m, n, k; of attention forward attn_dtype, "
      "batch_size, isl, num_heads, num_key_value_heads, head_dim, window_size; of decoding the "
      "same with step in the place of isl; of experts moe_dtype, num_tokens, hidden_size, "
      "inter_size, topk, num_experts, moe_tp_size, moe_ep_size, distribution. Rows of fp8 and "
      "nvfp4 begin with bf16 and hold the casts. Rows of types that no training runs are not "
      "predicted, and say so; exit status 1 when no row could be.",
  .examples = "Examples:\n"
              "  shardsim validate kernels products.csv\n"
              "  shardsim validate kernels products.csv attention.csv --rows\n"
              "  shardsim validate kernels products.csv --format csv >errors.csv\n",
  .takes = COMMON_FORMAT,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .missing = NO_MEASUREMENTS,
  .run = run,
};
