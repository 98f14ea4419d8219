#include "cli/web/server.h"

#include <gmodule.h>
#include <libsoup/soup.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "cli/web/access.h"
#include "cli/web/listen.h"
#include "cli/web/page-files.h"

#define MOST_BODY    (CONFIG_MAX_BYTES + (1 << 16)) /* a file, and the keys around it */
#define SECONDS_READ 30                             /* that a request may take to come */
#define STOP_PATH    "/api/stop"
#define LOOK_PATH    "/api/progress"
#define GIVE_PATH    "/api/files"

struct _WebServer
{
  SoupServer     *soup;
  GSocketService *service;
  WebWork        *work;
  Access         *access;
  char           *address;
  GPtrArray      *pages;   /* PageFile, read once */
  GHashTable     *pending; /* Pending */
};

/* A call that a message waits for. */
typedef struct
{
  WebServer         *server;
  SoupServerMessage *message; /* a reference */
  WebCall           *call;
  char              *id;    /* that the page gave it; NULL: none */
  GSource           *watch; /* of its connection's end */
  gulong             finished;
} Pending;

/* ---- what is answered ------------------------------------------------------------------------ */

static void
set_headers (SoupServerMessage *message)
{
  SoupMessageHeaders *headers = soup_server_message_get_response_headers (message);

  soup_message_headers_replace (
      headers, "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
      "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  soup_message_headers_replace (headers, "X-Content-Type-Options", "nosniff");
  soup_message_headers_replace (headers, "Referrer-Policy", "no-referrer");
  soup_message_headers_replace (headers, "Cross-Origin-Resource-Policy", "same-origin");
  soup_message_headers_replace (headers, "Cache-Control", "no-store");
}

/* Takes TEXT. */
static void
answer_json (SoupServerMessage *message, guint status, char *text)
{
  set_headers (message);
  soup_server_message_set_status (message, status, NULL);
  soup_server_message_set_response (message, "application/json", SOUP_MEMORY_TAKE, text,
                                    strlen (text));
}

static void
refuse (SoupServerMessage *message, guint status, const char *why)
{
  answer_json (message, status, endpoint_refusal (why));
}

/* ---- who may ask ----------------------------------------------------------------------------- */

#define UNKNOWN                                                                                    \
  "this server wants its token: open its address with ?token=TOKEN behind it, or send the header " \
  "Authorization: Bearer TOKEN"
#define STATUS_TOO_MANY 429 /* which libsoup has no name for */
#define TOO_OFTEN       "too many wrong tokens: try again in a minute"

static GInetAddress *
asker_of (SoupServerMessage *message)
{
  GSocketAddress *address = soup_server_message_get_remote_address (message);

  return g_inet_socket_address_get_address (G_INET_SOCKET_ADDRESS (address));
}

/* The page's own files are no secret; what asks for numbers is let in. */
static const char *
objection_to_asker (const WebServer *self, SoupServerMessage *message, const char *path,
                    guint *status)
{
  SoupMessageHeaders *headers = soup_server_message_get_request_headers (message);

  if (page_files_find (self->pages, path) != NULL)
    return NULL;
  switch (access_judge (self->access, asker_of (message),
                        soup_message_headers_get_one (headers, "Authorization"),
                        soup_message_headers_get_list (headers, "Cookie"), NULL))
    {
    case ACCESS_GRANTED:
      return NULL;
    case ACCESS_BARRED:
      *status = STATUS_TOO_MANY;
      return TOO_OFTEN;
    default:
      *status = SOUP_STATUS_UNAUTHORIZED;
      return UNKNOWN;
    }
}

/* Why a body as HEADERS announce it is not read: it would be held in memory. NULL: it is. */
static const char *
objection_to_body (SoupMessageHeaders *headers, gboolean posts, guint *status)
{
  const gboolean says = soup_message_headers_get_encoding (headers) == SOUP_ENCODING_CONTENT_LENGTH;
  const goffset  most = posts ? MOST_BODY : 0;

  *status = SOUP_STATUS_LENGTH_REQUIRED;
  if (!says && (posts || soup_message_headers_get_encoding (headers) != SOUP_ENCODING_NONE))
    return "requests say their length";
  *status = SOUP_STATUS_REQUEST_ENTITY_TOO_LARGE;
  return says && soup_message_headers_get_content_length (headers) > most
             ? "the request is too long"
             : NULL;
}

/* Why MESSAGE is not heard, and the STATUS to say so with; NULL: it is. */
static const char *
objection (const WebServer *self, SoupServerMessage *message, const char *path, guint *status)
{
  SoupMessageHeaders *headers = soup_server_message_get_request_headers (message);
  const gboolean      posts = soup_server_message_get_method (message) == SOUP_METHOD_POST;
  const char         *host = soup_message_headers_get_one (headers, "Host");
  const char         *why;

  *status = SOUP_STATUS_FORBIDDEN;
  if (!access_names_server (self->access, host))
    return "this server is asked by another name than its own";
  if (!access_is_own_page (soup_message_headers_get_one (headers, "Origin"), host))
    return "pages of other sites may not ask";
  why = objection_to_asker (self, message, path, status);
  if (why != NULL)
    return why;
  *status = SOUP_STATUS_UNSUPPORTED_MEDIA_TYPE;
  if (posts
      && g_strcmp0 (soup_message_headers_get_content_type (headers, NULL), "application/json") != 0)
    return "requests are of the type application/json";
  return objection_to_body (headers, posts, status);
}

/* Answers a request whose body is never read, and ends its connection. */
static void
turn_away (SoupServerMessage *message, guint status, const char *why)
{
  g_autoptr (GIOStream) connection = NULL;
  g_autofree char      *body = endpoint_refusal (why);
  g_autofree char      *answer = g_strdup_printf (
           "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n"
                "Content-Length: %zu\r\nConnection: close\r\n%s\r\n%s",
           status, soup_status_get_phrase (status), strlen (body),
      status == SOUP_STATUS_UNAUTHORIZED ? "WWW-Authenticate: Bearer\r\n" : "", body);

  connection = soup_server_message_steal_connection (message);
  /* so little fits into the socket's buffer, or nobody takes it */
  g_output_stream_write (g_io_stream_get_output_stream (connection), answer, strlen (answer), NULL,
                         NULL);
  g_io_stream_close (connection, NULL, NULL);
}

/* Before the body is read. */
static void
check (G_GNUC_UNUSED SoupServer *soup, SoupServerMessage *message, const char *path,
       G_GNUC_UNUSED GHashTable *query, gpointer user)
{
  guint       status;
  const char *why = objection (user, message, path, &status);

  if (why != NULL)
    turn_away (message, status, why);
}

/* ---- connections ----------------------------------------------------------------------------- */

/*
 * They are accepted here: a connection that libsoup 3.2 accepts leaves its socket open for good.
 * Messages know the address of who asks, an object of one connection alone, which has a Client.
 */
#define CLIENT "client"

typedef struct
{
  GSocket *socket; /* a reference */
  guint    timer;  /* 0: its request has come */
} Client;

static void
stop_timer (Client *self)
{
  if (self->timer > 0)
    g_source_remove (self->timer);
  self->timer = 0;
}

static void
client_free (gpointer data)
{
  Client *self = data;

  stop_timer (self);
  g_object_unref (self->socket);
  g_free (self);
}

static Client *
client_of (SoupServerMessage *message)
{
  return g_object_get_data (G_OBJECT (soup_server_message_get_remote_address (message)), CLIENT);
}

static gboolean
hang_up (gpointer data)
{
  Client *self = data;

  self->timer = 0;
  g_socket_shutdown (self->socket, TRUE, TRUE, NULL);
  return G_SOURCE_REMOVE;
}

static void
wait_for_request (Client *self)
{
  stop_timer (self);
  self->timer = g_timeout_add_seconds (SECONDS_READ, hang_up, self);
}

static gboolean
accept_client (G_GNUC_UNUSED GSocketService *service, GSocketConnection *connection,
               G_GNUC_UNUSED GObject *source, gpointer user)
{
  WebServer                 *self = user;
  g_autoptr (GSocketAddress) local = g_socket_connection_get_local_address (connection, NULL);
  g_autoptr (GSocketAddress) remote = g_socket_connection_get_remote_address (connection, NULL);
  Client                    *client;

  if (local == NULL || remote == NULL) /* it has gone */
    return TRUE;
  client = g_new0 (Client, 1);
  client->socket = g_object_ref (g_socket_connection_get_socket (connection));
  g_object_set_data_full (G_OBJECT (remote), CLIENT, client, client_free);
  wait_for_request (client);
  soup_server_accept_iostream (self->soup, G_IO_STREAM (connection), local, remote, NULL);
  return TRUE;
}

static void
request_read (G_GNUC_UNUSED SoupServer *soup, SoupServerMessage *message,
              G_GNUC_UNUSED gpointer user)
{
  stop_timer (client_of (message));
}

/* The next one may come on the same connection. */
static void
request_finished (G_GNUC_UNUSED SoupServer *soup, SoupServerMessage *message,
                  G_GNUC_UNUSED gpointer user)
{
  wait_for_request (client_of (message));
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void
pending_free (gpointer data)
{
  Pending *self = data;

  if (self->watch != NULL)
    {
      g_source_destroy (self->watch);
      g_source_unref (self->watch);
    }
  g_signal_handler_disconnect (self->message, self->finished);
  g_object_unref (self->message);
  g_free (self->id);
  g_free (self);
}

static void
answered (char *text, gpointer user)
{
  Pending           *pending = user;
  SoupServerMessage *message = g_object_ref (pending->message);

  g_hash_table_remove (pending->server->pending, pending);
  answer_json (message, SOUP_STATUS_OK, text);
  soup_server_message_unpause (message);
  g_object_unref (message);
}

/* The one who asked has gone. */
static void
give_up (Pending *pending)
{
  web_work_drop (pending->call);
  g_hash_table_remove (pending->server->pending, pending);
}

static void
message_finished (G_GNUC_UNUSED SoupServerMessage *message, gpointer user)
{
  give_up (user);
}

/* A paused message does not see that its connection has ended. */
static gboolean
connection_changed (GSocket *socket, GIOCondition condition, gpointer user)
{
  Pending           *pending = user;
  SoupServerMessage *message;
  char               byte;
  const ssize_t      n = recv (g_socket_get_fd (socket), &byte, 1, MSG_PEEK | MSG_DONTWAIT);

  if (n > 0) /* the next request: it waits */
    {
      g_source_unref (g_steal_pointer (&pending->watch));
      return G_SOURCE_REMOVE;
    }
  if (n == 0 || (condition & (G_IO_HUP | G_IO_ERR)) != 0)
    {
      message = g_object_ref (pending->message);
      give_up (pending);
      refuse (message, SOUP_STATUS_SERVICE_UNAVAILABLE, "nobody waits for the answer");
      soup_server_message_unpause (message);
      g_object_unref (message);
      return G_SOURCE_REMOVE;
    }
  return G_SOURCE_CONTINUE;
}

static void
watch_connection (Pending *pending)
{
  GSocket *socket = client_of (pending->message)->socket;

  pending->watch = g_socket_create_source (socket, G_IO_IN | G_IO_HUP | G_IO_ERR, NULL);
  g_source_set_callback (pending->watch, G_SOURCE_FUNC (connection_changed), pending, NULL);
  g_source_attach (pending->watch, NULL);
}

static void
begin_call (WebServer *self, SoupServerMessage *message, const Endpoint *endpoint, const char *id)
{
  SoupMessageBody *body = soup_server_message_get_request_body (message);
  char            *why = NULL;
  char            *request = endpoint_request (body->data, (gsize) body->length, &why);
  Pending         *pending;

  if (request == NULL)
    {
      answer_json (message, SOUP_STATUS_BAD_REQUEST, why);
      return;
    }
  pending = g_new0 (Pending, 1);
  pending->call = web_work_begin (self->work, endpoint, request, answered, pending);
  if (pending->call == NULL)
    {
      g_free (pending);
      refuse (message, SOUP_STATUS_SERVICE_UNAVAILABLE, "too many requests wait: try again");
      return;
    }
  pending->server = self;
  pending->message = g_object_ref (message);
  pending->id = g_strdup (id);
  pending->finished =
      g_signal_connect (message, "finished", G_CALLBACK (message_finished), pending);
  g_hash_table_add (self->pending, pending);
  soup_server_message_pause (message);
  watch_connection (pending);
}

/* That the page called ID; NULL: it is answered, or there was none. */
static const Pending *
find_pending (const WebServer *self, const char *id)
{
  GHashTableIter iter;
  gpointer       pending;

  g_hash_table_iter_init (&iter, self->pending);
  while (id != NULL && g_hash_table_iter_next (&iter, &pending, NULL))
    if (g_strcmp0 (((const Pending *) pending)->id, id) == 0)
      return pending;
  return NULL;
}

/* Ends it early: its own request is answered with what it has. */
static void
stop_call (WebServer *self, SoupServerMessage *message, const char *id)
{
  const Pending *pending = find_pending (self, id);

  if (pending != NULL)
    web_work_stop (pending->call);
  answer_json (message, SOUP_STATUS_OK, g_strdup ("{}\n"));
}

/* How far it is. Who waits for it asks as often as suits him, so that nothing piles up here. */
static void
answer_progress (WebServer *self, SoupServerMessage *message, const char *id)
{
  const Pending *pending = find_pending (self, id);

  answer_json (message, SOUP_STATUS_OK,
               pending != NULL ? web_work_progress (pending->call) : g_strdup ("{}\n"));
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void
answer_post (WebServer *self, SoupServerMessage *message, const char *path, GHashTable *query)
{
  SoupMessageBody *body = soup_server_message_get_request_body (message);
  const Endpoint  *endpoint = endpoint_find (path);
  const char      *id = query != NULL ? g_hash_table_lookup (query, "id") : NULL;
  const char      *name = query != NULL ? g_hash_table_lookup (query, "name") : NULL;

  if (endpoint != NULL)
    begin_call (self, message, endpoint, id);
  else if (g_str_equal (path, STOP_PATH))
    stop_call (self, message, id);
  else if (g_str_equal (path, GIVE_PATH))
    answer_json (message, SOUP_STATUS_OK, endpoint_give (name, body->data, (gsize) body->length));
  else
    refuse (message, SOUP_STATUS_NOT_FOUND, "there is nothing of that name");
}

static void
answer_page (SoupServerMessage *message, const PageFile *page)
{
  gsize         length;
  gconstpointer content = g_bytes_get_data (page->content, &length);

  set_headers (message);
  soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
  soup_server_message_set_response (message, page->type, SOUP_MEMORY_COPY, content, length);
}

/* Who opens the page with the token gets a cookie in its place, and an address without it. */
static void
exchange (WebServer *self, SoupServerMessage *message, const char *token)
{
  SoupMessageHeaders *headers = soup_server_message_get_response_headers (message);
  const AccessVerdict verdict = access_judge (self->access, asker_of (message), NULL, NULL, token);

  if (verdict == ACCESS_GRANTED)
    {
      set_headers (message);
      if (access_cookie (self->access) != NULL)
        soup_message_headers_append (headers, "Set-Cookie", access_cookie (self->access));
      soup_message_headers_replace (headers, "Location", "/"); /* whatever a proxy is called */
      soup_server_message_set_status (message, SOUP_STATUS_SEE_OTHER, NULL);
    }
  else if (verdict == ACCESS_BARRED)
    refuse (message, STATUS_TOO_MANY, TOO_OFTEN);
  else
    refuse (message, SOUP_STATUS_UNAUTHORIZED, UNKNOWN);
}

static void
answer_get (WebServer *self, SoupServerMessage *message, const char *path, GHashTable *query)
{
  const PageFile *page = page_files_find (self->pages, path);
  const char     *token = query != NULL ? g_hash_table_lookup (query, "token") : NULL;
  const char     *id = query != NULL ? g_hash_table_lookup (query, "id") : NULL;
  char           *text;

  if (page != NULL && token != NULL)
    exchange (self, message, token);
  else if (page != NULL)
    answer_page (message, page);
  else if (g_str_equal (path, LOOK_PATH))
    answer_progress (self, message, id);
  else if ((text = endpoint_get (path)) != NULL)
    answer_json (message, SOUP_STATUS_OK, text);
  else
    refuse (message, SOUP_STATUS_NOT_FOUND, "there is nothing of that name");
}

static void
handle (G_GNUC_UNUSED SoupServer *soup, SoupServerMessage *message, const char *path,
        GHashTable *query, gpointer user)
{
  const char *method = soup_server_message_get_method (message);

  if (method == SOUP_METHOD_POST)
    answer_post (user, message, path, query);
  else if (method == SOUP_METHOD_GET || method == SOUP_METHOD_HEAD)
    answer_get (user, message, path, query);
  else
    refuse (message, SOUP_STATUS_METHOD_NOT_ALLOWED, "only GET and POST are answered");
}

/* ---- the server ------------------------------------------------------------------------------ */

static void
server_free (WebServer *self)
{
  GHashTableIter iter;
  gpointer       pending;

  g_hash_table_iter_init (&iter, self->pending);
  while (g_hash_table_iter_next (&iter, &pending, NULL))
    web_work_drop (((Pending *) pending)->call);
  g_hash_table_unref (self->pending);
  g_socket_service_stop (self->service);
  g_socket_listener_close (G_SOCKET_LISTENER (self->service));
  g_object_unref (self->service);
  soup_server_disconnect (self->soup);
  g_object_unref (self->soup);
  g_clear_pointer (&self->pages, g_ptr_array_unref);
  g_clear_pointer (&self->access, access_free);
  g_free (self->address);
  g_free (self);
}

static WebServer *
start (const WebPlace *place, WebWork *work, GError **error)
{
  WebServer *self = g_new0 (WebServer, 1);
  guint      port;

  self->work = work;
  self->pending = g_hash_table_new_full (NULL, NULL, pending_free, NULL);
  self->soup = soup_server_new ("server-header", "shardsim", NULL);
  self->service = g_socket_service_new ();
  g_socket_service_stop (self->service); /* a new address would drop what it is accepting */
  self->pages = page_files_read (place->folder, error);
  port = self->pages != NULL
             ? listen_on (G_SOCKET_LISTENER (self->service), place->listen, place->port, error)
             : 0;
  if (port == 0)
    {
      server_free (self);
      return NULL;
    }
  self->access = access_new (port, place->listen, place->token);
  self->address = listen_address_text (place->listen, port);
  soup_server_add_early_handler (self->soup, NULL, check, self, NULL);
  soup_server_add_handler (self->soup, NULL, handle, self, NULL);
  g_signal_connect (self->soup, "request-read", G_CALLBACK (request_read), NULL);
  g_signal_connect (self->soup, "request-finished", G_CALLBACK (request_finished), NULL);
  g_signal_connect (self->service, "incoming", G_CALLBACK (accept_client), self);
  g_socket_service_start (self->service);
  return self;
}

static const char *
address_of (const WebServer *self)
{
  return self->address;
}

G_MODULE_EXPORT const WebServerModule web_server_module = { start, server_free, address_of };
