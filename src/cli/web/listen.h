/* Where the server listens. */
#pragma once

#include <gio/gio.h>

/*
 * SELF listens on PORT (0: any that is free) of all addresses of NAME, which is one or has some;
 * NULL: of the loopback interface, by IPv4 and where there is such a one by IPv6. The port; 0 with
 * ERROR set.
 */
guint listen_on (GSocketListener *self, const char *name, guint port, GError **error);

/* "http://localhost:8080/", of that port of NAME. Newly allocated. */
char *listen_address_text (const char *name, guint port);
