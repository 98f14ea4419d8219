/*
 * Who may ask the server, by what a request says of itself.
 *
 * The host that it names is one of this server's own names, so that no page of another site reaches
 * it by a name that was pointed here; where a page asks, it is this server's own. Where there is a
 * token, a request holds it, or the cookie that it was exchanged for. The cookie is not the token:
 * other servers of the same machine see a browser's cookies, whatever their port.
 */
#pragma once

#include <gio/gio.h>

/* Wrong tokens of one address within a minute, after which none of it is looked at. */
#define ACCESS_MOST_WRONG 10

typedef struct _Access Access;

/*
 * Of a server that is called LISTEN (NULL: it is on the loopback interface alone), with TOKEN
 * (NULL: none, whoever reaches it may ask).
 */
Access *access_new (guint port, const char *listen, const char *token);
void    access_free (Access *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Access, access_free)

/* Whether HOST ("localhost:8080"; NULL: none was named) is a name of the server. */
gboolean access_names_server (const Access *self, const char *host);

/* Whether a page of ORIGIN (NULL: it is no page that asks) is the one that HOST has shown. */
gboolean access_is_own_page (const char *origin, const char *host);

typedef enum
{
  ACCESS_GRANTED,
  ACCESS_UNKNOWN, /* no token, or a wrong one */
  ACCESS_BARRED,  /* too many wrong ones */
} AccessVerdict;

/*
 * Of a request from WHO with these headers, each of which may be NULL; TOKEN: of its address.
 */
AccessVerdict access_judge (Access *self, GInetAddress *who, const char *authorization,
                            const char *cookies, const char *token);

/* What a browser that has the token is told, a Set-Cookie; of SELF. */
const char *access_cookie (const Access *self);
