#!/bin/sh
# From the runner to a profile: what the stand-in's clock is made of (stand-in/stand-in.h) must come
# out of `shardsim calibrate` again.
# Usage: calibrate.sh SHARDSIM-BENCH STAND-IN-FOLDER SHARDSIM SOURCE-ROOT.
# Asserts the chain and its arithmetic. Says nothing about a real GPU.
set -u
bench=$(realpath "$1") stand_in=$2 shardsim=$(realpath "$3") datasheet=$4/tests/bench/hwprofiles
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
number=0
failed=0

verdict() { # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    cat out err >&2
    failed=1
  fi
}

# figure NAME VALUE: NAME's `after` is VALUE.
figure() {
  value=$(awk -F, -v name="$1" '$1 == name { sub(/"[^"]*"/, "x"); print $4 }' out)
  [ "$value" = "$2" ] || echo "$1 is '$value', not '$2'" >>err
  [ "$value" = "$2" ]
  verdict $? "$1"
}

LD_LIBRARY_PATH=$stand_in "$bench" property launch host_copy device_copy matmul decode_matmul \
  -b 4K -e 64M -d bf16 -w 1 -n 3 -r 5 -o results >out 2>err
verdict $? measure
"$shardsim" calibrate results/results.csv -o mine/gpu/stand-in.yaml --extends stand-in \
  --hwprofiles "$datasheet" --format csv >out 2>err
verdict $? calibrate

figure hbm_bytes '1.000 GiB'          # STAND_IN_MEMORY
figure runtime_bytes '64.00 MiB'      # STAND_IN_RESERVED
figure sms 100                        # STAND_IN_SMS
figure kernel_latency '2.500 us'      # STAND_IN_KERNEL
figure graph_latency '2.500 us'  # the same in a graph
figure host_copy_latency '4.000 us'   # STAND_IN_COPY_START
figure host_copy_efficiency 0.7407    # 1 / (0.5/50 + 0.5/40) = 44.4 GB/s, of 60
figure host_duplex_efficiency 0.9     # both at 40 GB/s together: 80 GB/s, of twice 44.4
figure stream_efficiency 0.8          # 2 TB/s of 2.5

"$shardsim" hardware gpu/stand-in --hwprofiles "mine:$datasheet" --format csv >out 2>err \
  && grep -q '^kernel_latency,2.5.*measured' out
verdict $? 'the profile loads'
[ "$(head -1 mine/gpu/stand-in.matmul.csv)" = batch,m,n,k,tflops,dtype ]
verdict $? 'products beside it'
grep -q '^1,1,6144,4096,' mine/gpu/stand-in.matmul.csv
verdict $? 'those of decoding batches among them'

echo "1..$number"
exit $failed
