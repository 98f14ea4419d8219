#!/bin/sh
# What results print as settings is taken as they print it: the options of every answer of a search
# and of every option that sensitivity tries, pasted behind the command line that they were printed
# for, give the step time that stood beside them; the words of a search's CONFIGURATION and the
# label of a sweep's row do so behind --set, the figures of sensitivity with --figure.
# Usage: words.sh PROGRAM SOURCE-ROOT. Hardware: the round numbers of docs/worked/hwprofiles.
set -u
program=$(realpath "$1")
SHARDSIM_DATADIR=$(realpath "$2")
export SHARDSIM_DATADIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/cli/listed.sh
. "$SHARDSIM_DATADIR/tests/cli/listed.sh"
cp "$SHARDSIM_DATADIR/tests/cli/input/good.yaml" "$folder"
cd "$folder" || exit 1
profiles="--hwprofiles $SHARDSIM_DATADIR/docs/worked/hwprofiles"

value() { # KEY: of each JSON object on stdin that has it, one a line
  sed -n "s/^ *\"$1\":\"\{0,1\}\(.*[^\",]\)\"\{0,1\},\{0,1\}\$/\1/p"
}

# Each line of stdin is TIME|WORDS, as a shell reads them behind a command line with good.yaml.
check() { # NAME LEAST
  bad=0
  n=0
  while IFS='|' read -r time words; do
    n=$((n + 1))
    again=$(eval "\"$program\" simulate $profiles good.yaml $words --format json" 2>err </dev/null |
      value step_time_s | head -n 1)
    [ "$again" = "$time" ] || {
      echo "# $words: ${again:-none} s instead of $time" >&2
      cat err >&2
      bad=1
    }
  done
  [ "$n" -ge "$2" ] || {
    echo "# $n settings instead of $2" >&2
    bad=1
  }
  verdict $bad "$1"
}

# "fsdp2 compile=true nic.bandwidth=8 Gbit/s" as --set 'compile=true' --set 'nic.bandwidth=8 Gbit/s'
pasted() {
  sed "s/ \([a-z_.]*=\)/' --set '\1/g; s/^[^ ]*' //; s/\$/'/"
}

# shellcheck disable=SC2086 # $profiles is words
"$program" search $profiles good.yaml --global-batch 24 --best 8 -j 2 --only --no-refine \
  --vary training.compile=true,false --vary strategy.backward_prefetch=true,false \
  --vary strategy.shard=all,2 --vary training.micro_batch=1,3 \
  --vary 'nic.bandwidth=4 Gbit/s,8 Gbit/s' --format json |
  sed -n '/"results":/,$p' >search.json
value step_time_s <search.json >steps.txt
n=$(wc -l <steps.txt)
value options <search.json | head -n "$n" | sed 's/^/--global-batch 24 /' >words.txt
paste -d '|' steps.txt words.txt >both
check 'options of a search' 8 <both
value scenario <search.json | pasted | sed 's/^/--global-batch 24 /' >labels.txt
paste -d '|' steps.txt labels.txt >both
check 'configurations of a search' 8 <both

# shellcheck disable=SC2086
"$program" sensitivity $profiles good.yaml --only options --format csv -j 2 >options.csv
# options,possible,fits,throughput_gain,step_time_s,...; quoted where it has commas
numbers='1,[01],[^,]*,\([^,]*\),.*'
sed -n "s/^\"\(--[^\"]*\)\",$numbers/\2|\1/p; s/^\(--[^\",]*\),$numbers/\2|\1/p" options.csv >both
check 'options of sensitivity' 10 <both

# shellcheck disable=SC2086
"$program" sweep $profiles good.yaml --store runs.db --format csv -j 2 \
  --vary 'nic.bandwidth=4 Gbit/s,8 Gbit/s' --vary tp=1,2 --vary strategy.backward_prefetch=on,off |
  sed -n 's/^"good, \(.*\)",fsdp2,1,\([^,]*\),.*/\2|good \1/p' >rows
cut -d '|' -f 1 rows >steps.txt
cut -d '|' -f 2 rows | sed 's/, / /g' | pasted >labels.txt
paste -d '|' steps.txt labels.txt >both
check 'labels of a sweep' 8 <both
# What is not a figure is not set by --figure: neither by simulate nor by collective.
# shellcheck disable=SC2086
for command in 'simulate good.yaml' 'collective --collective all_reduce --cluster hand-pair'; do
  "$program" $command $profiles --figure cluster.nodes=3 >/dev/null 2>err
  [ $? -eq 2 ] && grep -q "^--figure cluster.nodes=3: error: .* is no figure" err
  verdict $? "an option is no figure: $command"
done
echo "1..$number"
exit $failed
