#include <gmodule.h>

#include "base/file/layout.h"
#include "cli/web/server.h"

const WebServerModule *
web_server_load (GError **error)
{
  g_autofree char       *file = layout_module_file ("web-server.so");
  GModule               *module = file != NULL ? g_module_open (file, G_MODULE_BIND_LAZY) : NULL;
  const WebServerModule *self = NULL;

  if (module != NULL && g_module_symbol (module, WEB_SERVER_MODULE, (gpointer *) (void *) &self))
    return self;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
               "there is no server: %s\n  hint: build with libsoup (libsoup-3.0-dev)",
               file == NULL ? "this shardsim was built without 'web-server.so'"
                            : g_module_error ());
  return NULL;
}
