#!/bin/sh
# Collectives between hosts made of network namespaces, measured and simulated. TAP.
#
#   netns.sh SHARDSIM-BENCH SHARDSIM LIBRARY quick|full [FOLDER]
#
# The link's figures are fitted to two hosts at one rate (`shardsim calibrate`), in this very run.
# Everything else is a prediction. Asserted, for 4 MiB a rank and more: the median of |predicted /
# measured - 1| over all cases is at most 10 %, over those with one slow host 5 %; no case is off by
# more than 25 %; fetching from a cache beats gathering, by what is simulated within 10 %. Nothing
# about smaller messages, nothing about GPUs.
#
# LIBRARY is yield.c's. FOLDER (new) keeps the measurements, the profile and compared.csv; without
# it they are deleted. A shared machine may disturb a measurement. One whose own spread (tenth to
# ninetieth percentile) is wider than the tolerance is made again, three times in all (quick:
# twice), and then skipped with its spread; what was predicted plays no part in that.
set -u
here=$(dirname "$(realpath "$0")")
bench=$(realpath "$1") simulator=$(realpath "$2") library=$(realpath "$3") extent=$4
if [ $# -gt 4 ]; then
  mkdir -p "$5"
  out=$(realpath "$5")
else
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
trap 'exit 130' INT TERM HUP
tries=3
[ "$extent" = full ] || tries=2
worst=25
# shellcheck source=tests/netns/measure.sh
. "$here/measure.sh"

# ---- comparing -----------------------------------------------------------------------------------

# predict COLLECTIVE BYTES REMARK OPTION...: us, in $beside; of a pair $alone as well.
predict ()
{
  collective=$1 bytes=$2 algorithm=auto
  [ "$3" != 'mpi linear' ] || algorithm=linear
  shift 3
  line=$("$simulator" collective --hwprofiles "$out" --gpu cpu-host --intra none --gpus-per-node 1 \
    --nics 1 --collective "$collective" -b "$bytes" -e "$bytes" --algo "$algorithm" \
    --format csv "$@" | tail -n 1)
  beside=$(echo "$line" | cut -d, -f5)
  alone=$(echo "$line" | cut -d, -f12)
}

# judge CASE LIMIT SIMULATOR-OPTION...: lines
# "case,collective,bytes,measured,low,high,predicted,error,spread,verdict", errors in %.
judge ()
{
  case=$1 limit=$2
  shift 2
  tail -n +2 "$out/$case/results.csv" | tr ' ' _ |
    while IFS=, read -r _ _ _ _ _ _ _ benchmark variant _ bytes _ _ _ _ _ _ _ measured low high _ \
        remark; do
      predict "${variant%%.*}" "$bytes" "$(echo "$remark" | tr _ ' ')" "$@"
      predicted=$beside
      case $benchmark:$variant in
        pair:*.alone) predicted=$alone ;;
      esac
      awk -v case="$case" -v variant="$variant" -v bytes="$bytes" -v m="$measured" -v low="$low" \
        -v high="$high" -v p="$predicted" -v limit="$limit" -v worst="$worst" 'BEGIN {
          error = 100 * (p - m) / m; size = error < 0 ? -error : error
          spread = 100 * (high - low) / m
          verdict = !(p > 0) ? "FAIL" : spread > limit ? "SKIP" : size > worst ? "FAIL" : "OK"
          printf "%s,%s,%s,%.0f,%.0f,%.0f,", case, variant, bytes, m, low, high
          printf "%.0f,%.1f,%.1f,%s\n", p, error, spread, verdict
        }'
    done
}

# compare CASE LIMIT HOSTS-OPTIONS SIMULATOR-OPTIONS BENCH-ARGUMENT...
compare ()
{
  case=$1 limit=$2 network=$3 options=$4
  shift 4
  try=1
  while :; do
    if ! measure "$case" "$network" "$@" -w 1 -n 1 -r 5; then
      verdict FAIL "$case" 'it could not be measured'
      return
    fi
    # shellcheck disable=SC2086 # options
    judge "$case" "$limit" $options > "$out/$case/judged"
    if [ $try -ge $tries ] || ! grep -q ',SKIP$' "$out/$case/judged"; then
      break
    fi
    try=$(( try + 1 ))
  done
  cat "$out/$case/judged" >> "$out/compared.csv"
  while IFS=, read -r _ variant bytes measured _ _ predicted error spread result; do
    text="measured $measured us, predicted $predicted us, $error %"
    [ "$result" != SKIP ] ||
      text="$text: the measurements spread over $spread %, the tolerance is $limit %"
    verdict "$result" "$case $variant $bytes B" "$text"
  done < "$out/$case/judged"
}

# summarise PATTERN LIMIT: the median of |error| over the cases that PATTERN matches and that were
# not skipped.
summarise ()
{
  median=$(awk -F, -v pattern="$1" \
    'NR > 1 && $1 ~ pattern && $10 != "SKIP" { print $8 < 0 ? -$8 : $8 }' "$out/compared.csv" |
    sort -n | awk '{ e[NR] = $1 }
      END { if (NR) print (e[int((NR + 1) / 2)] + e[int((NR + 2) / 2)]) / 2 }')
  if [ -z "$median" ]; then
    verdict SKIP "median error of '$1'" 'no measurement was quiet enough'
  elif [ "$(awk -v m="$median" -v limit="$2" 'BEGIN { print (m <= limit) }')" = 1 ]; then
    verdict OK "median error of '$1'" "$median % (limit $2 %)"
  else
    verdict FAIL "median error of '$1'" "$median % (limit $2 %)"
  fi
}

# ---- the cache -----------------------------------------------------------------------------------

# simulate_cache MBIT: lines "strategy us" of the steps of fcdp.yaml.
simulate_cache ()
{
  "$simulator" compare "$here/fcdp.yaml" --hwprofiles "$out" --nic "lan-$1m" --format csv |
    awk -F, 'NR > 1 { printf "%s %.0f\n", $1, 1e6 * $4 }'
}

# spread CASE VARIANT: in %.
spread ()
{
  awk -v m="$(value "$1" "$2" 19)" -v low="$(value "$1" "$2" 20)" -v high="$(value "$1" "$2" 21)" \
    'BEGIN { printf "%.0f", 100 * (high - low) / m }'
}

# compare_cache MBIT: fetching beats gathering, by as much as is simulated.
compare_cache ()
{
  case=cache-$1 try=1 limit=10
  while :; do
    if ! measure "$case" "-n 2 -r $1" mpi_cache -b 4M -e 4M -w 1 -n 1 -r 7; then
      verdict FAIL "$case" 'it could not be measured'
      return
    fi
    noise=$(( $(spread "$case" step.gather) + $(spread "$case" step.fetch) ))
    if [ $try -ge $tries ] || [ $noise -le $limit ]; then
      break
    fi
    try=$(( try + 1 ))
  done
  line=$(simulate_cache "$1" | awk -v gather="$(value "$case" step.gather 19)" \
    -v fetch="$(value "$case" step.fetch 19)" -v noise="$noise" -v limit="$limit" '
    { step[$1] = $2 }
    END {
      if (!(gather * fetch * step["zero3"] * step["fcdp"])) { print "FAIL 0 0 -100"; exit }
      m = gather / fetch; p = step["zero3"] / step["fcdp"]
      error = 100 * (p - m) / m; size = error < 0 ? -error : error
      verdict = p <= 1 ? "FAIL" : noise > limit ? "SKIP" : (m > 1 && size <= limit) ? "OK" : "FAIL"
      printf "%s %.3f %.3f %.1f", verdict, m, p, error }')
  echo "$1 $line" >> "$out/cache.txt"
  # shellcheck disable=SC2086 # words
  set -- "$1" $line
  text="a step that gathers again over one that fetches: measured $3, simulated $4"
  verdict "$2" "$case" "$text, $5 % (limit $limit %), spread $noise %"
  if awk -v a="$(value "$case" gather 20)" -v b="$(value "$case" fetch 21)" \
    'BEGIN { exit !(a > b) }'; then
    verdict OK "$case" "fetch $(value "$case" fetch 19) us, gather $(value "$case" gather 19) us"
  else
    verdict FAIL "$case" 'fetching was not faster than gathering'
  fi
}

# ---- the cases -----------------------------------------------------------------------------------

equal_hosts ()
{ # HOSTS MBIT COLLECTIVES [LARGEST]
  compare "$1-hosts-$2${4:+-$4}" 10 "-n $1 -r $2" "--nodes $1 --nic lan-$2m" mpi_collective \
    --collectives "$3" -b 4M -e "${4:-4M}" -f 4
}

slow_host ()
{ # HOSTS MBIT: h2 at half the rate
  compare "$1-hosts-$2-slow" 5 "-n $1 -r $2 -s 2:$(( $2 / 2 ))" \
    "--nodes $1 --nic lan-$2m --slow-nics 1.0:0.5" mpi_collective \
    --collectives all_reduce,all_gather,sendrecv -b 4M -e 4M
}

shared_card ()
{ # MBIT COLLECTIVE: groups h1 h2 and h1 h3
  compare "shared-card-$1-$2" 10 "-n 3 -r $1 -l 1,2,1,3" \
    "--nodes 3 --nic lan-$1m --ranks 0,1 --beside $2:same:ranks=0,2" mpi_pair --collectives "$2" \
    -b 4M -e 4M
}

shared_cards ()
{ # MBIT COLLECTIVE: two groups h1 h2
  compare "shared-cards-$1-$2" 10 "-n 2 -r $1 -l 1,2,1,2" \
    "--nodes 2 --nic lan-$1m --ranks 0,1 --beside $2:same:ranks=0,1" mpi_pair --collectives "$2" \
    -b 4M -e 4M
}

two_bridges ()
{ # HOSTS MBIT UPLINK COLLECTIVES
  leaves="--leaf-nodes $(( $1 / 2 )) --oversubscription $(( $1 * $2 / (2 * $3) ))"
  compare "$1-hosts-$2-uplink-$3" 10 "-n $1 -r $2 -u $3" "--nodes $1 --nic lan-$2m $leaves" \
    mpi_collective --collectives "$4" -b 4M -e 4M
}

quick_cases ()
{
  equal_hosts 4 200 all_reduce,all_gather,reduce_scatter,alltoall,broadcast
  equal_hosts 8 200 all_reduce,alltoall
  slow_host 4 200
  shared_card 200 all_reduce
  two_bridges 4 200 200 alltoall
  compare_cache 200
}

full_cases ()
{
  every=all_reduce,all_gather,reduce_scatter,alltoall,broadcast,sendrecv
  for mbit in 50 100 200; do
    equal_hosts 2 $mbit all_reduce,all_gather,reduce_scatter,alltoall
    equal_hosts 4 $mbit $every
    equal_hosts 8 $mbit $every
    compare_cache $mbit
  done
  equal_hosts 4 200 $every 16M
  slow_host 4 100
  slow_host 8 200
  shared_card 100 all_gather
  shared_cards 100 all_reduce
  two_bridges 4 100 50 alltoall,all_reduce,sendrecv
  two_bridges 8 200 200 alltoall,all_reduce
}

columns=case,collective,bytes,measured_us,low_us,high_us,predicted_us
echo "$columns,error_percent,spread_percent,verdict" > "$out/compared.csv"
fit_link
case $extent in
  full) full_cases ;;
  *) quick_cases ;;
esac
summarise . 10
summarise slow 5
echo "1..$number"
exit $failed
