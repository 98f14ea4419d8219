/*
 * Names of models as people write them: in either case, with an organisation before them
 * ("meta-llama/Llama-3.1-8B-Instruct"), for the shape that is shipped. Which ids stand for which
 * shape is data: workloads/models/names.csv.
 */
#pragma once

#include <glib.h>

/*
 * Which of SHIPPED (NULL-terminated) NAME means: that name itself, what a row of names.csv whose
 * pattern fits stands for, or either of these without an ending that leaves the shape as it is
 * (rows without a name; 0 stands for a digit). NULL: none.
 */
const char *model_names_find (const char *name, const char *const *shipped);
