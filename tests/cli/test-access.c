/* Who is let in: hosts by hand, and wrong tokens from many addresses, which no request can have. */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "cli/web/access.h"

#define TOKEN "0123456789abcdefghij"

static AccessVerdict
try (Access *self, const char *from, const char *token)
{
  g_autoptr (GInetAddress) who = g_inet_address_new_from_string (from);

  return access_judge (self, who, NULL, NULL, token);
}

START_TEST (test_hosts)
{
  static const struct
  {
    const char *host;
    gboolean    alone, for_others; /* whether it is a name, of a server on the loopback interface */
  } cases[] = {
    { "localhost", TRUE, TRUE },
    { "localhost:8080", TRUE, TRUE },
    { "LocalHost:1", TRUE, TRUE },
    { "127.0.0.1:8080", TRUE, TRUE },
    { "[::1]:8080", TRUE, TRUE },
    { "[::1]", TRUE, TRUE },
    { "gpu1:8080", FALSE, TRUE },
    { "10.1.2.3:8080", FALSE, TRUE },
    { "[fe80::1]:8080", FALSE, TRUE },
    { "example.com:8080", FALSE, FALSE },
    { "localhost.example.com", FALSE, FALSE },
    { "10.1.2.3.example.com", FALSE, FALSE },
    { "localhost:8080@example.com", FALSE, FALSE },
    { "localhost:x", FALSE, FALSE },
    { "[::1", FALSE, FALSE },
    { "[::1]x", FALSE, FALSE },
    { "", FALSE, FALSE },
    { NULL, FALSE, FALSE },
  };
  g_autoptr (Access) alone = access_new (8080, NULL, NULL);
  g_autoptr (Access) for_others = access_new (8080, "gpu1", TOKEN);

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      ck_assert_msg (access_names_server (alone, cases[i].host) == cases[i].alone, "alone: %s",
                     cases[i].host);
      ck_assert_msg (access_names_server (for_others, cases[i].host) == cases[i].for_others,
                     "for others: %s", cases[i].host);
    }
}
END_TEST

START_TEST (test_pages)
{
  ck_assert (access_is_own_page (NULL, "localhost:8080"));
  ck_assert (access_is_own_page ("http://localhost:8080", "localhost:8080"));
  ck_assert (!access_is_own_page ("http://localhost:3000", "localhost:8080"));
  ck_assert (!access_is_own_page ("https://localhost:8080", "localhost:8080"));
  ck_assert (!access_is_own_page ("http://localhost:8080.example.com", "localhost:8080"));
  ck_assert (!access_is_own_page ("null", "localhost:8080"));
  ck_assert (!access_is_own_page ("http://", NULL));
}
END_TEST

/* Each address has its ten, a network of IPv6 together; the right token is looked at before. */
START_TEST (test_guesses)
{
  g_autoptr (Access) self = access_new (8080, "gpu1", TOKEN);

  for (guint i = 0; i < ACCESS_MOST_WRONG; i++)
    {
      ck_assert_int_eq (try (self, "10.0.0.1", TOKEN), ACCESS_GRANTED);
      ck_assert_int_eq (try (self, "10.0.0.1", "wrong"), ACCESS_UNKNOWN);
      ck_assert_int_eq (try (self, i % 2 == 0 ? "2001:db8::1" : "2001:db8::2", ""), ACCESS_UNKNOWN);
    }
  ck_assert_int_eq (try (self, "10.0.0.1", TOKEN), ACCESS_BARRED);
  ck_assert_int_eq (try (self, "2001:db8::3", TOKEN), ACCESS_BARRED);
  ck_assert_int_eq (try (self, "2001:db8:0:1::3", TOKEN), ACCESS_GRANTED);
  ck_assert_int_eq (try (self, "10.0.0.2", TOKEN), ACCESS_GRANTED);
  ck_assert_int_eq (try (self, "10.0.0.1", NULL), ACCESS_UNKNOWN);
}
END_TEST

/* Addresses beyond those that are kept share one count: memory is bounded, and so are guesses. */
START_TEST (test_many_addresses)
{
  g_autoptr (Access) self = access_new (8080, "gpu1", TOKEN);
  guint              unknown = 0;

  for (guint i = 0; i < 3000; i++)
    {
      g_autofree char *from = g_strdup_printf ("10.0.%u.%u", i / 250, i % 250);

      unknown += try (self, from, "wrong") == ACCESS_UNKNOWN;
    }
  ck_assert_uint_eq (unknown, 1024 + ACCESS_MOST_WRONG);
  ck_assert_int_eq (try (self, "10.0.0.1", TOKEN), ACCESS_GRANTED);
  ck_assert_int_eq (try (self, "10.9.9.9", TOKEN), ACCESS_BARRED);
}
END_TEST

START_TEST (test_cookie)
{
  g_autoptr (Access)       self = access_new (8080, "gpu1", TOKEN);
  g_autoptr (Access)       other = access_new (8080, "gpu1", TOKEN);
  g_autoptr (GInetAddress) who = g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4);
  g_auto (GStrv)           parts = g_strsplit (access_cookie (self), "; ", -1);
  g_autofree char         *among = g_strdup_printf ("a=b; %s; c", parts[0]);

  ck_assert_ptr_null (strstr (access_cookie (self), TOKEN));
  ck_assert_int_eq (access_judge (self, who, NULL, parts[0], NULL), ACCESS_GRANTED);
  ck_assert_int_eq (access_judge (self, who, NULL, among, NULL), ACCESS_GRANTED);
  ck_assert_int_eq (access_judge (other, who, NULL, parts[0], NULL), ACCESS_UNKNOWN);
  ck_assert_int_eq (access_judge (self, who, "Bearer " TOKEN, NULL, NULL), ACCESS_GRANTED);
  ck_assert_int_eq (access_judge (self, who, "Basic " TOKEN, NULL, NULL), ACCESS_UNKNOWN);
}
END_TEST

SUITE_MAIN (access)
{
  Suite *suite = suite_create ("access");
  TCase *tcase = tcase_create ("access");

  tcase_add_test (tcase, test_hosts);
  tcase_add_test (tcase, test_pages);
  tcase_add_test (tcase, test_guesses);
  tcase_add_test (tcase, test_many_addresses);
  tcase_add_test (tcase, test_cookie);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
