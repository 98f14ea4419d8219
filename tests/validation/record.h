/*
 * The shipped record of errors (hwprofiles/record/training.csv) against today's predictions: each
 * row of speed that is predicted stands in it, with an error that is near. UPDATE_GOLDEN=1 writes
 * today's lines over those of the same id, and adds the ones that it lacks.
 */
#pragma once

#include "evidence/tables/validate-training.h"

/* Fails the running test, after all differences went to stderr. */
void record_check (const TrainingValidation *v);
