#include "cli/web/access.h"

#include <string.h>

#include "cli/web/token-file.h"

#define MOST_ADDRESSES 1024 /* whose wrong tokens are counted apart; all others are one */
#define OTHERS         "others"
#define MINUTE         G_GINT64_CONSTANT (60000000) /* us */
#define BEARER         "Bearer "

struct _Access
{
  GPtrArray  *names;   /* that a request may name, without the port */
  gboolean    numbers; /* or any number: names alone are pointed elsewhere */
  char       *token, *session, *cookie;
  GHashTable *wrong; /* address -> wrong tokens since BEGIN */
  gint64      begin; /* us */
};

Access *
access_new (guint port, const char *listen, const char *token)
{
  static const char *const loopback[] = { "localhost", "127.0.0.1", "::1" };
  Access                  *self = g_new0 (Access, 1);

  self->names = g_ptr_array_new_with_free_func (g_free);
  for (guint i = 0; i < G_N_ELEMENTS (loopback); i++)
    g_ptr_array_add (self->names, g_strdup (loopback[i]));
  if (listen != NULL)
    {
      g_ptr_array_add (self->names, g_strdup (listen));
      g_ptr_array_add (self->names, g_strdup (g_get_host_name ()));
    }
  self->numbers = listen != NULL;
  self->wrong = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  if (token == NULL)
    return self;
  self->token = g_strdup (token);
  self->session = token_draw ();
  self->cookie =
      g_strdup_printf ("shardsim-%u=%s; HttpOnly; SameSite=Strict; Path=/", port, self->session);
  return self;
}

void
access_free (Access *self)
{
  g_ptr_array_unref (self->names);
  g_hash_table_unref (self->wrong);
  g_free (self->token);
  g_free (self->session);
  g_free (self->cookie);
  g_free (self);
}

const char *
access_cookie (const Access *self)
{
  return self->cookie;
}

/* ---- hosts and pages ------------------------------------------------------------------------- */

/* "localhost:8080", "[::1]:8080" without the port and the brackets; NULL: it is no such thing. */
static char *
name_of (const char *host)
{
  const gboolean bracketed = *host == '[';
  const char    *begin = bracketed ? host + 1 : host;
  const char    *end = strchr (begin, bracketed ? ']' : ':');
  const char    *port = end == NULL ? begin + strlen (begin) : bracketed ? end + 1 : end;

  if ((bracketed && end == NULL) || (*port != '\0' && *port != ':')
      || (*port == ':' && strspn (port + 1, "0123456789") != strlen (port + 1)))
    return NULL;
  return g_strndup (begin, end != NULL ? (gsize) (end - begin) : strlen (begin));
}

gboolean
access_names_server (const Access *self, const char *host)
{
  g_autofree char *name = host != NULL ? name_of (host) : NULL;

  for (guint i = 0; name != NULL && i < self->names->len; i++)
    if (g_ascii_strcasecmp (name, g_ptr_array_index (self->names, i)) == 0)
      return TRUE;
  return name != NULL && self->numbers && g_hostname_is_ip_address (name);
}

gboolean
access_is_own_page (const char *origin, const char *host)
{
  return origin == NULL
         || (host != NULL && g_str_has_prefix (origin, "http://")
             && g_ascii_strcasecmp (origin + strlen ("http://"), host) == 0);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

/* Takes as long wherever they differ: both are hashed, and all of the hashes is compared. */
static gboolean
is_same (const char *a, const char *b)
{
  g_autofree char *x = g_compute_checksum_for_string (G_CHECKSUM_SHA256, a, -1);
  g_autofree char *y = g_compute_checksum_for_string (G_CHECKSUM_SHA256, b, -1);
  volatile guint   differs = 0;

  for (gsize i = 0; x[i] != '\0'; i++)
    differs |= (guint) (guchar) x[i] ^ (guint) (guchar) y[i];
  return differs == 0;
}

/* Whether one of COOKIES ("a=1; b=2") is the session's. */
static gboolean
has_session (const Access *self, const char *cookies)
{
  g_auto (GStrv) each = g_strsplit (cookies != NULL ? cookies : "", ";", -1);
  const gsize    name = (gsize) (strchr (self->cookie, '=') - self->cookie) + 1;

  for (guint i = 0; each[i] != NULL; i++)
    {
      const char *one = g_strstrip (each[i]);

      if (strncmp (one, self->cookie, name) == 0 && is_same (one + name, self->session))
        return TRUE;
    }
  return FALSE;
}

/* Under what wrong tokens of WHO are counted: of IPv6 a network of one owner. Newly allocated. */
static char *
key_of (GInetAddress *who)
{
  const guint8 *b = g_inet_address_to_bytes (who);

  if (g_inet_address_get_family (who) == G_SOCKET_FAMILY_IPV4)
    return g_inet_address_to_string (who);
  return g_strdup_printf ("%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5],
                          b[6], b[7]);
}

/* The wrong tokens of WHO in this minute. *KEY is newly allocated. */
static guint
count_wrong (Access *self, GInetAddress *who, char **key)
{
  const gint64 now = g_get_monotonic_time ();

  if (now - self->begin > MINUTE)
    {
      g_hash_table_remove_all (self->wrong);
      self->begin = now;
    }
  *key = key_of (who);
  if (!g_hash_table_contains (self->wrong, *key)
      && g_hash_table_size (self->wrong) >= MOST_ADDRESSES)
    {
      g_free (*key);
      *key = g_strdup (OTHERS);
    }
  return GPOINTER_TO_UINT (g_hash_table_lookup (self->wrong, *key));
}

AccessVerdict
access_judge (Access *self, GInetAddress *who, const char *authorization, const char *cookies,
              const char *token)
{
  g_autofree char *key = NULL;
  guint            wrong;

  if (self->token == NULL || has_session (self, cookies))
    return ACCESS_GRANTED;
  if (token == NULL && authorization != NULL && g_str_has_prefix (authorization, BEARER))
    token = authorization + strlen (BEARER);
  if (token == NULL)
    return ACCESS_UNKNOWN;
  wrong = count_wrong (self, who, &key);
  if (wrong >= ACCESS_MOST_WRONG)
    return ACCESS_BARRED;
  if (is_same (token, self->token))
    return ACCESS_GRANTED;
  g_hash_table_replace (self->wrong, g_steal_pointer (&key), GUINT_TO_POINTER (wrong + 1));
  return ACCESS_UNKNOWN;
}
