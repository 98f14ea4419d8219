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
