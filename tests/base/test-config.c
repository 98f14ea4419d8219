/*
 * Documents: values with their places, what is refused and with which words, limits, and merging by
 * 'extends'. The grammar itself is libyaml's and is tested only where this loader adds to it or
 * takes from it.
 */
#include "../suite.h"
#include "base/config/config.h"
#include "fixture.h"

static ConfigDoc *
load (const char *text, DiagList *diags)
{
  return config_load_text ("x.yaml", text, -1, diags);
}

/* Fails unless TEXT is refused with exactly the diagnostics EXPECTED. */
static void
assert_refused (const char *text, const char *expected)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_ptr_null (load (text, diags));
  assert_diags (diags, expected);
}

static void
assert_mark (const SourceMark *mark, const char *file, guint line, guint column, guint length,
             const char *text)
{
  ck_assert_str_eq (mark->file, file);
  ck_assert_uint_eq (mark->line, line);
  ck_assert_uint_eq (mark->column, column);
  ck_assert_uint_eq (mark->length, length);
  ck_assert_str_eq (mark->text, text);
}

START_TEST (test_tree_and_marks)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc =
      load ("a: 1\r\nlist:\n  - x\n  - {k: \"two words\"}\nmap:\n  deep: ~\n", diags);
  const ConfigNode *root, *list, *item;

  assert_diags (diags, "");
  root = config_doc_root (doc);
  ck_assert_int_eq (config_node_kind (root), CONFIG_MAP);
  ck_assert_uint_eq (config_node_length (root), 3);
  ck_assert_ptr_null (config_node_text (root));
  ck_assert_str_eq (config_node_key (root, 2), "map");
  assert_mark (config_node_key_mark (root, 2), "x.yaml", 5, 1, 3, "map:");
  assert_mark (config_node_mark (config_node_get (root, "a")), "x.yaml", 1, 4, 1, "a: 1");

  list = config_node_get (root, "list");
  ck_assert_int_eq (config_node_kind (list), CONFIG_LIST);
  ck_assert_uint_eq (config_node_length (list), 2);
  ck_assert_str_eq (config_node_text (config_node_item (list, 0)), "x");
  ck_assert_ptr_null (config_node_key (list, 0));
  item = config_node_get (config_node_item (list, 1), "k");
  ck_assert_str_eq (config_node_text (item), "two words");
  assert_mark (config_node_mark (item), "x.yaml", 4, 9, 11, "  - {k: \"two words\"}");

  ck_assert (config_node_is_null (config_node_get (config_node_get (root, "map"), "deep")));
  ck_assert_ptr_null (config_node_get (root, "b"));
  ck_assert_ptr_null (config_node_get (list, "x"));
  ck_assert_ptr_null (config_node_get (item, "x"));
}
END_TEST

START_TEST (test_nulls)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = load ("[, ~, null, Null, NULL, '', \"null\", nil, [], {}]", diags);
  g_autoptr (ConfigDoc) block = load ("- \n- ~\n- null\n- ''\n- 'null'\n- nil\n- []\n- 0\n", diags);
  static const gboolean expected[] = { TRUE, TRUE, TRUE, FALSE, FALSE, FALSE, FALSE, FALSE };

  ck_assert_ptr_null (doc); /* an empty element of a list in brackets is an error of the grammar */
  for (guint i = 0; i < G_N_ELEMENTS (expected); i++)
    ck_assert_int_eq (config_node_is_null (config_node_item (config_doc_root (block), i)),
                      expected[i]);
}
END_TEST

/*
 * The form of a published model configuration: JSON with tabs, null, booleans and an exponent
 * without a point.
 */
START_TEST (test_json)
{
  static const char text[] =
      "{\n\t\"architectures\": [\n\t\t\"LlamaForCausalLM\"\n\t],\n"
      "  \"rms_norm_eps\": 1e-05, \"rope_scaling\": null,\n"
      "  \"quant\": {\"bits\":8,\"tied\":false, \"url\": \"a\\/b \\u00e9\"}, \"n\": -1\n}\n";
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = config_load_text ("config.json", text, sizeof text - 1, diags);
  const ConfigNode     *root, *quant;

  assert_diags (diags, "");
  root = config_doc_root (doc);
  quant = config_node_get (root, "quant");
  ck_assert_str_eq (
      config_node_text (config_node_item (config_node_get (root, "architectures"), 0)),
      "LlamaForCausalLM");
  ck_assert_str_eq (config_node_text (config_node_get (root, "rms_norm_eps")), "1e-05");
  ck_assert (config_node_is_null (config_node_get (root, "rope_scaling")));
  ck_assert_str_eq (config_node_text (config_node_get (quant, "bits")), "8");
  ck_assert_str_eq (config_node_text (config_node_get (quant, "tied")), "false");
  ck_assert_str_eq (config_node_text (config_node_get (quant, "url")), "a/b \303\251");
  ck_assert_str_eq (config_node_text (config_node_get (root, "n")), "-1");
}
END_TEST

START_TEST (test_empty)
{
  static const char *const texts[] = { "", "\n\n", "# only a comment\n", "---\n", "\357\273\277" };
  g_autoptr (DiagList)     diags = diag_list_new ();

  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      g_autoptr (ConfigDoc) doc = load (texts[i], diags);

      ck_assert_ptr_nonnull (doc);
      ck_assert_int_eq (config_node_kind (config_doc_root (doc)), CONFIG_MAP);
      ck_assert_uint_eq (config_node_length (config_doc_root (doc)), 0);
      ck_assert_uint_eq (config_node_mark (config_doc_root (doc))->line, 1);
    }
  assert_diags (diags, "");
}
END_TEST

/* A value that is missing at the very end is marked there, with or without a last newline. */
START_TEST (test_marks_at_the_end)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) open = load ("a: 1\n? b", diags);
  g_autoptr (ConfigDoc) closed = load ("a: 1\n? b\n", diags);

  assert_mark (config_node_mark (config_node_get (config_doc_root (open), "b")), "x.yaml", 2, 4, 0,
               "? b");
  assert_mark (config_node_mark (config_node_get (config_doc_root (closed), "b")), "x.yaml", 3, 1,
               0, "");
}
END_TEST

START_TEST (test_byte_order_mark)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = load ("\357\273\277a: 1\n", diags);

  assert_mark (config_node_mark (config_node_get (config_doc_root (doc), "a")), "x.yaml", 1, 4, 1,
               "a: 1");
}
END_TEST

START_TEST (test_duplicate_keys)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = load ("a: 1\nb: {c: 2, c: 3}\na: 4\n", diags);

  assert_diags (diags, "x.yaml:2:11: error: duplicate key 'c'\n"
                       "  b: {c: 2, c: 3}\n"
                       "            ^\n"
                       "  hint: first given in line 2\n"
                       "x.yaml:3:1: error: duplicate key 'a'\n"
                       "  a: 4\n"
                       "  ^\n"
                       "  hint: first given in line 1\n");
  ck_assert_str_eq (config_node_text (config_node_get (config_doc_root (doc), "a")), "1");
  ck_assert_str_eq (
      config_node_text (config_node_get (config_node_get (config_doc_root (doc), "b"), "c")), "2");
}
END_TEST

/*
 * Maps above and below the size from which they are indexed: every key is found, in the order of
 * the file.
 */
START_TEST (test_many_keys)
{
  for (guint n = 1; n < 40; n++)
    {
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (ConfigDoc) doc = NULL;
      g_autoptr (GString)   text = g_string_new (NULL);

      for (guint i = 0; i < n; i++)
        g_string_append_printf (text, "k%u: %u\n", i * 7 % n, i);
      doc = load (text->str, diags);
      for (guint i = 0; i < config_node_length (config_doc_root (doc)); i++)
        {
          const char *key = config_node_key (config_doc_root (doc), i);
          ck_assert_ptr_eq (config_node_get (config_doc_root (doc), key),
                            config_node_item (config_doc_root (doc), i));
        }
      ck_assert_ptr_null (config_node_get (config_doc_root (doc), "k99"));
      ck_assert_uint_eq (config_node_length (config_doc_root (doc)) + diag_list_n_errors (diags),
                         n);
      ck_assert_uint_eq (diag_list_n_errors (diags), n % 7 ? 0 : n - n / 7);
    }
}
END_TEST

static char *
nested (guint depth)
{
  g_autofree char *open = g_strnfill (depth, '[');
  g_autofree char *close = g_strnfill (depth, ']');

  return g_strconcat (open, close, NULL);
}

START_TEST (test_nesting)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *deepest = nested (CONFIG_MAX_DEPTH);
  g_autofree char      *too_deep = nested (CONFIG_MAX_DEPTH + 1);
  g_autofree char      *hopeless = g_strnfill (1000000, '[');
  g_autoptr (ConfigDoc) doc = load (deepest, diags);

  assert_diags (diags, "");
  ck_assert_ptr_nonnull (doc);
  ck_assert_ptr_null (load (too_deep, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "nested deeper than 64 levels");
  ck_assert_ptr_null (load (hopeless, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 2);
}
END_TEST

/* Each value takes a hundred times its bytes: 16 MiB of them would take more than a gigabyte. */
START_TEST (test_values)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  const guint           n = CONFIG_MAX_NODES; /* the list itself is one more */
  g_autofree char      *text = g_strnfill (2 * n + 1, ',');
  g_autoptr (ConfigDoc) doc = NULL;

  text[0] = '[';
  for (guint i = 1; i < 2 * n; i += 2)
    text[i] = '1';
  text[2 * n] = ']';
  ck_assert_ptr_null (load (text, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "more than 1048576 values");
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
  text[2 * n - 2] = ']';
  text[2 * n - 1] = text[2 * n] = ' ';
  doc = load (text, diags);
  ck_assert_ptr_nonnull (doc);
  ck_assert_uint_eq (config_node_length (config_doc_root (doc)), n - 1);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}
END_TEST

START_TEST (test_truncated)
{
  assert_refused (
      "a: 1\nb: \"open\nc: 2\n",
      "x.yaml:2:4: error: found unexpected end of stream while scanning a quoted scalar that "
      "starts here\n"
      "  b: \"open\n"
      "     ^\n");
  assert_refused (
      "a: [1, 2\n",
      "x.yaml:1:4: error: did not find expected ',' or ']' while parsing a flow sequence that "
      "starts here\n"
      "  a: [1, 2\n"
      "     ^\n");
  assert_refused (
      "{\"a\": {\"b\": 1}",
      "x.yaml:1:1: error: did not find expected ',' or '}' while parsing a flow mapping that "
      "starts here\n"
      "  {\"a\": {\"b\": 1}\n"
      "  ^\n");
}
END_TEST

START_TEST (test_malformed)
{
  assert_refused ("a: b: c\n", "x.yaml:1:5: error: mapping values are not allowed in this context\n"
                               "  a: b: c\n"
                               "      ^\n");
  assert_refused (
      "a: @x\n",
      "x.yaml:1:4: error: found character that cannot start any token while scanning for the next "
      "token that starts in line 1\n"
      "  a: @x\n"
      "     ^\n"
      "  hint: indent with spaces, and quote values that start with a special character\n");
  assert_refused (
      "a: \"\\ud83d\\ude00\"\n",
      "x.yaml:1:7: error: found invalid Unicode character escape code while parsing a quoted "
      "scalar that starts in line 1\n"
      "  a: \"\\ud83d\\ude00\"\n"
      "        ^\n"
      "  hint: surrogate pairs such as '\\ud83d\\ude00' are not supported: write the character "
      "itself, in UTF-8\n");
}
END_TEST

START_TEST (test_long_key)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *key = g_strnfill (1030, 'k');
  g_autofree char     *json = g_strdup_printf ("{\"%s\": 1}", key);
  g_autofree char     *text = NULL;

  ck_assert_ptr_null (load (json, diags));
  text = diag_list_format (diags, FALSE);
  ck_assert (g_str_has_suffix (text, "  hint: a key is limited to 1024 bytes\n"));
}
END_TEST

START_TEST (test_unsupported)
{
  assert_refused ("a: &x 1\nb: *x\nc: !!int 2\n",
                  "x.yaml:1:4: error: anchors such as 'x' are not supported\n"
                  "  a: &x 1\n"
                  "     ^~~~\n"
                  "  hint: use 'extends:'\n"
                  "x.yaml:2:4: error: aliases such as 'x' are not supported\n"
                  "  b: *x\n"
                  "     ^\n"
                  "  hint: use 'extends:'\n"
                  "x.yaml:3:4: error: tags such as 'tag:yaml.org,2002:int' are not supported\n"
                  "  c: !!int 2\n"
                  "     ^~~~~~~\n"
                  "  hint: all values are read by their place; drop the tag\n");
  assert_refused ("a: 1\n---\nb: 2\n", "x.yaml:2:1: error: more than one document in a file\n"
                                       "  ---\n"
                                       "  ^\n");
  assert_refused ("? [a, b]\n: 1\n", "x.yaml:1:3: error: a key must be a single value, got a list\n"
                                     "  ? [a, b]\n"
                                     "    ^\n");
  assert_refused ("a: \"x\\0y\"\n", "x.yaml:1:4: error: a value must not contain a NUL character\n"
                                    "  a: \"x\\0y\"\n"
                                    "     ^~~~~~\n");
}
END_TEST

START_TEST (test_binary)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_ptr_null (config_load_text ("nul", "a: \0b", 5, diags));
  ck_assert_ptr_null (config_load_text ("latin1", "a: \xe4\n", 5, diags));
  ck_assert_ptr_null (config_load_text ("utf16",
                                        "\xff\xfe"
                                        "a\0:\0",
                                        6, diags));
  ck_assert_ptr_null (config_load_text ("control", "a: \x01\n", 5, diags));
  assert_diags (
      diags, "nul: error: not a text file: byte 0x00 at offset 3\n"
             "latin1: error: not a text file: byte 0xe4 at offset 3\n"
             "utf16: error: not a text file: byte 0xff at offset 0\n"
             "control: error: not a text file: control characters are not allowed (at byte 3)\n");
}
END_TEST

START_TEST (test_size)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  char                 *folder = make_folder ();
  g_autofree char      *fill = g_strnfill (17 << 20, 'x');
  g_autofree char      *big = NULL, *largest = NULL;
  g_autoptr (ConfigDoc) doc = NULL;

  fill[0] = '#';
  largest = write_temporary (folder, "largest.yaml", fill, CONFIG_MAX_BYTES);
  big = write_temporary (folder, "big.yaml", fill, 17 << 20);
  doc = config_load (largest, diags);
  ck_assert_ptr_nonnull (doc);
  assert_diags (diags, "");
  ck_assert_ptr_null (config_load (big, diags));
  ck_assert_str_eq (diag_list_first_message (diags), "larger than 16 MiB");
  ck_assert_ptr_null (config_load ("/dev/zero", diags)); /* never ends */
  ck_assert_uint_eq (diag_list_n_errors (diags), 2);
  remove_folder (folder);
}
END_TEST

START_TEST (test_unreadable)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_ptr_null (config_load ("/", diags));
  ck_assert_ptr_null (config_load ("/nonexistent/x.yaml", diags));
  assert_diags (diags, "error: cannot read '/': Is a directory\n"
                       "error: cannot read '/nonexistent/x.yaml': No such file or directory\n");
}
END_TEST

START_TEST (test_expect)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (ConfigDoc) doc = load ("a: [1]\n", diags);
  const ConfigNode     *list = config_node_get (config_doc_root (doc), "a");

  ck_assert (config_node_expect (list, CONFIG_LIST, diags));
  assert_diags (diags, "");
  ck_assert (!config_node_expect (list, CONFIG_MAP, diags));
  ck_assert (!config_node_expect (config_node_item (list, 0), CONFIG_LIST, diags));
  ck_assert (!config_node_expect (config_doc_root (doc), CONFIG_SCALAR, diags));
  assert_diags (diags, "x.yaml:1:4: error: expected a map, got a list\n  a: [1]\n     ^\n"
                       "x.yaml:1:5: error: expected a list, got a value\n  a: [1]\n      ^\n"
                       "x.yaml:1:1: error: expected a value, got a map\n  a: [1]\n  ^\n");
}
END_TEST

static char *
resolve_in_folder (const char *name, gpointer user)
{
  if (g_str_equal (name, "nowhere"))
    return NULL;
  return g_strdup_printf ("%s/%s.yaml", (const char *) user, name);
}

/* Prints a tree as "{key:value,...}" with each scalar's file and line, for comparison. */
static void
print_tree (const ConfigNode *node, GString *out)
{
  g_autofree char *base = g_path_get_basename (config_node_mark (node)->file);

  if (config_node_kind (node) == CONFIG_SCALAR)
    {
      g_string_append_printf (out, "%s@%.1s%u", config_node_text (node), base,
                              config_node_mark (node)->line);
      return;
    }
  g_string_append_c (out, '{');
  for (guint i = 0; i < config_node_length (node); i++)
    {
      const char *key = config_node_key (node, i);
      g_string_append_printf (out, "%s%s%s", i ? "," : "", key ? key : "", key ? ":" : "");
      print_tree (config_node_item (node, i), out);
    }
  g_string_append_c (out, '}');
}

START_TEST (test_extends_merges)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  char                *folder = make_folder ();
  g_autofree char     *a =
      write_temporary (folder, "a.yaml",
                       "extends: b\nx: top\nmap: {k: over, new: 1}\nlist: [9]\nnode: {t: u}\n", -1);
  g_free (write_temporary (folder, "b.yaml",
                           "y: mid\nextends: c\nmap:\n  deep: {q: 2}\nnode: plain\n", -1));
  g_autofree char *c = write_temporary (
      folder, "c.yaml", "x: base\nz: base\nmap: {k: base, deep: {p: 1, q: 1}}\nlist: [1, 2]\n", -1);
  g_autoptr (ConfigDoc) doc = config_load_extended (a, resolve_in_folder, folder, NULL, diags);
  g_autoptr (GString)   tree = g_string_new (NULL);
  const ConfigNode     *root = config_doc_root (doc);

  assert_diags (diags, "");
  print_tree (root, tree);
  ck_assert_str_eq (tree->str,
                    "{x:top@a2,z:base@c2,map:{k:over@a3,deep:{p:1@c3,q:2@b4},new:1@a3},list:{9@a4},"
                    "y:mid@b1,node:{t:u@a5}}");
  assert_mark (config_node_mark (config_node_get (root, "z")), c, 2, 4, 4, "z: base");
  remove_folder (folder);
}
END_TEST

/* What two files extend is read once, and both say what they say without it being kept. */
START_TEST (test_extends_shared)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (InputFiles) files = input_files_new ();
  char                  *folder = make_folder ();
  g_autofree char       *a = write_temporary (folder, "a.yaml", "extends: c\nx: 1\n", -1);
  g_autofree char       *b = write_temporary (folder, "b.yaml", "extends: c\nx: 2\n", -1);

  g_free (write_temporary (folder, "c.yaml", "x: 0\ny: 3\n", -1));
  for (guint i = 0; i < 4; i++)
    {
      const char           *file = i % 2 == 0 ? a : b;
      g_autoptr (ConfigDoc) kept =
          config_load_extended (file, resolve_in_folder, folder, files, diags);
      g_autoptr (ConfigDoc) own =
          config_load_extended (file, resolve_in_folder, folder, NULL, diags);
      g_autoptr (GString) one = g_string_new (NULL), other = g_string_new (NULL);

      print_tree (config_doc_root (kept), one);
      print_tree (config_doc_root (own), other);
      ck_assert_str_eq (one->str, other->str);
      ck_assert_str_eq (one->str, i % 2 == 0 ? "{x:1@a2,y:3@c2}" : "{x:2@b2,y:3@c2}");
    }
  assert_diags (diags, "");
  ck_assert_uint_eq (input_files_n_read (files), 3);
  remove_folder (folder);
}
END_TEST

/* A scalar of the top level is found whatever stands before it, and nothing else is. */
START_TEST (test_peek)
{
  static const struct
  {
    const char *text, *title; /* NULL: there is none */
  } cases[] = {
    { "title: \"A card\"\nrest: [", "A card" }, /* no further than there */
    { "extends: x\nlist: [title, 1]\nmap: {title: no, deep: {title: no}}\ntitle: yes\n", "yes" },
    { "map: {title: no}\n", NULL },
    { "title: {a: b}\n", NULL },
    { "name: title\n", NULL },
    { "", NULL },
    { "[", NULL },
  };
  char *folder = make_folder ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *file = write_temporary (folder, "peek.yaml", cases[i].text, -1);
      g_autofree char *title = config_peek (file, "title");

      ck_assert_pstr_eq (title, cases[i].title);
    }
  ck_assert_ptr_null (config_peek ("/nonexistent/x.yaml", "title"));
  remove_folder (folder);
}
END_TEST

START_TEST (test_extends_nothing)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  char                 *folder = make_folder ();
  g_autofree char      *a = write_temporary (folder, "a.yaml", "x: 1\n", -1);
  g_autoptr (ConfigDoc) doc = config_load_extended (a, resolve_in_folder, folder, NULL, diags);

  ck_assert_str_eq (config_node_text (config_node_get (config_doc_root (doc), "x")), "1");
  ck_assert_ptr_null (
      config_load_extended ("/nonexistent/x.yaml", resolve_in_folder, folder, NULL, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
  remove_folder (folder);
}
END_TEST

/* Fails unless loading FOLDER/a.yaml is refused with one message, MESSAGE. */
static void
assert_extends_refused (char *folder, const char *text, const char *message)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *a = write_temporary (folder, "a.yaml", text, -1);

  ck_assert_ptr_null (config_load_extended (a, resolve_in_folder, folder, NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags), message);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
}

START_TEST (test_extends_refused)
{
  char *folder = make_folder ();
  g_free (write_temporary (folder, "c.yaml", "extends: ./a\nx: 1\n", -1));
  g_autofree char *missing =
      g_strdup_printf ("cannot read '%s/d.yaml': No such file or directory", folder);

  assert_extends_refused (folder, "extends: a\n", "'a' extends itself: a.yaml -> a.yaml");
  assert_extends_refused (folder, "extends: c\n",
                          "'./a' extends itself: a.yaml -> c.yaml -> a.yaml"); /* by another name */
  assert_extends_refused (folder, "x: 1\nextends: nowhere\n", "cannot find 'nowhere' to extend");
  assert_extends_refused (folder, "extends: d\n", missing);
  assert_extends_refused (folder, "extends: [a, b]\n", "expected a value, got a list");
  remove_folder (folder);
}
END_TEST

/*
 * Every cut of a file and every single byte put in its place gives a document or at least one
 * error, and no crash.
 */
START_TEST (test_mutants)
{
  static const char text[] = "a: 1\nb: [x, {y: 'z'}]\nc: \"q\\n\" # c\nd: |\n  block\n? k\n: v\n";
  static const char bytes[] = "\0\t\n \"'#&*-:?[]{}|>%@`!,\\~\x80\xff";
  gsize             length = sizeof text - 1;

  for (gsize at = 0; at <= length; at++)
    for (gsize b = 0; b < sizeof bytes; b++)
      {
        g_autoptr (DiagList)  diags = diag_list_new ();
        g_autofree char      *mutant = g_memdup2 (text, sizeof text);
        g_autoptr (ConfigDoc) doc = NULL;

        mutant[at] = bytes[b];
        doc = config_load_text ("x.yaml", mutant, b == 0 ? (gssize) at : (gssize) length, diags);
        ck_assert (doc || diag_list_has_errors (diags));
      }
}
END_TEST

SUITE_MAIN (config)
{
  TCase *tcase = tcase_create ("config");

  tcase_add_test (tcase, test_tree_and_marks);
  tcase_add_test (tcase, test_nulls);
  tcase_add_test (tcase, test_json);
  tcase_add_test (tcase, test_empty);
  tcase_add_test (tcase, test_marks_at_the_end);
  tcase_add_test (tcase, test_byte_order_mark);
  tcase_add_test (tcase, test_duplicate_keys);
  tcase_add_test (tcase, test_many_keys);
  tcase_add_test (tcase, test_nesting);
  tcase_add_test (tcase, test_values);
  tcase_add_test (tcase, test_truncated);
  tcase_add_test (tcase, test_malformed);
  tcase_add_test (tcase, test_long_key);
  tcase_add_test (tcase, test_unsupported);
  tcase_add_test (tcase, test_binary);
  tcase_add_test (tcase, test_size);
  tcase_add_test (tcase, test_unreadable);
  tcase_add_test (tcase, test_expect);
  tcase_add_test (tcase, test_extends_merges);
  tcase_add_test (tcase, test_extends_shared);
  tcase_add_test (tcase, test_peek);
  tcase_add_test (tcase, test_extends_nothing);
  tcase_add_test (tcase, test_extends_refused);
  tcase_add_test (tcase, test_mutants);
  return run_case (suite_create ("config"), tcase);
}
