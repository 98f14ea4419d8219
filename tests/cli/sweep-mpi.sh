#!/bin/bash
# A sweep under mpirun -n 4: one process hands out and writes, the result is that of one process.
# Usage: sweep-mpi.sh PROGRAM SOURCE-ROOT. Exits with 77 and a reason where there is no MPI.
set -u
program=$(realpath "$1")
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$source/tests/cli/input/good.yaml" "$folder"
cp -r "$source/docs/worked/hwprofiles" "$folder/hwprofiles"
cd "$folder" || exit 1
grid=(good.yaml --hwprofiles hwprofiles --vary training.micro_batch=1..12
  --vary training.grad_accum=1..10 --vary strategy.name=fsdp2,none)

fail() {
  echo "$1" >&2
  cat out err >&2
  exit 1
}

if [ ! -e "$(dirname "$program")/sweep-mpi.so" ]; then
  PMI_SIZE=4 PMI_RANK=0 "$program" sweep "${grid[@]}" --store a.db >out 2>err
  [ $? -eq 1 ] && grep -q 'built without MPI' err || fail 'a launcher without MPI is not told'
  echo 'skipped: built without MPI' >&2
  exit 77
fi
command -v mpirun >/dev/null || { echo 'skipped: there is no mpirun' >&2 && exit 77; }

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none
timeout 60 mpirun -n 1 true >out 2>err || {
  echo "skipped: mpirun does not work here: $(tail -n 1 err)" >&2
  exit 77
}

"$program" sweep "${grid[@]}" --store one.db --format csv >one.csv 2>one.err
timeout 100 mpirun -n 4 "$program" sweep "${grid[@]}" --store four.db --format csv >out 2>err ||
  fail 'mpirun -n 4 fails'
cmp one.csv out || fail 'four processes say something else than one'
grep -q '120 failed: unknown strategy' err || fail 'failures are not told once'

# Ended with all its processes, and gone on with.
timeout -k 20 0.5 mpirun -n 4 "$program" sweep "${grid[@]}" --store cut.db >out 2>err
timeout 100 mpirun -n 4 "$program" sweep "${grid[@]}" --store cut.db --format csv >out 2>err ||
  fail 'it does not go on'
# What the cut processes still finished may be made twice, which the last column says.
cmp <(sed 's/,[0-9]*$//' one.csv) <(sed 's/,[0-9]*$//' out) ||
  fail 'cut short and gone on with, it is another sweep'

# What is wrong is wrong in all of them, and ends them.
timeout 100 mpirun -n 4 "$program" sweep "${grid[@]}" --store good.yaml >out 2>err
[ $? -eq 2 ] || fail 'a file that is no store does not end it with 2'
echo 'mpirun -n 4: 240 runs, as in one process' >&2
