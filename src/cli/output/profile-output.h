/*
 * Where -o puts a profile that a command writes: a folder of profiles where the path ends in a
 * slash or is a folder, made when missing; else a file, which is named ID.yaml.
 */
#pragma once

#include "cli/argument/common.h"

/* TRUE when OUTPUT is a folder of profiles, there already or not. */
gboolean profile_output_is_folder (const char *output);

/* Of a CommandOption. */
ExitStatus profile_output_check (const char *option, const char *path);

/*
 * The file of OUTPUT: itself, or KIND/ID.yaml in its folder. Newly allocated; NULL after a message
 * where it gives no id that profiles are found by.
 */
char *profile_output_file (const Common *common, const char *output, const char *kind,
                           const char *id);

/*
 * What --hwprofiles takes, or where the file has to go for that: "use it as 'box' with
 * --hwprofiles 'mine'". Newly allocated.
 */
char *profile_output_use (const char *file, const char *kind);
