/*
 * How much of a file is read, by its kind. A file above a limit is refused while it is read: no
 * more than the limit is ever in memory, also of a gzipped table, a device or a pipe that never
 * ends.
 */
#pragma once

/* YAML, JSON and XML, and logs as they are: read whole. */
#define CONFIG_MAX_BYTES (16u << 20)
#define CONFIG_MAX_DEPTH 64         /* lists and maps in each other */
#define CONFIG_MAX_NODES (1u << 20) /* values, lists and maps of YAML and JSON */

/*
 * Tables (CSV): read row by row. A gzipped one counts as it is on the disk and, apart from that,
 * inflated.
 */
#define CSV_MAX_BYTES     (256u << 20)
#define CSV_MAX_LINES     (1u << 20) /* the header and blank lines included */
#define CSV_MAX_ROW_BYTES (1u << 20) /* bounds what one unclosed quote can take, and every field */
#define CSV_MAX_COLUMNS   4096
