#include "cli/web/server.h"

#include <gmodule.h>
#include <libsoup/soup.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"

#define MOST_BODY    (CONFIG_MAX_BYTES + (1 << 16)) /* a file, and the keys around it */
#define SECONDS_READ 30                             /* that a request may take to come */
#define STOP_PATH    "/api/stop"
#define GIVE_PATH    "/api/files"

static const struct
{
  const char *path, *file, *type;
} pages[] = {
  { "/", "index.html", "text/html; charset=utf-8" },
  { "/app.js", "app.js", "text/javascript; charset=utf-8" },
  { "/form.js", "form.js", "text/javascript; charset=utf-8" },
  { "/answer.js", "answer.js", "text/javascript; charset=utf-8" },
  { "/command-form.js", "command-form.js", "text/javascript; charset=utf-8" },
  { "/compare.js", "compare.js", "text/javascript; charset=utf-8" },
  { "/heat.js", "heat.js", "text/javascript; charset=utf-8" },
  { "/values.js", "values.js", "text/javascript; charset=utf-8" },
  { "/machine.js", "machine.js", "text/javascript; charset=utf-8" },
  { "/plan.js", "plan.js", "text/javascript; charset=utf-8" },
  { "/record.js", "record.js", "text/javascript; charset=utf-8" },
  { "/sensitivity.js", "sensitivity.js", "text/javascript; charset=utf-8" },
  { "/panel.js", "panel.js", "text/javascript; charset=utf-8" },
  { "/timeline.js", "timeline.js", "text/javascript; charset=utf-8" },
  { "/style.css", "style.css", "text/css; charset=utf-8" },
  { "/panels.css", "panels.css", "text/css; charset=utf-8" },
};

struct _WebServer
{
  SoupServer     *soup;
  GSocketService *service;
  WebWork        *work;
  char           *address;
  char           *hosts[3];                       /* that a request may name */
  GBytes         *contents[G_N_ELEMENTS (pages)]; /* read once */
  GHashTable     *pending;                        /* Pending */
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

static gboolean
names_server (const WebServer *self, const char *host)
{
  for (guint i = 0; host != NULL && i < G_N_ELEMENTS (self->hosts); i++)
    if (g_ascii_strcasecmp (host, self->hosts[i]) == 0)
      return TRUE;
  return FALSE;
}

static gboolean
is_own_page (const WebServer *self, const char *origin)
{
  return origin == NULL
         || (g_str_has_prefix (origin, "http://")
             && names_server (self, origin + strlen ("http://")));
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
objection (const WebServer *self, SoupServerMessage *message, guint *status)
{
  SoupMessageHeaders *headers = soup_server_message_get_request_headers (message);
  const gboolean      posts = soup_server_message_get_method (message) == SOUP_METHOD_POST;

  *status = SOUP_STATUS_FORBIDDEN;
  if (!names_server (self, soup_message_headers_get_one (headers, "Host")))
    return "this server is asked by another name than its own";
  if (!is_own_page (self, soup_message_headers_get_one (headers, "Origin")))
    return "pages of other sites may not ask";
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
  g_autofree char      *answer =
      g_strdup_printf ("HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                       status, soup_status_get_phrase (status), strlen (body), body);

  connection = soup_server_message_steal_connection (message);
  /* so little fits into the socket's buffer, or nobody takes it */
  g_output_stream_write (g_io_stream_get_output_stream (connection), answer, strlen (answer), NULL,
                         NULL);
  g_io_stream_close (connection, NULL, NULL);
}

/* Before the body is read. */
static void
check (G_GNUC_UNUSED SoupServer *soup, SoupServerMessage *message, G_GNUC_UNUSED const char *path,
       G_GNUC_UNUSED GHashTable *query, gpointer user)
{
  guint       status;
  const char *why = objection (user, message, &status);

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

/* Ends the call of that id early: its own request is answered with what it has. */
static void
stop_call (WebServer *self, SoupServerMessage *message, const char *id)
{
  GHashTableIter iter;
  gpointer       pending;

  g_hash_table_iter_init (&iter, self->pending);
  while (id != NULL && g_hash_table_iter_next (&iter, &pending, NULL))
    if (g_strcmp0 (((Pending *) pending)->id, id) == 0)
      web_work_stop (((Pending *) pending)->call);
  answer_json (message, SOUP_STATUS_OK, g_strdup ("{}\n"));
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
answer_get (WebServer *self, SoupServerMessage *message, const char *path)
{
  char *text;

  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    if (g_str_equal (pages[i].path, path))
      {
        gsize         length;
        gconstpointer content = g_bytes_get_data (self->contents[i], &length);

        set_headers (message);
        soup_server_message_set_status (message, SOUP_STATUS_OK, NULL);
        soup_server_message_set_response (message, pages[i].type, SOUP_MEMORY_COPY, content,
                                          length);
        return;
      }
  text = endpoint_get (path);
  if (text != NULL)
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
    answer_get (user, message, path);
  else
    refuse (message, SOUP_STATUS_METHOD_NOT_ALLOWED, "only GET and POST are answered");
}

/* ---- the server ------------------------------------------------------------------------------ */

static gboolean
read_pages (WebServer *self, const char *folder, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    {
      g_autofree char *path = g_build_filename (folder, pages[i].file, NULL);
      char            *text;
      gsize            length;

      if (!g_file_get_contents (path, &text, &length, error))
        return FALSE;
      self->contents[i] = g_bytes_new_take (text, length);
    }
  return TRUE;
}

/* Listens on PORT (0: a free one) of the loopback address of FAMILY. The port; 0 with ERROR set. */
static guint
add_address (WebServer *self, GSocketFamily family, guint port, GError **error)
{
  g_autoptr (GInetAddress)   loopback = g_inet_address_new_loopback (family);
  g_autoptr (GSocketAddress) address = g_inet_socket_address_new (loopback, (guint16) port);
  g_autoptr (GSocketAddress) effective = NULL;

  if (!g_socket_listener_add_address (G_SOCKET_LISTENER (self->service), address,
                                      G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP, NULL, &effective,
                                      error))
    return 0;
  return g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (effective));
}

/* On both loopback addresses, or on that of IPv4 alone where there is no other. */
static guint
listen_on (WebServer *self, guint port, GError **error)
{
  g_autoptr (GError) own = NULL, six = NULL;
  const guint        taken = add_address (self, G_SOCKET_FAMILY_IPV4, port, &own);

  if (taken != 0)
    add_address (self, G_SOCKET_FAMILY_IPV6, taken, &six);
  if (taken != 0 && !g_error_matches (six, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE))
    return taken;
  if (taken != 0 || g_error_matches (own, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
                 "port %u is in use: name another with --port", taken != 0 ? taken : port);
  else
    g_propagate_prefixed_error (error, g_steal_pointer (&own), "cannot listen on port %u: ", port);
  return 0;
}

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
  for (guint i = 0; i < G_N_ELEMENTS (pages); i++)
    g_clear_pointer (&self->contents[i], g_bytes_unref);
  for (guint i = 0; i < G_N_ELEMENTS (self->hosts); i++)
    g_free (self->hosts[i]);
  g_free (self->address);
  g_free (self);
}

static WebServer *
start (guint port, const char *folder, WebWork *work, GError **error)
{
  static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };
  WebServer               *self = g_new0 (WebServer, 1);

  self->work = work;
  self->pending = g_hash_table_new_full (NULL, NULL, pending_free, NULL);
  self->soup = soup_server_new ("server-header", "shardsim", NULL);
  self->service = g_socket_service_new ();
  g_socket_service_stop (self->service); /* a new address would drop what it is accepting */
  port = read_pages (self, folder, error) ? listen_on (self, port, error) : 0;
  if (port == 0)
    {
      server_free (self);
      return NULL;
    }
  self->address = g_strdup_printf ("http://localhost:%u/", port);
  for (guint i = 0; i < G_N_ELEMENTS (names); i++) /* browsers leave the usual port away */
    self->hosts[i] = port == 80 ? g_strdup (names[i]) : g_strdup_printf ("%s:%u", names[i], port);
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
