#!/bin/sh
# What the program does with files, streams, signals and terminals: outputs tried before the work,
# results that no side output costs, nothing left by an interrupt, names in any locale, no control
# characters, a progress line on a terminal alone.
# Usage: files.sh PROGRAM SOURCE-ROOT.
set -u
program=$(realpath "$1")
source=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$source"/tests/cli/input/* "$folder"
cp -r "$source/docs/worked/hwprofiles" "$folder/hwprofiles"
cp "$source/tests/data/nccl-tests/mpirun-tags.log" "$folder/two-nodes.log"
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
skip() { # NAME REASON
  number=$((number + 1))
  echo "ok $number - $1 # SKIP $2"
}
run() { # ARGUMENT...: on the hand-made hardware; $status, out and err
  "$program" "$@" --hwprofiles hwprofiles >out 2>err </dev/null
  status=$?
}

# ---- outputs that cannot be written are noticed before the work: no result is printed
early() { # NAME WORD COMMAND ARGUMENT...: WORD stands in the message
  name=$1 word=$2
  shift 2
  run "$@"
  good=0
  [ $status -eq 1 ] && [ ! -s out ] && [ "$(wc -l <err)" -eq 1 ] && grep -q "$word" err || good=1
  [ $good -eq 0 ] || { echo "# status $status"; cat err; } >&2
  verdict $good "early: $name"
}
for command in simulate compare; do
  early "$command, no folder" "there is no folder 'absent': make it" $command good.yaml \
    --trace absent/t.json
  early "$command, a folder" 'it is a folder: name a file in it' $command good.yaml \
    --trace hwprofiles
  early "$command, a file in the way" "'good.yaml' is not a folder" $command good.yaml \
    --trace good.yaml/t.json
  early "$command, pictures" "it is not a folder" $command good.yaml --plot good.yaml
  early "$command, a page in no folder" "there is no folder 'absent': make it" $command good.yaml \
    --html absent/page.html
  early "$command, a picture's name" "a folder is wanted" $command good.yaml --plot new/a.PNG
  [ ! -e new ]
  verdict $? "early: $command, a picture's name leaves nothing"
done
early 'settings, no folder' "there is no folder 'absent': make it" simulate good.yaml \
  --emit accelerate:absent/a.yaml
run simulate good.yaml --emit accelerate:a.yaml --emit scenario=s.yaml
[ $status -eq 0 ] && grep -q '^step time\|step time' out && grep -q 'fsdp_version: 2' a.yaml \
  && grep -q '^strategy:' s.yaml
verdict $? 'settings and scenario beside the result'
run simulate s.yaml --emit accelerate
sed -n '/^compute/,$p' a.yaml >settings && sed -n '/^compute/,$p' out | diff settings - >&2
verdict $? 'the scenario that was written has the same settings'
run simulate good.yaml --optimizer none --emit torchtitan:t.toml
[ $status -eq 2 ] && [ ! -s out ] && [ ! -e t.toml ]
verdict $? 'what is refused is neither simulated nor written'
if [ -d /proc/self ]; then
  # root is told that it may write there
  early 'pictures in /proc' "the folder '/proc' takes no" simulate good.yaml --plot /proc/xx
  early 'pictures deep in /proc' "the folder '/proc' takes no" simulate good.yaml --plot /proc/xx/yy
  early 'a profile in /proc' "the folder '/proc' takes no" import topology nccl.xml \
    -o /proc/xx/box.yaml
else
  for name in 'pictures in /proc' 'pictures deep in /proc' 'a profile in /proc'; do
    skip "early: $name" 'there is no /proc'
  done
fi
early 'validate collectives' "'runs.csv' is not a folder" validate collectives runs.csv \
  --plot runs.csv/a
early 'validate training' "'runs.csv' is not a folder" validate training training.csv \
  --plot runs.csv/a
early 'calibrate' "'good.yaml' is not a folder" calibrate results-few.csv --extends hand \
  -o good.yaml/gpu/x.yaml
early 'calibrate collectives' "'good.yaml' is not a folder" calibrate collectives runs.csv \
  -o good.yaml/links
early 'import' "'nccl.xml' is not a folder" import topology nccl.xml -o nccl.xml/box.yaml
mkdir bin
ln -s "$(command -v sh)" bin/sh
good=0
PATH=$folder/bin "$program" simulate --hwprofiles hwprofiles good.yaml --plot p >out 2>err && good=1
[ ! -s out ] && grep -q "'gnuplot' is not installed" err || good=1
PATH=$folder/bin "$program" simulate --hwprofiles hwprofiles good.yaml --html p >out 2>err && good=1
[ ! -s out ] && grep -q "'gnuplot' is not installed" err && [ ! -e p ] || good=1
verdict $good 'early: no gnuplot'

# ---- what fails after the work leaves the result
run simulate good.yaml
cp out result
late() { # NAME: status 1, the result, and a message
  good=0
  [ $status -eq 1 ] && cmp out result >&2 && [ -s err ] || good=1
  verdict $good "late: $1"
}
run simulate good.yaml --trace /dev/full
late 'a full disk'
run simulate good.yaml --emit accelerate:/dev/full
late 'a full disk for settings'
printf '#!/bin/sh\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
PATH=$folder/bin:$PATH "$program" simulate --hwprofiles hwprofiles good.yaml --plot p \
  --trace t.json >out 2>err
status=$?
late 'gnuplot fails'
PATH=$folder/bin:$PATH "$program" simulate --hwprofiles hwprofiles good.yaml --html p >out 2>err
status=$?
late 'gnuplot fails for a page'
[ -s t.json ] && [ ! -e p ]
verdict $? 'late: what does not fail is written'
rm t.json

# ---- standard output
for words in --help --version help models figures 'simulate --help' 'validate --help' \
  'collective --help' 'simulate --hwprofiles hwprofiles good.yaml --format csv' \
  'compare --hwprofiles hwprofiles compare.yaml --format json'; do
  good=0
  # shellcheck disable=SC2086
  "$program" $words >/dev/full 2>err && good=1
  [ "$(cat err)" = 'shardsim: cannot write the result: No space left on device' ] || good=1
  # shellcheck disable=SC2086
  "$program" $words >&- 2>err && good=1
  [ "$(cat err)" = 'shardsim: cannot write the result: Bad file descriptor' ] || good=1
  verdict $good "full and closed: $words"
done
"$program" simulate --hwprofiles hwprofiles good.yaml --trace t.json >&- 2>err
status=$?
[ $status -eq 1 ] && [ "$(head -c 2 t.json)" = '{"' ]
verdict $? 'a closed stdout is not the next file'
rm -f t.json
"$program" models 2>err | true
"$program" simulate --help 2>>err | head -1 >out
[ ! -s err ] && grep -q Usage out
verdict $? 'a closed pipe is silent'

# ---- any locale
mkdir 'J"urgen' "$(printf 'J\303\274rgen')" "$(printf 'J\374rgen')"
for name in "$(printf 'J\303\274rgen')" "$(printf 'J\374rgen')"; do
  cp "$source/workloads/models/gpt2-xl.json" "$name/config.json"
  for locale in '' C POSIX C.UTF-8 de_DE.ISO-8859-1; do
    good=0
    env -u LANG LC_ALL=$locale "$program" simulate --node dgx-h100 --nodes 1 --strategy fsdp2 \
      --seq-len 512 --model "$name/config.json" --format json >out 2>err || good=1
    [ ! -s err ] && iconv -f UTF-8 -t UTF-8 out >/dev/null || good=1
    verdict $good "locale '$locale', $(printf %s "$name" | od -An -tx1 | tr -d ' \n')"
  done
done
env -u LANG LC_ALL=POSIX "$program" simulate --node dgx-h100 --strategy fsdp2 --seq-len 512 \
  --model "$(printf 'J\303\274rgen/no.json')" >out 2>err
grep -q "$(printf 'J\303\274rgen/no.json')" err
verdict $? 'messages hold the name'

# ---- control characters
escape=$(printf '\033')
clean() { # NAME FILE...: no escape, no C1 character, UTF-8
  name=$1
  shift
  good=0
  cat "$@" | LC_ALL=C grep -q "$escape\\|$(printf '\302\233')\\|$(printf '\177')" && good=1
  cat "$@" | iconv -f UTF-8 -t UTF-8 >/dev/null || good=1
  [ -s "$1" ] || [ -s "$2" ] || good=1
  verdict $good "no control characters: $name"
}
cat >escape.yaml <<'Y'
cluster: { node: hand-pair, nodes: 2 }
model: { arch: llama, n_layers: 2, d_model: 200, n_heads: 2, d_ff: 400, vocab: 500 }
training: { seq_len: 100, micro_batch: 1 }
scenarios:
  - { name: "a\e]0;title\a\e[31m\x9b2J\x7f", strategy: fsdp2 }
  - { name: b, strategy: ddp }
Y
sed '/name: "a/s/ }/, mesh: { tp: 3 } }/' escape.yaml >escape-left.yaml
run compare escape-left.yaml
[ $status -eq 2 ] && grep -q "]0;title.*' is left out:$" err
verdict $? 'a scenario that is left out is named'
clean 'a scenario that is left out' out err
"$program" help "${escape}[31mzzzzzz" >out 2>err
clean 'a word without help' out err
printf 'link,bandwidth\n"l\033[31m\302\2332J\177",1 GB/s\n' >escape-links.csv
printf 'flow,links,bytes,start_s\n"f\033[31m","l\033[31m\302\2332J\177",1,0\n' >escape-flows.csv
for format in text csv json; do
  run compare escape.yaml --format $format
  clean "compare, $format" out err
  "$program" flows --links escape-links.csv --flows escape-flows.csv --format $format >out 2>err
  clean "flows, $format" out err
done
sed "s/^hand-01/${escape}[31mhand-01/" runs.csv >escape-runs.csv
run validate collectives escape-runs.csv --rows
clean 'a table of runs' out err
cp nccl.log "${escape}[31m.log"
"$program" validate collectives --hwprofiles hwprofiles "${escape}[31m.log" --node hand-pair \
  --rows >out 2>err
clean 'a name of a log' out err
printf 'strategi: x\n' >"${escape}[31m.yaml"
run simulate "${escape}[31m.yaml"
clean 'a name of a scenario' out err
run simulate "$(printf 'J\374/no.yaml')" --trace "${escape}[31m/t.json"
clean 'an output' out err
run simulate good.yaml "--${escape}[31m"
clean 'an option' out err

# ---- limits of every reader
limit() { # NAME WORDS COMMAND ARGUMENT...
  name=$1 words=$2
  shift 2
  run "$@"
  good=0
  [ $status -eq 2 ] && grep -q "$words" err || good=1
  [ $good -eq 0 ] || { echo "# status $status"; head -3 err; } >&2
  verdict $good "limit: $name"
}
{ printf 'link,bandwidth\n"'; head -c 2000000 /dev/zero | tr '\0' x; } | gzip -1 >row.csv.gz
head -c 17000000 /dev/zero | tr '\0' ' ' >huge
{ printf '# nThread 1 nGpus 1 busbw\n'; head -c 17000000 /dev/zero | tr '\0' '#'; } >huge.log
{ printf '{"version": 1,'; head -c 17000000 /dev/zero | tr '\0' ' '; } >huge.json
awk 'BEGIN { print "link,bandwidth"; for (i = 0; i < 1048576; i++) print "" }' |
  gzip -1 >lines.csv.gz
limit 'a table: a row' 'row longer than 1 MiB' flows --links row.csv.gz --flows net-flows.csv
limit 'a table: lines' 'a table of more than 1048576 lines' flows --links lines.csv.gz \
  --flows net-flows.csv
limit 'a scenario' 'larger than 16 MiB' simulate huge
limit 'a device' 'larger than 16 MiB' simulate /dev/zero
limit 'a log' 'larger than 16 MiB' validate collectives huge.log --node hand-pair
limit 'JSON of nccl-tests' 'larger than 16 MiB' validate collectives huge.json --node hand-pair
limit 'a topology' 'larger than 16 MiB' import topology huge
limit 'a model' 'larger than 16 MiB' simulate --node hand-pair --strategy fsdp2 --seq-len 100 \
  --model huge
awk 'BEGIN { r = " "; while (length (r) < 60000) r = r r; print "link,bandwidth,latency"
  for (i = 0; i < 4500; i++) print "l" i ",1 GB/s," r }' | gzip -1 >text.csv.gz
limit 'a table: text' 'a table larger than 256 MiB when inflated' flows --links text.csv.gz \
  --flows net-flows.csv
rm -f huge* ./*.gz

# ---- interrupts
long='--node hand-pair --nodes 8 --arch gpt --n-layers 64 --d-model 200 --n-heads 2 --vocab 500'
long="$long --seq-len 100 --strategy fsdp2 --unfolded"
mkdir traces
wait_for() { # PATTERN: until the result and a file of that name are there; at most a minute
  tries=0
  # shellcheck disable=SC2086
  until { [ -s out ] && ls $1 >/dev/null 2>&1; } || [ $tries -eq 600 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
}
if env --default-signal=INT true 2>/dev/null; then
  for signal in INT:130 TERM:143 HUP:129; do
    # a shell starts what is in the background with interrupts ignored
    : >out
    # shellcheck disable=SC2086
    env --default-signal=INT,HUP,TERM "$program" simulate --hwprofiles hwprofiles $long \
      --trace traces/t.json >out 2>err &
    pid=$!
    wait_for 'traces/t.json.*'
    kill -"${signal%:*}" $pid
    wait $pid
    status=$?
    [ $status -eq "${signal#*:}" ] && [ -s out ] && [ -z "$(ls -A traces)" ]
    verdict $? "${signal%:*} leaves the result and no file"
  done
  printf '#!/bin/sh\necho $$ >"%s/started"\nexec sleep 60\n' "$folder" >bin/gnuplot
  : >out
  env --default-signal=INT,TERM PATH="$folder/bin:$PATH" \
    "$program" simulate --hwprofiles hwprofiles good.yaml --plot pictures/deep >out 2>err &
  pid=$!
  wait_for started
  kill -TERM $pid
  wait $pid
  status=$?
  [ $status -eq 143 ] && cmp out result >&2 && [ ! -e pictures ] &&
    ! kill -0 "$(cat started)" 2>/dev/null
  verdict $? 'a signal ends gnuplot and leaves no folder'
  # from its first moment on: it interrupts the program itself
  # shellcheck disable=SC2016
  printf '#!/bin/sh\nkill -TERM $PPID\necho $$ >"%s/started"\nexec sleep 60\n' "$folder" \
    >bin/gnuplot
  good=0
  for try in 1 2 3 4 5 6 7 8; do
    rm -f started
    env --default-signal=INT,TERM PATH="$folder/bin:$PATH" \
      "$program" simulate --hwprofiles hwprofiles good.yaml --plot pictures/deep >out 2>err
    [ $? -eq 143 ] && [ ! -e pictures ] || good=1
    [ ! -s started ] || ! kill -0 "$(cat started)" 2>/dev/null || good=1
  done
  verdict $good "a signal of gnuplot's first moment ends it"
  : >out
  # shellcheck disable=SC2086
  (trap '' HUP && exec "$program" simulate --hwprofiles hwprofiles $long --trace traces/t.json \
    >out 2>err) &
  pid=$!
  wait_for 'traces/t.json.*'
  kill -HUP $pid
  wait $pid
  status=$?
  [ $status -eq 0 ] && [ "$(ls -A traces)" = t.json ]
  verdict $? 'what is ignored stays so (nohup)'
else
  for name in INT TERM HUP gnuplot 'first moment' nohup; do
    skip "interrupts: $name" 'env does not reset signals'
  done
fi

# ---- progress
if command -v script >/dev/null; then
  mkdir -p shown
  # terminal WORDS ARGUMENT...: the line shows on a terminal, however fast the work, and is wiped.
  terminal() {
    name=$1
    words=$1
    shift
    SHARDSIM_PROGRESS_DELAY=0 TERM=xterm script -qec "'$program' $* >out" /dev/null </dev/null \
      >screen 2>/dev/null
    good=0
    grep -q "$words" screen || good=1
    [ "$(tail -c 3 screen)" = "${escape}[K" ] || good=1
    [ $good -eq 0 ] || head -c 400 screen >&2
    verdict $good "progress: $name"
  }
  one='cluster: { node: hand-pair, nodes: 8 }
model: { arch: gpt, n_layers: 64, d_model: 200, n_heads: 2, vocab: 500 }
training: { seq_len: 100, micro_batch: 1 }
scenarios:'
  { echo "$one"; for i in 1 2 3 4; do echo "  - { name: s$i, strategy: fsdp2 }"; done; } \
    >several.yaml
  mkdir -p data/workloads/figures
  { echo "$one"; for i in $(seq 40); do echo "  - { name: s$i, strategy: fsdp2 }"; done; } \
    >data/workloads/figures/slow.yaml
  { echo figure,row,scenario,metric,published,assumptions
    for i in $(seq 40); do echo "f,r$i,s$i,step_time_s,1,none"; done; } \
      >data/workloads/figures/slow.csv
  terminal 'predicting: [0-4] of 4 scenarios' compare --hwprofiles hwprofiles several.yaml \
    --unfolded -j 1
  SHARDSIM_PROGRESS_DELAY=60 TERM=xterm script -qec \
    "'$program' compare --hwprofiles hwprofiles several.yaml >out" /dev/null </dev/null \
    >screen 2>/dev/null
  [ -s out ] && [ ! -s screen ]
  verdict $? 'progress: short work shows nothing'
  SHARDSIM_PROGRESS_DELAY=0 "$program" compare --hwprofiles hwprofiles several.yaml --unfolded \
    -j 1 2>err >out
  [ -s out ] && [ ! -s err ]
  verdict $? 'progress: nothing in a pipe'
  # shellcheck disable=SC2086
  terminal 'simulating: [0-9]* s' simulate --hwprofiles hwprofiles \
    $(echo "$long" | sed 's/--nodes 8/--nodes 32/')
  terminal 'simulating: [0-9]* of 4 sizes' collective --cluster "'40 x dgx-h100'" \
    --collective all_reduce --fidelity step -b 1M -e 8M
  SHARDSIM_DATADIR=$folder/data
  terminal 'predicting: [0-9]* of 40 scenarios' figures slow --hwprofiles hwprofiles -j 1
  SHARDSIM_DATADIR=$source
  head -400 "$source/tests/data/validation/collectives.csv" >many.csv
  terminal 'predicting: [0-9]* of [0-9]* sources' validate collectives many.csv \
    --leave-one-out source --format json -j 1
else
  for name in compare short pipe simulate collective figures validate; do
    skip "progress: $name" 'no script(1)'
  done
fi

echo "1..$number"
exit $failed
