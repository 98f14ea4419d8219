#!/bin/sh
# Where the machine lacks something (memory, descriptors, room in a file) that is said, with exit
# status 1, and a sweep stores no run as failed that did not fail by itself.
# Usage: scarce.sh PROGRAM SOURCE-ROOT.
set -u
program=$(realpath "$1")
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/cli/listed.sh
. "$source/tests/cli/listed.sh"
SHARDSIM_DATADIR=$source
export SHARDSIM_DATADIR
cp "$source/tests/cli/input/good.yaml" "$folder"
cp -r "$source/docs/worked/hwprofiles" "$folder/hwprofiles"
cd "$folder" || exit 1

failed_runs() { # STORE
  [ ! -e "$1" ] && return
  "$program" sweep --store "$1" --format csv 2>/dev/null | grep -c 'Too many'
}

# ---- memory: at each of these limits it is either enough or said
for limit in 30000 60000 90000 120000 150000; do
  (
    ulimit -v $limit || exit 77
    exec "$program" sweep --cluster dgx-h100 --model llama-3-8b --strategy zero3 --seq-len 512 \
      --vary training.micro_batch=1..4 --vary training.grad_accum=1..4 --store m$limit.db -j 2
  ) >out 2>err
  status=$?
  [ $status -eq 77 ] && skip "$limit kB" 'no limit can be set' && continue
  # below that the loader of shared objects says it, with 127
  [ $status -eq 0 ] || [ $status -eq 127 ] || { [ $status -eq 1 ] && grep -qi 'memory' err; }
  good=$?
  [ $good -eq 0 ] || { echo "# status $status"; cat err; } >&2
  verdict $good "$limit kB of memory"
done

# ---- the program's own limit: a run that takes more fails, the others are there
size='--cluster dgx-h100 --model llama-3-8b --strategy zero3 --seq-len 512
  --set replay.extrapolate=false --max-memory-use'
for jobs in 1 3; do
  # shellcheck disable=SC2086
  "$program" sweep $size 60MB --vary training.grad_accum=1,150,2 --store l$jobs.db -j $jobs \
    --format csv >l$jobs.csv 2>err
  [ $? -eq 0 ] && [ "$(grep -c 'more memory than shardsim may' l$jobs.csv)" -eq 1 ] &&
    grep -q ',150,.*more memory than shardsim may' l$jobs.csv &&
    [ "$(grep -c 'zero3,1,' l$jobs.csv)" -eq 2 ] &&
    grep -q '1 failed: .*--max-memory-use' err
  verdict $? "$jobs threads: the run that takes more than its limit fails alone"
done
cmp -s l1.csv l3.csv
verdict $? 'whatever the threads'
# shellcheck disable=SC2086
"$program" sweep $size 1GB --vary training.grad_accum=1,150,2 --store l1.db --retry-failed \
  --format csv >out 2>err
[ $? -eq 0 ] && [ "$(grep -c 'zero3,1,' out)" -eq 3 ]
verdict $? 'with more memory it is tried again'
# shellcheck disable=SC2086
"$program" simulate --grad-accum 150 $size 60MB >out 2>err
[ $? -eq 1 ] && grep -q "more memory than shardsim may.*raise '--max-memory-use'" err
verdict $? 'simulate'
plan='plan --model llama-3-8b --seq-len 512 --global-batch 1200 --gpu-nodes dgx-h100
  --node-counts 1 --tokens 1G --only --set replay.extrapolate=false --vary mesh.tp=1,2
  --vary strategy.name=zero3,fsdp2 -j 1'
# shellcheck disable=SC2086
"$program" $plan --vary training.micro_batch=4,5 --max-memory-use 50MB >out 2>err
[ $? -eq 0 ] && grep -q '^[1-9][0-9]* of those that were simulated failed: .*more memory' out &&
  ! grep -q 'proved' out
verdict $? 'plan: nothing is proved where configurations failed'
# shellcheck disable=SC2086
"$program" $plan --vary training.micro_batch=4,5 --max-memory-use 2GB >out 2>err
[ $? -eq 0 ] && ! grep -q 'failed' out && grep -q 'proved' out
verdict $? 'plan: with more memory it is'
# shellcheck disable=SC2086
"$program" $plan --vary training.micro_batch=1 --max-memory-use 50MB >out 2>err
[ $? -eq 3 ] && grep -q 'found that fits, and [1-9][0-9]* of those that were simulated failed' out
verdict $? 'plan: nothing that was tried is not said not to fit where it failed'
# shellcheck disable=SC2086
"$program" compare --grad-accum 1,150 $size 60MB >out 2>err
[ $? -eq 1 ] && grep -q 'left out' err && grep -Eq ' [0-9.]+ ms ' out
verdict $? 'compare leaves it out'
# shellcheck disable=SC2086
"$program" search --only --vary training.grad_accum=1,150 $size 60MB >out 2>err
[ $? -eq 0 ] && grep -q 'more memory than shardsim may' out && grep -q -- '--grad-accum 1' out
verdict $? 'search takes another'
for wrong in 0B 5 x ''; do
  "$program" simulate good.yaml --hwprofiles hwprofiles --max-memory-use "$wrong" >out 2>err
  [ $? -eq 2 ] && grep -q -- '--max-memory-use' err
  verdict $? "'$wrong' is no size"
done

# ---- descriptors
for limit in 4 5 6 7 8 9; do
  (
    ulimit -n $limit
    exec "$program" sweep good.yaml --hwprofiles hwprofiles --vary training.micro_batch=1,2 \
      --store n$limit.db
  ) >out 2>err
  status=$?
  [ $status -eq 0 ] || [ $status -eq 127 ] || { [ $status -eq 1 ] && [ -s err ]; }
  good=$?
  [ "$(failed_runs n$limit.db || true)" != '' ] && [ "$(failed_runs n$limit.db)" -gt 0 ] && good=1
  [ $good -eq 0 ] || { echo "# status $status"; cat err; } >&2
  verdict $good "$limit descriptors"
done

# ---- room
(
  ulimit -f 40
  exec "$program" sweep good.yaml --hwprofiles hwprofiles --vary training.micro_batch=1..64 \
    --store f.db
) >out 2>err
status=$?
[ $status -eq 1 ] && [ -s err ]
verdict $? 'a file that may not grow'
"$program" sweep good.yaml --hwprofiles hwprofiles --vary training.micro_batch=1..64 --store f.db \
  >out 2>err
verdict $? 'the store goes on'
echo "1..$number"
exit $failed
