/* What is said of predictions, part by part, for the documents that hold some. */
#pragma once

#include "report/document/document.h"
#include "report/prediction/report.h"

/* All that is known of a prediction; REPLAY may be NULL. */
void describe_prediction (Document *document, const Prediction *p, const Replay *replay);

/* What does not fit: a verdict a tier. Nothing where all fits. */
void describe_misfits (Document *document, const Prediction *p);

/* The answer in a few numbers. */
void describe_headline (Document *document, const Prediction *p);

/*
 * What is behind it: time, what binds it, what would be faster, with REPLAY (or NULL) streams and
 * kernels, memory and traffic.
 */
void describe_details (Document *document, const Prediction *p, const Replay *replay);

/* The parts of these that each of many predictions has. */
void describe_time (Document *document, const Prediction *p);
void describe_streams (Document *document, const Replay *replay, guint max_slices);
void describe_memory (Document *document, const Prediction *p);
void describe_traffic (Document *document, const Prediction *p);

/* The scenario, to copy. */
void describe_scenario (Document *document, const Prediction *p);

/* What made the results: version, schema, profiles with hashes, and of what kind they are. */
void describe_provenance (Document *document, const GPtrArray *predictions);

/* What would fit, and what would be faster; their keys in a result. */
void describe_remedies (Document *document, const Remedies *self);
void describe_advice (Document *document, const Prediction *p);
void remedies_add_json (const Remedies *self, struct json_object *result);
void advice_add_json (const Advice *self, struct json_object *result);

/* A table of those OptionEffects of which GIVEN's throughput is more than LEAST away. */
void describe_option_effects (Document *document, const GArray *effects, const Prediction *given,
                              double least);
/* Of an OptionEffect. */
extern const Column option_effect_columns[];
