/*
 * How a token finds its experts: by a gate (indirect), or by what the experts' first matrices hold,
 * a key a cell (S-FFN, arXiv:2305.13999).
 *
 *   FLOPs of a token, forward, H wide, E experts of g cells:
 *     indirect   2 H E
 *     avg-k      2 H E, and the means of E g keys, which are read once a pass
 *     direct     2 H E g
 *
 * Neither of the latter has weights of its own or a loss that balances. Assumed: the scores of
 * avg-k weigh what the experts make, as a gate's do, so that their gradient goes on to the means
 * and is added to each of their keys'; direct chooses, and learns nothing by that. The products of
 * the chosen experts are made as ever, though direct has had their keys' part of it.
 */
#pragma once

#include "model/mesh/parallel.h"
#include "model/shape/model.h"
#include "model/step/training.h"

/* Diagnoses at the MARKS of MESH a router by keys where a rank has parts of them. */
void router_check_mesh (const ModelShape *shape, const TrainingOptions *training,
                        const MeshOptions *mesh, const OptionMarks *marks, DiagList *diags);
