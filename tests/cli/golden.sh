#!/bin/sh
# Golden runs of the program: exit status, stdout and stderr of every case against golden/NAME.txt,
# and no file left behind.
# Usage: golden.sh PROGRAM SOURCE-ROOT. UPDATE_GOLDEN=1 rewrites what differs. Runs in a scratch
# copy of input/, so that messages hold relative names. Hardware: the round numbers of
# docs/worked/hwprofiles.
set -u
program=$(realpath "$1")
source=$2
golden=$source/tests/cli/golden
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/work"
cp "$source"/tests/cli/input/* "$folder/work"
cp -r "$source/docs/worked/hwprofiles" "$folder/work/hwprofiles"
cp -r "$source/hwprofiles/library" "$folder/work/hwprofiles"
cp -r "$source/plots" "$folder/work/plots"
cd "$folder/work" || exit 1
mkdir folder.yaml out
mkdir -p workloads/figures
mv figures-lines.collectives.csv workloads/figures/lines.collectives.csv
mv figures-lines.training.csv workloads/figures/lines.training.csv
mv figures-hand.claims.csv workloads/figures/hand.claims.csv
for name in hand bad; do
  mv figures-$name.yaml workloads/figures/$name.yaml
  mv figures-$name.csv workloads/figures/$name.csv
done
for name in region torn still; do
  mv figures-$name.yaml workloads/figures/$name.yaml
  mv figures-$name.csv workloads/figures/$name.csv
  mv figures-$name.region.csv workloads/figures/$name.region.csv
done
for name in form sums; do
  mv figures-$name.yaml workloads/figures/$name.yaml
  mv figures-$name.memband.csv workloads/figures/$name.memband.csv
done
for name in map lost; do
  mv figures-$name.yaml workloads/figures/$name.yaml
  mv figures-$name.map.csv workloads/figures/$name.map.csv
done
for name in pads unpadded; do
  mv figures-$name.padding.csv workloads/figures/$name.padding.csv
done
for name in curves crooked; do
  mv figures-$name.yaml workloads/figures/$name.yaml
  mv figures-$name.curves.csv workloads/figures/$name.curves.csv
done
cp workloads/figures/curves.yaml workloads/figures/both.yaml
cp workloads/figures/curves.curves.csv workloads/figures/both.curves.csv
cp workloads/figures/region.region.csv workloads/figures/both.region.csv
sed 's/"world_size": 8/"world_size": 4/' "$source/tests/data/traces/handwritten-two-blocks.json" \
  >trace.json
head -c 5000 trace.json >cut.json
head -c 104857600 /dev/zero | tr '\0' 'a' >huge.yaml
head -c 200 /dev/zero | tr '\0' '[' >deep.yaml
cp results-few.csv results-few.yaml
cp "$source/tests/data/nccl-tests/mpirun-tags.log" two-nodes.log
unset NO_COLOR SHARDSIM_DATADIR COLUMNS GITHUB_ACTIONS
SHARDSIM_DATADIR=$source
export SHARDSIM_DATADIR

# The hand-made hardware is all there is; its profiles of frameworks are laid over the shipped ones.
hand_made_alone() {
  SHARDSIM_DATADIR=$folder/work
  mv hwprofiles/framework "$folder/framework"
  find . | sort >../list-before
}
with_shipped() {
  SHARDSIM_DATADIR=$source
  mv "$folder/framework" hwprofiles/framework
  find . | sort >../list-before
}

number=0
failed=0
"$program" collective --node dgx-h100 --nodes 2 --collective all_reduce -b 1M -e 16M >predicted.log
"$program" regress --hwprofiles hwprofiles compare.yaml --baseline kept.json --update >../out
"$program" regress --hwprofiles hwprofiles good.yaml --baseline one.json --update >../out
sed 's/"baseline_schema":1/"baseline_schema":2/' kept.json >schema.json
head -c 60 regress-bad.json >regress-short.json
grep -v '"mfu_percent"' one.json >gained.json
mkdir -p slower/gpu
printf '%s\n' 'extends: hand' \
  'matmul_efficiency: { value: 0.25, source: "a test", confidence: estimate }' \
  'kernel_latency: { value: 2 us, source: "a test", confidence: estimate }' >slower/gpu/hand.yaml
find . | sort >../list-before

verdict() { # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    failed=1
  fi
}

# How near published runs are predicted is the record's, which other tests hold.
errors='s/within [0-9.]* % (median) and [0-9]* % (nine of ten), [0-9]* pub/within ERRORS, N pub/
        /"record":{/,/}/{ s/"runs":[0-9]*/"runs":N/; s/\(_absolute_error":\)[0-9.]*/\1ERROR/; }'

# The version stands as a word: a release changes no golden file.
version=$("$program" --version | sed 's/^shardsim //; s/[.]/[.]/g')

# A strategy more changes no golden text: lists of all of them and counts of what was tried are cut.
# Where a list is all that a command prints, `only` keeps the lines, or paragraphs, that it matches.
every_strategy='s/hint: strategies: .*/hint: strategies: ALL/
s/^([0-9]* changes planned, [0-9]* of them simulated)$/(N changes planned, M of them simulated)/
s/^([0-9]* changes simulated)$/(N changes simulated)/
s/ of [0-9]* results moved/ of N results moved/'
only=''
separator='\n'
# The cases that print all columns of a table, or all keys: two a table at most, others print chosen
# ones (chosen.awk). A new column changes those two.
whole='simulate-csv simulate-json collective-csv collective-json plan-sites-csv plan-search-json
  validate-csv validate-json training-csv training-json sensitivity-csv sensitivity-map-csv
  sensitivity-map-json shards-csv shards-json figures-csv figures-json'

# check NAME STATUS ARGUMENT...
check() {
  name=$1 want=$2
  shift 2
  "$program" "$@" >../out 2>../err </dev/null
  status=$?
  {
    printf '$ shardsim'
    for word; do
      case $word in *[!a-zA-Z0-9./=,_-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n[status %s]\n' "$status"
    awk -v RS="$separator" -v ORS="${separator:-\n\n}" -v only="$only" '
      only != "" && RS == "\n" { gsub(/   */, "  ") } # as wide as the widest of all
      $0 ~ only' ../out |
      awk -v whole="$(echo "$whole" | tr -s ' ' '\n' | grep -cx "$name")" \
        -v regress="$(case $name in regress-*) echo 1 ;; esac)" -f "$source/tests/cli/chosen.awk" |
      sed "s/$version/VERSION/g; $every_strategy; $errors"
    [ -s ../err ] && echo '[stderr]' && sed "s,$folder/work,.,g; $every_strategy" ../err
  } >../got
  good=0
  if [ "$status" -ne "$want" ]; then
    echo "# $name: exit status $status, not $want" >&2
    cat ../got >&2
    good=1
  elif [ -n "${UPDATE_GOLDEN:-}" ]; then
    cp ../got "$golden/$name.txt"
  else
    diff -u "$golden/$name.txt" ../got >&2 || good=1
  fi
  find . | sort >../list-after
  if ! diff ../list-before ../list-after >&2; then
    echo "# $name left files behind" >&2
    good=1
    cp ../list-after ../list-before
  fi
  verdict "$good" "$name"
}

hand() { # NAME STATUS COMMAND ARGUMENT...: on the hand-made hardware
  hand_name=$1 hand_status=$2 hand_command=$3
  shift 3
  check "$hand_name" "$hand_status" "$hand_command" --hwprofiles hwprofiles "$@"
}

# Answers
hand simulate-text 0 simulate good.yaml
hand simulate-csv 0 simulate good.yaml --format csv
hand simulate-json 0 simulate good.yaml --format json --interval
hand simulate-options 0 simulate --node hand-pair --nodes 1 --arch gpt --n-layers 1 --d-model 200 \
  --n-heads 2 --vocab 500 --seq-len 100 --micro-batch 2 --strategy zero1 --format csv
hand simulate-stages 0 simulate good.yaml --pp 2 --strategy zero1 --grad-accum 2 --stages
hand simulate-stages-csv 0 simulate good.yaml --pp 2 --strategy zero1 --grad-accum 2 --stages \
  --format csv
hand simulate-stages-json 0 simulate good.yaml --stages --format json
hand simulate-rank 0 simulate good.yaml --pp 2 --strategy zero1 --grad-accum 2 --rank 3
hand simulate-rank-none 2 simulate good.yaml --rank 4
hand simulate-rank-word 2 simulate good.yaml --rank last
hand simulate-rank-csv 2 simulate good.yaml --rank 0 --format csv
hand simulate-stages-max 2 simulate good.yaml --stages --max micro_batch
hand simulate-print 0 simulate good.yaml --micro-batch 4 --print-scenario
hand simulate-figure 0 simulate good.yaml --figure nic.bandwidth='4 Gbit/s' \
  --figure gpu.hbm_bandwidth='1 TB/s'
hand simulate-figure-wrong 2 simulate good.yaml --figure nic.bandwith='4 Gbit/s' \
  --figure gpu.hbm_bandwidth='1 us' --figure hbm=1 --figure intra:hand-net.bandwidth='1 GB/s'
hand simulate-figure-none 2 simulate good.yaml --figure nic.p2p_rate='4 GB/s'
hand simulate-does-not-fit 3 simulate too-big.yaml
pools='serve --cluster 2xhand-pair --model moe.json --experts-apart --prompt 16 --output 16'
# shellcheck disable=SC2086
{
  hand serve-apart 0 $pools --expert-nodes 2 --batch 12
  hand serve-apart-csv 0 $pools --expert-nodes 2 --batch 12 --format csv
  hand serve-apart-search 0 $pools --expert-nodes 2 --fit-pools
  hand serve-apart-wrong 2 $pools --expert-nodes 3 --expert-cluster hand-pear --rate 2 --pp 2
  hand serve-apart-nodes 2 $pools --expert-nodes 3
  hand serve-apart-gpus 2 $pools --attention-replicas 3
  hand serve-apart-cards 2 $pools --expert-nodes 1 --expert-cluster 2xp4d
  hand serve-apart-room 2 $pools --expert-nodes 2 --batch 100000000
  hand serve-apart-late 2 $pools --expert-nodes 2 --fit-pools --between-tokens-limit '1 ns'
  hand serve-apart-together 2 serve --cluster hand-pair --model moe.json --fit-pools
}
small_space="search good.yaml --global-batch 24 --only --vary mesh.tp=1,2
  --vary training.micro_batch=1,2,3 --jobs 1"
# shellcheck disable=SC2086
{
  hand search 0 $small_space --vary cluster.nodes=1,2 --objective cost --price 2
  hand search-csv 0 $small_space --format csv --no-refine --best 2
  hand search-json 0 $small_space --format json --no-refine --best 1
  # no gradients that are less than they are
  hand search-alike 0 search good.yaml --global-batch 24 --strategy ddp --best 2 --no-refine \
    --jobs 1
  # tokens that are worth another amount
  hand search-caveats 0 $small_space --strategy ddp --vary strategy.compression=none,powersgd \
    --no-refine --best 8
  hand search-unfit 3 $small_space --max-memory '1 MiB'
  hand search-lacks 2 $small_space --strategy fcdp --emit torchtitan:best.toml --no-refine --best 1
  hand search-emits 0 $small_space --emit accelerate --no-refine
  hand search-cluster 2 $small_space --vary cluster.node=hand-pair,dgx-h100
}
hand batch-follows 0 simulate good.yaml --global-batch 24 --micro-batch 3 --format csv
hand batch-divides 2 simulate good.yaml --global-batch 7
hand option-twice 0 simulate good.yaml --micro-batch 2 --set training.micro_batch=4
hand batch-twice 2 simulate good.yaml --global-batch 24 --grad-accum 2
hand batch-maximum 2 simulate good.yaml --global-batch 24 --max micro_batch
hand search-untried 0 search good.yaml --global-batch 24 --vary mesh.tp=1,2 --vary mesh.pp=1 \
  --vary training.micro_batch=1,2 --vary mesh.cp=1 --best 2 --jobs 1
hand search-price 2 search good.yaml --objective cost
hand search-word 2 search good.yaml --objective fastest
hand search-vary 2 search good.yaml --vary mesh.tp
hand search-key 2 search good.yaml --vary mesh.tb=1
hand search-batch 2 search good.yaml --global-batch 7 --only --vary mesh.tp=1
hand plan 0 plan good.yaml --tokens 90G --days 2 --gpu-mtbf '50 h' --restart '10 min' \
  --checkpoint-node-bandwidth '1 MB/s' --price 2 --power '500 W'
hand plan-slow 0 plan good.yaml --tokens 90G --node-counts 2,4 --slow-node-probability '10 %' \
  --slow-node-rate 0.5 --runs 1000
hand plan-slow-csv 0 plan good.yaml --tokens 90G --node-counts 2 --slow-node-probability 0.1 \
  --slow-node-rate 0.5 --format csv
hand plan-slow-bad 2 plan good.yaml --tokens 1G --slow-node-probability '110 %' --slow-node-rate 0
hand plan-slow-all 2 plan good.yaml --tokens 1G --slow-node-probability '100 %'
hand plan-slow-not 2 plan good.yaml --tokens 1G --slow-node-probability '1 %' --slow-node-rate 1
hand plan-straggler-time 0 plan good.yaml --tokens 1G --straggler-time '1 h'
hand plan-straggler-slowdown 0 plan good.yaml --tokens 1G --straggler-slowdown 1.2
hand plan-slow-half 2 plan good.yaml --tokens 1G --slow-node-probability '1 %'
hand plan-sites 0 plan sites.yaml --tokens 100M --node-counts 4 --site-mtbf '60 min' \
  --site-repair '2 min' --restart '10 s' --checkpoint-stall '1 s' --notice '1 s' --join '5 s'
hand plan-sites-csv 0 plan sites.yaml --tokens 100M --node-counts 4 --site-mtbf '60 min' \
  --restart '10 s' --checkpoint-stall '1 s' --format csv
hand plan-no-sites 2 plan good.yaml --tokens 1G --site-mtbf '9 h' --restart '1 s' \
  --checkpoint-stall '1 s'
hand plan-site-repair 0 plan good.yaml --tokens 1G --site-repair '9 h'
hand plan-membership 3 plan sites.yaml --tokens 200M --set strategy.elastic=true --days 0.001 \
  --membership membership.csv --notice '1 s' --join '5 s'
hand plan-membership-csv 0 plan sites.yaml --tokens 100M --set strategy.elastic=true \
  --membership membership.csv --format csv
hand plan-membership-json 0 plan sites.yaml --tokens 40M --set strategy.elastic=true \
  --membership membership.csv --format json
hand plan-membership-stops 0 plan sites.yaml --tokens 100M --membership membership.csv
hand plan-membership-all-stop 2 plan sites.yaml --tokens 100M --set strategy.elastic=false \
  --membership membership.csv
hand plan-membership-price 2 plan sites.yaml --tokens 100M --membership membership.csv --price 2
hand plan-join 0 plan good.yaml --tokens 1G --join '1 h'
hand plan-membership-bad 2 plan sites.yaml --tokens 100M --membership membership-bad.csv
hand plan-membership-fails 2 plan sites.yaml --tokens 100M --membership membership.csv \
  --site-mtbf '1 h' --restart '1 s' --checkpoint-stall '1 s'
hand plan-membership-counts 2 plan sites.yaml --tokens 100M --membership membership.csv \
  --node-counts 4
hand plan-membership-none 2 plan sites.yaml --tokens 100M --membership missing-trace.csv
hand plan-slow-rate 0 plan good.yaml --tokens 1G --slow-node-rate 0.9
hand plan-missed 3 plan good.yaml --tokens 90G --days 1 --budget 10 --price 2 --node-counts 1..4 \
  --format csv
hand plan-bad 2 plan good.yaml --tokens 1G --gpu-mtbf '1 h' --budget 10 --power 5 \
  --straggler-mtbf '9 h' --node-counts 4
hand plan-twice 2 plan good.yaml --tokens 1G --price cluster=2,cluster=1 --power '1 kW,2 kW'
hand plan-tier 2 plan good.yaml --tokens 1G --checkpoint-tier nvme --node-counts 1
hand plan-counts 2 plan good.yaml --tokens 1G --node-counts 8..4
hand plan-tokens 2 plan good.yaml --days 3
hand plan-type 2 plan good.yaml --tokens 1G --set cluster.node=~ --gpu-nodes hand-par
hand plan-empty 2 plan good.yaml --tokens 1G --node-counts=
hand plan-no-time 2 plan good.yaml --tokens 1G --days 0 --budget 1e30 --price 1e30
hand plan-names 2 plan good.yaml --tokens 1G --set cluster.node=~ --set cluster.nodes=~ \
  --gpu-nodes hand-pair --price hand-pari=2,hand-pair=1 --power other=1kW
small_plan="plan open.yaml --global-batch 1920 --tokens 90G --gpu-nodes hand-pair --only
  --vary strategy.name=fsdp2,zero1 --vary mesh.tp=1,2"
# shellcheck disable=SC2086
{
  hand plan-search 0 $small_plan --days 0.3
  hand plan-search-csv 0 $small_plan --days 1 --node-counts 1,3 --format csv
  hand plan-search-json 3 $small_plan --days 1 --node-counts 1 --format json
  hand plan-search-own 0 plan good.yaml --tokens 9G --days 2 --global-batch 1920 --search --only \
    --vary training.micro_batch=1,2
  hand plan-search-unfit 3 $small_plan --days 2 --node-counts 2 --max-memory '1 MiB'
  hand plan-search-late 3 $small_plan --days 0.001
  hand plan-search-divides 2 $small_plan --node-counts 7 --set mesh.tp=1
  hand plan-search-batch 2 plan open.yaml --tokens 1G --gpu-nodes hand-pair
  hand plan-search-not 2 plan good.yaml --tokens 1G --only --max-memory '1 GiB'
  hand plan-search-cluster 2 $small_plan --vary cluster.nodes=1,2
  hand plan-emit 0 $small_plan --days 2 --node-counts 1 --emit deepspeed
  hand plan-emit-types 2 $small_plan --days 1 --emit deepspeed --gpu-nodes hand-one
}
hand emit-deepspeed 0 simulate good.yaml --set strategy.name=zero3 --emit deepspeed
hand emit-refused 2 simulate good.yaml --activation-checkpointing layers:2 --optimizer sgd \
  --emit accelerate
hand emit-unknown 2 simulate good.yaml --emit deepsped:x.json --emit torchtitan:
hand simulate-max 0 simulate good.yaml --max micro-batch
hand simulate-max-csv 0 simulate too-big.yaml --max n_layers --format csv
hand simulate-max-json 0 simulate good.yaml --arch gpt --max-positions 70 --max seq_len \
  --format json
hand simulate-max-none 3 simulate too-big.yaml --max seq_len
hand simulate-small-host 3 simulate too-big.yaml --strategy zero-infinity --n-layers 28 \
  --no-remedies
hand simulate-no-drives 2 simulate too-big.yaml --strategy zero-infinity \
  --set strategy.offload_param=nvme
hand simulate-ratio 2 simulate too-big.yaml --strategy zero3 --set strategy.ratio=0.5
hand offload-types 2 simulate good.yaml --strategy zero3 --set strategy.offload_optimizer=cpu \
  --precision bf16
hand offload-average 2 simulate good.yaml --strategy local-sgd \
  --set strategy.inner.name=zero-infinity
hand compression-rank 2 simulate good.yaml --strategy ddp --set strategy.compression=powersgd \
  --set strategy.matrix_approximation_rank=4000
hand compression-top-k 2 simulate good.yaml --strategy ddp --set strategy.compression=top-k \
  --set strategy.top_k=900000000
hand compression-qgz 2 simulate good.yaml --strategy zeropp --set strategy.compression=int8-block
low_rank="simulate good.yaml --strategy ddp --set strategy.compression=powersgd
  --set strategy.matrix_approximation_rank=4 --set strategy.layer_ranks=l-greco"
# shellcheck disable=SC2086
{
  hand compression-errors-bad 2 $low_rank --set strategy.layer_errors=layer-errors-bad.csv
  hand compression-errors-few 2 $low_rank --set strategy.layer_errors=layer-errors-few.csv
  hand compression-errors-none 2 $low_rank --set strategy.layer_errors=no-such.csv
  hand compression-spectra 2 $low_rank --set strategy.spectrum_spread=2
}
hand compression-ranks-idle 0 simulate good.yaml --strategy ddp --set strategy.layer_ranks=l-greco \
  --set strategy.error_budget=2
hand compression-compare 0 compare compression.yaml
hand compression-advise 0 simulate good.yaml --strategy ddp --nodes 2 --advise
hand outer-compare 0 compare outer.yaml
hand outer-tau 2 simulate good.yaml --strategy co2 --set strategy.inner.name=zero2 \
  --set strategy.local_steps=0
hand outer-replicas 2 simulate good.yaml --strategy diloco --set strategy.inner.name=ddp \
  --set strategy.worker=1
hand outer-fragments 2 simulate good.yaml --strategy streaming-diloco \
  --set strategy.inner.name=fsdp2 --set strategy.fragments=3
hand outer-torchft 2 simulate good.yaml --strategy streaming-diloco \
  --set strategy.inner.name=fsdp2 --set strategy.fragments=2 --set strategy.variant=torchft \
  --set strategy.local_steps=35
hand outer-overlap 2 simulate good.yaml --strategy streaming-diloco \
  --set strategy.inner.name=fsdp2 --set strategy.fragments=2 --set strategy.overlap=50
hand ppu-workers 2 simulate good.yaml --strategy ppu --set strategy.inner.name=ddp --nodes 3 \
  --set training.trained_slices=2
hand ppu-whole 2 simulate good.yaml --strategy ppu --set strategy.inner.name=ddp --nodes 2
hand ppu-slices 2 simulate good.yaml --strategy streaming-diloco --set strategy.inner.name=ddp \
  --nodes 2 --set training.trained_slices=2
hand ppu-none 2 simulate good.yaml --strategy ppu --set strategy.inner.name=ddp \
  --set training.trained_slices=0
hand ppu-overlap 2 simulate good.yaml --strategy ppu --set strategy.inner.name=ddp --nodes 2 \
  --set training.trained_slices=2 --set strategy.overlap=100
hand ppu 0 simulate good.yaml --strategy ppu --set strategy.inner.name=ddp --nodes 2 \
  --set training.trained_slices=2
hand outer-host 2 simulate good.yaml --strategy diloco --set strategy.inner.name=fsdp2 \
  --set strategy.outer_optimizer=host
hand outer-led 2 simulate good.yaml --strategy opendiloco --set strategy.inner.name=fsdp2
hand outer-roles 2 simulate good.yaml --strategy slowmo --set strategy.inner.name=opendiloco \
  --set strategy.inner.inner.name=ddp
check fp8-units 2 simulate fp8-units.yaml
check fp8-blocks 2 simulate fp8-units.yaml --node dgx-h100 --set training.fp8_recipe=mxfp8
check fp4-units 2 simulate fp8-units.yaml --node dgx-h100 --set training.fp8_recipe=nvfp4
check fp4-fp16 2 simulate fp8-units.yaml --node dgx-b200 --set training.fp8_recipe=nvfp4 \
  --precision fp16-mixed
check fp4-layers 2 simulate fp8-units.yaml --node dgx-b200 --set training.fp8_recipe=nvfp4 \
  --set training.num_layers_at_end_in_bf16=33
check fp8-fp32 2 simulate fp8-units.yaml --node dgx-h100 --precision fp32
check fp8-multiples 2 simulate fp8-multiples.yaml
check fp8-tokens 2 simulate fp8-multiples.yaml --seq-len 127 \
  --set training.fp8_recipe=tensorwise
hand reshard-beyond 2 simulate good.yaml --strategy fsdp2 \
  --set strategy.reshard_after_forward=64
hand sensitivity-text 0 sensitivity good.yaml --only figures
"$program" sensitivity --hwprofiles hwprofiles good.yaml --only figures -j 3 | cmp -s - ../out
verdict $? 'the same in several threads'
hand sensitivity-csv 0 sensitivity good.yaml --figure nic.bandwidth --figure node.issue_eager \
  --factor 2 --format csv
hand sensitivity-json 0 sensitivity good.yaml --figure gpu.hbm_bandwidth --no-break-even \
  --format json
local_steps="sensitivity good.yaml --strategy diloco --set strategy.inner.name=fsdp2
  --figure nic.bandwidth --no-break-even"
# shellcheck disable=SC2086
{
  hand sensitivity-caveats 0 $local_steps
  hand sensitivity-caveats-csv 0 $local_steps --format csv
}
hand sensitivity-map-caveats 0 sensitivity good.yaml --strategy ddp \
  --map strategy.compression=none,powersgd --map training.micro_batch=1,2
hand sensitivity-map-caveats-csv 0 sensitivity good.yaml --strategy ddp \
  --map strategy.compression=none,powersgd --map training.micro_batch=1,2 --format csv
hand sensitivity-unlike 0 sensitivity unlike-nodes.yaml --figure gpu:hand.hbm_bandwidth \
  --figure gpu:hand-slow-host.hbm_bandwidth --no-break-even
hand sensitivity-fabric 0 sensitivity good.yaml --leaf-nodes 1 --oversubscription 2 \
  --figure cluster.oversubscription --figure nic.bandwidth
hand sensitivity-map 0 sensitivity good.yaml --map 'nic.bandwidth=4 Gbit/s..16 Gbit/s:3' \
  --map training.micro_batch=1,9000
hand sensitivity-map-csv 0 sensitivity good.yaml --map 'gpu.kernel_latency=1 us,100 ns' \
  --map mesh.tp=1,3 --format csv
hand sensitivity-map-partly 0 sensitivity good.yaml --map mesh.tp=1,3 --map mesh.cp=1,2
hand sensitivity-map-json 0 sensitivity good.yaml --map training.compile=on,off \
  --map mesh.tp=1,2 --format json
# with an option of the strategy's own, other strategies are not tried
hand sensitivity-options 0 sensitivity good.yaml --only options --set strategy.reshard_root=true
hand sensitivity-options-csv 0 sensitivity good.yaml --only options \
  --set strategy.reshard_root=true --format csv
hand simulate-advise 0 simulate good.yaml --set strategy.reshard_root=true --advise
hand compare-text 0 compare compare.yaml
hand compare-explain 0 compare compare.yaml --explain
hand compare-grid 0 compare grid.yaml --sort tokens_per_s_per_gpu --explain
hand compare-lists 0 compare good.yaml --strategy zero1,fsdp2 --set micro_batch=1,2
hand compare-lists-bad 2 compare good.yaml --strategy zero1,fsdq --micro-batch 1..3
hand compare-left-out 2 compare left-out.yaml
hand compare-left-out-grid 2 compare left-out-grid.yaml
[ "$(grep -c 'error: ' ../err)" -eq 4 ] && [ -z "$(grep 'error: ' ../err | sort | uniq -d)" ] &&
  grep -q "'micro_batch=1, tp=3' and 3 more are left out:" ../err
verdict $? 'what the scenarios of a grid share is said once'
hand compare-sort 2 compare grid.yaml --sort mfu
hand compare-csv 0 compare compare.yaml --format csv
hand compare-does-not-fit 0 compare too-big.yaml --format csv
hand regress-same 0 regress compare.yaml --baseline kept.json
hand regress-moved 3 regress compare.yaml --baseline kept.json --micro-batch 4 \
  --tolerance all=5% --tolerance hbm_peak_op=any
check regress-figures 3 regress --hwprofiles slower:hwprofiles compare.yaml --baseline kept.json \
  --markdown -
hand regress-gained 0 regress good.yaml --baseline gained.json
hand regress-within 0 regress good.yaml --baseline one.json --micro-batch 4 --tolerance all=any
hand regress-json 3 regress good.yaml --baseline one.json --micro-batch 2 --format json \
  --tolerance all=any --tolerance tokens_per_s_per_gpu=1
hand regress-csv 3 regress good.yaml --baseline one.json --strategy zero3 --format csv
hand regress-junit 3 regress good.yaml --baseline one.json --strategy zero3 --tolerance all=90% \
  --junit -
GITHUB_ACTIONS=true
export GITHUB_ACTIONS
hand regress-annotations 3 regress good.yaml --baseline regress-old.json \
  --tolerance step_time_s=1%
unset GITHUB_ACTIONS
hand regress-two-answers 2 regress good.yaml --baseline one.json --junit - --format csv
hand regress-prune 2 regress good.yaml --baseline one.json --prune
hand regress-nowhere 1 regress good.yaml --baseline one.json --junit nowhere/regress.xml
hand regress-missing-row 2 regress good.yaml --baseline kept.json
hand regress-schema 2 regress compare.yaml --baseline schema.json
hand regress-words 2 regress good.yaml --baseline regress-words.json
hand regress-cut 2 regress compare.yaml --baseline regress-short.json
hand regress-absent 2 regress compare.yaml --baseline nowhere.json
hand regress-bad 2 regress compare.yaml --baseline regress-bad.json
hand regress-twice 2 regress good.yaml good.yaml --baseline kept.json
hand regress-tolerance 2 regress compare.yaml --baseline kept.json --tolerance step_time=1% \
  --tolerance mfu_percent=much
check regress-no-baseline 2 regress compare.yaml
regress() { "$program" regress --hwprofiles hwprofiles "$@" >../out 2>../err; }
cp kept.json ../both.json
regress good.yaml --baseline ../both.json --update -j 1 && regress good.yaml compare.yaml \
  --baseline ../both.json --update && cp ../both.json ../again.json &&
  regress compare.yaml good.yaml --baseline ../again.json --update && cmp ../both.json ../again.json
verdict $? 'a baseline keeps the rows of other scenarios, and its bytes'
regress good.yaml --baseline ../both.json --update --prune && cmp ../both.json one.json
verdict $? 'a pruned baseline has the rows of its run'
hand schedule-init 0 schedule good.yaml --section init
hand schedule-csv 0 schedule good.yaml --section first --format csv
only='^(NAME|fsdp2|zero3) '
check strategies 0 strategies
only=''
check strategies-fsdp2 0 strategies fsdp2
hand strategies-closed-forms 0 strategies local-sgd --set strategy.inner.name=fsdp2 \
  --node hand-pair --nodes 2 --arch llama --n-layers 2 --d-model 200 --n-heads 2 --d-ff 400 \
  --vocab 500 --seq-len 100
check strategies-csv 0 strategies zero1 --format csv
hand_made_alone
check hardware 0 hardware
check unknown-hardware-part 2 hardware pair
check figures 0 figures
check figures-list-json 0 figures --format json
hand figures-text 0 figures hand
hand figures-details 0 figures hand --details
hand figures-csv 0 figures hand --format csv -j 1
hand figures-json 0 figures hand --format json -j 4
hand figures-bad 2 figures bad
hand figures-unknown 2 figures hnd
hand figures-map-text 0 figures map
hand figures-map-csv 0 figures map --format csv -j 1
hand figures-map-json 0 figures map --format json -j 4
hand figures-map-lost 2 figures lost
hand figures-curves-text 0 figures curves
hand figures-curves-csv 0 figures curves --format csv -j 1
hand figures-curves-json 0 figures curves --format json -j 4
hand figures-curves-bad 2 figures crooked
hand figures-edge-text 0 figures edge --folder .
hand figures-edge-csv 0 figures edge --folder . --format csv
hand figures-edge-json 0 figures edge --folder . --format json
hand figures-edge-bad 2 figures torn --folder .
hand figures-folder 2 figures edge --folder nowhere
hand figures-slim-text 0 figures thin --folder .
hand figures-slim-csv 0 figures thin --folder . --format csv
hand figures-slim-json 0 figures thin --folder . --format json
hand figures-slim-bad 2 figures deaf --folder .
hand figures-form-text 0 figures form
hand figures-form-csv 0 figures form --format csv -j 1
hand figures-form-json 0 figures form --format json -j 4
hand figures-form-bad 2 figures sums
hand figures-region-text 0 figures region
hand figures-region-csv 0 figures region --format csv -j 1
hand figures-region-json 0 figures region --format json -j 4
hand figures-region-bad 2 figures torn
hand figures-region-still 0 figures still
hand figures-region-both 2 figures both
hand figures-lines-text 0 figures lines
hand figures-lines-csv 0 figures lines --format csv -j 1
hand figures-lines-json 0 figures lines --format json -j 4
hand figures-padding-text 0 figures pads
hand figures-padding-csv 0 figures pads --format csv -j 1
hand figures-padding-json 0 figures pads --format json -j 4
hand figures-padding-bad 2 figures unpadded
if command -v gnuplot >/dev/null; then # of each kind
  for name in hand map form lines curves region still pads; do
    "$program" figures --hwprofiles hwprofiles "$name" --plot ../pictures >../out 2>../err
  done
  [ "$(find ../pictures -name '*.png' -size +1k | wc -l)" -eq "$(ls ../pictures/*.gp | wc -l)" ] &&
    [ -s ../pictures/hand-step_time_s.png ] && [ -s ../pictures/map.png ] &&
    [ -s ../pictures/curves.png ] && [ -s ../pictures/region-region.png ] &&
    [ -s ../pictures/still-region.png ] &&
    grep -q "'16 GPUs on 2 nodes'" ../pictures/region-region.gp &&
    grep -q "'32 GPUs on 4 nodes (no r explains all)'" ../pictures/region-region.gp &&
    [ -s ../pictures/form-mfu-over-ranks.png ] && [ -s ../pictures/form-beside.png ] &&
    [ -s ../pictures/pads.png ] &&
    [ -s ../pictures/lines-bus-bandwidth.png ] && [ -s ../pictures/lines-throughput.png ]
  verdict $? 'every kind of figures draws'
fi
with_shipped
hand hardware-node 0 hardware node/hand-pair
hand hardware-json 0 hardware hand --format json
check models 0 models
check models-one 0 models mixtral-8x7b
check models-csv 0 models gpt2-xl --format csv
experts='*experts*=128rows'
check shards 0 shards --model gpt-oss-120b --ranks 64..512 --block "$experts"
check shards-ragged 0 shards --model gpt-oss-120b --ranks 512 --format ragged --block "$experts"
check shards-rows 0 shards --model gpt-oss-120b --ranks=256 --shard-format rows
check shards-order 0 shards --model mixtral-8x7b --ranks 24 --format=ragged --order best
check shards-csv 0 shards --model gpt-oss-120b --ranks 8..24+8,96,24..96*2 --format csv \
  --format rows,lcm-rows --experts-apart --block "$experts" --reduce-dtype fp32
check shards-json 0 shards --model gpt2-xl --ranks 960 --format json --shard-format rows
check shards-mesh 0 shards --model deepseek-v3 --ranks 64,512 --format ragged,rows --tp 4 --ep 16
check shards-step 0 shards --model gpt2-xl --ranks 8..64+18446744073709551615 --format rows,flat
check shards-much 0 shards --model gpt-oss-120b --ranks 136..264+8 --format rows
hand collective-text 0 collective --collective all_gather --cluster '2 x hand-pair' -b 1K -e 1M -f 4
hand collective-csv 0 collective --collective all_reduce --cluster '2 x hand-pair' -b 1M -e 4M \
  -i 1M --algo ring --proto simple --ranks 0,2 --fidelity step --format csv
hand collective-json 0 collective --collective sendrecv --cluster hand-pair -b 4K -e 4K \
  --fidelity fluid --format json
hand measured 0 simulate good.yaml --measured 'all_reduce 1GiB 0.5 GB/s, all_gather 1GiB 0.4 GB/s'
hand collective-sites 0 collective --collective all_reduce --cluster '3 x hand-pair' \
  --sites sites.csv --wan-window 64KiB -b 1K -e 16M -f 128
hand sites-bad 2 collective --collective all_reduce --cluster '3 x hand-pair' \
  --sites sites-bad.csv -b 1K -e 1K
hand sites-nodes 2 simulate good.yaml --sites sites.csv --site-nodes a:1,d:1
hand sites-unused 0 simulate good.yaml --wan-streams 4
hand measured-json 0 collective --collective all_reduce --cluster '2 x hand-pair' -b 1G -e 1G \
  --measured 'all_reduce 1 GiB 500 MB/s' --format json
hand measured-above 2 simulate measured-bad.yaml
hand measured-latency 0 collective --collective all_reduce --cluster '2 x hand-pair' -b 8 -e 8 \
  --measured 'all_reduce 8B 1 GB/s'
hand measured-slow 2 simulate good.yaml --measured 'all_reduce 1GiB 10 kB/s'
hand measured-one-node 2 simulate good.yaml --nodes 1 --measured 'all_reduce 1GiB 10 GB/s'
hand measured-words 2 simulate good.yaml --measured \
  'all_reduc 1GiB 1 GB/s, sendrecv 1GiB 1 GB/s, all_reduce 1GiB, all_reduce 1 1 GB/s'
hand measured-values 2 simulate good.yaml --measured \
  'all_gather 1GiB 0 GB/s, reduce 1MB 1 GB/s, reduce 1MB 2 GB/s'
hand placement-hosts 2 simulate placed.yaml
hand placement-leaves 2 simulate placed.yaml --set cluster.placement=spread:9 --set cluster.nodes=9
hand placement-slots 2 simulate placed.yaml --set cluster.placement=packed --set cluster.nodes=17
hand placement-band 0 simulate placed.yaml --set cluster.placement=random \
  --set cluster.routing=ecmp --set cluster.placements=9
hand placement-band-csv 0 compare placed.yaml --format csv --set cluster.placement=packed \
  --set cluster.placements=3
hand placements-undrawn 0 collective --cluster '2 x hand-pair' --placements 4 \
  --collective all_reduce -b 1M -e 1M
hand placements-one 0 collective --cluster '4 x hand-pair' --leaf-nodes 2 --fabric-nodes 8 \
  --placement random --placements 1 --collective all_reduce -b 1M -e 1M
hand collective-band 0 collective --node hand-pair --nodes 4 --leaf-nodes 2 --fabric-nodes 16 \
  --placement random --routing ecmp --qps 2 --placements 9 --collective all_gather -b 1M -e 64M -f 8
hand collective-band-csv 0 collective --node hand-pair --nodes 4 --leaf-nodes 2 --fabric-nodes 16 \
  --placement random --routing ecmp --placements 9 --collective all_gather -b 64M -e 64M \
  --format csv
hand collective-switches 0 collective --collective broadcast --cluster hand-pair --single-process \
  --collnet -b 1K -e 1K --format csv
hand collective-units 0 collective --collective alltoall --cluster '2 x hand-pair' -b 1000000000 \
  -e 1G -i 73741824
hand collective-beside 0 collective --collective all_reduce --cluster '2 x hand-pair' --ranks 0,2 \
  -b 1M -e 16M -f 4 --beside all_reduce:same:ranks=1,3 \
  --beside all_gather:8M:start=2ms:algo=ring:proto=simple
hand collective-beside-csv 0 collective --collective all_reduce --cluster '2 x hand-pair' \
  --ranks 0,2 -b 1M -e 16M -f 4 --beside all_reduce:same:ranks=1,3 --fidelity step --format csv
hand collective-beside-json 0 collective --collective all_reduce --cluster '2 x hand-pair' -b 1M \
  -e 1M --beside sendrecv:1M:ranks=1,3:start=100us --beside reduce_scatter:same --format json
check validate-text 0 validate collectives --hwprofiles hwprofiles runs.csv --rows
check validate-csv 0 validate collectives --hwprofiles hwprofiles runs.csv --format csv
check validate-json 0 validate collectives --hwprofiles hwprofiles runs.csv --format json \
  --max-error 10
check nccl-text 0 validate collectives --hwprofiles hwprofiles nccl.log runs.csv \
  --cluster '2 x hand-pair' --rows
check nccl-csv 0 validate collectives --hwprofiles hwprofiles nccl.log --node hand-pair --format csv
check nccl-calibrate-taken 0 calibrate --hwprofiles hwprofiles nccl.log --node hand-pair \
  -o ../fitted-links
check help-validate-collectives 0 validate collectives --help
check kernels-text 0 validate kernels --hwprofiles hwprofiles kernels.csv --rows
check kernels-csv 0 validate kernels --hwprofiles hwprofiles kernels.csv --format csv
check kernels-json 3 validate kernels --hwprofiles hwprofiles kernels.csv --format json \
  --max-error '0.1 %'
check kernels-bad 2 validate kernels kernels-bad.csv
check kernels-shapes 2 validate kernels kernels-shapes.csv kernels-shapes.csv
check help-validate-kernels 0 validate kernels --help
check serve-room 2 serve --cluster 1xdgx-h100 --model llama-3.1-405b --tp 8
check serve-late 3 serve --hwprofiles hwprofiles --cluster hand-pair --model moe.json --prompt 8 \
  --output 8 --batch 9000000
check serve-vary 0 serve --hwprofiles hwprofiles --cluster hand-pair --model moe.json --prompt 8 \
  --output 8 --vary tp=1,2,3 --vary cache_dtype=bf16,fp8
check serve-vary-requests 0 serve --hwprofiles hwprofiles --cluster hand-pair --model moe.json \
  --prompt 8 --output 8 --rate 10 --n-requests 20 --vary serving.max_sequences=1,4 --format csv
check serve-vary-wrong 2 serve --hwprofiles hwprofiles --cluster hand-pair --model moe.json \
  --prompt 8 --output 8 --vary mesh.tp=1,2 --vary tp=x
responses="--set rl.algorithm=grpo --set rl.prompts=4 --set rl.responses=2 --set rl.prompt_tokens=4
  --set rl.response_tokens=20"
check rl-text 0 simulate good.yaml --hwprofiles hwprofiles $responses
check rl-csv 0 simulate good.yaml --hwprofiles hwprofiles $responses --format csv
check rl-json 0 simulate good.yaml --hwprofiles hwprofiles $responses --format json
check rl-pools 0 simulate good.yaml --hwprofiles hwprofiles $responses \
  --set rl.generation_nodes=1 --set rl.off_policy_steps=1
check rl-queue 2 simulate good.yaml --hwprofiles hwprofiles $responses --set rl.off_policy_steps=1
check rl-nobody 2 simulate good.yaml --hwprofiles hwprofiles $responses --set rl.generation_nodes=2
check rl-stages 2 simulate good.yaml --hwprofiles hwprofiles $responses --stages
check rl-search 0 search good.yaml --hwprofiles hwprofiles $responses --set mesh.pp=1 --no-refine
check rl-search-csv 0 search good.yaml --hwprofiles hwprofiles $responses --set mesh.pp=1 \
  --no-refine --best 1 --format csv
check rl-search-vary 2 search good.yaml --hwprofiles hwprofiles $responses --vary mesh.tp=1,2
check rl-search-queue 2 search good.yaml --hwprofiles hwprofiles $responses \
  --set rl.off_policy_steps=1 --set rl.generation_nodes=0
check rl-compared 2 compare good.yaml --hwprofiles hwprofiles $responses
check rl-plan 0 plan good.yaml --hwprofiles hwprofiles $responses --tokens 1M --node-counts 2,4
check rl-table-bad 2 validate rl kernels-bad.csv
check help-validate-rl 0 validate rl --help
check import-kernels-few 3 import kernels --hwprofiles hwprofiles kernels.csv --gpu hand \
  -o out/k.yaml
check import-kernels-which 2 import kernels --hwprofiles hwprofiles kernels.csv -o out/k.yaml
check help-import-kernels 0 import kernels --help
check training-text 0 validate training --hwprofiles hwprofiles training.csv --rows
check training-csv 0 validate training --hwprofiles hwprofiles training.csv --format csv -j 1
check training-json 0 validate training --hwprofiles hwprofiles training.csv --format json -j 4 \
  --max-error 10000000
check training-words 0 validate training --hwprofiles hwprofiles training-words.csv --rows
check training-experts 0 validate training --hwprofiles hwprofiles training-experts.csv --format csv
check training-unknown 1 validate training --hwprofiles hwprofiles training-unknown.csv --format csv
check training-network 1 validate training --hwprofiles hwprofiles training-network.csv
check training-measured 0 validate training --hwprofiles hwprofiles training-measured.csv \
  --own-network --rows
check training-on-measured 0 validate training --hwprofiles hwprofiles training-measured.csv \
  --format csv
check runs-words 0 validate collectives --hwprofiles hwprofiles runs-words.csv --rows
check runs-unknown 1 validate collectives --hwprofiles hwprofiles runs-unknown.csv --format csv
check calibrate-words 2 calibrate collectives --hwprofiles hwprofiles runs-words.csv -o fitted
net() { # NAME STATUS LINKS FLOWS ARGUMENT...
  net_name=$1 net_status=$2 net_links=$3 net_flows=$4
  shift 4
  check "$net_name" "$net_status" flows --links "$net_links" --flows "$net_flows" "$@"
}
net flows-text 0 net-links.csv net-flows.csv
net flows-csv 0 net-links.csv net-flows.csv --format csv
net flows-json 0 net-links.csv net-flows.csv --format json
check help-flows 0 flows --help
check import-nccl 0 import topology nccl.xml
check import-lstopo 0 import topology lstopo.xml --nic ib-hdr-200 --intra nvlink2-switch --name box
check help 0 --help
check help-validate 0 validate --help
check help-import 0 import topology --help
check help-models 0 models --help
check help-shards 0 shards --help
check help-simulate 0 simulate --help
check help-sweep 0 sweep --help
check help-sensitivity 0 sensitivity --help
check help-regress 0 regress --help
check help-simulate-mesh 0 simulate --help-mesh
separator='' only='^(Usage|Strategy, and|hsdp|local-sgd)'
check help-simulate-strategy 0 simulate --help-strategy
separator='\n' only=''
check help-command 0 help models
check help-subject 0 help validate training
check help-word 0 help checkpointing
check help-words 0 help h100 sxm --format json
check help-no-word 2 help --format csv
check help-part 2 help chekpointing
check help-nothing 2 help sharrd

# example NAME STATUS ARGUMENT...: calibrates onto the hand-made GPU, into a folder that is no part
# of the scratch copy.
example() {
  example_name=$1 example_status=$2
  shift 2
  check "$example_name" "$example_status" calibrate --hwprofiles hwprofiles --extends hand "$@"
}
example calibrate-text 0 results-synthetic.csv -o ../fitted/gpu/example.yaml
check calibrate-written 0 hardware gpu/example --hwprofiles ../fitted:hwprofiles
check calibrate-used 0 simulate good.yaml --gpu example --hwprofiles ../fitted:hwprofiles \
  --format csv
example calibrate-csv 0 results-synthetic.csv -o ../fitted/gpu/example.yaml --format csv
example calibrate-json 0 results-few.csv -o ../fitted/gpu/few.yaml --format json

# Usage
check no-command 2
check unknown-command 2 simulat
check unknown-option 2 simulate --micro-batsh 3
check unknown-option-part 2 simulate --micro 3
check unknown-format 2 simulate good.yaml --format xml
check bad-set 2 simulate --set training
hand unknown-set 2 simulate good.yaml --set training.micro_bach=2
hand bad-degree 2 simulate good.yaml --tp 0
hand bad-value 2 simulate good.yaml --micro-batch many
hand empty-values 2 simulate empty-values.yaml
hand empty-set 2 simulate good.yaml --placement= --set cluster.hosts= --set cluster.measured= \
  --set training.framework= --set strategy.shard=
hand unset 2 simulate measured-bad.yaml --measured=~ --set training.micro_batch=~
hand bad-library 2 simulate good.yaml --set collective.nccl=banana
hand old-library 2 simulate good.yaml --set collective.nccl=1.0
hand two-files 2 simulate good.yaml compare.yaml
hand several-scenarios 2 simulate compare.yaml
hand schedule-role 2 schedule good.yaml --role 7
run='--node hand-pair --nodes 2 --arch llama --d-model 200 --n-heads 2 --d-ff 400 --vocab 500'
run="$run --seq-len 100 --grad-accum 2 --strategy fsdp2 --hwprofiles hwprofiles"
# shellcheck disable=SC2086 # words
{
  check import-trace 0 import trace trace.json $run --n-layers 2 --device-differs
  check import-trace-layers 2 import trace trace.json $run --n-layers 3
  check import-trace-cut 2 import trace cut.json $run --n-layers 2
  check import-trace-binary 2 import trace binary.yaml $run --n-layers 2
  check import-trace-step 2 import trace trace.json $run --n-layers 2 --step 4
  check import-trace-rank 2 import trace trace.json $run --n-layers 2 --rank 9
}
hand simulate-max-measured 2 simulate good.yaml --max seq_len --measured-kernels none.yaml
hand simulate-measured-none 2 simulate good.yaml --measured-kernels none.yaml
check import-trace-none 2 import trace
check import-trace-absent 2 import trace none.json good.yaml --hwprofiles hwprofiles
hand schedule-chakra-nowhere 2 schedule good.yaml --format chakra
hand schedule-chakra-folder 1 schedule good.yaml --format chakra -o good.yaml/x
hand schedule-chakra-ranks 2 schedule good.yaml --format chakra -o out/x --ranks 0,3-99
hand schedule-chakra-format 2 schedule good.yaml --format chakr
hand schedule-output-text 2 schedule good.yaml -o out/x
hand schedule-section 2 schedule good.yaml --section last
hand no-steps 2 simulate good.yaml --steps 0
hand negative-steps 2 simulate good.yaml --steps=-1
hand negative-jobs 2 compare compare.yaml --jobs -2
hand wrong-jobs 2 compare compare.yaml -jmany
hand collective-nothing 2 collective
hand collective-words 2 collective --collective all_reduc --cluster '2 x hand-pair' --algo rin \
  --proto simpel --fidelity exact -b 0 -e 8X -f 1 --ranks 0,0,9,1-x
hand collective-library 2 collective --collective all_reduce --cluster '2 x hand-pair' --nccl 2..28
hand collective-range 2 collective --collective broadcast --cluster '2 x hand-pair' -b 2M -e 1M
hand collective-no-cluster 2 collective --collective all_reduce --cluster hand-pear --ranks 0,x \
  --beside all_gathr:1M:ranks=0-9
hand collective-intra 2 collective --collective all_reduce --cluster '2 x hand-pair' \
  --intra xgmi-mi300-mesh --gpu h100-sxm-80
hand collective-misspelt 2 collective --besid x
hand collective-step-pairs 2 collective --collective alltoall --cluster '600 x hand-pair' \
  --fidelity step --beside alltoall:1G:ranks=0-1024
hand collective-many 2 collective --collective broadcast --cluster '2 x hand-pair' -b 1 -e 1G \
  -f 1.0001
hand collective-bad-beside 2 collective --collective broadcast --cluster '2 x hand-pair' \
  --beside all_gathr --beside all_gathr:2M --beside all_gather:8 \
  --beside reduce:1M:rank=0:start=2:ranks=0,0,7:ranks=1:algo=rng:proto=ll64:later \
  --fidelity analytic
hand collective-beside-forced 2 collective --collective all_reduce --cluster '2 x hand-pair' \
  --algo pat --beside all_gather:2M:algo=tree --beside alltoall:2M:proto=ll128
hand placement-misspelt 2 simulate good.yaml --set cluster.placement=pakced
hand collective-no-nvls 2 collective --collective all_reduce --cluster '2 x hand-pair' --algo nvls
hand collective-no-algorithm 2 collective --collective all_gather --cluster '2 x hand-pair' \
  --algo tree
hand collective-no-protocol 2 collective --collective all_gather --cluster '2 x hand-pair' \
  --algo hierarchical --proto ll
check unknown-strategy 2 strategies fsdp3
check unknown-hardware 2 hardware dgx-h10
check unknown-model 2 models llama-3-9b
check shards-none 2 shards --ranks 8
check shards-model 2 shards --model llama-3-9b
check shards-bad-ranks 2 shards --model llama-3-8b --ranks 0,64..8,8..,9..10+0,,8..65537,1..2*1
check shards-many 2 shards --model llama-3-8b --ranks 1..65536+1
check shards-bad-format 2 shards --model llama-3-8b --format raged
check shards-bad-words 2 shards --model llama-3-8b --shard-format rosw,each --order biggest
check shards-bad-block 2 shards --model gpt-oss-120b --block 128rows
check shards-large-block 2 shards --model llama-3-8b --block '*k_proj*=2048rows'
check shards-no-block 2 shards --model llama-3-8b --block 12
check shards-wide-block 2 shards --model llama-3-8b --block 99999999999999999999rows
check shards-idle-block 0 shards --model llama-3-8b --ranks 8 --format rows,flat --block 32x32
check shards-vector-block 0 shards --model llama-3-8b --ranks 8,16 --format ragged \
  --block '*norm*=1row,16rows'
check shards-lost-block 2 shards --model llama-3-8b --block '*expert*=16rows,1row'
check shards-expert-block 0 shards --model gpt-oss-120b --expert-tensors each --ep 16 --ranks 64 \
  --format ragged --format csv --block '*experts.127.*=5rows'
check optimizer-names 2 simulate --strategy fsdp2 --model llama-3-8b --nodes 2 \
  --set cluster.node=dgx-h100 --seq-len 2048 --set training.optimizer=muon \
  --set training.matrix_parameters=, --set training.shard_block='*expert*=16rows'
check shards-bad-mesh 2 shards --model mixtral-8x7b --ranks 8,12 --ep 8 --tp 3
check shards-bad-dtype 2 shards --model llama-3-8b --reduce-dtype fp8
check shards-one-plot 2 shards --model llama-3-8b --ranks 8 --plot drawn
check shards-words 2 shards llama-3-8b --model llama-3-8b
check no-plugin 2 strategies --plugin absent.so
check nccl-bad 2 validate collectives --hwprofiles hwprofiles nccl-bad.log --cluster '2 x hand-pair'
check nccl-nodes 2 calibrate collectives --hwprofiles hwprofiles nccl.log \
  --cluster '4 x hand-pair' -o fitted
check nccl-calibrate 2 calibrate nccl.log -o ../fitted-links
check nccl-calibrate-file 2 calibrate --hwprofiles hwprofiles nccl.log --node hand-pair \
  -o links.yaml
check nccl-no-hardware 2 validate collectives --hwprofiles hwprofiles nccl.log nccl-bad.log
check nccl-no-log 2 validate collectives --hwprofiles hwprofiles runs.csv --nodes 2
check nccl-no-collective 2 validate collectives --hwprofiles hwprofiles nccl.log --node hand-pair \
  --collective all_reduc
check nccl-results 2 calibrate collectives results.csv -o fitted
check bad-left-out 2 validate collectives runs.csv --leave-one-out row
check no-output 2 calibrate collectives runs.csv
check calibrate-nothing 2 calibrate
check calibrate-no-output 2 calibrate results-synthetic.csv
check help-calibrate 0 calibrate --help
check calibrate-onto-itself 2 calibrate collectives --hwprofiles hwprofiles runs.csv -o ./hwprofiles
check no-subject 2 validate
check unknown-subject 2 validate colectives
check no-table 2 validate collectives
check bad-max-error 2 validate collectives runs.csv --max-error little

check import-nothing 2 import topology
check import-no-id 2 import topology nccl.xml -o out --name 'a box'
check import-no-folder-yet 2 import topology nccl.xml -o mine
check import-two 2 import topology nccl.xml lstopo.xml

# Answers that are no
example calibrate-little 3 results-little.csv -o ../fitted/gpu/none.yaml
example calibrate-contradictory 3 results-synthetic.csv results-again.csv -o ../fitted/gpu/none.yaml
check calibrate-too-little 3 calibrate collectives --hwprofiles hwprofiles runs.csv -o fitted
check training-max-error 3 validate training --hwprofiles hwprofiles training.csv --format csv \
  --max-error '0.0001 %'
check validate-max-error 3 validate collectives --hwprofiles hwprofiles runs.csv --format csv \
  --max-error '0.0001 %'

# Input
hand wrong-unit 2 simulate wrong-unit.yaml
hand unknown-key 2 simulate unknown-key.yaml
hand wrong-library 2 simulate wrong-library.yaml
hand lengths 0 simulate good.yaml --seq-len 400 --lengths lengths.csv
hand lengths-bad 2 simulate good.yaml --seq-len 400 --lengths lengths-bad.csv
hand lengths-columns 2 simulate good.yaml --seq-len 400 --lengths lengths-columns.csv
hand lengths-missing 2 simulate good.yaml --seq-len 400 --lengths lengths-missing.csv
hand lengths-few 2 simulate good.yaml --seq-len 400 --lengths lengths-few.csv
hand lengths-header 2 simulate good.yaml --seq-len 400 --lengths lengths-header.csv
hand lengths-nowhere 2 simulate good.yaml --seq-len 400 --lengths nowhere.csv
hand lengths-drawn 0 simulate good.yaml --seq-len 400 --lengths magi --lengths-seed 3
hand lengths-tail 2 simulate good.yaml --seq-len 400 --lengths log-normal --lengths-tail 100
hand lengths-hybrid 0 simulate good.yaml --seq-len 400 --lengths lengths.csv --strategy ddp \
  --partition hybrid --tokens-per-rank 200
hand lengths-hybrid-long 2 simulate good.yaml --seq-len 400 --lengths lengths.csv --strategy ddp \
  --partition hybrid --tokens-per-rank 64
hand lengths-hybrid-gathers 2 simulate good.yaml --seq-len 400 --lengths lengths.csv \
  --partition hybrid
hand lengths-hybrid-cp 2 simulate good.yaml --seq-len 400 --lengths lengths.csv --strategy ddp \
  --partition hybrid --cp 2
hand lengths-hybrid-outer 2 simulate good.yaml --seq-len 400 --lengths lengths.csv \
  --partition hybrid --strategy megatron-fsdp \
  --set strategy.data_parallel_sharding_strategy=optim_grads_params \
  --set strategy.shard=1 --set strategy.outer_dp_sharding_strategy=optim
hand lengths-too-long 3 simulate good.yaml --seq-len 1200000 --lengths lengths-too-long.csv \
  --strategy ddp --attention flash2
hand lengths-zeppelin-cp 2 simulate good.yaml --seq-len 400 --lengths lengths.csv \
  --partition zeppelin
hand lengths-packed 0 simulate good.yaml --seq-len 400 --lengths documents.csv --partition packed \
  --cp 2
hand lengths-packed-rank 2 simulate good.yaml --seq-len 400 --lengths lengths.csv --partition packed
hand lengths-packed-few 2 simulate good.yaml --seq-len 400 --lengths documents.csv \
  --partition packed --grad-accum 100
hand lengths-packed-unit 2 simulate good.yaml --seq-len 402 --lengths documents.csv \
  --partition packed --cp 2
hand lengths-packed-heads 2 simulate good.yaml --seq-len 400 --lengths documents.csv \
  --partition packed --cp 2 --context ulysses
hand lengths-packed-causal 2 simulate good.yaml --seq-len 400 --lengths documents.csv \
  --partition packed --causal false
hand lengths-packed-idle 0 simulate good.yaml --seq-len 400 --lengths documents.csv \
  --document-sharding per-document --outlier-queues 1
hand lengths-wlb 0 simulate good.yaml --seq-len 400 --lengths documents.csv --partition wlb \
  --cp 2 --grad-accum 2
hand lengths-wlb-micro-batch 2 simulate good.yaml --seq-len 400 --lengths documents.csv \
  --partition wlb --micro-batch 2
hand lengths-wlb-room 2 simulate good.yaml --seq-len 400 --lengths documents.csv \
  --partition wlb --tokens-per-rank 399
hand ulysses-heads 2 simulate good.yaml --seq-len 400 --cp 4 --context ulysses
hand parallel-experts 2 simulate good.yaml --model mixtral-8x7b --set model.block=parallel \
  --set model.activation=gelu
hand documents-eager 2 simulate good.yaml --document-length 100 --attention eager
hand documents-lengths 2 simulate good.yaml --seq-len 400 --lengths lengths.csv \
  --document-length 100
hand duplicate-key 2 simulate duplicate-key.yaml
hand heads 2 simulate heads.yaml
hand shard 2 simulate shard.yaml
hand worker 2 simulate worker.yaml
hand mesh 2 compare mesh.yaml
hand mesh-values 2 simulate mesh-values.yaml
check dispatch 2 compare dispatch.yaml
check dispatch-values 2 simulate dispatch-values.yaml
check unlike 2 simulate unlike.yaml
hand mesh-option 2 simulate good.yaml --tp 3 --set mesh.pp=-1 --pipeline zvb \
  --set mesh.cp=nan
hand too-many-bytes 2 simulate good.yaml --seq-len 67108864 --micro-batch 1048576
hand too-many-items 2 simulate good.yaml --grad-accum 1000000 --extrapolate=off
hand too-long 1 simulate good.yaml --seq-len 16777216 --micro-batch 1048576
check too-long-fused 1 simulate --model llama-3-8b --strategy ddp --nodes 1 --gpus-per-node 1 \
  --gpu t4-16 --intra none --nic none --nics 0 --precision fp32 --seq-len 67108864
check too-slow 2 simulate --model llama-3-8b --strategy zero1 --cluster '2 x dgx-h100' \
  --seq-len 2048 --slow-gpus 1:3e-9,0:1e-299,0:4e-324 --slow-nics 0.0:1e-300 \
  --set cluster.dram_bytes=1e-300B
check too-small-ratios 2 simulate --model mixtral-8x7b --strategy zero1 --cluster '2 x dgx-h100' \
  --seq-len 2048 --capacity-factor 1e-300 --taper 1e-9
hand master-dtype 2 simulate good.yaml --master-dtype fp16
hand reshard-group 2 simulate good.yaml --set strategy.reshard_after_forward=3
hand sensitivity-unknown 2 sensitivity good.yaml --figure nic.bandwith --figure framework.issue
hand sensitivity-map-one 2 sensitivity good.yaml --map 'nic.bandwidth=4 Gbit/s' --map mesh.tp=1,2
hand sensitivity-map-unknown 2 sensitivity good.yaml --map bandwidth=1,2 --map mesh.tp=1,2
hand sensitivity-map-many 2 sensitivity good.yaml --map "training.seq_len=$(seq -s, 1 65)" \
  --map mesh.tp=1,2
hand sensitivity-map-once 2 sensitivity good.yaml --map mesh.tp=1,2
hand sensitivity-map-range 2 sensitivity good.yaml --map 'nic.bandwidth=4 Gbit/s..16 Gbit/s' \
  --map mesh.tp=1..x:3
hand sensitivity-map-words 2 sensitivity good.yaml --map 'nic.bandwith=4 Gbit/s,8 Gbit/s' \
  --map mesh.colour=1,2
hand sensitivity-map-refused 2 sensitivity good.yaml --map mesh.tp=3,5 --map mesh.cp=1,2
hand sensitivity-map-beyond 2 sensitivity good.yaml --map 'nic.bandwidth=4 Gbit/s,8 Pbit/s' \
  --map mesh.cp=1,2
hand sensitivity-map-twice 2 sensitivity good.yaml --map mesh.cp=1,2 --map mesh.cp=1,2
hand sensitivity-map-only 2 sensitivity good.yaml --map mesh.cp=1,2 --map mesh.tp=1,2 \
  --only figures
hand advise-max 2 simulate good.yaml --advise --max micro_batch
hand advise-csv 2 simulate good.yaml --advise --format csv
hand sensitivity-no-plot 2 sensitivity good.yaml --only options --plot out
hand sensitivity-only 2 sensitivity good.yaml --only option
hand sensitivity-factor 2 sensitivity good.yaml --factor 1
hand sensitivity-several 2 sensitivity compare.yaml
hand max-unknown 2 simulate good.yaml --max seq-lens
hand max-trace 2 simulate good.yaml --max seq_len --trace trace.json
hand max-lengths 2 simulate good.yaml --lengths lengths.csv --max micro_batch
hand max-mesh 2 simulate good.yaml --tp 3 --max micro_batch
hand no-nodes 2 simulate no-nodes.yaml
hand empty-cluster 2 simulate empty-cluster.yaml
hand no-cluster 2 simulate no-cluster.yaml
hand directory 2 simulate folder.yaml
hand absent 2 simulate absent.yaml
hand truncated 2 simulate truncated.yaml
hand binary 2 simulate binary.yaml
hand empty 2 simulate empty.yaml
hand family 2 simulate family.yaml
hand huge 2 simulate huge.yaml
hand deep 2 simulate deep.yaml
hand many 2 compare many.yaml
check bad-runs 2 validate collectives bad-runs.csv
example calibrate-absent 2 results-absent.csv -o ../fitted/gpu/none.yaml
example calibrate-cut 2 results-cut.csv -o ../fitted/gpu/none.yaml
example calibrate-bad-cells 2 results-bad.csv -o ../fitted/gpu/none.yaml
example calibrate-mixed 2 results-few.csv results-other.csv -o ../fitted/gpu/none.yaml
example calibrate-twice 2 results-few.csv ./results-few.csv -o ../fitted/gpu/none.yaml
example calibrate-release 2 results-next.csv results-header.csv -o ../fitted/gpu/none.yaml
example calibrate-unwritable 1 results-few.csv -o good.yaml/gpu/none.yaml
example calibrate-folder 0 results-few.csv -o ../fitted-here/
example calibrate-no-id 2 results-few.csv -o ../fitted/gpu/none.txt
example calibrate-over-base 2 results-few.csv -o hwprofiles/gpu/hand.yaml
example calibrate-kind 2 results-few.csv -o ../fitted/link/none.yaml
example calibrate-over-input 2 results-few.yaml -o ./results-few.yaml
example calibrate-stale 1 results-few.csv -o ../fitted/gpu/example.yaml
hand_made_alone
check calibrate-no-base 2 calibrate results-few.csv -o ../fitted/gpu/none.yaml
with_shipped
check calibrate-bad-base 2 calibrate results-few.csv -o ../fitted/gpu/none.yaml \
  --hwprofiles hwprofiles --extends hnd
check calibrate-unwritable-folder 1 calibrate two-nodes.log --node dgx-h100 -o good.yaml/fitted
check calibrate-same-log 2 calibrate two-nodes.log ./two-nodes.log --node dgx-h100 -o fitted
check calibrate-predicted 2 calibrate predicted.log --node dgx-h100 --nodes 2 --gpus-per-node 8 \
  -o fitted
check calibrate-neither 2 calibrate good.yaml -o fitted --node dgx-h100
check calibrate-both 2 calibrate two-nodes.log results-few.csv -o fitted.yaml
check calibrate-bad-runs 2 calibrate collectives nothing.csv -o fitted
check bad-training 2 validate training bad-training.csv
check training-header 2 validate training runs.csv
check training-empty 2 validate training nothing.csv
check empty-runs 2 validate collectives nothing.csv
check runs-header 2 validate collectives header.csv
check duplicate-column 2 validate collectives twice.csv
check missing-columns 2 validate collectives missing.csv

net flows-bad 2 net-bad-links.csv net-bad-flows.csv
net flows-bad-flows 2 net-links.csv net-bad-flows.csv
net flows-header 2 net-header.csv net-header.csv
net flows-header-only 2 net-links.csv net-header.csv
net flows-columns 2 net-links.csv net-columns.csv
net flows-empty 2 net-empty.csv net-empty.csv
net flows-absent 2 net-links.csv absent.csv
check flows-no-files 2 flows --links net-links.csv

# A gzipped table is the same table; a cut one is an error
gzip -c net-flows.csv >flows.gz
head -c 60 flows.gz >cut.gz
good=0
"$program" flows --links net-links.csv --flows flows.gz --format csv >got.csv || good=1
"$program" flows --links net-links.csv --flows net-flows.csv --format csv | cmp - got.csv >&2 ||
  good=1
"$program" flows --links net-links.csv --flows cut.gz >got.csv 2>got.err && good=1
grep -q 'broken gzip data' got.err && [ ! -s got.csv ] || good=1
rm -f flows.gz cut.gz got.csv got.err
verdict $good 'gzipped tables'
check import-bad 2 import topology bad-topology.xml
check import-asks 2 import topology lstopo.xml
check import-wrong 2 import topology nccl.xml --gpu a100-sxm-60 -o out/imported.yaml
check import-truncated 2 import topology truncated.yaml -o imported.yaml
check import-absent 2 import topology absent.xml

# Files that cannot be written
check import-no-folder 1 import topology nccl.xml -o nccl.xml/box.yaml
hand trace-directory 1 simulate good.yaml --trace out
hand trace-absent 1 simulate good.yaml --trace absent/trace.json
hand plot-file 1 simulate good.yaml --plot good.yaml
hand bad-input-trace 2 simulate heads.yaml --trace trace.json --plot pictures

# The same again: twice, and with one and four threads
hand compare-csv 0 compare compare.yaml --format csv
"$program" compare --hwprofiles hwprofiles compare.yaml -j 1 --format json --trace one.json \
  >one.txt || true
"$program" compare --hwprofiles hwprofiles compare.yaml -j4 --format json --trace four.json \
  >four.txt || true
good=0
[ -s one.txt ] && [ -s one.json ] && cmp one.txt four.txt >&2 && cmp one.json four.json >&2 ||
  good=1
verdict $good 'one and four threads give the same bytes'

# An imported profile makes a cluster
"$program" import topology nccl.xml -o imported/node/box.yaml 2>../err
[ $? -eq 0 ] && grep -q "'imported/node/box.yaml' is written" ../err &&
  grep -q '^title: "box, imported from nccl.xml"' imported/node/box.yaml &&
  "$program" collective --hwprofiles imported --cluster '2 x box' --collective all_reduce -b 1M \
    -e 1M >/dev/null
verdict $? 'an imported profile makes a cluster'
said="'imported/new/node/nccl.yaml' is written: use it as 'nccl' with --hwprofiles 'imported/new'"
"$program" import topology nccl.xml -o imported/new/ 2>../err
[ $? -eq 0 ] && grep -q "$said" ../err &&
  grep -q '^title: "nccl, imported from nccl.xml"' imported/new/node/nccl.yaml
verdict $? 'a folder of profiles takes an imported one'
rm -r imported

# A gnuplot that fails, and none at all
mkdir bin
printf '#!/bin/sh\necho partial >time-split.png\necho "no such terminal" >&2\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
good=0
PATH=$folder/work/bin:$PATH "$program" simulate --hwprofiles hwprofiles good.yaml --plot a/b \
  >/dev/null 2>../err && good=1
[ "$(cat ../err)" = 'shardsim: gnuplot failed: no such terminal' ] && [ ! -e a ] || good=1
verdict $good 'a failing gnuplot leaves nothing behind'
good=0
rm bin/gnuplot
PATH=$folder/work/bin "$program" simulate --hwprofiles hwprofiles good.yaml --plot a/b \
  >/dev/null 2>../err && good=1
grep -q "'gnuplot' is not installed" ../err && [ ! -e a ] || good=1
verdict $good 'an absent gnuplot is named'
if command -v gnuplot >/dev/null; then
  good=0
  for to in first second; do
    "$program" compare --hwprofiles hwprofiles compare.yaml --plot pictures/$to >/dev/null || good=1
  done
  drawn=$(ls -A pictures/first | tr '\n' ' ')
  wanted=
  for name in pareto time-split; do
    for ending in dat gp png svg; do wanted="$wanted$name.$ending "; done
  done
  [ "$drawn" = "$wanted" ] || { echo "# $drawn" >&2 && good=1; }
  diff -r pictures/first pictures/second >&2 || good=1
  verdict $good 'pictures are drawn, twice the same'
  good=0
  for to in first second; do
    "$program" validate collectives --hwprofiles hwprofiles runs.csv --plot runs/$to >/dev/null ||
      good=1
  done
  [ "$(cd runs/first && echo *.png)" = 'hand-01.png hand-02.png hand-03.png overview.png' ] ||
    good=1
  diff -r runs/first runs/second >&2 || good=1
  verdict $good 'pictures of runs are drawn, twice the same'
  good=0
  for to in first second; do
    "$program" validate training --hwprofiles hwprofiles training.csv --plot training/$to \
      >/dev/null || good=1
  done
  [ "$(cd training/first && echo *.svg)" = 'memory.svg speed.svg' ] || good=1
  diff -r training/first training/second >&2 || good=1
  verdict $good 'pictures of training runs are drawn, twice the same'
  good=0
  cp -r "$source/plots" .
  for to in first second; do
    SHARDSIM_DATADIR=$folder/work "$program" figures --hwprofiles hwprofiles hand \
      --plot figures/$to >/dev/null || good=1
  done
  drawn=$(cd figures/first && echo *.svg)
  wanted='largest_parameters mfu mfu_percent step_flops_per_gpu step_time_s-ratio step_time_s'
  wanted="$wanted time_optimizer_s tokens_per_s_per_gpu-ratio tokens_per_s_per_gpu"
  [ "$drawn" = "$(for metric in $wanted; do echo "hand-$metric.svg"; done | xargs)" ] || good=1
  diff -r figures/first figures/second >&2 || good=1
  verdict $good 'pictures of figures are drawn, twice the same'
  good=0
  for to in first second; do
    SHARDSIM_DATADIR=$folder/work "$program" figures --hwprofiles hwprofiles map \
      --plot maps/$to >/dev/null || good=1
  done
  [ "$(cd maps/first && echo *)" = 'map.dat map.gp map.png map.svg' ] || good=1
  grep -q '>mics<' maps/first/map.svg && good=1 # wins nowhere
  grep -q '>fsdp2<' maps/first/map.svg || good=1
  diff -r maps/first maps/second >&2 || good=1
  SHARDSIM_DATADIR=$folder/work "$program" figures --hwprofiles hwprofiles form --plot forms \
    >/dev/null || good=1
  # the steps of the table, 1 and 5 ms, are within the axes
  grep -q "set title 'measured steps, hand'" forms/form-beside.gp &&
    grep -q 'set xtics (0.001, 0.002, 0.005)' forms/form-beside.gp || good=1
  verdict $good 'maps are drawn, twice the same'
else
  number=$((number + 5))
  why='twice the same # SKIP gnuplot is not installed'
  echo "ok $((number - 4)) - maps are drawn, $why"
  echo "ok $((number - 3)) - pictures of figures are drawn, $why"
  echo "ok $((number - 2)) - pictures of training runs are drawn, $why"
  echo "ok $((number - 1)) - pictures are drawn, $why"
  echo "ok $number - pictures of runs are drawn, $why"
fi
# What plan prints of its answer runs the step that the plan counted.
column() { # NAME: of the last row that has it
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i }
    NR > 1 { value = $at } END { print value }'
}
# shellcheck disable=SC2086
{
  "$program" $small_plan --hwprofiles hwprofiles --days 0.3 >../out
  "$program" $small_plan --hwprofiles hwprofiles --node-counts 5 --format csv |
    sed 's/"[^"]*"//g' | column step_time_s >../want
}
eval "\"$program\" $(sed -n 's/^  shardsim //p' ../out) --hwprofiles hwprofiles --format csv" |
  sed 's/"[^"]*"//g' | column step_time_s >../got
grep -q '^0[.]0' ../want && diff ../want ../got >&2
verdict $? 'the answer of a plan can be simulated'
"$program" simulate --hwprofiles hwprofiles good.yaml >/dev/full 2>../err
[ $? -eq 1 ] && grep -q 'cannot write the result' ../err
verdict $? 'a full disk is an error'

echo "1..$number"
exit $failed
