#!/bin/sh
# `simulate --advise` keeps its word: its options, added to the command line, give the step time
# that was said, and so does a profile with the figure that it names; `sensitivity` says the same
# of the option, and draws. One thread and several print the same bytes. Not asserted: that nothing
# else is better.
# Usage: advice.sh PROGRAM SOURCE-ROOT. Hardware: the round numbers of docs/worked/hwprofiles.
set -u
program=$(realpath "$1")
SHARDSIM_DATADIR=$(realpath "$2")
export SHARDSIM_DATADIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
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
hand=$SHARDSIM_DATADIR/docs/worked/hwprofiles
shape='--arch llama --n-heads 20 --d-model 400 --d-ff 800 --vocab 5000 --n-layers 2 --seq-len 100'
scenario="--node hand-pair --nodes 2 $shape --micro-batch 2 --grad-accum 2 --strategy fsdp2"
run() { # COMMAND PROFILES ARGUMENT...
  command=$1 profiles=$2
  shift 2
  # shellcheck disable=SC2086 # options are words
  "$program" "$command" --hwprofiles "$profiles" $scenario "$@" </dev/null
}
value() { # KEY: of JSON on stdin, one a line
  sed -n "s/^ *\"$1\":\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p"
}

run simulate "$hand" --advise --format json -j 1 >full.json
verdict $? 'there is advice'
run simulate "$hand" --advise --format json -j 5 | cmp -s - full.json
verdict $? 'the same in several threads'
sed -n '/"advice":/,$p' full.json >advice.json
sed -n '/"options":/,/\]/p' advice.json >options.json
sed -n '/"figures":/,/\]/p' advice.json >figures.json

# Each option, by itself
value options <options.json | grep -v '^\[' >options.txt
value step_time_s <options.json >times.txt
value throughput_gain <options.json | sort -g -r -c
verdict $? 'the most gain first'
[ -s options.txt ] && [ "$(wc -l <options.txt)" -le 5 ]
verdict $? 'up to five options'
good=0
run sensitivity "$hand" --only options --format csv >effects.csv || good=1
paste -d '|' options.txt times.txt >both.txt
while IFS='|' read -r options time; do
  # shellcheck disable=SC2086 # options are words
  run simulate "$hand" $options --format json >again.json
  [ $? -eq 0 ] && [ "$(value step_time_s <again.json | head -n 1)" = "$time" ] || {
    echo "# '$options': not $time s" >&2
    good=1
  }
  grep -q -F -e "$options,1,1," effects.csv || good=1
done <both.txt
verdict "$good" 'each option fits, in the time that was said'

# Each figure, in a profile of that part
value figure <figures.json >names.txt
value value <figures.json >values.txt
value step_time_s <figures.json >times.txt
[ -s names.txt ] && [ "$(wc -l <names.txt)" -le 3 ]
verdict $? 'up to three figures'
paste -d '|' names.txt values.txt times.txt >both.txt
good=0
while IFS='|' read -r name value time; do
  case $name in
  gpu.*) file=gpu/hand ;;
  intra.*) file=link/hand-bridge ;;
  nic.*) file=link/hand-net ;;
  node.*) file=node/hand-pair ;;
  *) good=1 ;;
  esac
  case $name in
  *.matmul*) unit='FLOP/s' ;;
  *.hbm_bandwidth | *.bandwidth | *_rate | *_link | *.dram_bandwidth) unit='B/s' ;;
  *) unit='s' ;;
  esac
  rm -rf laid && mkdir -p laid/gpu laid/link laid/node
  printf 'extends: %s\n%s: { value: %s %s, source: test, confidence: estimate }\n' "${file#*/}" \
    "${name#*.}" "$value" "$unit" >laid/$file.yaml
  run simulate "laid:$hand" --format json >again.json
  [ $? -eq 0 ] && [ "$(value step_time_s <again.json | head -n 1)" = "$time" ] || {
    echo "# $name $value: not $time s" >&2
    good=1
  }
done <both.txt
verdict "$good" 'each figure in a profile takes the time that was said'
run simulate "$hand" --advise | grep -q '^What would be faster'
verdict $? 'the report says it'
if command -v gnuplot >/dev/null; then
  run sensitivity "$hand" --only figures --no-break-even --plot out >out.txt &&
    run sensitivity "$hand" --map 'nic.bandwidth=1 GB/s,2 GB/s' --map mesh.tp=1,2,3 --plot out \
      >out.txt && [ -s out/sensitivity.png ] && [ -s out/heat-map.svg ]
  verdict $? 'pictures of the figures and of a map'
fi
scenario="--node hand-pair --nodes 1 $shape --n-layers 4000 --strategy ddp"
run simulate "$hand" --advise --no-remedies | grep -q '^What would be faster'
[ $? -ne 0 ]
verdict $? 'none of what does not fit'
echo "1..$number"
exit $failed
