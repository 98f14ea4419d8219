# Sourced: TAP verdicts, and the commands that the program itself lists. Wants $program.
# shellcheck shell=sh
number=0
failed=0

verdict() { # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    failed=1
  fi
}

skip() { # NAME REASON
  number=$((number + 1))
  echo "ok $number - $1 # SKIP $2"
}

# The names under a heading, such as "Commands:"
names() { # HEADING HELP-WORDS...
  heading=$1
  shift
  "$program" "$@" --help |
    awk -v heading="$heading" '
      $0 == heading { on = 1; next }
      /^$/ { on = 0 }
      on && /^  [a-z]/ { print $1 }'
}

# simulate, validate, validate/collectives, ...
pages() {
  for command in $(names Commands:); do
    echo "$command"
    for subject in $(names Subjects: "$command"); do echo "$command/$subject"; done
  done
  echo calibrate/collectives # its command has a page of its own
}
