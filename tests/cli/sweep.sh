#!/bin/bash
# shardsim sweep and merge as a user meets them: killed at any instant, resumed, in shards, from
# tables, without room. TAP on stdout.
# Usage: sweep.sh PROGRAM SOURCE-ROOT
set -u
program=$(realpath "$1")
source=$2
folder=$(mktemp -d)
cleanup() {
  if [ -n "${mounted:-}" ]; then umount "$folder/small"; fi
  rm -rf "$folder"
}
trap cleanup EXIT
cp "$source/tests/cli/input/good.yaml" "$folder"
cp -r "$source/docs/worked/hwprofiles" "$folder/hwprofiles"
cd "$folder" || exit 1
number=0
failed=0

verdict() { # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    failed=1
  fi
}

sweep() { # STORE ARGUMENT...
  local store=$1
  shift
  "$program" sweep --hwprofiles hwprofiles --store "$store" "$@" 2>err
}

rows() { "$program" sweep --store "$1" --format csv; }
has() { grep -qF -- "$1" "$2" || { echo "# no '$1' in $2:" >&2 && cat "$2" >&2 && false; }; }

grid=(good.yaml --vary training.micro_batch=1..12 --vary training.grad_accum=1..10)

# An uninterrupted sweep is what all others are compared with.
sweep whole.db "${grid[@]}" --jobs 1 >out
verdict $? 'a grid runs through'
has "120 runs in 'whole.db'" out
verdict $? 'it says how many runs'
sweep caveats.db good.yaml --strategy ddp --vary strategy.compression=none,powersgd >out
has '~ good, compression=powersgd: convergence is not modelled: gradients sent by powersgd' out &&
  [ "$(grep -c '^~' out)" -eq 1 ]
verdict $? 'it says whose tokens are worth another amount'
"$program" sweep --store caveats.db --html caveats.html >/dev/null 2>err &&
  has '~ good, compression=powersgd: convergence is not modelled' caveats.html
verdict $? 'so does its page'
rows whole.db >whole.csv
[ "$(wc -l <whole.csv)" -eq 121 ]
verdict $? 'the store has a row a run'
sweep many.db "${grid[@]}" --jobs 3 >out && rows many.db >many.csv && cmp whole.csv many.csv
verdict $? 'threads change nothing'
sweep whole.db "${grid[@]}" >out && has '120 of them from before' out
verdict $? 'runs that are there are not repeated'
sweep whole.db "${grid[@]}" --format csv >again.csv && cmp whole.csv again.csv
verdict $? '--format csv prints the rows of the sweep'
"$program" compare --hwprofiles hwprofiles good.yaml --micro-batch 3 --grad-accum 7 --format csv |
  tail -n 1 | cut -d, -f2-40 >one
sweep whole.db good.yaml --vary training.micro_batch=3 --vary training.grad_accum=7 \
  --format csv >out && tail -n 1 out | cut -d, -f4-42 | cmp - one
verdict $? 'a row is what compare says'

# kill -9 in a loop, ever later, until it ends by itself; no row that was there goes.
before=0
lost=0
kills=0
for step in $(seq 1 25); do
  "$program" sweep --hwprofiles hwprofiles --store killed.db "${grid[@]}" --jobs 2 >out 2>err &
  pid=$!
  ( sleep "0.$(printf %02d $((step * 2)))" && kill -9 "$pid" ) 2>/dev/null &
  if wait "$pid" 2>/dev/null; then break; fi
  kills=$((kills + 1))
  [ -e killed.db ] || continue
  now=$(rows killed.db 2>/dev/null | tail -n +2 | wc -l)
  [ "$now" -ge "$before" ] || lost=1
  before=$now
done
wait
echo "# killed $kills times" >&2
sweep killed.db "${grid[@]}" >out && rows killed.db >killed.csv && cmp whole.csv killed.csv
verdict $? 'killed again and again it ends as if never killed'
verdict $lost 'no finished run is lost'
[ "$kills" -gt 0 ]
verdict $? 'it was killed'
head -n 1 killed.csv | grep -q ',repeats$' && ! tail -n +2 killed.csv | grep -qv ',0$'
verdict $? 'no run was made twice'

# An interrupt.
timeout --preserve-status -s INT 1 "$program" sweep --hwprofiles hwprofiles --store int.db \
  "${grid[@]}" --vary training.seq_len=1..100 --jobs 1 >out 2>err
[ $? -eq 130 ] && has 'goes on with the rest' err && [ "$(rows int.db | wc -l)" -gt 1 ]
verdict $? 'an interrupt ends it with 130, and what is done stays'

# A list in the file gives way to an axis of the same key, and its scenarios fall together.
sed 's/^strategy:.*/strategies: [ { name: fsdp2 }, { name: ddp } ]/' good.yaml >list.yaml
printf 'id,micro_batch\na,1\nb,1\nc,2\n' >equal.csv
sweep equal.db good.yaml --rows equal.csv >out &&
  has '1 of them with the settings of another' out &&
  sweep equal.db good.yaml --rows equal.csv --format csv | cut -d'"' -f2 | tr '\n' ';' >out &&
  grep -q ', a;.*, b;.*, c;' out
verdict $? 'rows with equal settings keep their names'
{ echo id,micro_batch && seq -f '%.0f,1' 1 40; } >alike.csv
good=0
for try in 1 2 3 4 5 6; do # a thread may be done with a later row first
  rm -f alike.db*
  sweep alike.db good.yaml --rows alike.csv --jobs 8 >out
  rows alike.db >alike
  has '39 of them with the settings of another' out && grep -q '^good, 1 ' out &&
    grep -q '^"good, 1",.*,0$' alike || good=1
done
verdict $good 'of rows with equal settings the first is stored, whatever the threads'

sweep list.db list.yaml --vary strategy.name=zero1,zero2,zero3 >out && has '3 runs in' out
verdict $? 'an axis goes before a list of the file'

# Memory: the most that a process of 100 runs and of 1500 takes.
kib() { # FIRST..LAST
  python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$program" sweep good.yaml \
    --hwprofiles hwprofiles --store "flat-$1.db" --vary "training.seq_len=$1" --jobs 1
}
few=$(kib 100..199) && many=$(kib 200..1699)
[ "$((many - few))" -lt 1500 ] || { echo "# $few KiB, $many KiB" >&2 && false; }
verdict $? 'memory does not grow with the number of runs'

# Shards.
for k in 0 1 2; do sweep "shard$k.db" "${grid[@]}" --shard "$k/3" >"out$k" || break; done
has "40 runs in 'shard1.db'" out1
verdict $? 'a shard has its part'
"$program" merge -o merged.db shard0.db shard1.db shard2.db >out && rows merged.db >merged.csv &&
  cmp whole.csv merged.csv
verdict $? 'merged shards are the sweep'
has 'shard2.db: 40 runs, 40 new' out
verdict $? 'merge says what it took'

"$program" merge -o merged.db merged.db shard0.db >out && has 'merged.db: 120 runs, 0 new' out
verdict $? 'a target among the parts adds nothing'
"$program" merge -o fresh.db shard0.db nowhere.db >out 2>err
[ $? -eq 2 ] && has "there is no store 'nowhere.db'" err && [ ! -e fresh.db ]
verdict $? 'a part that is not there makes no target'
mkdir locked && cp shard0.db locked && chmod 444 locked/shard0.db && chmod 555 locked
reader=()
[ "$(id -u)" -ne 0 ] || reader=(setpriv --bounding-set -dac_override,-dac_read_search)
"${reader[@]}" "$program" sweep --store locked/shard0.db --format csv >out &&
  [ "$(wc -l <out)" -eq 41 ]
verdict $? 'a store in a folder that may not be written is read'
cp locked/shard0.db ours.db && chmod 644 ours.db && "$program" merge -o ours.db shard1.db >out &&
  has 'shard1.db: 40 runs, 40 new' out
verdict $? 'and its copy is merged into'
chmod 755 locked

# Tables.
printf 'id,micro_batch,grad_accum\na,1,2\nb,,3\nc,x,1\n' >rows.csv
sweep rows.db good.yaml --rows rows.csv --format csv >out
verdict $? 'a table of settings'
[ "$(grep -c . out)" -eq 4 ] && grep -q '^"good, a",.*' out
verdict $? 'a row each'
has "1 failed: expected a whole number for 'micro_batch', got 'x'" err
verdict $? 'a bad cell is a failed run'
sweep rows.db good.yaml --rows rows.csv >out && has '3 of them from before' out &&
  has '1 failed' out
verdict $? 'failures are not repeated'
sweep rows.db good.yaml --rows rows.csv --retry-failed >out && has '2 of them from before' out
verdict $? 'but on request'
printf 'id,micro_batch,grad_accum\na,1,7\nb,2,\n' >gaps.csv
sweep gaps.db good.yaml --rows gaps.csv --format csv >gaps.out
sweep gap.db good.yaml --micro-batch 2 --vary training.seq_len=100 --format csv >gap.out
[ "$(tail -n 1 gaps.out | cut -d, -f3-40)" = "$(tail -n 1 gap.out | cut -d, -f3-40)" ]
verdict $? 'an empty cell is the scenario'"'"'s own value, not that of the first row'
grep -v seq_len good.yaml >short.yaml && printf 'training: { micro_batch: 1 }\n' >>short.yaml
printf 'id,seq_len\na,100\nb,\n' >short.csv
sweep short.db short.yaml --rows short.csv >out
[ $? -eq 2 ] && has "section 'training' lacks 'seq_len'" err
verdict $? 'nor is it where the scenario has none'
printf 'id,micro_batch\na,1\nb\n' >ragged.csv
sweep ragged.db good.yaml --rows ragged.csv >out
[ $? -eq 2 ] && [ ! -e ragged.db ]
verdict $? 'a ragged table is refused before anything runs'

# Warnings.
sweep warn.db good.yaml --vary strategy.name=simplefsdp --vary training.micro_batch=1,2 >out
has '2 with a warning' err
verdict $? 'warnings are counted, and the first is told'

# What is refused.
refused() { # NAME WORDS ARGUMENT...
  local name=$1 words=$2
  shift 2
  "$program" sweep --hwprofiles hwprofiles "$@" >out 2>err
  [ $? -eq 2 ] && has "$words" err
  verdict $? "$name"
}
refused 'an empty grid' 'the grid is empty' good.yaml --store x.db --vary training.micro_batch=
refused 'a grid of 10^9 points' 'the grid has 1000000000 points' good.yaml --store x.db \
  --vary training.micro_batch=1..100000 --vary training.grad_accum=1..10000
refused 'a grid without end' 'more than' good.yaml --store x.db \
  --vary training.micro_batch=1..1000000 --vary training.grad_accum=1..1000000 \
  --vary training.seq_len=1..1000000 --vary cluster.nodes=1..1000000
refused 'no store' '--store' good.yaml --vary training.micro_batch=1
refused 'no number of a shard' '--shard wants K/N' good.yaml --store x.db --shard 3/3
refused 'half a number of a shard' '--shard wants K/N' good.yaml --store x.db --shard '0/ 3'
refused 'a store without a name' 'expected FILE, got nothing' good.yaml --store ''
refused 'no scenario' 'give a scenario or a table' --store whole.db
"$program" sweep good.yaml --hwprofiles hwprofiles --store :memory: >out && [ -e :memory: ] &&
  sweep :memory: good.yaml >out && has '1 of them from before' out
verdict $? 'names that SQLite has uses for are names of files'
refused 'a file that is no store' 'is no result store' good.yaml --store good.yaml
[ ! -e x.db ]
verdict $? 'nothing is made then'

# No room: a file system of its own where one may be mounted, else a limit on the file's size.
mkdir small
if mount -t tmpfs -o size=300k none small 2>/dev/null; then mounted=1; fi
if [ -n "${mounted:-}" ]; then
  sweep small/s.db "${grid[@]}" --jobs 2 >out
else
  ( trap '' XFSZ && ulimit -f 200 && sweep small/s.db "${grid[@]}" --jobs 2 >out )
fi
[ $? -eq 1 ] && has 'ended early' err
verdict $? 'a full disk ends it with 1 and says so'
grep -qE 'disk is full|disk I/O error' err
verdict $? 'and why'
kept=$(sed -n 's/.*ended early; \([0-9]*\) runs.*/\1/p' err)
cp small/s.db* . && [ "$kept" -gt 0 ] && [ "$(rows s.db | tail -n +2 | wc -l)" -ge "$kept" ]
verdict $? 'what it says is kept is there'
sweep s.db "${grid[@]}" >out && rows s.db >s.csv && cmp whole.csv s.csv
verdict $? 'with room it goes on'

echo "1..$number"
exit $failed
