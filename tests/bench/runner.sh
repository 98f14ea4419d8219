#!/bin/sh
# shardsim-bench as a user runs it.
# Usage: runner.sh PROGRAM STAND-IN-FOLDER (empty: no CUDA in this build).
# Asserts the command line, the files that it writes, its messages and that it releases what it
# takes, against a stand-in for a GPU. Says nothing about a real one.
set -u
program=$(realpath "$1")
stand_in=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
number=0
failed=0

verdict() { # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    sed 's/^/# /' log >&2
    failed=1
  fi
}

# run STATUS ARGUMENT...: output and messages in `log`; true when the exit status is STATUS.
run() {
  want=$1
  shift
  "$program" "$@" >out 2>err
  status=$?
  cat out err >log
  [ "$status" -eq "$want" ] || { echo "exit status $status, not $want, of: $*" >>log && return 1; }
}

# says PATTERN...: each is found in the log.
says() {
  for pattern; do
    grep -q -e "$pattern" log || { echo "not found: $pattern" >>log && return 1; }
  done
}

# silent PATTERN: it is not in the log.
silent() {
  ! grep -e "$1" log >>err || { echo "found: $1" >>log && return 1; }
}

run 0 --version && says 'results format 1'; verdict $? version
run 0 --help && says '--min-bytes=SIZE' '--rendezvous=DIR'; verdict $? help
run 0 --list && says "$([ -n "$stand_in" ] && echo matmul || echo mpi_collective)"; verdict $? list
run 2 && says 'no benchmark named'; verdict $? 'no benchmark'
run 2 nonsense && says "no benchmark 'nonsense'"; verdict $? 'unknown benchmark'
run 2 --nonsense && says "unknown option '--nonsense'"; verdict $? 'unknown option'
run 2 -b 1x all && says "'--min-bytes' takes a size in bytes.*got '1x'"; verdict $? 'bad size'
run 2 -b 8 -e 4 all && says "'--min-bytes' is above"; verdict $? 'sizes in the wrong order'
run 2 -n 0 all && says 'at least 1'; verdict $? 'no iterations'
run 2 -n; says "no value for '-n'"; verdict $? 'no value'

if [ -z "$stand_in" ]; then
  echo "1..$number"
  exit $failed
fi

export LD_LIBRARY_PATH="$stand_in" STAND_IN_LEAKS=1
quick='-w 1 -n 2 -r 3'

# cells FILE: every line has as many cells as the header, its values are positive and in order, and
# its machine is the stand-in.
cells() {
  awk -F, 'NR == 1 { n = NF; next }
    NF != n { print FILENAME ":" NR ": " NF " cells, not " n; bad = 1 }
    $1 != 1 || ($8 != "storage" && $8 != "host_work" && ($4 != "Stand-in GPU" || $6 == "")) {
      print FILENAME ":" NR ": machine"
      bad = 1
    }
    !($19 > 0 && $20 <= $19 && $19 <= $21) { print FILENAME ":" NR ": values"; bad = 1 }
    END { exit bad || NR < 2 }' "$1" >>log
}

for name in $("$program" --list | awk '!/mpi_/ && $1 != "check" { print $1 }'); do
  case $name in # what the stand-in computes on the CPU is kept small
    *attention | *matmul) sizes='-e 16M' ;;
    collective) sizes='-e 2M -f 64' ;;
    storage) sizes='-e 1M' ;;
    host_work) sizes='-b 1M -e 4M' ;;
    *) sizes='-e 64M' ;;
  esac
  # shellcheck disable=SC2086
  run 0 "$name" $sizes $quick -o "results-$name" && silent 'not released' &&
    cells "results-$name/results.csv"
  verdict $? "$name"
done

for capability in 75 80 89 100 120; do # 90 was the one above
  # shellcheck disable=SC2086
  STAND_IN_CAPABILITY=$capability run 0 launch triad -e 64M $quick &&
    silent 'not released'
  verdict $? "kernels for $capability"
done

# The stand-in computes nothing, which is what the check is there to find.
run 1 check && says 'check: product fp32 nt, batch 2: off by 1 ' 'product fp8 nt' \
  'attention, gradient of the keys: off' 'attention over a cache: off' &&
  silent 'not released'
verdict $? 'check of a device that computes nothing'

# A type that the device lacks is said and left out; the first that it has comes in all shapes.
for case in 75,bf16,fp16 80,fp8,bf16; do
  capability=${case%%,*}
  rest=${case#*,}
  # shellcheck disable=SC2086
  STAND_IN_CAPABILITY=$capability run 0 matmul -e 16M $quick -o "results-$capability" &&
    says "no ${rest%,*} products" &&
    silent 'not released' && ! grep -q ",${rest%,*}," "results-$capability/results.csv" &&
    [ "$(grep -c ",${rest#*,}," "results-$capability/results.csv")" -gt 50 ]
  verdict $? "matmul on $capability"
done
# shellcheck disable=SC2086
run 0 matmul -e 4M -d bf16 --sustained 1 $quick && says 'nn.sustained.*8192 x 8192 x 8192'
verdict $? 'matmul sustained'

# shellcheck disable=SC2086
run 2 matmul -e 4M $quick -o no/such/folder && says 'cannot write results'
verdict $? 'no output folder'

for fault in cudaMalloc cublasGemmEx cudaEventRecord; do
  STAND_IN_FAIL=$fault:2 run 1 matmul -e 16M -d bf16 $quick && says "rank 0: matmul: $fault" &&
    silent 'not released'
  verdict $? "$fault fails"
done

for fault in cudnnBackendFinalize cudnnBackendExecute; do
  STAND_IN_FAIL=$fault:3 run 1 attention -e 16M $quick && says "rank 0: attention: $fault" &&
    silent 'not released'
  verdict $? "$fault fails"
done
STAND_IN_FAIL=cudnnCreate:1 run 0 attention $quick && says 'cudnnCreate: .*left out' &&
  silent 'not released'
verdict $? 'cuDNN does not work here'

# at NAME VARIANT BYTES MICROSECONDS: the one line of these says so, to a thousandth.
at() {
  awk -F, -v v="$2" -v b="$3" -v want="$4" \
    '$9 == v && $11 == b { n++; if ($19 < 0.999 * want || $19 > 1.001 * want) bad = 1 }
    END { exit bad || n != 1 }' "results-$1/results.csv" ||
    { echo "$1 $2 $3 is not $4" >>log && return 1; }
}

# What stand-in.h gives: 4 us and 64 MiB at 50 and at 40 GB/s; both at once end with the slower one.
at host_copy h2d.pinned 67108864 1346.18 && at host_copy d2h.pinned 67108864 1681.72 &&
  at host_copy both.pinned 67108864 1681.72
verdict $? 'host copies as fast as the stand-in is'
# 2.5 us and 2 x 64 MiB at 2 TB/s; 2.5 us of any kernel, in a graph, too.
at device_copy d2d 67108864 69.609 && at launch device '' 2.5 && at launch graph '' 2.5 &&
  at triad triad 100663296 2.5
verdict $? 'kernels as fast as the stand-in is'
# Products of decoding batches are those of layers, forward, with the rows that a batch has.
# shellcheck disable=SC2086
run 0 decode_matmul -e 64M -d bf16 $quick -o decoding &&
  awk -F, 'NR > 1 { if ($9 != "nt" || $12 > 256) bad = 1; rows[$12]++ }
    END { for (m = 1; m <= 256; m *= 2) bad = bad || !rows[m]; exit bad }' decoding/results.csv &&
  grep -q ',4,6144,4096,1,.*,8B qkv tp 1$' decoding/results.csv
verdict $? 'products of decoding batches'

# 16 heads of 2048 keys each are cut into 8 parts for 100 SMs; two kernels of 2.5 us.
# shellcheck disable=SC2086
run 0 decode_attention -e 64M $quick -o cache &&
  grep -q ',streamed,bf16,,4,2048,128,16,,,3,5,5,5,us,.*parts 8$' cache/results.csv
verdict $? 'attention over a cache'

# One product that fails does not take the others along.
# shellcheck disable=SC2086
run 0 matmul -e 16M -d bf16 $quick -o whole && lines=$(wc -l <whole/results.csv) &&
  STAND_IN_FAIL=cublasGemmEx:5 run 1 matmul -e 16M -d bf16 $quick -o lacking &&
  says 'matmul: cublasGemmEx' && silent 'not released' &&
  [ "$(wc -l <lacking/results.csv)" -eq $((lines - 1)) ]
verdict $? 'one product fails'

# The first call of each that fails is named, and what was taken before is given back.
for fault in launch:cudaStreamEndCapture launch:cudaGraphUpload launch:cudaLibraryGetKernel \
  host_copy:cudaMallocHost device_copy:cudaEventRecord triad:cudaLaunchKernel triad:cudaMalloc \
  decode_attention:cudaLibraryGetKernel decode_attention:cudaMalloc; do
  name=${fault%:*} call=${fault#*:}
  # shellcheck disable=SC2086
  STAND_IN_FAIL=$call:1 run 1 "$name" -e 64M $quick && says "rank 0: $name: $call" &&
    silent 'not released'
  verdict $? "$name: $call fails"
done

# The storage benchmark leaves no file behind, also where it fails, and does not touch one that is
# there.
# shellcheck disable=SC2086
run 0 storage -e 64K $quick --file disk && [ ! -e disk ]; verdict $? 'storage: the file is gone'
echo mine >disk
# shellcheck disable=SC2086
run 1 storage -e 64K $quick --file disk && says "'disk': File exists" && [ "$(cat disk)" = mine ]
verdict $? 'storage: a file that is there'
# shellcheck disable=SC2086
run 1 storage -e 64K $quick --file no/such/disk && says 'storage: open: .no/such/disk'
verdict $? 'storage: no such folder'

run 0 property -o twice && lines=$(wc -l <twice/results.csv) && run 0 property -o twice &&
  [ "$(wc -l <twice/results.csv)" -eq $((2 * lines - 1)) ] && cells twice/results.csv
verdict $? 'a second run is added'
printf 1,cut >>twice/results.csv
run 2 property -o twice && says 'cut in the middle of its last line'
verdict $? 'results that were cut'
echo other >twice/results.csv
run 2 property -o twice && says 'another header'; verdict $? 'results of something else'

# shellcheck disable=SC2086
run 0 triad -e 1M $quick && says 'nothing measured'; verdict $? 'nothing to measure'

# Two ranks. Times are the figures of stand-in.h: an all-reduce of 2 MiB takes 10 us + 2 MiB / 100
# GB/s.
times='   30.97   67.71   67.71       0'
bf16='   20.49  102.37   51.19'
small="-e 2M -f 64 $quick"
# shellcheck disable=SC2086
STAND_IN_GPUS=2 run 0 collective $small -d fp32,bf16 -o two --id hand --hardware gpu=a,intra=b &&
  silent 'not released' && silent FAILED && cells two/results.csv &&
  says '^# Collective test starting: reduce_scatter_perf$' \
    '^#  Rank  1 Group  0 .* device  1 \[0000:11:00\] Stand-in GPU$' \
    "^     2097152        524288     float     sum      -1 $times $times\$" \
    "^     2097152        524288  bfloat16    none      -1 $bf16       0 $bf16     N/A\$" &&
  grep '^hand-01,shardsim-bench on .*,1,2,a,b,0,none,all_reduce,' two/collectives.csv |
  grep -q ',2097152,30.9715,yes,[0-9.]*,in-place$'
verdict $? 'two ranks'
# Parts of 1000 B / 3 are cut to 320 B: S is 960 B of all-gather and 1000 B of all-reduce; 10 us +
# 640 B / 100 GB/s.
times='   10.01    0.10'
STAND_IN_GPUS=3 run 0 collective -b 1000 -e 1000 -w 1 -n 2 -r 3 \
  --collectives all_reduce,all_gather --out-of-place &&
  says "^        1000           250     float     sum      -1 $times    0.13       0      N/A" \
    "^         960            80     float    none      -1 $times    0.06       0      N/A"
verdict $? 'three ranks: parts of 16 bytes'
# The same as one graph a measurement: 10 us + 64 KiB / 100 GB/s, and no row of validation's tables.
# shellcheck disable=SC2086
STAND_IN_GPUS=2 run 0 collective --graphs -b 64K -e 64K --collectives all_reduce $quick -o graph \
  --id hand --hardware gpu=a,intra=b && silent 'not released' && says ' graph: 1 ' &&
  grep -q ',all_reduce.in_place.graph,fp32,65536,.*,10.655' graph/results.csv &&
  grep -q 'in-place;cuda-graph$' graph/collectives.csv
verdict $? 'collectives in a graph'
# shellcheck disable=SC2086
run 0 --one-gpu -g 2 collective --collectives sendrecv --out-of-place $small -o shared &&
  silent 'not released' &&
  says 'sets NCCL_HOSTID=' 'sets NCCL_NET=Socket' &&
  grep -q 'several ranks on one GPU' shared/results.csv &&
  ! grep -q 'out-of-place$' shared/collectives.csv
verdict $? 'two ranks on one GPU'
# shellcheck disable=SC2086
run 0 collective --collectives all_reduce $small -o one &&
  says 'No bandwidth of NCCL or of any link' && [ ! -e one/collectives.csv ]
verdict $? 'one rank says what it is'

for fault in cudaMalloc:3:1 ncclCommInitRankConfig:1:1 ncclGetUniqueId:1:0 ncclAllReduce:9:1 \
  ncclSend:3:0; do
  # shellcheck disable=SC2086
  STAND_IN_GPUS=2 STAND_IN_FAIL=$fault run 1 collective --collectives all_reduce,sendrecv \
    --out-of-place $small &&
    says "rank ${fault##*:}: collective: ${fault%%:*}" && silent 'not released'
  verdict $? "$fault: both ranks end"
done

# shellcheck disable=SC2086
STAND_IN_GPUS=2 STAND_IN_FAIL=cudaGraphInstantiate:2:1 run 1 collective --graphs \
  --collectives all_reduce --out-of-place $small &&
  says "rank 1: collective: cudaGraphInstantiate" && silent 'not released'
verdict $? 'a graph fails: both ranks end'

# shellcheck disable=SC2086
run 2 collective --collectives nonsense $small && says "'nonsense' is none of all_reduce"
verdict $? 'unknown collective'
# shellcheck disable=SC2086
run 2 collective -c 4,x $small && says "'--channels': 'x' is no whole number"
verdict $? 'bad channels'

# Slurm: a batch script is no task, though it sees how many its job may have; tasks of a step meet
# in an empty folder.
one="collective --collectives all_reduce -e 8K $quick"
# shellcheck disable=SC2086
SLURM_JOB_ID=5 SLURM_STEPID=4294967291 SLURM_PROCID=0 SLURM_NTASKS=16 STAND_IN_GPUS=2 run 0 $one &&
  says 'Rank  1 '
verdict $? 'in a batch script'
export SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=16 STAND_IN_GPUS=2
mkdir meet
# shellcheck disable=SC2086
SLURM_PROCID=1 "$program" $one --rendezvous meet >task 2>&1 &
# shellcheck disable=SC2086
SLURM_PROCID=0 run 0 $one --rendezvous meet && says 'Rank  1 ' && wait $! && [ ! -s task ] &&
  [ -z "$(ls meet)" ]
verdict $? 'two tasks of a step'
touch meet/57.1
# shellcheck disable=SC2086
SLURM_PROCID=0 run 1 $one --rendezvous meet && says 'files of another run'
verdict $? 'a folder that a run has left'
unset SLURM_JOB_ID SLURM_STEP_ID SLURM_STEP_NUM_TASKS SLURM_NTASKS STAND_IN_GPUS

STAND_IN_GPUS=0 run 1 matmul && says 'cudaGetDeviceCount'; verdict $? 'no GPU'

echo "1..$number"
exit $failed
