#!/bin/sh
# The runner's MPI half as a user runs it, a few ranks on this machine. Usage: mpi.sh PROGRAM.
# Asserts the text, the files, that the data arrive, and the messages. Says nothing about a network:
# tests/netns does.
set -u
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR="$folder"
if ! mpirun -n 1 true 2> err; then
  echo "1..0 # SKIP mpirun does not start a process here: $(tail -n 1 err)"
  exit 0
fi
number=0
failed=0

verdict ()
{ # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    sed 's/^/# /' log >&2
    failed=1
  fi
}

# run STATUS RANKS ARGUMENT...: output and messages in `log`; true when the exit status is STATUS.
run ()
{
  want=$1 ranks=$2
  shift 2
  # -q: mpirun's own words of a failure would run into those of the ranks
  mpirun -q --oversubscribe --mca mpi_yield_when_idle 1 -n "$ranks" "$program" "$@" \
    > out 2> err < /dev/null
  status=$?
  cat out err > log
  [ "$status" -eq "$want" ] || { echo "exit status $status, not $want, of: $*" >> log && return 1; }
}

# says PATTERN...: each is found in the log.
says ()
{
  for pattern; do
    grep -q -e "$pattern" log || { echo "not found: $pattern" >> log && return 1; }
  done
}

# lines NUMBER PATTERN FILE: so many lines match.
lines ()
{
  [ "$(grep -c -e "$2" "$3")" -eq "$1" ] ||
    { echo "not $1 times: $2" >> log && cat "$3" >> log && return 1; }
}

# An odd number of ranks and sizes that they do not divide: parts are cut as nccl-tests cuts them.
run 0 3 mpi_collective -b 8 -e 64K -f 64 -w 1 -n 2 -r 3 -o three &&
  says 'Collective test starting: all_reduce_perf' 'algo=ring' 'algo=linear' \
    'Out of bounds values : 0 OK' &&
  lines 6 'Out of bounds values : 0 OK' out &&
  lines 18 ',collective,.*,fp32,.*,3,,3,.*,us,mpi ' three/results.csv &&
  lines 9 'mpi ring$' three/results.csv
verdict $? 'six collectives, three ranks'

# Every algorithm gives the right data: the check counts wrong elements, and this size is not empty.
for algorithm in linear recursive_doubling pairwise bruck chain butterfly library; do
  run 0 4 mpi_collective -b 64K -e 64K -w 0 -n 1 -r 1 -a $algorithm && says "algo=$algorithm" &&
    lines 6 'Out of bounds values : 0 OK' out
  verdict $? "algorithm $algorithm"
done

run 2 2 mpi_collective -a rnig &&
  says "no collective has the algorithm 'rnig'" 'all_gather: .* ring' && lines 1 "'rnig'" log
verdict $? 'unknown algorithm'
run 2 2 mpi_collective --collectives all_reducd &&
  says "'--collectives': 'all_reducd' is none of all_reduce, " && lines 1 "'all_reducd'" log
verdict $? 'unknown collective'
run 2 3 mpi_collective -d int3 && says "'--dtypes': 'int3' is none of bf16, " &&
  lines 1 "'int3'" log
verdict $? 'unknown type'
run 1 1 mpi_collective && says 'nothing crosses a network with one rank'
verdict $? 'one rank'
run 1 2 mpi_collective --collectives all_reduce -b 16G -e 16G &&
  says 'rank [01]: mpi_collective: size: MPI counts'
verdict $? 'too large for MPI'

run 0 4 mpi_pair -b 64K -e 64K -w 1 -n 2 -r 3 --collectives all_reduce,sendrecv -o pair &&
  lines 4 ',pair,.*,65536,.*,2,,3,' pair/results.csv &&
  lines 1 ',all_reduce.beside.all_reduce,' pair/results.csv
verdict $? 'two groups at once'
run 0 2 mpi_pair && says 'two groups need an even number of ranks'
verdict $? 'one group'
run 0 2 mpi_cache -b 64K -e 64K -w 1 -n 2 -r 3 -o cache &&
  lines 4 ',cache_fetch,' cache/results.csv &&
  lines 2 ',step\.' cache/results.csv
verdict $? 'cache'
# The program checks every element against what so many exchanges make of it: on 3 ranks, in 2
# fragments, on their way beside training and not.
run 0 3 mpi_outer -b 60K -e 60K -w 1 -n 2 -r 3 -o outer \
  --outer steps=4,step_us=2000,fragments=2,overlap=1 &&
  lines 7 ',outer_round,' outer/results.csv &&
  lines 1 ',exchange.fragment,fp32,30720,.*,3,,3,' outer/results.csv &&
  lines 6 'mpi ring; 4 steps of 2000 us; 2 fragments; overlap 1' outer/results.csv &&
  awk -F, '{ t[$9] = $19 } END { exit !(t["round.local"] >= 8000 && t["round.local"] < 12000 &&
    t["round.blocking"] > t["round.local"] && t["streaming.travel"] > 0) }' outer/results.csv
verdict $? 'rounds of local steps'
run 2 2 mpi_outer --outer steps=4,fragmets=2 && lines 1 fragmets log &&
  says "'fragmets=2' is none of steps, step_us, fragments, overlap"
verdict $? 'rounds: unknown key'
run 2 2 mpi_outer --outer steps=-4 && says "'steps=-4': expected a whole number"
verdict $? 'rounds: not a number'
run 2 2 mpi_outer --outer steps=4,fragments=3 && says 'steps must be a multiple of fragments'
verdict $? 'rounds: odd fragments'
run 2 2 mpi_outer --outer steps=4,fragments=2,overlap=2 && says 'one fragment travels at a time'
verdict $? 'rounds: fragments that meet'
run 1 2 mpi_outer -b 4 -e 4 && says '4 bytes are not an element for each of 4 fragments'
verdict $? 'rounds: too small'

"$program" mpi_collective > out 2> log
[ $? -eq 2 ] && says "start it with mpirun"
verdict $? 'without mpirun'

# A peer that stops answers nothing any more: the others say so, and end.
hangs ()
{ # ARGUMENT...
  mpirun --oversubscribe --mca mpi_yield_when_idle 1 -n 2 "$program" "$@" --timeout 3 \
    > out 2> log < /dev/null &
  launcher=$!
  peer=
  for _ in $(seq 100); do
    peer=$(pgrep -P $launcher -n) && [ "$(pgrep -P $launcher -c)" -eq 2 ] && break
    sleep 0.1
  done
  sleep 2
  kill -STOP "$peer" || return 1
  for _ in $(seq 300); do
    kill -0 $launcher 2> /dev/null || break
    sleep 0.1
  done
  kill -0 $launcher 2> /dev/null && kill -KILL $launcher "$peer" && return 1
  wait $launcher
  status=$?
  [ $status -ne 0 ] && says 'rank [01]: MPI_[A-Z][a-z]*: no end after 3 s: another rank has stopped'
}
if command -v pgrep > pgrep; then
  hangs mpi_collective --collectives all_reduce -b 8 -e 64M -n 100000 -r 1000
  verdict $? 'a peer that stopped'
fi

echo "1..$number"
exit $failed
