#!/bin/bash
# No output of any command takes the place of what the command reads, or of another output: each
# option that takes a path, of every command that the program lists, is given the command's inputs
# and every other option's path. Which options write is not told here but seen: a new option, and
# with it a new command, cannot escape.
# Usage: outputs.sh PROGRAM SOURCE-ROOT.
set -u
program=$(realpath "$1")
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/cli/listed.sh
. "$source/tests/cli/listed.sh"
SHARDSIM_DATADIR=$source
export SHARDSIM_DATADIR
# ---- what each command is given: COMMAND|ITS WORDS|THE INPUT THAT MUST STAY|...
traced='--node hand-pair --nodes 2 --arch llama --n-layers 2 --d-model 200 --n-heads 2 --d-ff 400
  --vocab 500 --seq-len 100 --grad-accum 2 --strategy fsdp2 --device-differs'
traced=${traced//$'\n'/}
commands="
simulate|good.yaml|good.yaml|hwprofiles/gpu/hand.yaml
compare|compare.yaml|compare.yaml
search|good.yaml --only --vary training.micro_batch=1,2|good.yaml
sensitivity|good.yaml --only figures --no-break-even|good.yaml
sweep|in.json --vary training.micro_batch=1,2 --store kept.db|in.json|kept.db
sweep|good.yaml --vary tp=1,2 --store kept.db|kept.db-wal|kept.db-shm|kept.db-journal
sweep|good.yaml --rows rows.csv --store kept.db|rows.csv
merge|-o kept.db part.db|part.db|kept.db
plan|good.yaml --tokens 1G --node-counts 2|good.yaml
serve|--cluster hand-pair --model moe.json --prompt 8 --output 8|moe.json
flows|--links net-links.csv --flows net-flows.csv|net-links.csv
schedule|in.json --format chakra -o kept|in.json
shards|--model moe.json --ranks 2,4|moe.json
figures|zo2
regress|good.yaml --baseline kept.json|kept.json|good.yaml
regress|good.yaml --baseline kept.json --update|kept.json|good.yaml
manual|
collective|--cluster hand-pair --collective all_reduce -b 1M -e 1M
hardware|
models|
strategies|
web|--port -1
completion|bash
help|simulate
import/job|zero3.json|zero3.json
import/kernels|kernels.csv --gpu h200-sxm-141 -o new/gpu/x.yaml|kernels.csv
import/topology|nccl.xml --name box|nccl.xml
import/trace|trace.json $traced|trace.json
calibrate|results-few.csv --extends hand -o new/gpu/x.yaml|results-few.csv
calibrate/collectives|collectives.csv --hwprofiles shipped -o new|collectives.csv
validate/collectives|runs.csv|runs.csv
validate/kernels|kernels.csv|kernels.csv
validate/rl|steps.csv|steps.csv
validate/training|training.csv|training.csv"

fill() {
  cp "$source"/tests/cli/input/{good,compare}.yaml "$source"/tests/cli/input/net-{links,flows}.csv \
    "$source"/tests/cli/input/{moe.json,nccl.xml,results-few.csv,runs.csv,training.csv} .
  sed -n '1p;/mi355/p' "$source"/tests/data/validation/collectives.csv >collectives.csv
  sed -n '1p;/^h200/p' "$source"/tests/data/validation/kernels/products.csv >kernels.csv
  sed -n 1,2p "$source"/tests/data/validation/rl-nemo.csv >steps.csv
  sed "s/\"world_size\": 8/\"world_size\": 4/" \
    "$source/tests/data/traces/handwritten-two-blocks.json" >trace.json
  cp -r "$source/docs/worked/hwprofiles" hwprofiles
  cp "$source/workloads/jobs/zero3.json" .
  cp good.yaml in.json
  ln -s "$source/hwprofiles" shipped
  printf 'id,micro_batch\na,1\nb,2\n' >rows.csv
  for store in kept part; do
    "$program" sweep good.yaml --hwprofiles hwprofiles --vary training.micro_batch=1,2 \
      --store $store.db >out 2>err
  done
  "$program" regress good.yaml --hwprofiles hwprofiles --baseline kept.json --update >out 2>err
  rm -f out err
}

mkdir "$folder/all" "$folder/here"
cd "$folder/all" && fill && cd "$folder/here" || exit 1
prepare() {
  rm -rf "${folder:?}"/here/*
  cp -a "$folder"/all/* .
}

# The options of a page that take a path, one a line: "html FILE".
path_options() { # WORD...
  "$program" "$@" --help |
    sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9-]*\)[= ]\([^ ]*\)\( .*\)\{0,1\}$/\2 \3/p' |
    grep -E ' .*(FILE|DIR)'
}

# One word: the option with PATH, in the form in which its page says that it takes one.
with_path() { # OPTION FORM PATH
  case $2 in
    FRAMEWORK*) echo "--$1=scenario:$3" ;;
    DIR/NAME) echo "--$1=${3%.json}" ;;
    *) echo "--$1=$3" ;;
  esac
}

sums() { find . -type f ! -path './new*' -exec md5sum {} + | sort -k 2; }

run() { # WORD...
  "$program" "$@" >"$folder/out" 2>"$folder/err" </dev/null
  status=$?
}

# Whether an option writes: what is not there is there afterwards.
writes() { # OPTION FORM WORD...
  local word
  word=$(with_path "$1" "$2" "$([ "$2" = DIR ] && echo new || echo new.yaml)")
  shift 2
  rm -rf new*
  run "$@" "$word"
  word=$(compgen -G 'new*')
  rm -rf new*
  [ -n "$word" ]
}

# What stands in the way is said before the work: no result, and all is as it was.
refused() { # NAME WORD...
  local name=$1 good=0
  shift
  run "$@"
  [ $status -eq 1 ] || [ $status -eq 2 ] || good=1
  [ ! -s "$folder/out" ] && [ "$(sums)" = "$before" ] || good=1
  [ $good -eq 0 ] || { echo "# status $status: $*"; cat "$folder/err"; } >&2
  verdict $good "$name"
}

try_command() { # PAGE WORDS INPUT...
  local page=$1 words outputs=() inputs
  read -r -a words <<<"${page//\// } --hwprofiles hwprofiles ${2-}"
  [ "$page" = completion ] || [ "$page" = help ] && return
  shift $(($# < 2 ? $# : 2))
  inputs=("$@")
  prepare
  while read -r option form; do
    writes "$option" "$form" "${words[@]}" && outputs+=("$option $form")
  done < <(path_options ${page//\// } </dev/null)
  prepare
  before=$(sums)
  case $page in # else what is given it is no longer right, and nothing is tried
    flows | collective | hardware | models | strategies | validate/kernels | validate/rl | web) ;;
    *)
      [ ${#outputs[@]} -gt 0 ]
      verdict $? "$page writes: ${outputs[*]% *}"
      ;;
  esac
  for output in "${outputs[@]}"; do
    for input in "${inputs[@]}"; do
      case "$page ${output% *} $input" in # what is added to is read, too
        'sweep store kept.db'* | 'merge output '*.db | 'regress baseline kept.json') continue ;;
      esac
      ln -s "$input" new-link.json
      # shellcheck disable=SC2086
      refused "$page: --${output% *} onto $input" "${words[@]}" "$(with_path $output "$input")"
      # shellcheck disable=SC2086
      refused "$page: --${output% *} onto a link to $input" "${words[@]}" \
        "$(with_path $output new-link.json)"
      rm new-link.json
    done
    for other in "${outputs[@]}"; do
      [[ $output < $other ]] || continue
      # shellcheck disable=SC2086
      refused "$page: --${output% *} onto --${other% *}" "${words[@]}" \
        "$(with_path $output ./new.json)" "$(with_path $other "$folder/here/new.json")"
      rm -rf new*
    done
  done
}

while IFS='|' read -r -a row; do
  [ ${#row[@]} -gt 0 ] && try_command "${row[@]}"
done <<<"$commands"

for page in $(pages); do
  grep -q "^$page|" <<<"$commands" || [ -z "$(path_options ${page//\// })" ]
  verdict $? "$page is tried"
done
echo "1..$number"
exit $failed
