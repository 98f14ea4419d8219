/*
 * Sequences packed of documents: pairs of tokens by hand, the fullest context rank against
 * documents drawn in another way, what attention costs, and what MFU counts. Not asserted: that
 * the documents of any data set are so.
 */
#include "../suite.h"
#include "fixture.h"

#include "model/layer/flops.h"
#include "model/step/documents.h"

/* q = exp (-w / L). s = w = 2 L: 2 (1 - q) - 1 + q 3; s = 2 L, w = L: 2 (1 - q) - 1 + 2 q. */
START_TEST (test_pairs)
{
  const double L = 1000;

  assert_close (documents_pairs (2 * L, 2 * L, L), (1 + exp (-2)) * L * L, 1e-12);
  assert_close (documents_pairs (2 * L, L, L), L * L, 1e-12);
  /* a window beyond the sequence is none */
  ck_assert_double_eq (documents_pairs (2 * L, 9 * L, L), documents_pairs (2 * L, 2 * L, L));
  /* many: each token has L behind it, but for the first ones, which lack L * L in all */
  assert_close (documents_pairs (1e6 * L, 1e6 * L, L), (1e6 - 1) * L * L, 1e-12);
  /* documents that never end: the triangle, and the band of a window */
  assert_close (documents_pairs (4096, 4096, 1e15), 4096. * 4096 / 2, 1e-9);
  assert_close (documents_pairs (4096, 1024, 1e15), 4096. * 1024 - 1024. * 1024 / 2, 1e-9);
  /* both sides of where the form changes */
  assert_close (documents_pairs (4096, 4096, 4096 / 0.00099999),
                documents_pairs (4096, 4096, 4096 / 0.00100001), 1e-7);
}
END_TEST

/* Each token ends its document with probability 1 / L. Pairs of the fullest over the mean. */
static double
draw_imbalance (guint tokens, double length, guint ranks, guint samples)
{
  guint64 state = 88172645463325252u;
  double  fullest = 0, sum = 0;

  for (guint i = 0; i < samples; i++)
    {
      double pairs[8] = { 0 }, most = 0;

      for (guint t = 0, age = 0; t < tokens; t++, age++)
        {
          guint chunk = t * 2 * ranks / tokens;

          state ^= state << 13;
          state ^= state >> 7;
          state ^= state << 17;
          if ((double) (state >> 11) / 0x1p53 < 1 / length)
            age = 0;
          pairs[MIN (chunk, 2 * ranks - 1 - chunk)] += age + 0.5;
        }
      for (guint r = 0; r < ranks; r++)
        {
          most = MAX (most, pairs[r]);
          sum += pairs[r];
        }
      fullest += most;
    }
  return fullest * ranks / sum;
}

START_TEST (test_imbalance)
{
  static const double lengths[] = { 50, 200, 1000, 5000 };

  for (gsize i = 0; i < G_N_ELEMENTS (lengths); i++)
    assert_close (documents_imbalance (4096, lengths[i], 4),
                  draw_imbalance (4096, lengths[i], 4, 10000), 0.025);
  ck_assert_double_gt (documents_imbalance (4096, 1000, 4), 1.3);
  ck_assert_double_eq (documents_imbalance (4096, 1000, 1), 1);
  assert_close (documents_imbalance (4096, 1e12, 4), 1, 1e-6);
}
END_TEST

static double
flash_flops (const ModelShape *shape, const TrainingOptions *options, const MeshOptions *mesh)
{
  g_autoptr (Workload) workload = workload_new_stage (shape, options, mesh, 0);
  const LayerDesc     *block = workload_layer (workload, 1);
  double               sum = 0;

  for (guint i = 0; i < block->n_forward; i++)
    if (block->forward[i].kind == KERNEL_ATTENTION)
      {
        ck_assert_int_eq (block->forward[i].packed, options->document_length > 0);
        sum += block->forward[i].flops;
      }
  return sum;
}

/* 4 FLOPs a pair and element of a head; gathered, ranks wait for the fullest; rings balance. */
START_TEST (test_attention)
{
  ModelShape      shape = shipped ("llama-3-8b");
  TrainingOptions options = training (4096, 2);
  MeshOptions     mesh = { .cp = 1, .routing_skew = 1 };
  double          pairs = documents_pairs (4096, 4096, 1000), all = 4 * 2 * pairs * 32 * 128;

  options.document_length = 1000;
  assert_close (flash_flops (&shape, &options, &mesh), all, 1e-12);
  mesh.cp = 4;
  assert_close (flash_flops (&shape, &options, &mesh), all / 4, 1e-12);
  mesh.context = CONTEXT_ALL_GATHER;
  assert_close (flash_flops (&shape, &options, &mesh),
                all / 4 * documents_imbalance (4096, 1000, 4), 1e-12);
  model_shape_clear (&shape);
}
END_TEST

/* palm counts all pairs, causal those that the mask leaves: 12 FLOPs a pair, head and element. */
START_TEST (test_counted)
{
  ModelShape      shape = shipped ("llama-3-8b");
  TrainingOptions options = training (4096, 1), packed = options;
  MeshOptions     whole = { .tp = 1 };
  double          gone = 4096. * 4096 / 2 - documents_pairs (4096, 4096, 1000);

  packed.document_length = 1000;
  ck_assert_double_eq (flops_trained_per_token (&shape, &packed, &whole, FLOPS_PALM, 4096),
                       flops_trained_per_token (&shape, &options, &whole, FLOPS_PALM, 4096));
  assert_close (flops_trained_per_token (&shape, &options, &whole, FLOPS_CAUSAL, 4096)
                    - flops_trained_per_token (&shape, &packed, &whole, FLOPS_CAUSAL, 4096),
                12 * 32 * gone / 4096 * 32 * 128, 1e-9);
  model_shape_clear (&shape);
}
END_TEST

SUITE_MAIN (documents)
{
  TCase *tcase = tcase_create ("documents");

  tcase_add_test (tcase, test_pairs);
  tcase_add_test (tcase, test_imbalance);
  tcase_add_test (tcase, test_attention);
  tcase_add_test (tcase, test_counted);
  return run_case ("documents", tcase);
}
