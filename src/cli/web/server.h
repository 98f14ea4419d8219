/*
 * The page and its interface over HTTP, on the loopback interface alone.
 *
 * Another site's page that a browser shows may send requests here, too, so that a request counts
 * only if it names this server as its host (a name that was rebound to 127.0.0.1 does not), comes
 * from this server's own page or from no page, and, where it makes something run, is of a type that
 * no other site may send unasked. Nothing is written, no file but those of the page and the shipped
 * data is read, and no body is longer than what the readers take.
 *
 * It is a module: the libraries that speak HTTP would cost every other command a third of its
 * start.
 */
#pragma once

#include "cli/web/work.h"

#include <gio/gio.h>

typedef struct _WebServer WebServer;

/* What the module exports. */
#define WEB_SERVER_MODULE "web_server_module"
typedef struct
{
  /*
   * Listens on PORT (0: any that is free) of the loopback interface and serves FOLDER's page until
   * it is freed. WORK outlives it. NULL with ERROR set.
   */
  WebServer *(*start) (guint port, const char *folder, WebWork *work, GError **error);
  void (*free) (WebServer *self);
  const char *(*address) (const WebServer *self); /* "http://localhost:8080/"; of SELF */
} WebServerModule;

/* Loads the module, for good. NULL with ERROR set: this program has none. */
const WebServerModule *web_server_load (GError **error);
