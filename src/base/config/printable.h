/*
 * Text that may go to a terminal. Names come from files, from command lines and from file systems:
 * none of them may steer the terminal. Where text leaves the program it passes through here, and
 * only our own marks become colours.
 */
#pragma once

#include <glib.h>

/*
 * Marks around what a report stresses: characters that Unicode keeps for a program's own use. They
 * become a colour on a terminal and nothing elsewhere.
 */
#define PRINTABLE_ALERT "\xEF\xB7\x90" /* U+FDD0 */
#define PRINTABLE_PLAIN "\xEF\xB7\x91" /* U+FDD1 */

/*
 * TEXT with U+FFFD for every control character but the end of a line and the tabulator, for those
 * that change the direction of writing (U+202E), and for bytes that are not UTF-8. COLOUR: marks
 * become ANSI colours, else they go. Newly allocated.
 */
char *printable_text (const char *text, gsize length, gboolean colour);

/* WORD as a shell reads it, quoted only where it has to be. Newly allocated. */
char *printable_shell_word (const char *word);

/* TEXT, a name within a line: U+FFFD for ends of lines and tabulators, too. Newly allocated. */
char *printable_name (const char *text);
