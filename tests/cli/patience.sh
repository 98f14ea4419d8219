#!/bin/bash
# Long commands end early with what they have: at --time-limit with the exit status of their result,
# at SIGINT and SIGTERM with 130 and 143; what they print is whole, and says that it is partial.
# Usage: patience.sh PROGRAM SOURCE-ROOT. How much was done by then depends on the machine, and is
# not asserted, apart from some and not all.
set -u
program=$(realpath "$1")
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/cli/listed.sh
. "$source/tests/cli/listed.sh"
SHARDSIM_DATADIR=$source
export SHARDSIM_DATADIR
cd "$folder" || exit 1

has() { # TEXT FILE...
  grep -qe "$@" && return
  echo "# '$1' is not in $2:" >&2
  head -c 600 "$2" >&2
  return 1
}
json() { # EXPRESSION: of the document d, in the file out
  python3 -c "import json
d = json.load(open('out'))
assert $1, d.get('partial')" 2>json.err && return
  tail -n 2 json.err >&2
  return 1
}
# A shell starts what is in the background with interrupts ignored; timeout's own are not.
after() { # SIGNAL SECONDS COMMAND...
  signal=$1
  seconds=$2
  shift 2
  timeout --preserve-status -s "$signal" "$seconds" "$program" "$@" >out 2>err
}
# Ever later, until something was there by then.
until_some() { # STATUS TEST SIGNAL COMMAND...
  wanted=$1
  some=$2
  signal=$3
  shift 3
  for seconds in 0.5 1 2 4 8 16 32; do
    after "$signal" "$seconds" "$@"
    status=$?
    [ $status -eq "$wanted" ] || break
    $some && return
  done
  echo "# status $status after $seconds s:" >&2
  cat err >&2
  return 1
}

# ---- search
long=(search --cluster '2 x dgx-h100' --model gpt2-xl --seq-len 1024 --global-batch 64
  --effort 1000 --simulate 100000)
found_some() { json 'len (d["results"]) > 0' 2>/dev/null; }
until_some 130 found_some INT "${long[@]}" --format json &&
  json 'd["partial"]["reason"] == "SIGINT" and d["partial"]["step"]' &&
  json 'd["search"]["open"] > 0 and d["search"]["answer"] < len (d["results"])' &&
  has 'shardsim search: partial: ended by SIGINT while' err
verdict $? 'search: an interrupt leaves the best so far'

after TERM 0.3 "${long[@]}"
[ $? -eq 143 ] && has '^Partial: ended by SIGTERM while ' out && has 'Nothing was found yet' out
verdict $? 'search: nothing is found yet, and what was under way'

"$program" "${long[@]}" --time-limit '300 ms' --format csv >out 2>err
[ $? -eq 3 ] && [ "$(head -n 1 out | grep -c ',partial$')" -eq 1 ] && has 'by the time limit' err
verdict $? 'search: a limit with nothing by then is status 3'

"$program" "${long[@]}" --time-limit '1 h' --only --vary mesh.tp=1 --strategy ddp >out 2>err
[ $? -eq 0 ] && ! grep -qi partial out err
verdict $? 'search: what is done in time is whole'

for limit in 0 '0 s' -1s 5 'a while'; do
  "$program" "${long[@]}" --time-limit "$limit" >out 2>err
  [ $? -eq 2 ] && has '--time-limit' err
  verdict $? "a time limit of '$limit' is refused"
done

SHARDSIM_PROGRESS_NOTE=0.2 "$program" "${long[@]}" --time-limit '1 s' >out 2>err
[ "$(grep -c '^shardsim: searching: ' err)" -eq 1 ] && has ' ends it with what it has' err
verdict $? 'long work says once what it is at where there is no terminal'

# ---- sweep
cp "$source/tests/cli/input/good.yaml" .
grid=(good.yaml --hwprofiles "$source/docs/worked/hwprofiles" --vary training.micro_batch=1..12
  --vary training.grad_accum=1..10 --vary training.seq_len=1..100 -j 1)
stored() { # STORE
  "$program" sweep --store "$1" --format csv 2>/dev/null | tail -n +2 | wc -l
}
stored_some() { [ "$(stored int.db)" -gt 0 ]; }
until_some 130 stored_some INT sweep --store int.db "${grid[@]}" --format json &&
  json 'd["partial"]["reason"] == "SIGINT" and 0 < len (d["results"]) < 12000' &&
  json 'd["partial"]["done"] == len (d["results"]) and d["partial"]["of"] == 12000' &&
  has 'goes on with the rest' err &&
  json "len (d['results']) == $(stored int.db)"
verdict $? 'sweep: an interrupt leaves what is done, and all of it is in the store'

before=$(stored int.db)
"$program" sweep --store int.db "${grid[@]}" --time-limit '1 s' >out 2>err
[ $? -eq 0 ] && has '^Partial: ended by the time limit after [0-9]* of 12000$' out &&
  [ "$(stored int.db)" -gt "$before" ]
verdict $? 'sweep: the same command goes on, up to a limit, with status 0'

# Runs from before are counted where the limit comes before them.
"$program" sweep --store int.db "${grid[@]}" --time-limit '1 us' >out 2>err
[ $? -eq 0 ] && has "ended early; $(stored int.db) runs are in" err &&
  has "^$(stored int.db) runs in 'int.db', .* from before" out &&
  has "^Partial: ended by the time limit after $(stored int.db) of 12000$" out
verdict $? 'sweep: runs from before count however early the end is'

"$program" sweep --store int.db --format csv 2>/dev/null | grep -c 'left out' >failures
[ "$(cat failures)" -eq 0 ]
verdict $? 'sweep: no run is stored as failed that was cut'

"$program" sweep --store csv.db "${grid[@]}" --time-limit '1 s' --format csv >out 2>err
[ $? -eq 0 ] && [ "$(head -n 1 out | grep -c ',partial$')" -eq 1 ] &&
  [ "$(grep -c 'ended by the time limit after' out)" -eq "$(stored csv.db)" ]
verdict $? 'sweep: rows of CSV say it'

# ---- plan
plan=(plan --model llama-3-70b --seq-len 8192 --global-batch 1024 --tokens 2T --days 30
  --gpu-nodes dgx-h100 --effort 100)
"$program" "${plan[@]}" --time-limit '500 ms' >out 2>err
[ $? -eq 3 ] && has '^Partial: ended by the time limit while searching 64 x dgx-h100: ' out &&
  has 'cannot: even at the GPUs' out
verdict $? 'plan: numbers of nodes that were looked at by then are told'

after INT 1 "${plan[@]}" --format json
[ $? -eq 130 ] && json 'd["partial"]["reason"] == "SIGINT" and len (d["plans"][0]["options"]) > 0'
verdict $? 'plan: an interrupt leaves them, too'

alone=(plan --model llama-3-8b --strategy fsdp2 --seq-len 8192 --tokens 1T --days 30
  --gpu-nodes dgx-h100 --node-counts 1..1024)
"$program" "${alone[@]}" --time-limit '1 ms' --format csv >out 2>err
[ $? -eq 3 ] && has 'partial: ended by the time limit' err && head -n 1 out | grep -q ',partial$'
verdict $? 'plan: nothing was tried in time'

trace=(plan "$source/workloads/ten-b-eight-sites.yaml" --tokens 1T --days 1000 -j 1
  --membership "$source/workloads/eight-sites-membership.csv" --notice '10 s' --join '15 min')
"$program" "${trace[@]}" --time-limit '1 ms' >out 2>err
[ $? -eq 3 ] && has '^Partial: ended by the time limit while following hsdp' out &&
  has '^hsdp: nothing was found yet' out
verdict $? 'plan: nothing of a trace was followed in time'
followed_some() { json 'any (one["spans"] for one in d["runs"])' 2>/dev/null; }
until_some 130 followed_some INT "${trace[@]}" --format json &&
  json 'd["partial"]["reason"] == "SIGINT" and d["partial"]["step"].startswith ("following ")' &&
  has 'shardsim plan: partial: ended by SIGINT while following' err
verdict $? 'plan: an interrupt leaves what was followed of a trace'

# ---- figures: all kinds of them
good=0
for name in co2 famous megatron memband scaling sharded-family intellect; do
  "$program" figures $name --time-limit '150 ms' -j 1 --format json >out 2>err
  [ $? -eq 0 ] && json 'd["partial"]["reason"] == "time limit"' &&
    json 'd["partial"]["done"] < d["partial"]["of"]' &&
    has "shardsim figures: partial: ended by the time limit after" err || good=1
done
verdict $good 'figures: a limit leaves the rows by then'
"$program" figures famous --time-limit '150 ms' -j 1 >out 2>err
[ $? -eq 0 ] && has '^Partial: ended by the time limit after [0-9]* of ' out && has 'left out: ' out
verdict $? 'figures: text says which rows were left out'
after TERM 0.5 figures sharded-family -j 1 --format csv
[ $? -eq 143 ] && head -n 1 out | grep -q ',partial$' && has 'ended by SIGTERM' out
verdict $? 'figures: a signal leaves the rows by then'

# ---- sensitivity
changed=(--cluster '4 x dgx-h100' --model llama-3-8b --strategy fsdp2 --seq-len 8192 -j 1)
after INT 0.6 sensitivity "${changed[@]}" --format json
[ $? -eq 130 ] && json 'd["partial"]["step"]'
verdict $? 'sensitivity: an interrupt leaves what was changed by then'
"$program" sensitivity "${changed[@]}" --time-limit '1 us' >out 2>err
[ $? -eq 3 ] && [ ! -s out ] &&
  has "sensitivity: ended by the time limit.*: the scenario itself" err
verdict $? 'sensitivity: a limit before the first prediction says so'
"$program" sensitivity "${changed[@]}" --map mesh.tp=1,2,4,8 \
  --map nic.bandwidth='1 Gbit/s..800 Gbit/s:60' --time-limit '500 ms' >out 2>err
[ $? -eq 0 ] && has '^Partial: ended by the time limit after [0-9]* of 240' out
verdict $? 'sensitivity: a map of the cells by then'

# ---- simulate: the verdict comes first, whatever the search for remedies takes
misfit=(simulate --cluster '8 x dgx-h100' --model qwen3-30b-a3b --seq-len 4096 --micro-batch 1
  --grad-accum 8 --pp 4 --ep 8 --strategy fsdp2 --pipeline dualpipe -j 1)
"$program" "${misfit[@]}" --time-limit '10 ms' >out 2>err
[ $? -eq 3 ] && has 'DOES NOT FIT' out && has '; partial: ended by the time limit)' out
verdict $? 'simulate: remedies end at a limit, the prediction is whole'
rm -f fifo && mkfifo fifo
env --default-signal=INT "$program" "${misfit[@]}" >fifo 2>err &
pid=$!
exec 3<fifo
IFS= read -r verdict <&3
kill -INT $pid # while it looks for remedies
cat <&3 >rest
exec 3<&-
wait $pid
status=$?
[ $status -eq 130 ] && [[ $verdict == *'DOES NOT FIT'* ]] &&
  has '; partial: ended by SIGINT)' rest && has '^Confidence' rest
verdict $? 'simulate: the verdict is printed before remedies, which an interrupt ends'
"$program" "${misfit[@]}" --time-limit '10 ms' --format json >out 2>err
[ $? -eq 3 ] && json 'd["results"][0]["remedy_search"]["ended_by"] == "time limit"'
verdict $? 'simulate: JSON says that remedies were cut'

most=(simulate --cluster '2 x dgx-h100' --model llama-3-8b --strategy fsdp2 --seq-len 8192
  --max n_layers)
"$program" "${most[@]}" --time-limit '1 ms' >out 2>err
[ $? -eq 3 ] && has '^Partial: ended by the time limit' out && has '^No n_layers that fits was' out
verdict $? 'simulate: no largest value by a limit'
"$program" "${most[@]}" --time-limit '1 ms' --format json >out 2>err
[ $? -eq 3 ] && json 'd["results"] == [] and d["partial"]["reason"] == "time limit"'
verdict $? 'simulate: the same in JSON'
after INT 1 "${most[@]/#2 x/64 x}" --pp 8 --grad-accum 512 --set replay.extrapolate=false
[ $? -eq 130 ] && has '^Partial: ended by SIGINT while ' out
verdict $? 'simulate: an interrupt ends the search for the largest value'

# ---- before the engine: of millions of ops, whose schedule takes seconds
huge=(--cluster '64 x dgx-h100' --model llama-3-8b --strategy fsdp2 --seq-len 8192 --pp 8 -j 1
  --set replay.extrapolate=false)
ends_soon() { # COMMAND...: of the processor, not of a clock: other work may be in its way
  TIMEFORMAT='%U %S'
  { time after INT 0.3 "$@"; } 2>seconds
  [ $? -eq 130 ] && awk '{ exit !($1 + $2 < 0.8) }' seconds && return
  echo "# status, or seconds: $(cat seconds)" >&2
  return 1
}
ends_soon sweep --store huge.db "${huge[@]}" --vary training.grad_accum=6000,6001 &&
  has '^Partial: ended by SIGINT after 0 of 2$' out
verdict $? 'sweep: an interrupt ends the building of a schedule'
ends_soon sensitivity "${huge[@]}" --grad-accum 6000 &&
  has 'sensitivity: ended by SIGINT.*: the scenario itself' err
verdict $? 'sensitivity: the same'
ends_soon simulate "${huge[@]}" --grad-accum 6000 --max n_layers &&
  has '^Partial: ended by SIGINT while [a-z]* values' out
verdict $? 'simulate: the same, of the search for the largest value'

# ---- the end
echo "1..$number"
exit $failed
