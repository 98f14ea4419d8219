#!/bin/sh
# Every picture of `--plot` against golden/NAME.svg.
# Usage: golden.sh PROGRAM SOURCE-ROOT. UPDATE_GOLDEN=1 rewrites what differs. What is compared has
# whole pixels and no more than what is drawn: the golden files are not pictures to look at, and
# what they do not hold (marks of points, fonts' own names) is not tested. Another release of
# gnuplot may place things otherwise, so others than Debian 12's are skipped. Hardware: the round
# numbers of docs/worked/hwprofiles.
set -u
program=$(realpath "$1")
source=$(realpath "$2")
golden=$source/tests/pictures/golden
release='gnuplot 5.4 patchlevel 4'
if [ "$(gnuplot --version 2>/dev/null)" != "$release" ]; then
  echo "1..0 # SKIP needs $release"
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$source"/tests/pictures/input/* "$folder"
cp -r "$source/docs/worked/hwprofiles" "$folder/hwprofiles"
cp -r "$source/hwprofiles/library" "$folder/hwprofiles"
cd "$folder" || exit 1
SHARDSIM_DATADIR=$source
export SHARDSIM_DATADIR
number=0
failed=0

verdict() { # 0|1 NAME
  number=$((number + 1))
  if [ "$1" -eq 0 ]; then echo "ok $number - $2"; else
    echo "not ok $number - $2"
    failed=1
  fi
}

# What is drawn: behind the definitions, one mark a line, whole pixels, no empty groups.
normalise() {
  sed '1,/<\/defs>/d' "$1" | tr '\n\t' '  ' | sed 's/  */ /g; s/></>\n</g; s/> </>\n</g' |
    sed 's/\(-\{0,1\}[0-9][0-9]*\)[.][0-9][0-9]*/\1/g; s/<g [^>]*color="black"[^>]*>/<g>/' |
    grep -v -e '^<g>$' -e '^</g>$' -e '^ *$' | uniq
}

check() { # FOLDER NAME...: just these pictures are in FOLDER, as they were
  kind=$1
  shift
  drawn=$(cd "$kind" && echo *.svg)
  [ "$drawn" = "$(for name; do echo "$name.svg"; done | xargs)" ] || echo "# drawn: $drawn" >&2
  [ "$drawn" = "$(for name; do echo "$name.svg"; done | xargs)" ]
  verdict $? "pictures of $kind"
  for name; do
    normalise "$kind/$name.svg" >now
    good=0
    cmp -s now "$golden/$kind-$name.svg" || good=1
    if [ $good -eq 1 ] && [ "${UPDATE_GOLDEN:-0}" = 1 ]; then
      cp now "$golden/$kind-$name.svg" && good=0
    fi
    [ $good -eq 0 ] || diff "$golden/$kind-$name.svg" now | head -20 >&2
    verdict $good "$kind: $name"
  done
}

"$program" simulate --hwprofiles hwprofiles one.yaml --plot one >/dev/null || failed=1
"$program" compare --hwprofiles hwprofiles grid.yaml --plot grid >/dev/null || failed=1
"$program" plan --hwprofiles hwprofiles one.yaml --tokens 30G --days 2 --node-counts 1..8 \
  --job-mtbf '2 h' --restart '10 min' --checkpoint-stall '10 s' --price 2 --plot plan >/dev/null ||
  failed=1
"$program" shards --model mixtral-8x7b --ranks 8..64+8 --format rows,lcm-rows,ragged \
  --plot shards >/dev/null || failed=1
check one layer-backward layer-forward memory-timeline roofline stream-timeline time-split
check plan days money
check shards padding
check grid heat-map pareto scaling time-split

# The scenario that a page has to copy is the one that made it.
good=0
"$program" simulate --hwprofiles hwprofiles one.yaml --html page.html --format csv >first || good=1
sed -n '/^<div class="copy">/,/<\/pre>/p' page.html |
  sed 's/<[^>]*>//g; s/^Copy$//; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >copied.yaml
"$program" simulate --hwprofiles hwprofiles copied.yaml --format csv >second || good=1
[ -s first ] && cmp first second >&2 || good=1
verdict $good 'a page has the scenario to copy'

# The command that a search's page has to copy predicts what the search found.
good=0
"$program" search --hwprofiles hwprofiles one.yaml --vary training.grad_accum=1,2 --only \
  --html page.html --plot search --format csv | cut -d, -f3-20 | head -2 >first || good=1
sed -n 's/^<pre class="lines">shardsim //p' page.html |
  sed "s/<[^>]*>//g; s/&quot;/\"/g; s/&apos;/'/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g" >words
eval ""$program" $(cat words) --format csv" | cut -d, -f3-20 >second || good=1
[ "$(wc -l <first)" -eq 2 ] && cmp first second >&2 || good=1
verdict $good 'a page of a search has the command of the best'
ls search/pareto.svg search/time-split.svg search/stream-timeline.svg >/dev/null
verdict $? 'pictures of search'

# What a store holds: of the sweep, of the store alone and of two merged ones it is the same.
good=0
"$program" sweep --hwprofiles hwprofiles grid.yaml --store runs.db --vary training.micro_batch=1,2 \
  --html first.html --plot sweep >/dev/null || good=1
"$program" merge -o all.db runs.db --html second.html >/dev/null || good=1
"$program" sweep --store runs.db --html third.html || good=1
sed -i 's/all[.]db/runs.db/g' second.html
cmp first.html second.html >&2 && cmp first.html third.html >&2 || good=1
[ "$(cd sweep && echo *.svg)" = 'heat-map.svg pareto.svg scaling.svg' ] || good=1
verdict $good 'pages of a store'
good=0
sed -n '/^<pre>name:/,/<\/pre>/p' first.html |
  sed 's/<[^>]*>//g; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >scenario.yaml
sed -n 's/^<pre class="lines">shardsim \(simulate .*\)<.*/\1/p' first.html |
  sed "s/&apos;/'/g" >words
eval "\"$program\" $(cat words) --hwprofiles hwprofiles --format csv" | cut -d, -f3-20 >found
"$program" sweep --store runs.db --format csv >rows
[ "$(wc -l <found)" -eq 2 ] && grep -qF "$(tail -1 found)" rows || good=1
verdict $good 'the page of a store has the scenario and the command of the best'

# A script that a reader changed draws again.
good=0
sed -i "s/^title_text = .*/title_text = 'another title'/" one/roofline.gp
(cd one && gnuplot roofline.gp) || good=1
grep -q 'another title' one/roofline.svg || good=1
verdict $good 'a script draws by itself'

echo "1..$number"
exit $failed
