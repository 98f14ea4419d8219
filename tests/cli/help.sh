#!/bin/sh
# Help is as wide as the terminal: no line of any command's or subject's help is longer, but for
# single words, and on a terminal of 60 columns for examples. No paragraph is broken before its end.
# A command's own options stand first. What else the help says is not tested.
# Usage: help.sh PROGRAM SOURCE-ROOT.
set -u
program=$(realpath "$1")
SHARDSIM_DATADIR=$2
export SHARDSIM_DATADIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/cli/listed.sh
. "$2/tests/cli/listed.sh"

# Lines that are longer than WIDTH, but for single words: there are none.
no_long_lines() { # WIDTH WORDS...
  width=$1
  shift
  COLUMNS=$width "$program" "$@" | awk -v width="$width" '
    /^Examples:/ && width < 80 { exit }
    length > width && NF > 1 { print "# " length ": " $0 >"/dev/stderr"; bad = 1 }
    END { exit bad }'
}

check() { # WORDS...
  for width in 60 80; do
    no_long_lines $width "$@"
    verdict $? "$* at $width columns"
  done
}

# The options that stand in a text, one a line.
options() {
  sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9][a-z0-9-]*\).*/\2/p' | sort
}

# Under the title TITLE of a help.
under() { # TITLE FILE
  awk -v title="$1:" '/^$/ { on = 0 } on; $0 == title { on = 1 }' "$2"
}

# What is of no section of a scenario is a command's own, and stands in its help, which lies in
# $folder/help: first, with nothing among it that all commands take. A help names the groups that it
# leaves out: "--help-mesh" is mesh.
own_first() { # WORDS...
  for group in $(options <"$folder/help" | sed -n 's/^help-//p' | grep -v '^all$'); do
    "$program" "$@" "--help-$group"
  done | options >"$folder/theirs"
  "$program" "$@" --help-all | options | grep -vxFf "$folder/theirs" >"$folder/own"
  options <"$folder/help" >"$folder/shown"
  under Options "$folder/help" | options >"$folder/first"
  comm -23 "$folder/own" "$folder/shown" | sed "s/^/# $* does not show /" >&2
  comm -12 "$folder/first" "$folder/everywhere" | sed "s/^/# $* begins with /" >&2
  [ -s "$folder/own" ] && [ -z "$(comm -23 "$folder/own" "$folder/shown")" ] &&
    [ -z "$(comm -12 "$folder/first" "$folder/everywhere")" ] &&
    awk '/^(Most used|General options):$/ { general = 1 }
      /^Options:$/ && general { exit 1 }' "$folder/help"
}

check --help
listed=$(pages)
# shellcheck disable=SC2086
set -- $listed
[ $# -ge 16 ]
verdict $? 'the commands are found'
"$program" completion --help >"$folder/completion"
under 'General options' "$folder/completion" | options >"$folder/everywhere"
for page in $listed; do
  # shellcheck disable=SC2046
  set -- $(echo "$page" | tr / ' ')
  check "$@" --help
  # what is between the first line and the options: paragraphs that end as sentences do
  COLUMNS=1000 "$program" "$@" --help >"$folder/help"
  awk 'NR > 2 && /^$/ { exit }
       NR > 2 && !/[.:]$/ { print "# broken: " $0 >"/dev/stderr"; bad = 1 }
       END { exit bad }' "$folder/help"
  verdict $? "$*: paragraphs are whole"
  [ -n "$(names Subjects: "$@")" ] && continue
  own_first "$@"
  verdict $? "$*: its own options come first"
done
"$program" sweep --help >"$folder/help"
under Options "$folder/help" | options | grep -qx vary
verdict $? 'sweep begins with what it varies'
for page in simulate compare collective 'calibrate collectives'; do
  # shellcheck disable=SC2086
  check $page --help-all
done
check help attention
# Words that people have and no option bears: the first answer is a term.
while read -r words; do
  # shellcheck disable=SC2086
  "$program" help $words | head -n 1 | grep -q '^term '
  verdict $? "help $words"
done <<'WORDS'
context parallel
torch.compile
batch size
vram
pareto
hfu
exposed communication
liger
cross-entropy
gradient accumulation
out of memory
channels
socket.link
WORDS
# An option of any command is looked up as it is written, and stands first.
while read -r option words; do
  # shellcheck disable=SC2086
  "$program" help $words | head -n 1 | grep -Eq -- "^option +([a-z]+ )?$option( |\$)"
  verdict $? "help $words"
done <<'OPTIONS'
--figure --figure
--figure --figure=nic.bandwidth
--figure simulate --figure
--gpu-nodes plan --gpu-nodes
--format --format
--tp --tp --format text
OPTIONS
# Words that are an option's values, or its name and a value's, lead to it.
while read -r option words; do
  # shellcheck disable=SC2086
  "$program" help $words | grep -Eq -- "^option +$option( |\$)"
  verdict $? "help $words"
done <<'VALUES'
--pipeline gpipe
--precision mixed precision
--dispatch two-level
--optimizer muon
VALUES
"$program" help workspaces matrix | grep -A 1 '^page ' | grep -q 'docs/memory.md$'
verdict $? 'headings of the documentation are found'
echo "1..$number"
exit $failed
