/*
 * The page and its interface over HTTP, on the loopback interface unless a place is named.
 *
 * Another site's page that a browser shows may send requests here, too, so that a request counts
 * only if access.h lets it in and, where it makes something run, it is of a type that no other site
 * may send unasked. Nothing is written, no file but those of the page and the shipped
 * data is read, and no body is longer than what the readers take.
 *
 * It is a module: the libraries that speak HTTP would cost every other command a third of its
 * start.
 */
#pragma once

#include "cli/web/work.h"

#include <gio/gio.h>

typedef struct _WebServer WebServer;

typedef struct
{
  guint       port;   /* 0: any that is free */
  const char *listen; /* an address of this machine, or a name of one; NULL: the loopback one */
  const char *token;  /* that requests must have; NULL: none */
  const char *folder; /* of the page */
} WebPlace;

/* What the module exports. */
#define WEB_SERVER_MODULE "web_server_module"
typedef struct
{
  /* Serves until it is freed. WORK outlives it. NULL with ERROR set. */
  WebServer *(*start) (const WebPlace *place, WebWork *work, GError **error);
  void (*free) (WebServer *self);
  const char *(*address) (const WebServer *self); /* "http://localhost:8080/"; of SELF */
} WebServerModule;

/* Loads the module, for good. NULL with ERROR set: this program has none. */
const WebServerModule *web_server_load (GError **error);
