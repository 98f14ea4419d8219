#include "cli/mpi/sweep-launcher.h"

#include "base/file/layout.h"

/* What launchers set: Open MPI, Hydra and Slurm's PMI2. */
static const struct
{
  const char *size, *rank;
} launchers[] = {
  { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK" },
  { "PMI_SIZE", "PMI_RANK" },
};

static guint
number_of (const char *variable)
{
  const char *text = g_getenv (variable);

  return text != NULL ? (guint) g_ascii_strtoull (text, NULL, 10) : 0;
}

guint
sweep_launcher_size (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (launchers); i++)
    if (number_of (launchers[i].size) > 1)
      return number_of (launchers[i].size);
  return 1;
}

guint
sweep_launcher_rank (void)
{
  for (guint i = 0; i < G_N_ELEMENTS (launchers); i++)
    if (number_of (launchers[i].size) > 1)
      return number_of (launchers[i].rank);
  return 0;
}

SweepWorld *
sweep_launcher_join (GError **error)
{
  g_autofree char *file = layout_module_file ("sweep-mpi.so");
  GModule         *module = file != NULL ? g_module_open (file, G_MODULE_BIND_LAZY) : NULL;
  SweepWorldOpen   open = NULL;
  SweepWorld      *world = NULL;

  if (module != NULL && g_module_symbol (module, SWEEP_WORLD_OPEN, (gpointer *) (void *) &open))
    world = open ();
  if (world != NULL)
    return world;
  g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
               "%u processes were started by an MPI launcher, and %s%s\n  hint: build with MPI "
               "(libopenmpi-dev), or give each call a --shard K/N",
               sweep_launcher_size (),
               file == NULL     ? "this shardsim was built without MPI: there is no 'sweep-mpi.so'"
               : module == NULL ? "its module does not load: "
                                : "its MPI does not take calls from threads",
               file != NULL && module == NULL ? g_module_error () : "");
  return NULL;
}
