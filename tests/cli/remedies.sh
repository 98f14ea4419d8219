#!/bin/sh
# What `simulate` says of a scenario that does not fit: its remedies do fit when they are added to
# the command line, at the step time that was said; one that nothing can save says what is lacking.
# Usage: remedies.sh PROGRAM SOURCE-ROOT. Hardware: the round numbers of docs/worked/hwprofiles.
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
run() { "$program" simulate --hwprofiles "$SHARDSIM_DATADIR/docs/worked/hwprofiles" "$@"; }
value() { # KEY: of the last JSON object on stdin that has it, one a line
  sed -n "s/^ *\"$1\":\"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}\$/\1/p"
}

batch() { # tokens of a step
  cat >one.json
  awk -v rate="$(value tokens_per_s <one.json | head -n 1)" \
    -v time="$(value step_time_s <one.json | head -n 1)" 'BEGIN { printf "%.3f", rate * time }'
}

# A little too big, in four ways: the optimizer's state, activations, under a mesh, with an option
# of the strategy's own
check() { # NAME ARGUMENT...
  name=$1
  shift
  run "$@" --format json >full.json
  [ $? -eq 3 ]
  verdict $? "$name: does not fit"
  sed -n '/"remedies":/,/"remedy_search":/p' full.json >part.json
  value options <part.json >options.txt
  value step_time_s <part.json >times.txt
  [ -s options.txt ] && [ "$(wc -l <options.txt)" -le 5 ] && sort -g -c times.txt
  verdict $? "$name: up to five remedies, the fastest first"
  cp full.json first.json
  run "$@" --format json -j 1 >full.json
  cmp -s first.json full.json
  verdict $? "$name: the same in one thread"
  good=1
  [ -s options.txt ] && good=0
  paste -d '|' options.txt times.txt >both.txt
  while IFS='|' read -r options time; do
    # shellcheck disable=SC2086 # options are words
    run "$@" $options --format json >again.json </dev/null
    status=$?
    again=$(value step_time_s <again.json | head -n 1)
    if [ "$status" -ne 0 ] || [ "$again" != "$time" ]; then
      echo "# $name: '$options': status $status, $again s instead of $time" >&2
      good=1
    fi
    [ "$(batch <again.json)" = "$(batch <first.json)" ] || good=1
  done <both.txt
  verdict "$good" "$name: each fits, in the time that was said, with the batch that was"
}
small='--node hand-pair --arch llama --n-heads 20 --d-model 4000 --d-ff 8000 --vocab 5000'
# shellcheck disable=SC2086 # options are words
{
  check state $small --nodes 2 --n-layers 4 --seq-len 1000 --strategy ddp
  check activations $small --nodes 4 --n-layers 4 --seq-len 1000 --micro-batch 16 --strategy fsdp2
  check mesh $small --nodes 4 --n-layers 8 --seq-len 1000 --micro-batch 16 --tp 2 --strategy zero1
  check option $small --nodes 4 --n-layers 8 --seq-len 1000 --micro-batch 8 --strategy fsdp2 \
    --set strategy.shard=2
  run $small --nodes 1 --n-layers 80 --seq-len 1000 --strategy ddp --format json >none.json
  [ $? -eq 3 ] && [ -n "$(value lacking_bytes <none.json)" ] && tr -d ' \n' <none.json |
    grep -q '"remedies":\[\]'
  verdict $? 'nothing can save it: an empty list, and how much is lacking'
  run $small --nodes 1 --n-layers 80 --seq-len 1000 --strategy ddp >none.txt
  head -n 1 none.txt | grep -q '^DOES NOT FIT: GPU memory lacks ' &&
    grep -q '^Nothing that was tried fits' none.txt
  verdict $? 'the same as text, at the top'
  run $small --nodes 1 --n-layers 80 --seq-len 1000 --strategy ddp --no-remedies |
    grep -q '^Nothing'
  [ $? -ne 0 ]
  verdict $? 'none are looked for when they are not wanted'
}
echo "1..$number"
exit $failed
