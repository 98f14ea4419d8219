#include "import/trace/chakra-file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/file/file-roles.h"
#include "base/intern.h"
#include "import/trace/chakra.pb-c.h"

#define VERSION "0.0.4" /* of the schema that has these fields */

/* Numbers of et_def.proto's collectives; what is not listed has none. */
static const gint collectives[COLLECTIVE_N_KINDS] = {
  [COLLECTIVE_ALL_REDUCE] = 0,          [COLLECTIVE_REDUCE] = 1,
  [COLLECTIVE_ALL_GATHER] = 2,          [COLLECTIVE_BROADCAST] = 5,
  [COLLECTIVE_ALL_TO_ALL] = 6,          [COLLECTIVE_REDUCE_SCATTER] = 7,
  [COLLECTIVE_SEND_RECV] = CHAKRA_NONE,
};

#define REDUCE_SCATTER_BLOCK 8 /* the same with equal parts: NCCL's and MPI's of that name */

gint
chakra_collective (CollectiveKind kind)
{
  return collectives[kind];
}

CollectiveKind
chakra_collective_kind (gint number)
{
  if (number == REDUCE_SCATTER_BLOCK)
    return COLLECTIVE_REDUCE_SCATTER;
  for (CollectiveKind kind = 0; number >= 0 && kind < COLLECTIVE_N_KINDS; kind++)
    if (collectives[kind] == number)
      return kind;
  return COLLECTIVE_N_KINDS;
}

guint64
chakra_comm_size (CollectiveKind kind, guint64 bytes, guint n)
{
  return kind == COLLECTIVE_ALL_GATHER ? bytes / n + (bytes % n != 0) : bytes;
}

double
chakra_comm_bytes (CollectiveKind kind, double comm_size, guint n)
{
  return kind == COLLECTIVE_ALL_GATHER ? comm_size * n : comm_size;
}

ChakraNode
chakra_node (guint64 id, ChakraType type, const char *name)
{
  return (ChakraNode){
    .id = id,
    .name = name,
    .type = type,
    .num_ops = CHAKRA_NONE,
    .tensor_size = CHAKRA_NONE,
    .comm_type = CHAKRA_NONE,
    .comm_size = CHAKRA_NONE,
    .comm_src = CHAKRA_NONE,
    .comm_dst = CHAKRA_NONE,
    .comm_tag = CHAKRA_NONE,
  };
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* Which member of ChakraNode an attribute is; the wire type is what every feeder takes. */
typedef enum
{
  AS_DOUBLE, /* int64 on the wire */
  AS_SIZE,   /* a double, uint64 on the wire */
  AS_INT,    /* int32 */
  AS_TYPE,   /* gint, int64 on the wire */
  AS_BOOL,
  AS_TEXT,
} AttributeType;

/*
 * Wire types: older feeders read num_ops, comm_type and comm_size as int64 only and tensor_size as
 * uint64 only, newer ones take any whole number.
 */
static const struct
{
  const char   *name;
  AttributeType type;
  gsize         offset;
} attributes[] = {
  { "is_cpu_op", AS_BOOL, G_STRUCT_OFFSET (ChakraNode, on_host) },
  { "num_ops", AS_DOUBLE, G_STRUCT_OFFSET (ChakraNode, num_ops) },
  { "tensor_size", AS_SIZE, G_STRUCT_OFFSET (ChakraNode, tensor_size) },
  { "comm_type", AS_TYPE, G_STRUCT_OFFSET (ChakraNode, comm_type) },
  { "comm_size", AS_DOUBLE, G_STRUCT_OFFSET (ChakraNode, comm_size) },
  { "comm_src", AS_INT, G_STRUCT_OFFSET (ChakraNode, comm_src) },
  { "comm_dst", AS_INT, G_STRUCT_OFFSET (ChakraNode, comm_dst) },
  { "comm_tag", AS_INT, G_STRUCT_OFFSET (ChakraNode, comm_tag) },
  { "pg_name", AS_TEXT, G_STRUCT_OFFSET (ChakraNode, pg_name) },
  { "phase", AS_TEXT, G_STRUCT_OFFSET (ChakraNode, phase) },
  { "unit", AS_TEXT, G_STRUCT_OFFSET (ChakraNode, unit) },
  { "kind", AS_TEXT, G_STRUCT_OFFSET (ChakraNode, kind) },
  { "stream", AS_TEXT, G_STRUCT_OFFSET (ChakraNode, stream) },
  { "owner", AS_TEXT, G_STRUCT_OFFSET (ChakraNode, owner) },
};

#define N_ATTRIBUTES G_N_ELEMENTS (attributes)

/* Of a double that may be beyond what the type holds. */
static gint64
to_int64 (double value)
{
  return value < 9.2e18 ? (gint64) rint (value) : G_MAXINT64;
}

static guint64
to_uint64 (double value)
{
  return value < 1.8e19 ? (guint64) rint (MAX (value, 0)) : G_MAXUINT64;
}

/* FALSE: not said. */
static gboolean
fill_attribute (guint i, const ChakraNode *node, Chakra__Attribute *attr)
{
  gconstpointer member = G_STRUCT_MEMBER_P (node, attributes[i].offset);

  chakra__attribute__init (attr);
  attr->name = (char *) attributes[i].name;
  switch (attributes[i].type)
    {
    case AS_DOUBLE:
      attr->value_case = CHAKRA__ATTRIBUTE__VALUE_AS_INT64;
      attr->as_int64 = to_int64 (*(const double *) member);
      return *(const double *) member >= 0;
    case AS_SIZE:
      attr->value_case = CHAKRA__ATTRIBUTE__VALUE_AS_UINT64;
      attr->as_uint64 = to_uint64 (*(const double *) member);
      return *(const double *) member >= 0;
    case AS_INT:
      attr->value_case = CHAKRA__ATTRIBUTE__VALUE_AS_INT32;
      attr->as_int32 = *(const gint *) member;
      return attr->as_int32 >= 0;
    case AS_TYPE:
      attr->value_case = CHAKRA__ATTRIBUTE__VALUE_AS_INT64;
      attr->as_int64 = *(const gint *) member;
      return attr->as_int64 >= 0;
    case AS_BOOL:
      attr->value_case = CHAKRA__ATTRIBUTE__VALUE_AS_BOOL;
      attr->as_bool = *(const gboolean *) member;
      return TRUE;
    case AS_TEXT:
      attr->value_case = CHAKRA__ATTRIBUTE__VALUE_AS_STRING;
      attr->as_string = *(char *const *) member;
      return attr->as_string != NULL;
    }
  return FALSE;
}

/* Any number, whatever its type on the wire; CHAKRA_NONE: no number, or no sound one. */
static double
attribute_number (const Chakra__Attribute *attr)
{
  double value = CHAKRA_NONE;

  switch (attr->value_case)
    {
    case CHAKRA__ATTRIBUTE__VALUE_AS_DOUBLE:
      value = attr->as_double;
      break;
    case CHAKRA__ATTRIBUTE__VALUE_AS_FLOAT:
      value = attr->as_float;
      break;
    case CHAKRA__ATTRIBUTE__VALUE_AS_INT32:
    case CHAKRA__ATTRIBUTE__VALUE_AS_SINT32:
    case CHAKRA__ATTRIBUTE__VALUE_AS_SFIXED32:
      value = attr->as_int32; /* of a union: all three are int32_t */
      break;
    case CHAKRA__ATTRIBUTE__VALUE_AS_INT64:
    case CHAKRA__ATTRIBUTE__VALUE_AS_SINT64:
    case CHAKRA__ATTRIBUTE__VALUE_AS_SFIXED64:
      value = (double) attr->as_int64;
      break;
    case CHAKRA__ATTRIBUTE__VALUE_AS_UINT32:
    case CHAKRA__ATTRIBUTE__VALUE_AS_FIXED32:
      value = attr->as_uint32;
      break;
    case CHAKRA__ATTRIBUTE__VALUE_AS_UINT64:
    case CHAKRA__ATTRIBUTE__VALUE_AS_FIXED64:
      value = (double) attr->as_uint64;
      break;
    case CHAKRA__ATTRIBUTE__VALUE_AS_BOOL:
      value = attr->as_bool;
      break;
    default:
      break;
    }
  return isfinite (value) && value >= 0 ? value : CHAKRA_NONE;
}

static void
take_attribute (const Chakra__Attribute *attr, ChakraNode *node)
{
  double value = attribute_number (attr);

  for (guint i = 0; i < N_ATTRIBUTES; i++)
    {
      gpointer member = G_STRUCT_MEMBER_P (node, attributes[i].offset);

      if (!g_str_equal (attributes[i].name, attr->name))
        continue;
      if (attributes[i].type == AS_TEXT)
        {
          if (attr->value_case == CHAKRA__ATTRIBUTE__VALUE_AS_STRING)
            *(const char **) member = attr->as_string;
        }
      else if (attributes[i].type == AS_DOUBLE || attributes[i].type == AS_SIZE)
        *(double *) member = value;
      else if (attributes[i].type == AS_BOOL)
        *(gboolean *) member = value > 0;
      else
        *(gint *) member = value <= G_MAXINT ? (gint) value : CHAKRA_NONE;
      return;
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

struct _ChakraWriter
{
  FILE       *file;
  GByteArray *message;
};

static void
write_message (ChakraWriter *self, const ProtobufCMessage *message)
{
  gsize  size = protobuf_c_message_get_packed_size (message);
  guint8 length[5];
  guint  n = 0;

  for (gsize rest = size; n == 0 || rest > 0; rest >>= 7)
    length[n++] = (guint8) ((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
  g_byte_array_set_size (self->message, (guint) size);
  protobuf_c_message_pack (message, self->message->data);
  fwrite (length, 1, n, self->file);
  fwrite (self->message->data, 1, size, self->file);
}

ChakraWriter *
chakra_writer_new (FILE *file)
{
  ChakraWriter  *self = g_new0 (ChakraWriter, 1);
  Chakra__Header header = CHAKRA__HEADER__INIT;

  self->file = file;
  self->message = g_byte_array_new ();
  header.version = (char *) VERSION;
  write_message (self, &header.base);
  return self;
}

void
chakra_writer_add (ChakraWriter *self, const ChakraNode *node)
{
  Chakra__Node       message = CHAKRA__NODE__INIT;
  Chakra__Attribute  said[N_ATTRIBUTES];
  Chakra__Attribute *list[N_ATTRIBUTES];

  message.id = node->id;
  message.name = (char *) node->name;
  message.type = node->type;
  message.n_ctrl_deps = node->n_ctrl_deps;
  message.ctrl_deps = (uint64_t *) node->ctrl_deps;
  message.n_data_deps = node->n_data_deps;
  message.data_deps = (uint64_t *) node->data_deps;
  message.start_time_micros = node->start_us;
  message.duration_micros = node->duration_us;
  message.attr = list;
  for (guint i = 0; i < N_ATTRIBUTES; i++)
    if (fill_attribute (i, node, &said[message.n_attr]))
      {
        list[message.n_attr] = &said[message.n_attr];
        message.n_attr++;
      }
  write_message (self, &message.base);
}

void
chakra_writer_free (ChakraWriter *self)
{
  if (self == NULL)
    return;
  g_byte_array_unref (self->message);
  g_free (self);
}

/* ---- reading --------------------------------------------------------------------------------- */

struct _ChakraReader
{
  FILE           *file;
  SourceMark      mark;
  guint64         offset, n_nodes;
  GByteArray     *message;
  Chakra__Header *header;
  Chakra__Node   *node;
};

typedef enum
{
  MESSAGE_READ,
  MESSAGE_END,
  MESSAGE_BAD, /* after a diagnostic */
} ReadResult;

#define HINT_SIZE 64

static const char *
count_nodes (const ChakraReader *self, char text[HINT_SIZE])
{
  g_snprintf (text, HINT_SIZE, "the nodes before it are whole: %" G_GUINT64_FORMAT, self->n_nodes);
  return text;
}

static ReadResult
bad_message (const ChakraReader *self, guint64 offset, const char *what, DiagList *diags)
{
  char text[HINT_SIZE];

  diag_error (diags, &self->mark, count_nodes (self, text),
              "the message at byte %" G_GUINT64_FORMAT " %s", offset, what);
  return MESSAGE_BAD;
}

/* A varint of at most 32 bits. */
static ReadResult
read_length (ChakraReader *self, guint64 start, guint32 *length, DiagList *diags)
{
  guint64 value = 0;

  for (guint shift = 0; shift <= 28; shift += 7)
    {
      int byte = fgetc (self->file);

      if (byte == EOF && shift == 0 && !ferror (self->file))
        return MESSAGE_END;
      if (byte == EOF)
        return bad_message (self, start, "is cut off in its length", diags);
      self->offset++;
      value |= (guint64) (byte & 0x7f) << shift;
      if (byte & 0x80)
        continue;
      *length = (guint32) value;
      return value <= G_MAXUINT32 ? MESSAGE_READ
                                  : bad_message (self, start, "has a length beyond 32 bits", diags);
    }
  return bad_message (self, start, "has a length of more than five bytes", diags);
}

/* Fills self->message. *START: its first byte, that of its length. */
static ReadResult
read_message (ChakraReader *self, guint64 *start, DiagList *diags)
{
  guint32    length = 0;
  gsize      got;
  ReadResult result;

  *start = self->offset;
  result = read_length (self, *start, &length, diags);
  if (result != MESSAGE_READ)
    return result;
  if (length > CHAKRA_MAX_MESSAGE)
    return bad_message (self, *start, "claims more than 4 MiB: this is no Chakra trace", diags);
  g_byte_array_set_size (self->message, length);
  got = fread (self->message->data, 1, length, self->file);
  self->offset += got;
  if (got == length)
    return MESSAGE_READ;
  {
    g_autofree char *what =
        g_strdup_printf ("is cut off: %" G_GSIZE_FORMAT " of %u bytes are there", got, length);

    return bad_message (self, *start, what, diags);
  }
}

static gboolean
read_header (ChakraReader *self, DiagList *diags)
{
  guint64    start;
  ReadResult result = read_message (self, &start, diags);

  if (result == MESSAGE_END)
    diag_error (diags, &self->mark, NULL, "the file is empty");
  if (result != MESSAGE_READ)
    return FALSE;
  self->header = chakra__header__unpack (NULL, self->message->len, self->message->data);
  if (self->header != NULL)
    return TRUE;
  diag_error (diags, &self->mark, "a Chakra trace begins with its GlobalMetadata",
              "the header at byte 0 is no message of Chakra's");
  return FALSE;
}

ChakraReader *
chakra_reader_open (const char *file, DiagList *diags)
{
  g_autoptr (ChakraReader) self = g_new0 (ChakraReader, 1);

  self->mark.file = intern_text (file);
  self->message = g_byte_array_new ();
  self->file = file_roles_open (file);
  if (self->file == NULL)
    {
      diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, file_roles_why (errno));
      return NULL;
    }
  return read_header (self, diags) ? g_steal_pointer (&self) : NULL;
}

static gboolean
take_node (ChakraReader *self, guint64 start, ChakraNode *node, DiagList *diags)
{
  const Chakra__Node *message = self->node;
  char                text[HINT_SIZE];

  if (message->type < 0 || message->type >= CHAKRA_N_TYPES)
    {
      diag_error (diags, &self->mark, count_nodes (self, text),
                  "node %" G_GUINT64_FORMAT " at byte %" G_GUINT64_FORMAT
                  " is of the unknown type %d",
                  message->id, start, message->type);
      return FALSE;
    }
  *node = chakra_node (message->id, (ChakraType) message->type, message->name);
  node->ctrl_deps = message->ctrl_deps;
  node->n_ctrl_deps = message->n_ctrl_deps;
  node->data_deps = message->data_deps;
  node->n_data_deps = message->n_data_deps;
  node->start_us = message->start_time_micros;
  node->duration_us = message->duration_micros;
  for (gsize i = 0; i < message->n_attr; i++)
    take_attribute (message->attr[i], node);
  self->n_nodes++;
  return TRUE;
}

gboolean
chakra_reader_next (ChakraReader *self, ChakraNode *node, DiagList *diags)
{
  guint64 start;

  if (self->node != NULL)
    chakra__node__free_unpacked (g_steal_pointer (&self->node), NULL);
  if (read_message (self, &start, diags) != MESSAGE_READ)
    return FALSE;
  self->node = chakra__node__unpack (NULL, self->message->len, self->message->data);
  if (self->node != NULL)
    return take_node (self, start, node, diags);
  bad_message (self, start, "is no node of Chakra's", diags);
  return FALSE;
}

void
chakra_reader_free (ChakraReader *self)
{
  if (self == NULL)
    return;
  if (self->file != NULL)
    fclose (self->file);
  if (self->header != NULL)
    chakra__header__free_unpacked (self->header, NULL);
  if (self->node != NULL)
    chakra__node__free_unpacked (self->node, NULL);
  g_byte_array_unref (self->message);
  g_free (self);
}
