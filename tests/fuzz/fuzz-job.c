/*
 * job_load over arbitrary bytes, beside a cluster, a model and a length: diagnostics, or scenarios
 * that print as what reads back to the same, and an account that prints. Of odd sizes what cannot
 * be followed is a warning, of multiples of 3 the job says how many nodes there are.
 * Small scenarios are replayed.
 */
#include "fuzz.h"
#include "import/job/job.h"
#include "report/answer/job.h"
#include "scenario/framework.h"

/* The frameworks' tables: read once, they are most of what a job costs. */
static gpointer
shared_frameworks (gconstpointer user, DiagList *diags)
{
  static GPtrArray *frameworks;

  (void) user;
  if (frameworks == NULL)
    frameworks = framework_load_all (FALSE, diags);
  return frameworks;
}

static void
leave (gpointer data)
{
  (void) data;
}

int LLVMFuzzerTestOneInput (const guint8 *data, gsize size);

int
LLVMFuzzerTestOneInput (const guint8 *data, gsize size)
{
  const ScenarioOverride user[] = {
    { "cluster.name", size % 3 == 0 ? "dgx-h100" : "1 x dgx-h100", "fuzz" },
    { "model.arch", "llama", "fuzz" },
    { "model.n_layers", "2", "fuzz" },
    { "model.d_model", "256", "fuzz" },
    { "model.n_heads", "4", "fuzz" },
    { "model.vocab", "1024", "fuzz" },
    { "training.seq_len", "128", "fuzz" },
  };
  g_autoptr (InputFiles) files = input_files_new ();
  const guint            n = G_N_ELEMENTS (user);
  const JobRequest       request = {
          .lenient = size % 2 == 1, .files = files, .overrides = user, .n_overrides = n
  };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *file = fuzz_file ("job", data, size);
  g_autoptr (JobAccount) account = NULL;
  g_autoptr (GString)    text = g_string_new (NULL);
  g_autoptr (GPtrArray)  all = NULL;

  fuzz_begin ();
  input_files_get (files, "frameworks", shared_frameworks, NULL, leave, diags);
  all = job_load (file, NULL, &request, &account, diags);
  fuzz_check_diags (diags, all == NULL);
  if (account != NULL && account->framework != NULL)
    report_job_keys (account, text);
  for (guint i = 0; all != NULL && all->len <= 10 && i < all->len; i++)
    {
      const Scenario *scenario = g_ptr_array_index (all, i);

      fuzz_check_round_trip (scenario);
      fuzz_check_prediction (scenario, fuzz_profiles ());
    }
  return 0;
}
