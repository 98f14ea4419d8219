#!/bin/bash
# What says nothing, or zero, of an option is never taken for its default in silence, whatever the
# command: an empty value is refused, and so is a zero where the default is none. A grid of a search
# is read as that of a sweep. A profile that is laid over a shipped one may extend it, whatever
# extends that.
# Usage: values.sh PROGRAM SOURCE-ROOT.
set -u
program=$(realpath "$1")
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/cli/listed.sh
. "$source/tests/cli/listed.sh"
SHARDSIM_DATADIR=$source
export SHARDSIM_DATADIR
cp "$source"/tests/cli/input/* "$folder"
cp -r "$source/docs/worked/hwprofiles" "$folder/hwprofiles"
cd "$folder" || exit 1

run() { # WORD...
  "$program" "$@" --hwprofiles hwprofiles >out 2>err </dev/null
  status=$?
}

# The options that a page's help shows with a value, one a line.
valued() { # WORD...
  "$program" "$@" --help | sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9-]*\)=.*/\2/p'
}

# ---- nothing
for page in $(pages); do
  [ "$page" = strategies ] && continue # without a name it lists them, and reads no scenario
  good=0
  for option in $(valued ${page//\// }); do
    # shellcheck disable=SC2086
    "$program" ${page//\// } "--$option=" >out 2>err </dev/null
    status=$?
    [ $status -eq 2 ] && [ -s err ] || {
      echo "# $page --$option=: status $status" >&2
      good=1
    }
  done
  verdict $good "$page takes no empty value"
done
run collective --cluster hand-pair --collective all_reduce -b 1M -e 1M --beside all_gather:1M:ranks=
[ $status -eq 2 ] && grep -q 'expected a GPU or a range' err
verdict $? 'no ranks beside'

# ---- zero: of each of these it would be the default
zero() { # OPTION=ZERO COMMAND WORD...
  local option=$1
  shift
  run "$@" "--$option"
  [ $status -eq 2 ] && grep -Eq "above 0|at least 1|between 1 and|a finite number" err
  local good=$?
  [ $good -eq 0 ] || { echo "# status $status: $*"; cat err; } >&2
  verdict $good "$1 --$option"
}
for option in max-memory=0B max-host-memory=0B simulate=0 effort=0 effort=nan best=0 price=0; do
  zero $option search good.yaml --only --vary training.micro_batch=1,2
done
for option in $("$program" plan --help |
  sed -n '/^  --tokens/,/^  --gpu-nodes/s/^  --\([a-z-]*\)=.*/\1/p'); do
  case $option in
    tokens | price | power | checkpoint-tier | spares | straggler-slowdown | gpu-nodes) continue ;;
    slow-node-rate | runs-seed) continue ;;
  esac
  for unit in '' ' s' ' B' ' B/s' ' %'; do
    run plan good.yaml --tokens 1G --node-counts 2 "--$option=0$unit"
    grep -q 'has no unit\|unknown unit\|which is a' err || break
  done
  [ $status -eq 2 ] && grep -Eq "above 0|at least|must be between|must lie" err
  good=$?
  [ $good -eq 0 ] || { echo "# status $status: $option"; cat err; } >&2
  verdict $good "plan --$option=0$unit"
done

# ---- ranges
run search good.yaml --only --vary training.micro_batch=1,2,3,4 --format csv
cp out listed
run search good.yaml --only --vary training.micro_batch=1..4 --format csv
[ $status -eq 0 ] && cmp out listed >&2
verdict $? 'search --vary takes a range'
run search good.yaml --only --vary training.micro_batch=1..1000000000
[ $status -eq 2 ] && grep -q 'must be between 1 and' err
verdict $? 'search --vary refuses what the option does not take'
run search good.yaml --only --vary training.micro_batch=1..1000000
[ $status -eq 2 ] && grep -q 'too many to search' err
verdict $? 'search --vary refuses a million values'
run search good.yaml --only --vary strategy.name=fsdp2 --vary strategy.one=1..999 \
  --vary strategy.two=1..999
[ $status -eq 2 ] && grep -q 'more than 10000 combinations' err
verdict $? 'search --vary refuses a million combinations of options of strategies'

# ---- lists: for compare, and everywhere else refused by that name
for words in simulate schedule sensitivity search 'plan --tokens 1G' 'sweep --store lists.db'; do
  for list in '--tp=1,2' '--figure=nic.bandwidth=10 Gbit/s,20 Gbit/s' '--set=mesh.tp=1..4'; do
    # shellcheck disable=SC2086
    run $words good.yaml "$list"
    [ $status -eq 2 ] && grep -q 'one value is wanted here, got the list' err &&
      grep -q "'shardsim compare' takes lists" err && [ "$(grep -c error: err)" -eq 1 ]
    verdict $? "$words $list"
  done
done
run collective --cluster hand-pair --collective all_reduce \
  --figure 'nic.bandwidth=10 Gbit/s,20 Gbit/s'
[ $status -eq 2 ] && grep -q "'shardsim compare' takes lists" err &&
  [ "$(grep -c error: err)" -eq 1 ]
verdict $? 'collective with a list of values of a figure'
run compare good.yaml --figure 'nic.bandwidth=10 Gbit/s,0.0025 TB/s' --figure node.cores=16,32
[ $status -eq 0 ] && [ "$(grep -c 'nic.bandwidth=20 Gbit/s, node.cores=' out)" -eq 2 ] &&
  ! grep -q ' FIGURE ' out
verdict $? 'compare says the figures of a row once'

# ---- options by their own names, without those of their sections
for way in 'sensitivity good.yaml --map KEY=1,2 --map tp=1,2' \
  'search good.yaml --only --vary KEY=1,2' 'sweep good.yaml --store names.db --vary KEY=1,2'; do
  for key in micro_batch training.micro_batch; do
    # shellcheck disable=SC2086
    run ${way//KEY/$key} --format csv
    [ $status -eq 0 ] || break
    mv out "names-$key"
  done
  [ $status -eq 0 ] && cmp names-micro_batch names-training.micro_batch >&2
  verdict $? "${way//KEY/micro_batch}"
done

# ---- figures without effect: of one scenario, and of none whose number of nodes is open
run simulate good.yaml --set cluster.nodes=1 --figure 'nic.bandwidth=10 Gbit/s'
[ $status -eq 0 ] && grep -q "'nic.bandwidth' has no effect without a second node" err
verdict $? 'cards of one node'
run search good.yaml --only --vary training.micro_batch=1,2 --set cluster.nodes=1 \
  --figure 'nic.bandwidth=10 Gbit/s'
[ $status -eq 0 ] &&
  [ "$(grep -c "'nic.bandwidth' has no effect without a second node" err)" -eq 1 ]
verdict $? 'search says of its answer that cards have no effect without a second node'
run simulate good.yaml --figure node.cores=32
[ $status -eq 0 ] && [ "$(grep -c "'node.cores' has no effect: a tenth of it" err)" -eq 1 ]
verdict $? 'cores that nothing runs on'
run schedule good.yaml --figure node.cores=32
[ $status -eq 0 ] && [ "$(grep -c "'node.cores' has no effect: a tenth of it" err)" -eq 1 ]
verdict $? 'schedule says it, too'
run regress good.yaml --baseline idle.json --update --figure node.cores=32
[ $status -eq 0 ] && [ "$(grep -c "'node.cores' has no effect: a tenth of it" err)" -eq 1 ]
verdict $? 'regress says it, too'
run plan good.yaml --tokens 1G --node-counts 1,2 --figure node.cores=32
[ "$(grep -c "'node.cores' has no effect: a tenth of it" err)" -eq 1 ]
verdict $? 'plan says it of what plays no part whatever the number of nodes'
for nodes in '--set cluster.nodes=1' \
  '--gpu-nodes hand-pair --set cluster.node=~ --set cluster.nodes=~'; do
  # shellcheck disable=SC2086
  run plan good.yaml $nodes --tokens 1G --node-counts 1,2 --figure 'nic.bandwidth=10 Gbit/s'
  grep -q '^NODES ' out && ! grep -q 'has no effect' err
  verdict $? "plan $nodes has nothing to say of cards"
done

# ---- sizes, as nccl-tests writes them and with units
for sizes in '-b 1M -e 4M' '-b 1MiB -e 4MiB' '--min-bytes=1048576 --max-bytes=4096KiB'; do
  # shellcheck disable=SC2086
  run collective --cluster hand-pair --collective all_reduce $sizes --format csv
  [ -f sizes ] || cp out sizes
  [ $status -eq 0 ] && cmp out sizes >&2
  verdict $? "collective $sizes"
done

# ---- numbers that no report can hold
printf '%s\n' id,collective,bytes,time_us,nodes,gpus_per_node \
  x,all_reduce,1048576,1e-308,2,8 >tiny.csv
run validate collectives tiny.csv
[ $status -eq 2 ] && grep -q 'number of microseconds above 0' err
verdict $? 'a time of 1e-308 us'
printf 'link,bandwidth\na,1 GB/s\n' >l.csv
printf 'flow,links,bytes,start_s,weight\nx,a,1000000,0,1e-300\ny,a,1000000,0,1\n' >f.csv
run flows --links l.csv --flows f.csv
[ $status -eq 2 ]
verdict $? 'a weight of 1e-300'
for weight in 1e-30 1e-20 1e-12 1e12 1e20 1e30; do
  printf 'flow,links,bytes,start_s,weight\nx,a,1000000,0,%s\ny,a,1000000,0,1\n' $weight >f.csv
  run flows --links l.csv --flows f.csv --format csv
  [ $status -eq 0 ] && awk -F, '
    NR > 1 { for (i = 1; i <= NF; i++) if ($i + 0 > last) last = $i + 0 }
    END { exit !(last >= 0.00199) }' out
  verdict $? "no more than the link at a weight of $weight"
done

# ---- a profile over the shipped one of its name
mkdir -p mine
for file in "$source"/hwprofiles/*/*.yaml; do
  kind=$(basename "$(dirname "$file")") id=$(basename "$file" .yaml)
  case $kind in gpu | link | node) ;; *) continue ;; esac
  mkdir -p "mine/$kind"
  echo "extends: $id" >"mine/$kind/$id.yaml"
done
"$program" hardware --format csv >out 2>err
good=0
for file in mine/*/*.yaml; do
  id=$(basename "$file" .yaml)
  "$program" hardware "$id" --hwprofiles mine >over 2>err && "$program" hardware "$id" >plain \
    && ! grep -q 'extends itself' err || {
    echo "# $id: $(head -1 err)" >&2
    good=1
  }
done
verdict $good 'every shipped profile may be laid over'
# ---- numbers of nodes
for counts in 1..1000000000 1..99999999999999999999 2000000; do
  run plan good.yaml --tokens 1G --node-counts $counts
  [ $status -eq 2 ] && grep -q 'from 1 to 1048576' err
  verdict $? "$counts nodes are refused at once"
done
types=(plan good.yaml --set cluster.node=~ --set cluster.nodes=~ --gpu-nodes hand-pair,hand-one)
run "${types[@]}" --tokens 1G --global-batch 100 --node-counts 3
[ $status -eq 2 ] && grep -q 'the nearest that are: 96 and 102' err
verdict $? 'a batch that does not divide: the nearest that do'
run "${types[@]}" --tokens 1G --days 9 --node-counts 1,2,4 --price hand-pair=9,hand-one=1
[ $status -eq 0 ] && grep -q '^Of all types that were tried the cheapest' out &&
  grep -q 'meets it: [0-9]* x hand-one (.*; the fastest: [0-9]* x hand-' out
verdict $? 'types of node: the cheapest and the fastest'
for id in framework framework:torchtitan-2024 framework:fms-fsdp-2024 framework:nobody; do
  run simulate good.yaml --framework torchtitan-2024 --figure "$id.issue_eager=9 us"
  case $id in
    *fms* | *nobody) grep -q "'$id.issue_eager' has no effect" err ;;
    *) ! grep -q 'has no effect' err ;;
  esac && [ $status -eq 0 ]
  verdict $? "a figure of $id, where torchtitan-2024 is run"
done
run simulate good.yaml --figure 'gpu.kernel_latency=0 s'
[ $status -eq 0 ]
verdict $? 'a figure whose least value is 0'
run "${types[@]}" --gpu-nodes Hand-Pair --tokens 1G
[ $status -eq 2 ] && grep -q "names 'Hand-Pair' twice" err
verdict $? 'a type of node that comes twice'
run "${types[@]}" --gpu-nodes , --tokens 1G
[ $status -eq 2 ] && grep -q 'a type of node is empty' err
verdict $? 'a type of node without a name'

echo "1..$number"
exit $failed
