/*
 * Links of one technology against each other, and efficiencies that follow from packets.
 *
 * Asserted: a newer or faster member of a family never carries less (bytes/s = bandwidth x
 * efficiency), a faster one more; no network carries more than its packets let through; what
 * follows from packets is what the specifications' headers add up to, and lies where healthy public
 * runs do. Not asserted: that any figure is right; test `measured-collectives` does that.
 */
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "fixture.h"

static const LinkProfile *
get_link (ProfileSet *profiles, const char *id)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const LinkProfile   *link = profile_set_link (profiles, id, NULL, diags);
  g_autofree char     *text = diag_list_format (diags, FALSE);

  ck_assert_str_eq (text, "");
  return link;
}

static double
carried (const LinkProfile *link)
{
  return link->bandwidth.value * link->efficiency.value;
}

/* From older and slower to newer and faster: each carries at least what the one before it does. */
static const char *const orders[][9] = {
  { "ib-edr-100", "ib-hdr-100", "ib-hdr-200", "ib-ndr-200", "ib-ndr-400", "ib-xdr-800" },
  { "roce-100", "roce-200", "roce-400" },
  { "efa-100-sendrecv", "efa-100-2023", "efa-100", "efa-200", "efa-400" },
  { "tcpx-200", "tcpxo-200" },
  { "wan-1g-30ms", "tcp-1", "tcp-10", "tcp-25", "tcp-40", "tcp-80", "tcp-100", "tcp-200" },
  { "nvlink2-switch", "nvlink3-switch", "nvlink4-switch", "nvlink5-switch" },
  { "nvlink3-mesh", "nvlink4-mesh" },
  { "pcie3", "pcie4", "pcie5" },
  { "pcie3-host", "pcie4-host", "pcie5-host" },
  { "pcie4-host", "pcie4" },
  { "xgmi-mi250", "xgmi-mi300-mesh", "xgmi-mi350-mesh" },
};

/* The only ones of their kind. */
static const char *const single[] = {
  "lan-100m", "none", "nvlink-pairs", "nvlink2-mesh", "slingshot-200", "opa-100", NULL
};

START_TEST (test_newer_and_faster_is_not_slower)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  for (guint i = 1; orders[_i][i] != NULL; i++)
    {
      const LinkProfile *slow = get_link (profiles, orders[_i][i - 1]);
      const LinkProfile *fast = get_link (profiles, orders[_i][i]);

      ck_assert_double_ge (fast->bandwidth.value, slow->bandwidth.value);
      ck_assert_msg (carried (fast) >= carried (slow), "'%s' carries %g B/s, '%s' %g", fast->id,
                     carried (fast), slow->id, carried (slow));
      if (fast->bandwidth.value > slow->bandwidth.value)
        ck_assert_double_gt (carried (fast), carried (slow));
    }
}
END_TEST

/* InfiniBand against RoCE of the same rate: their packets differ by 1.4 %. */
START_TEST (test_roce_is_near_infiniband)
{
  static const char *const pairs[][2] = { { "ib-hdr-100", "roce-100" },
                                          { "ib-hdr-200", "roce-200" },
                                          { "ib-ndr-400", "roce-400" } };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    {
      double ratio =
          carried (get_link (profiles, pairs[i][1])) / carried (get_link (profiles, pairs[i][0]));

      ck_assert_msg (ratio > 0.98 && ratio < 1, "%s: %g of InfiniBand's", pairs[i][1], ratio);
    }
}
END_TEST

START_TEST (test_every_link_has_a_place)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         ids = profile_set_list (profiles, "link");

  for (guint i = 0; ids[i] != NULL; i++)
    {
      gboolean found = g_strv_contains (single, ids[i]);

      for (guint o = 0; o < G_N_ELEMENTS (orders); o++)
        found |= g_strv_contains (orders[o], ids[i]);
      ck_assert_msg (found, "give '%s' its place among those of its technology", ids[i]);
    }
}
END_TEST

/* Headers by the specifications, and where healthy public runs lie (share of the line rate). */
static const struct
{
  const char *technology;
  double      payload, overhead, low, high;
} packets[] = {
  { "infiniband", 4096, 8 + 12 + 4 + 2, 0.92, 0.97 },
  { "roce", 4096, (8 + 12) + (14 + 4) + 20 + 8 + 12 + 4, 0.91, 0.97 },
  { "tcp", 1500 - 20 - 32, (8 + 12) + (14 + 4) + 20 + 32, 0, 1 },
};

/* Ethernet's frames of 9000 bytes carry the most that TCP can. */
#define TCP_LARGEST_SHARE (8948.0 / 9038)

START_TEST (test_packets)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_auto (GStrv)         ids = profile_set_list (profiles, "link");
  const double payload = packets[_i].payload, share = payload / (payload + packets[_i].overhead);
  guint        found = 0;

  for (guint i = 0; ids[i] != NULL; i++)
    {
      const LinkProfile *link = get_link (profiles, ids[i]);
      double most = strcmp (packets[_i].technology, "tcp") == 0 ? TCP_LARGEST_SHARE : share;

      if (strcmp (link->technology, packets[_i].technology) != 0)
        continue;
      ck_assert_msg (link->efficiency.value <= most, "%s: %g", ids[i], link->efficiency.value);
      ck_assert_msg (link->efficiency.value >= packets[_i].low
                         && link->efficiency.value <= packets[_i].high,
                     "%s: %g", ids[i], link->efficiency.value);
      if (link->packet_payload.value == 0)
        continue;
      found++;
      ck_assert_double_eq (link->packet_payload.value, payload);
      ck_assert_double_eq (link->packet_overhead.value, packets[_i].overhead);
      ck_assert_double_eq_tol (link->efficiency.value, share * link->library_share.value, 1e-12);
    }
  ck_assert_uint_gt (found, 0);
}
END_TEST

/* library_share is carried over: what a measured link kept of its packets' share. */
START_TEST (test_library_share)
{
  static const struct
  {
    const char *link, *like;
    double      share; /* packets' */
  } cases[] = {
    { "ib-edr-100", "ib-hdr-200", 4096.0 / 4122 }, { "ib-hdr-100", "ib-hdr-200", 4096.0 / 4122 },
    { "ib-ndr-200", "ib-ndr-400", 4096.0 / 4122 }, { "ib-xdr-800", "ib-ndr-400", 4096.0 / 4122 },
    { "roce-100", "ib-hdr-200", 4096.0 / 4122 },   { "roce-200", "ib-hdr-200", 4096.0 / 4122 },
    { "roce-400", "ib-ndr-400", 4096.0 / 4122 },   { "tcp-1", "tcp-10", 1448.0 / 1538 },
  };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const LinkProfile *like = get_link (profiles, cases[i].like);
      const Figure      *share = &get_link (profiles, cases[i].link)->library_share;

      ck_assert_int_eq (like->efficiency.confidence, CONFIDENCE_MEASURED);
      ck_assert_msg (fabs (share->value - like->efficiency.value / cases[i].share) < 0.0005,
                     "%s: %g", cases[i].link, share->value);
    }
}
END_TEST

/* ---- what is carried over -------------------------------------------------------------------- */

/* Of the figures of link ID, KEY's; NULL where there is none. */
static const Figure *
find_figure (ProfileSet *profiles, const char *id, const char *key)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GArray)   views = profile_set_figures (profiles, "link", id, diags);

  for (guint i = 0; views != NULL && i < views->len; i++)
    {
      const FigureView *view = &g_array_index (views, FigureView, i);

      if (strcmp (view->key, key) == 0)
        return view->figure;
    }
  return NULL;
}

/* "as ib-ndr-400, which public runs calibrate" is true: a measured figure of that value. */
static guint
check_carried_over (ProfileSet *profiles, const char *id, const FigureView *view)
{
  const char      *end = view->figure->source != NULL
                             ? strstr (view->figure->source, ", which public runs calibrate")
                             : NULL;
  g_autofree char *other = NULL;
  const Figure    *figure;

  if (end == NULL || !g_str_has_prefix (view->figure->source, "as "))
    return 0;
  other = g_strndup (view->figure->source + 3, (gsize) (end - view->figure->source) - 3);
  figure = find_figure (profiles, other, view->key);
  ck_assert_msg (figure != NULL && figure->value == view->figure->value,
                 "%s: '%s' is not that of '%s'", id, view->key, other);
  return 1;
}

/* One key in the same words about no one product is one number: a copy that was forgotten shows. */
static void
check_same_words (GHashTable *seen, const char *id, const FigureView *view)
{
  const Figure    *figure = view->figure;
  g_autofree char *key = NULL;
  const Figure    *other;

  if (figure->source == NULL || figure->confidence == CONFIDENCE_DATASHEET
      || strlen (figure->source) < 40 || strstr (figure->source, "by the packet figures") != NULL)
    return;
  key = g_strdup_printf ("%s: %s", view->key, figure->source);
  other = g_hash_table_lookup (seen, key);
  if (other == NULL)
    g_hash_table_insert (seen, g_steal_pointer (&key), (gpointer) figure);
  else
    ck_assert_msg (figure->value == other->value, "%s: '%s' differs where its words do not", id,
                   view->key);
}

START_TEST (test_carried_over)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GHashTable) seen = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_auto (GStrv)         ids = profile_set_list (profiles, "link");
  guint                  n = 0;

  for (guint i = 0; ids[i] != NULL; i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autoptr (GArray)   views = profile_set_figures (profiles, "link", ids[i], diags);

      for (guint f = 0; f < views->len; f++)
        {
          n += check_carried_over (profiles, ids[i], &g_array_index (views, FigureView, f));
          check_same_words (seen, ids[i], &g_array_index (views, FigureView, f));
        }
    }
  ck_assert_uint_gt (n, 50);
}
END_TEST

/* ---- the rule -------------------------------------------------------------------------------- */

#define TOY                                            \
  "title: \"a toy\"\nkind: network\ntechnology: toy\n" \
  "bandwidth: { value: 100 Gbit/s, source: \"made up\", confidence: datasheet }\n"
#define PACKETS                                                                    \
  "packet_payload: { value: 900 B, source: \"made up\", confidence: datasheet }\n" \
  "packet_overhead: { value: 100 B, source: \"made up\", confidence: datasheet }\n"

/* Profiles in a folder of their own, and in those that are shipped. */
typedef struct
{
  char       *folder, *links;
  ProfileSet *profiles;
} Toys;

static void
toys_init (Toys *self)
{
  g_autofree char *shipped = source_file ("hwprofiles");
  g_autofree char *path = NULL;

  self->folder = g_dir_make_tmp ("shardsim-links-XXXXXX", NULL);
  self->links = g_build_filename (self->folder, "link", NULL);
  ck_assert_int_eq (g_mkdir (self->links, 0700), 0);
  path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, self->folder, shipped, NULL);
  self->profiles = profile_set_new (path);
}

static void
toys_add (const Toys *self, const char *name, const char *text)
{
  g_autofree char *file = g_build_filename (self->links, name, NULL);

  ck_assert (g_file_set_contents (file, text, -1, NULL));
}

static void
toys_clear (Toys *self)
{
  GDir       *dir = g_dir_open (self->links, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file = g_build_filename (self->links, name, NULL);
      g_unlink (file);
    }
  g_dir_close (dir);
  g_rmdir (self->links);
  g_rmdir (self->folder);
  profile_set_free (self->profiles);
  g_free (self->links);
  g_free (self->folder);
}

START_TEST (test_rule)
{
  Toys          toys;
  const Figure *figure;

  toys_init (&toys);
  toys_add (&toys, "plain.yaml", TOY PACKETS);
  toys_add (&toys, "part.yaml",
            "extends: plain\nlibrary_share: { value: 0.5, source: \"made up\", "
            "confidence: estimate, range: [0.4, 0.6] }\n");
  toys_add (&toys, "measured.yaml",
            "extends: part\n"
            "efficiency: { value: 0.7, source: \"made up\", confidence: measured }\n");
  toys_add (&toys, "roce-400.yaml",
            "extends: roce-400\n"
            "packet_payload: { value: 1024 B, source: \"MTU 1500\", confidence: datasheet }\n");
  ck_assert_double_eq_tol (get_link (toys.profiles, "plain")->efficiency.value, 0.9, 1e-12);
  figure = &get_link (toys.profiles, "part")->efficiency;
  ck_assert_double_eq_tol (figure->value, 0.45, 1e-12);
  ck_assert_double_eq_tol (figure->low, 0.36, 1e-12);
  ck_assert_double_eq_tol (figure->high, 0.54, 1e-12);
  ck_assert_int_eq (figure->confidence, CONFIDENCE_ESTIMATE);
  figure = &get_link (toys.profiles, "measured")->efficiency; /* what was measured stands */
  ck_assert_double_eq (figure->value, 0.7);
  ck_assert_str_eq (figure->source, "made up");
  ck_assert_double_eq_tol (get_link (toys.profiles, "roce-400")->efficiency.value,
                           0.964 * 1024 / 1106, 1e-12);
  toys_clear (&toys);
}
END_TEST

START_TEST (test_neither_measured_nor_packets)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *text = NULL;
  Toys                 toys;

  toys_init (&toys);
  toys_add (&toys, "bare.yaml", TOY);
  ck_assert_ptr_null (profile_set_link (toys.profiles, "bare", NULL, diags));
  text = diag_list_format (diags, FALSE);
  ck_assert_msg (strstr (text, "missing 'efficiency'") != NULL
                     && strstr (text, "packet_payload") != NULL,
                 "%s", text);
  toys_clear (&toys);
}
END_TEST

SUITE_MAIN (link_order)
{
  TCase *tcase = tcase_create ("link-order");

  tcase_add_loop_test (tcase, test_newer_and_faster_is_not_slower, 0, G_N_ELEMENTS (orders));
  tcase_add_test (tcase, test_roce_is_near_infiniband);
  tcase_add_test (tcase, test_every_link_has_a_place);
  tcase_add_loop_test (tcase, test_packets, 0, G_N_ELEMENTS (packets));
  tcase_add_test (tcase, test_library_share);
  tcase_add_test (tcase, test_carried_over);
  tcase_add_test (tcase, test_rule);
  tcase_add_test (tcase, test_neither_measured_nor_packets);
  return run_case ("link-order", tcase);
}
