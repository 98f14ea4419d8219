#include "cli/web/listen.h"

#include <string.h>

/* Listens on PORT (0: a free one) of ADDRESS. The port; 0 with ERROR set. */
static guint
add_address (GSocketListener *self, GInetAddress *address, guint port, GError **error)
{
  g_autoptr (GSocketAddress) place = g_inet_socket_address_new (address, (guint16) port);
  g_autoptr (GSocketAddress) effective = NULL;

  if (!g_socket_listener_add_address (self, place, G_SOCKET_TYPE_STREAM, G_SOCKET_PROTOCOL_TCP,
                                      NULL, &effective, error))
    return 0;
  return g_inet_socket_address_get_port (G_INET_SOCKET_ADDRESS (effective));
}

/* The addresses of NAME, which may be one; NULL: both of the loopback interface. */
static GList *
addresses_of (const char *name, GError **error)
{
  g_autoptr (GResolver) resolver = NULL;
  GList                *list = NULL;

  if (name == NULL)
    {
      list = g_list_prepend (list, g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV6));
      return g_list_prepend (list, g_inet_address_new_loopback (G_SOCKET_FAMILY_IPV4));
    }
  resolver = g_resolver_get_default ();
  return g_resolver_lookup_by_name (resolver, name, NULL, error);
}

/* On all of ADDRESSES that there are, of which the first counts. The port; 0 with ERROR set. */
static guint
listen_on_all (GSocketListener *self, const GList *addresses, guint port, GError **error)
{
  const guint        taken = add_address (self, addresses->data, port, error);
  g_autoptr (GError) other = NULL;

  for (const GList *next = addresses->next; taken != 0 && next != NULL; next = next->next)
    {
      g_clear_error (&other);
      add_address (self, next->data, taken, &other);
      if (g_error_matches (other, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE))
        {
          g_propagate_error (error, g_steal_pointer (&other));
          return 0;
        }
    }
  return taken;
}

guint
listen_on (GSocketListener *self, const char *name, guint port, GError **error)
{
  g_autoptr (GError) own = NULL;
  GList             *addresses = addresses_of (name, &own);
  const guint        taken = addresses != NULL ? listen_on_all (self, addresses, port, &own) : 0;

  g_resolver_free_addresses (addresses);
  if (g_error_matches (own, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE))
    g_set_error (error, G_IO_ERROR, G_IO_ERROR_ADDRESS_IN_USE,
                 "port %u is in use: name another with --port", port);
  else if (own != NULL)
    g_propagate_prefixed_error (error, g_steal_pointer (&own), "cannot listen on %s, port %u: ",
                                name != NULL ? name : "the loopback interface", port);
  return taken;
}

char *
listen_address_text (const char *name, guint port)
{
  if (name == NULL)
    name = "localhost";
  return g_strdup_printf (strchr (name, ':') != NULL ? "http://[%s]:%u/" : "http://%s:%u/", name,
                          port);
}
