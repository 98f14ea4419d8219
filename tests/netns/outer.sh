#!/bin/sh
# Rounds of DiLoCo and Streaming DiLoCo between hosts made of network namespaces, over wires with a
# rate and a delay, measured (mpi_outer) and simulated. TAP.
#
#   outer.sh SHARDSIM-BENCH SHARDSIM LIBRARY DELAY quick|full [FOLDER]
#
# The model is a 64th of DiLoCo's with 150 million parameters (12 blocks of 1024, feed-forward 2688:
# 149.4 million without the embedding): both widths divided by 8, 2.3 million. A round has 8 (or 16)
# steps: of 500, a 64th. Streaming DiLoCo has fragments of 3 blocks, one at a time on its way.
#
# The link's efficiency and latency are fitted to two hosts at 100 Mbit/s without delay (`shardsim
# calibrate`), in this very run. The rest is what the network is set to: rates, round trips, a slow
# card. A step of training has the length that is simulated of one worker alone; the runner naps as
# long. Asserted, each case within 10 %: the all-reduce of everything and of a fragment, the step
# with its part of the round's exchange, blocking and streaming, and the overlap: the part of the
# time that fragments are on their way in which training goes on. Nothing about GPUs, nothing about
# losses: a connection is in its stride, its window wider than what the wire holds.
#
# LIBRARY is yield.c's, DELAY delay.c's. FOLDER (new) keeps the measurements, the profile and
# compared.csv. A measurement whose own spread is wider than the tolerance is made again, three
# times in all (quick: twice), and then skipped; what was predicted plays no part in that.
set -u
here=$(dirname "$(realpath "$0")")
bench=$(realpath "$1") simulator=$(realpath "$2") library=$(realpath "$3") wires=$(realpath "$4")
extent=$5
if [ $# -gt 5 ]; then
  mkdir -p "$6"
  out=$(realpath "$6")
else
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
trap 'exit 130' INT TERM HUP
tries=3 repeats=5
[ "$extent" = full ] || tries=2 repeats=3
limit=10
# shellcheck source=tests/netns/measure.sh
. "$here/measure.sh"

# ---- simulating, in the folder $model ------------------------------------------------------------

# write_sites HOSTS MBIT MS: each host is a site; MS there, MS back.
write_sites ()
{
  awk -v hosts="$1" -v cell="$2 Mbit/s $(( 2 * $3 )) ms" 'BEGIN {
    printf "site"
    for (i = 1; i <= hosts; i++) printf ",h%d", i
    print ""
    for (i = 1; i <= hosts; i++) {
      printf "h%d", i
      for (k = 1; k <= hosts; k++) printf ",%s", k == i ? "-" : cell
      print ""
    }
  }' > "$model/sites.csv"
}

# write_scenario HOSTS MBIT SLOW: the round and its worker.
write_scenario ()
{
  card="intra: none, nics: 1, nic: lan-$2m, dram_bytes: 8 GiB"
  common=$(cat << END_OF_YAML
model: { arch: llama, d_model: 128, n_layers: 12, n_heads: 2, n_kv_heads: 2, d_ff: 336, vocab: 16 }
training: { seq_len: 160, micro_batch: 1, precision: fp32 }
END_OF_YAML
  )
  cat > "$model/worker.yaml" << END_OF_YAML
cluster: { nodes: 1, gpus_per_node: 1, gpu: cpu-host, $card }
$common
strategy: { name: ddp }
END_OF_YAML
  cat > "$model/round.yaml" << END_OF_YAML
cluster: { nodes: $1, gpus_per_node: 1, gpu: cpu-host, $card, sites: sites.csv$3 }
$common
strategies:
  - { name: diloco, local_steps: $steps, inner: { name: ddp } }
  - { name: streaming-diloco, local_steps: $steps, fragments: $fragments, overlap: $overlap,
      payload: fp32, outer_state: gpu, inner: { name: ddp } }
END_OF_YAML
}

# simulate_worker: $step_us of a step alone, $bytes of the parameters.
simulate_worker ()
{
  "$simulator" simulate "$model/worker.yaml" --hwprofiles "$out" --format json \
    > "$model/worker.json" || return 1
  step_us=$(sed -n 's/.*"step_time_s": *\([0-9.e+-]*\).*/\1/p' "$model/worker.json" |
    awk 'NR == 1 { printf "%.0f", 1e6 * $1 }')
  bytes=$(sed -n 's/.*"parameter": *\([0-9]*\).*/\1/p' "$model/worker.json" | head -n 1)
  [ -n "$step_us" ] && [ -n "$bytes" ]
}

# all_reduce BYTES HOSTS MBIT [SLOW]: us.
all_reduce ()
{
  "$simulator" collective --hwprofiles "$out" --gpu cpu-host --intra none --gpus-per-node 1 \
    --nics 1 --nic "lan-$3m" --nodes "$2" --sites "$model/sites.csv" --collective all_reduce \
    -b "$1" -e "$1" --format csv ${4:+--slow-nics "$4"} | tail -n 1 | cut -d, -f5
}

# simulate_round HOSTS MBIT [SLOW]: lines "variant us" in $model/predicted.
simulate_round ()
{
  "$simulator" compare "$model/round.yaml" --hwprofiles "$out" --format csv \
    > "$model/round.csv" || return 1
  {
    echo "exchange $(all_reduce "$bytes" "$@")"
    echo "exchange.fragment $(all_reduce $(( bytes / fragments )) "$@")"
    awk -F, -v steps="$steps" '
      $2 == "diloco over ddp" { printf "round.blocking %.0f\n", 1e6 * steps * $4 }
      $2 == "streaming-diloco over ddp" {
        printf "round.streaming %.0f\nstreaming.wait %.0f\n", 1e6 * steps * $4, 1e6 * steps * $13
      }' "$model/round.csv"
  } > "$model/predicted"
}

# ---- comparing -----------------------------------------------------------------------------------

# judge: lines "case,what,measured,low,high,predicted,error,spread,verdict", errors in %.
judge ()
{
  awk -F '[ ,]' -v case="$case" -v limit=$limit -v fragments="$fragments" '
    function line (what, m, low, high, p, spread, digits,    error, size, verdict) {
      error = m > 0 ? 100 * (p - m) / m : 0; size = error < 0 ? -error : error
      verdict = !(p > 0 && m > 0) ? "FAIL" : spread > limit ? "SKIP" : size > limit ? "FAIL" : "OK"
      printf "%s,%s,%.*f,%.*f,%.*f,%.*f,%.1f,%.1f,%s\n", case, what, digits, m, digits, low, digits,
        high, digits, p, error, spread, verdict
    }
    NR == FNR { p[$1] = $2; next }
    $8 == "outer_round" { m[$9] = $19; low[$9] = $20; high[$9] = $21 }
    END {
      n = split ("exchange exchange.fragment round.blocking round.streaming", names, " ")
      for (i = 1; i <= n; i++) {
        v = names[i]
        line(v, m[v], low[v], high[v], p[v], m[v] > 0 ? 100 * (high[v] - low[v]) / m[v] : 0, 0)
      }
      t = "streaming.travel"; w = "streaming.wait"; p[t] = fragments * p["exchange.fragment"]
      if (!(m[t] > 0 && p[t] > 0)) {
        printf "%s,overlap_percent,0,0,0,0,0,0,FAIL\n", case
        exit
      }
      line("overlap_percent", 100 - 100 * m[w] / m[t], 100 - 100 * high[w] / m[t],
        100 - 100 * low[w] / m[t], 100 - 100 * p[w] / p[t], 100 * (high[w] - low[w]) / m[t], 1)
    }' "$model/predicted" "$out/$case/results.csv"
}

# report: the lines that were judged, of compared.csv too.
report ()
{
  cat "$out/$case/judged" >> "$out/compared.csv"
  while IFS=, read -r _ what measured _ _ predicted error spread result; do
    text="measured $measured, predicted $predicted, $error %"
    [ "$result" != SKIP ] ||
      text="$text: the measurements spread over $spread %, the tolerance is $limit %"
    verdict "$result" "$case $what" "$text"
  done < "$out/$case/judged"
}

# compare CASE HOSTS MBIT MS SLOW-MBIT STEPS FRAGMENTS OVERLAP: h2 at SLOW-MBIT, 0: like the others.
compare ()
{
  case=$1 hosts=$2 mbit=$3 delay=$4 slow=$5 steps=$6 fragments=$7 overlap=$8
  model=$out/$case.simulated
  network="-n $hosts -r $mbit -d $delay:$wires" slow_nics=''
  if [ "$slow" -gt 0 ]; then
    network="$network -s 2:$slow"
    slow_nics=1.0:$(awk -v a="$slow" -v b="$mbit" 'BEGIN { print a / b }')
  fi
  mkdir -p "$model"
  write_sites "$hosts" "$mbit" "$delay"
  write_scenario "$hosts" "$mbit" "${slow_nics:+, slow_nics: \"$slow_nics\"}"
  if ! simulate_worker || ! simulate_round "$hosts" "$mbit" ${slow_nics:+"$slow_nics"}; then
    verdict FAIL "$case" 'it could not be simulated'
    return
  fi
  try=1
  while :; do
    measure "$case" "$network" mpi_outer -b "$bytes" -e "$bytes" -w 1 -n 4 -r $repeats \
      --outer "steps=$steps,step_us=$step_us,fragments=$fragments,overlap=$overlap"
    case $? in
      0) ;;
      77)
        verdict SKIP "$case" "$(sed -n 's/.*skipped: //p' "$out/$case/log")"
        return
        ;;
      *)
        verdict FAIL "$case" 'it could not be measured'
        return
        ;;
    esac
    judge > "$out/$case/judged"
    if [ $try -ge $tries ] || ! grep -q ',SKIP$' "$out/$case/judged"; then
      break
    fi
    try=$(( try + 1 ))
  done
  report
}

# ---- the cases -----------------------------------------------------------------------------------

echo case,what,measured,low,high,predicted,error_percent,spread_percent,verdict \
  > "$out/compared.csv"
fit_link
compare 4-hosts-200-10ms-slow 4 200 10 100 8 4 1
if [ "$extent" = full ]; then
  compare 2-hosts-200-10ms 2 200 10 0 8 4 1
  compare 4-hosts-200-10ms 4 200 10 0 8 4 1
  compare 4-hosts-200-25ms 4 200 25 0 8 4 1
  compare 4-hosts-200-10ms-late 4 200 10 0 16 4 3
  compare 8-hosts-100-10ms 8 100 10 0 8 4 1
  compare 8-hosts-100-10ms-slow 8 100 10 50 8 4 1
  compare 8-hosts-100-25ms 8 100 25 0 16 4 3
fi
echo "1..$number"
exit $failed
