# Writes the table behind `shardsim help WORD`: the rows of the glossary as terms, the headings of
# every other page. Usage: awk -f help-index.awk docs/glossary.md docs/*.md >help-index.c
function quoted(text) { gsub(/[\\"]/, "\\\\&", text); return "\"" text "\"" }

# Of Markdown, what a terminal shows: no code marks, no links, no emphasis.
function bare(text) {
  gsub(/`|\*\*/, "", text)
  while (match(text, /\[[^]]*\]\([^)]*\)/)) {
    link = substr(text, RSTART, RLENGTH)
    sub(/^\[/, "", link)
    sub(/\]\(.*$/, "", link)
    text = substr(text, 1, RSTART - 1) link substr(text, RSTART + RLENGTH)
  }
  gsub(/^ +| +$/, "", text)
  return text
}

function entry(kind, name, also, help, page) {
  printf "  { %s, %s, %s,\n", quoted(kind), quoted(name), quoted(also)
  printf "    %s, %s },\n", quoted(help), quoted(page)
}

BEGIN {
  print "/* Written by help-index.awk from the documentation. */"
  print "#include \"cli/help/help-index.h\"\n\n#include <stddef.h>\n"
  print "const HelpIndexEntry help_index[] = {"
}
FNR == 1 { page = FILENAME; sub(/^.*docs\//, "docs/", page); code = 0 }
/^```/ { code = !code }
code { next }
page == "docs/glossary.md" {
  if (/^\| / && split($0, cell, /\|/) >= 5 && cell[2] !~ /^ (word|---)/)
    entry("term", bare(cell[2]), bare(cell[3]), bare(cell[4]), "docs/" bare(cell[5]))
  next
}
/^#+ / {
  heading = $0
  sub(/^#+ /, "", heading)
  entry("page", bare(heading), "", "", page)
}
END { print "  { NULL, NULL, NULL, NULL, NULL },\n};" }
