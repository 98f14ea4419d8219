/*
 * The words of collectives, element types, places and transports, and what payloads take on the
 * wire.
 */
#include <check.h>

#include "../suite.h"
#include "vocabulary/collective-kind.h"
#include "vocabulary/dispatch.h"
#include "vocabulary/payload.h"
#include "vocabulary/place.h"
#include "vocabulary/transport.h"

START_TEST (kinds_read_back)
{
  const CollectiveKind kind = (CollectiveKind) _i;

  ck_assert_int_eq (collective_kind_parse (collective_kind_name (kind)), kind);
}
END_TEST

START_TEST (kinds_have_other_spellings)
{
  ck_assert_int_eq (collective_kind_parse ("alltoall"), COLLECTIVE_ALL_TO_ALL);
  ck_assert_int_eq (collective_kind_parse ("SendRecv"), COLLECTIVE_SEND_RECV);
  ck_assert_int_eq (collective_kind_parse ("all reduce"), COLLECTIVE_N_KINDS);
  ck_assert_int_eq (collective_kind_parse (""), COLLECTIVE_N_KINDS);
}
END_TEST

START_TEST (elements_have_bytes)
{
  ck_assert_uint_eq (dtype_bytes (DTYPE_FP32), 4);
  ck_assert_uint_eq (dtype_bytes (DTYPE_BF16), 2);
  ck_assert_uint_eq (dtype_bytes (DTYPE_FP16), 2);
  ck_assert_str_eq (dtype_name (DTYPE_BF16), "bf16");
}
END_TEST

START_TEST (elements_have_bits)
{
  ck_assert_uint_eq (dtype_bits (DTYPE_FP32), 32);
  ck_assert_uint_eq (dtype_bits (DTYPE_FP8), 8);
  ck_assert_uint_eq (dtype_bits (DTYPE_INT4), 4);
  ck_assert_uint_eq (dtype_bytes (DTYPE_INT8), 1);
}
END_TEST

/*
 * 10 001 elements: 20 002 B of bf16, 5 000.5 of int4; int8 in blocks of 2 048 is 10 001 B and the
 * scales of 5 blocks, 20 B; E3M0 has no scales.
 */
START_TEST (payloads_have_bytes)
{
  Payload payload = payload_plain (10001, DTYPE_BF16);

  ck_assert_uint_eq (payload_bytes (payload), 20002);
  ck_assert_uint_eq (payload_bytes (payload_plain (10001, DTYPE_INT4)), 5001);
  ck_assert_uint_eq (payload_bytes (payload_of_bytes (77)), 77);
  payload.codec = codec_find ("int8-block");
  ck_assert_uint_eq (payload_bytes (payload), 10021);
  payload.codec = codec_find ("INT4-block");
  ck_assert_uint_eq (payload_bytes (payload), 5021);
  payload.codec = codec_find ("fp4-e3m0");
  ck_assert_uint_eq (payload_bytes (payload), 5001);
  ck_assert_ptr_null (codec_find ("int5"));
}
END_TEST

/*
 * 8 192 elements of bf16, 16 384 B; as int8 in blocks of 2 048 they take 8 192 B and 16 B of
 * scales. Four ranks' parts become one of 2 048 elements: 4 096 B where each is decoded first, or
 * 2 052 B of a codec that is added as it is.
 */
START_TEST (codecs_have_work)
{
  const Codec *int8 = codec_find ("int8-block");
  const Codec  added = { "added", 8, 2048, 32, FALSE };
  Payload      payload = { 8192, DTYPE_BF16, int8 };
  PayloadWork  encode = payload_encode_work (payload), decode = payload_decode_work (payload);
  PayloadWork  add = payload_add_work (payload, 4, NULL);

  ck_assert (encode.read == 16384 && encode.write == 8208);
  ck_assert (decode.read == 8208 && decode.write == 16384);
  ck_assert (add.read == 8208 && add.write == 4096 && !payload_adds_encoded (payload));
  payload.codec = &added;
  add = payload_add_work (payload, 4, &added);
  ck_assert (add.read == 8208 && add.write == 2052 && payload_adds_encoded (payload));
  add = payload_add_work (payload_plain (8192, DTYPE_BF16), 4, NULL);
  ck_assert (add.read == 16384 && add.write == 4096);
}
END_TEST

/*
 * 1 025 elements are three buckets of 512: in 4 bits 513 B, and an offset and a scale each of 2 x 4
 * B in fp32, 2 x 2 B in bf16. In 3 bits they are 385 B.
 */
START_TEST (max_min_brings_two_values_a_bucket)
{
  ck_assert_uint_eq (codec_wire_bytes (codec_max_min (4, DTYPE_FP32), 1025), 513 + 24);
  ck_assert_uint_eq (codec_wire_bytes (codec_max_min (4, DTYPE_BF16), 1025), 513 + 12);
  ck_assert_uint_eq (codec_wire_bytes (codec_max_min (3, DTYPE_FP16), 1025), 385 + 12);
  for (guint bits = 1; bits <= CODEC_MAX_MIN_BITS; bits++)
    ck_assert_uint_eq (codec_wire_bytes (codec_max_min (bits, DTYPE_FP32), 4096), 512 * bits + 64);
}
END_TEST

START_TEST (moves_have_ends)
{
  for (guint from = 0; from < PLACE_N; from++)
    for (guint to = 0; to < PLACE_N; to++)
      {
        guint            kind = move_kind ((Place) from, (Place) to);
        g_autofree char *name =
            g_strdup_printf ("%s to %s", place_name ((Place) from), place_name ((Place) to));

        ck_assert_uint_lt (kind, MOVE_N);
        ck_assert_uint_eq (move_from (kind), from);
        ck_assert_uint_eq (move_to (kind), to);
        ck_assert_str_eq (move_kind_name (kind), name);
        ck_assert_int_eq (move_blocks_host (kind), from == PLACE_PAGEABLE || to == PLACE_PAGEABLE);
      }
  ck_assert (place_is_host (PLACE_PINNED) && place_is_host (PLACE_PAGEABLE));
  ck_assert (!place_is_host (PLACE_HBM) && !place_is_host (PLACE_NVME));
  ck_assert_str_eq (place_title (PLACE_NVME), "NVMe drives");
  ck_assert_str_eq (transport_name (TRANSPORT_HOST), "host");
}
END_TEST

/* Parts among 4 of 2 experts that {a, b, c} lie in, summed over all C (8, 3) = 56. */
static double
parts_counted (void)
{
  double sum = 0;

  for (guint a = 0; a < 8; a++)
    for (guint b = a + 1; b < 8; b++)
      for (guint c = b + 1; c < 8; c++)
        sum += 1 + (b / 2 != a / 2) + (c / 2 != b / 2);
  return sum / 56;
}

/*
 * 2 of 8 experts, 2 a part: a part is missed by C (6, 2) = 15 of C (8, 2) = 28 draws, so 4 x 13/28
 * are reached. Each expert a part of its own: all that are chosen. All chosen: all parts.
 */
START_TEST (tokens_reach_parts)
{
  const Dispatch two = { .experts = 8, .chosen = 2 }, all = { .experts = 8, .chosen = 8 },
                 three = { .experts = 8, .chosen = 3 },
                 one_node = { .experts = 8, .chosen = 2, .most_nodes = 1 },
                 any = { .experts = 8, .chosen = 2, .most_nodes = 4 };

  ck_assert_double_eq_tol (dispatch_parts (&two, 4), 13. / 7, 1e-12);
  ck_assert_double_eq_tol (dispatch_parts (&two, 8), 2, 1e-12);
  ck_assert_double_eq_tol (dispatch_parts (&two, 1), 1, 1e-12);
  ck_assert_double_eq_tol (dispatch_parts (&all, 4), 4, 1e-12);
  ck_assert_double_eq_tol (dispatch_parts (&three, 4), parts_counted (), 1e-12);
  ck_assert_double_eq (dispatch_nodes (&one_node, 4), 1);
  ck_assert_double_eq_tol (dispatch_nodes (&any, 4), 13. / 7, 1e-12);
  ck_assert_double_eq_tol (dispatch_parts (&one_node, 4), 13. / 7, 1e-12);
}
END_TEST

SUITE_MAIN (op)
{
  Suite *suite = suite_create ("op");
  TCase *tcase = tcase_create ("words");

  tcase_add_loop_test (tcase, kinds_read_back, 0, COLLECTIVE_N_KINDS);
  tcase_add_test (tcase, kinds_have_other_spellings);
  tcase_add_test (tcase, elements_have_bytes);
  tcase_add_test (tcase, elements_have_bits);
  tcase_add_test (tcase, payloads_have_bytes);
  tcase_add_test (tcase, codecs_have_work);
  tcase_add_test (tcase, max_min_brings_two_values_a_bucket);
  tcase_add_test (tcase, moves_have_ends);
  tcase_add_test (tcase, tokens_reach_parts);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
