# shellcheck shell=sh
# Sourced by netns.sh and outer.sh: verdicts in TAP, measuring, and the link that is fitted to two
# hosts at one rate. Wants $here, $bench, $simulator, $library and $out.
# shellcheck disable=SC2034,SC2154 # which they share
number=0
failed=0

# verdict OK|FAIL|SKIP NAME TEXT
verdict ()
{
  number=$(( number + 1 ))
  case $1 in
    OK) echo "ok $number - $2: $3" ;;
    SKIP) echo "ok $number - $2 # SKIP $3" ;;
    *)
      echo "not ok $number - $2: $3"
      failed=1
      ;;
  esac
}

# ---- measuring -----------------------------------------------------------------------------------

# measure CASE HOSTS-OPTIONS BENCH-ARGUMENT...: results in $out/CASE.
measure ()
{
  case=$1 network=$2
  shift 2
  rm -rf "${out:?}/$case"
  mkdir -p "$out/$case"
  # shellcheck disable=SC2086 # options
  sh "$here/hosts.sh" $network -e "$library" "$bench" "$@" -o "$out/$case" > "$out/$case/log" 2>&1
  status=$?
  [ $status -eq 0 ] || sed 's/^/# /' "$out/$case/log" >&2
  return $status
}

# value CASE VARIANT COLUMN: of the case's results.
value ()
{
  awk -F, -v variant="$2" -v column="$3" '$9 == variant { print $column }' "$out/$1/results.csv"
}

# ---- the link, from two hosts --------------------------------------------------------------------

# append KEY TEXT: to the profile, unless the fit has it.
append ()
{
  grep -q "^$1:" "$out/link/lan-100m.yaml" || echo "$1: $2" >> "$out/link/lan-100m.yaml"
}

fit_link ()
{
  set -- mpi_collective --collectives sendrecv,broadcast -w 1 -r 7
  measure fit-small '-n 2 -r 100' "$@" -b 1K -e 1K -n 20
  status=$?
  if [ $status -eq 77 ]; then
    echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$out/fit-small/log")"
    exit 0
  fi
  mkdir -p "$out/link"
  [ $status -eq 0 ] && measure fit-large '-n 2 -r 100' "$@" -b 512K -e 4M -f 2 -n 1 &&
    "$simulator" calibrate "$out/fit-small/results.csv" "$out/fit-large/results.csv" \
      --extends lan-100m -o "$out/link/lan-100m.yaml" > "$out/fit.log" 2>&1
  status=$?
  if [ $status -ne 0 ]; then
    [ ! -f "$out/fit.log" ] || sed 's/^/# /' "$out/fit.log" >&2
    verdict FAIL fit "two hosts could not be measured, or their link not be fitted"
    echo "1..$number"
    exit 1
  fi
  # What hosts.sh has set up, no fit: all messages are eager.
  append serial_exchange false
  append eager_limit \
    '{ value: 16 MiB, source: "btl_tcp_eager_limit of the runs", confidence: datasheet }'
  fitted=$(sed -n 's/^\(efficiency\|latency\): { value: \([^,]*\),.*/\1 \2/p' \
    "$out/link/lan-100m.yaml" | tr '\n' ' ')
  verdict OK fit "$fitted"
}
