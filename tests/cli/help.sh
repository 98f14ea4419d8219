#!/bin/sh
# Help is as wide as the terminal: no line of any command's or subject's help is longer, but for
# single words, and on a terminal of 60 columns for examples. No paragraph is broken before its end.
# What the help says is not tested. Usage: help.sh PROGRAM SOURCE-ROOT.
set -u
program=$(realpath "$1")
SHARDSIM_DATADIR=$2
export SHARDSIM_DATADIR
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

check --help
listed=$(pages)
# shellcheck disable=SC2086
set -- $listed
[ $# -ge 16 ]
verdict $? 'the commands are found'
for page in $listed; do
  # shellcheck disable=SC2046
  set -- $(echo "$page" | tr / ' ')
  check "$@" --help
  # what is between the first line and the options: paragraphs that end as sentences do
  COLUMNS=1000 "$program" "$@" --help |
    awk 'NR > 2 && /^$/ { exit }
         NR > 2 && !/[.:]$/ { print "# broken: " $0 >"/dev/stderr"; bad = 1 }
         END { exit bad }'
  verdict $? "$*: paragraphs are whole"
done
for page in simulate compare collective 'calibrate collectives'; do
  # shellcheck disable=SC2086
  check $page --help-all
done
check help attention
echo "1..$number"
exit $failed
