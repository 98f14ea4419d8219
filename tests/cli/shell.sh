#!/bin/bash
# Manual pages and completion hold every option that the program's own help lists, scripts and pages
# are what their readers take, and a line typed into bash, zsh and fish completes.
# Usage: shell.sh PROGRAM SOURCE-ROOT SANITIZER.
set -u
program=$(realpath "$1")
SHARDSIM_DATADIR=$2
export SHARDSIM_DATADIR
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/cli/listed.sh
. "$2/tests/cli/listed.sh"

for shell in bash zsh fish; do "$program" completion $shell >"$folder/$shell"; done
"$program" manual -o "$folder/man1"
mkdir "$folder/empty"
cd "$folder/empty" || exit 1

# Those that --help and --help-all show of a page.
options() { # WORDS...
  { "$program" "$@" --help; "$program" "$@" --help-all; } |
    sed -n 's/^  \(-., \)\{0,1\}--\([a-z0-9][a-z0-9-]*\).*/\2/p' | sort -u
}

# What bash offers for LINE, whose last word is being typed. What follows the cursor is not looked
# at. Readline's own word begins after the last break, or after a quote that is open.
offers() { # LINE [BEHIND-CURSOR]
  (
    # shellcheck disable=SC2295
    local word=${1##*[$COMP_WORDBREAKS]} quotes=${1//[!\"\']/}
    ((${#quotes} % 2)) && word=${1##*[\"\']}
    COMP_LINE=$1${2-} COMP_POINT=${#1}
    # shellcheck source=/dev/null
    . "$folder/bash"
    _shardsim "$program" "$word"
    printf '%s\n' "${COMPREPLY[@]}"
  )
}

# Every option of WORDS is offered, and stands in the page.
holds_all() { # WORDS...
  local bad=0 page where
  page=$folder/man1/shardsim-$(echo "$*" | tr ' ' -).1
  options "$@" >"$folder/want"
  [ -s "$folder/want" ] || { echo "# $*: no options" >&2; return 1; }
  offers "shardsim $* --" | sed -n 's/^--//p' | sort -u >"$folder/got.bash"
  sed -n 's/\\-/-/g; s/^\(\\fB-.\\fR, \)\{0,1\}\\fB--\([a-z0-9-]*\).*/\2/p' "$page" |
    sort -u >"$folder/got.man"
  for where in bash man; do
    diff "$folder/want" "$folder/got.$where" >"$folder/diff" && continue
    sed "s/^/# $* in $where: /" "$folder/diff" >&2
    bad=1
  done
  return $bad
}

COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
for page in $(pages); do
  words=${page/\// }
  [ -n "$(names Subjects: $words)" ] && continue
  # shellcheck disable=SC2086
  holds_all $words
  verdict $? "$words: every option"
done

# Every key that --set takes
"$program" manual scenario >"$folder/man1/scenario.1"
offers 'shardsim simulate --set ' | sed -n 's/=$//p' | sort -u >"$folder/want"
sed -n 's/^\\fB\([a-z0-9_]*\.[a-z0-9_.]*\)\\fR$/\1/p' "$folder/man1/scenario.1" |
  sort -u >"$folder/got"
[ -s "$folder/want" ] && diff "$folder/want" "$folder/got" >&2
verdict $? 'the page of the keys has every one'

# offered LINE WORD...: exactly these
offered() {
  local line=$1 got
  shift
  got=$(offers "$line" | sort | tr '\n' ' ')
  got=${got% }
  [ "$got" = "$*" ] || { echo "# '$line' gives '$got', not '$*'" >&2; false; }
  verdict $? "bash: $line"
}
mkdir a-folder b-folder
touch a-file.yaml
offered 'shardsim sim' simulate
offered 'shardsim --v' --version
offered 'shardsim simulate --strategy fsdp' fsdp1 fsdp2
offered 'shardsim simulate --strategy=fsdp' fsdp1 fsdp2
offered 'shardsim simulate --cluster dgx-h' dgx-h100 dgx-h200
offered 'shardsim simulate --gpu h100-sxm' h100-sxm-64 h100-sxm-80
offered 'shardsim simulate --causal=o' off on
offered 'shardsim simulate --activation-checkpointing l' layers:
offered 'shardsim simulate --set training.flops_c' 'training.flops_convention=' \
  'training.flops_convention=6n' 'training.flops_convention=causal' \
  'training.flops_convention=palm'
offered 'shardsim simulate --set training.flops_convention=p' palm
offered 'shardsim simulate --set strategy.offload_param=c' cpu
offered 'shardsim simulate --hwprofiles a' a-folder
offered 'shardsim simulate --trace a' a-file.yaml a-folder
offered 'shardsim simulate --seq-len a' ''
offered 'shardsim simulate --format json a' a-file.yaml a-folder
offered 'shardsim simulate --max m' micro_batch
offered 'shardsim schedule --section s' steady
offered 'shardsim compare --form' --format
offered 'shardsim compare --format ' csv json text
offered 'shardsim schedule --format c' chakra csv
offered 'shardsim sensitivity --only=o' options
offered 'shardsim sensitivity --map mesh.t' mesh.tp= mesh.tp_rows=
offered 'shardsim sweep --vary mesh.t' mesh.tp= mesh.tp_rows=
offered 'shardsim compare --sort step_time_s' step_time_s
offered 'shardsim regress --tolerance step_time_s' step_time_s=
offered 'shardsim simulate --emit meg' megatron-lm
offered 'shardsim validate t' training
offered 'shardsim validate training --max-e' --max-error
offered 'shardsim calibrate -o a' a-file.yaml a-folder
offered 'shardsim hardware mi300' mi300a-128 mi300x-192 mi300x-8
offered 'shardsim completion ' bash fish zsh
offered 'shardsim import --' --help
offered "shardsim simulate --cluster '2 x dgx-h" '2 x dgx-h100 2 x dgx-h200'
offered "shardsim simulate --cluster='2 x dgx-h" '2 x dgx-h100 2 x dgx-h200'
offered 'shardsim simulate --strategy "fsdp' fsdp1 fsdp2
offered "shardsim simulate 'a file.yaml' --causal=o" off on
offered 'shardsim nonsense --x=' ''
[ "$(offers 'shardsim simulate --seq-l' 'x --micro-batch 2')" = --seq-len ]
verdict $? 'bash: a word before others'
COMP_WORDBREAKS=' '
offered 'shardsim simulate --trace=a-fi' --trace=a-file.yaml
offered 'shardsim simulate --strategy=fsdp' --strategy=fsdp1 --strategy=fsdp2

bash -n "$folder/bash"
verdict $? 'bash reads its script'

# Types each line to a Tab into a zsh of its own and prints what then stands there.
cat >"$folder/type.zsh" <<'ZSH'
zmodload zsh/zpty
zpty typed zsh -f -i
zpty -w typed "PS1= PS2= RPS1=; autoload -Uz compinit; compinit -D -u; . ${(q)1}
  show() { print -r -- \"<\${(q)BUFFER}>\"; BUFFER= }; zle -N show; bindkey '^Xs' show
  print READ\Y"
zpty -r typed out '*READY*'
while IFS= read -r line; do
  zpty -w -n typed "shardsim $line"$'\t\Cxs'
  zpty -r typed out '*<*>*'
  out=${${out##*<}%%>*}
  print -r -- "$line|${${(Q)out}#shardsim }"
done
zpty -d typed
ZSH
# Lines, and what they are after a Tab.
cat >"$folder/lines" <<'LINES'
sim|simulate 
simulate --strategy meg|simulate --strategy megatron-fsdp 
simulate --strategy=meg|simulate --strategy=megatron-fsdp 
simulate --strategy "meg|simulate --strategy "megatron-fsdp" 
simulate --cluster '2 x dgx-h10|simulate --cluster '2 x dgx-h100' 
simulate --activation-checkpointing la|simulate --activation-checkpointing layers:
simulate --hwprofiles=a|simulate --hwprofiles=a-folder/
simulate --trace a-fi|simulate --trace a-file.yaml 
simulate --seq-len a|simulate --seq-len a
validate tr|validate training 
validate training --max-e|validate training --max-error 
LINES
# A folder in which the program is called as users call it.
mkdir "$folder/bin"
ln -s "$program" "$folder/bin/shardsim"
if command -v zsh >/dev/null; then
  zsh -n "$folder/zsh"
  verdict $? 'zsh reads its script'
  cut -d '|' -f 1 "$folder/lines" |
    PATH=$folder/bin:$PATH timeout 120 zsh -f "$folder/type.zsh" "$folder/zsh" >"$folder/typed"
  diff "$folder/lines" "$folder/typed" >&2
  verdict $? 'zsh completes what is typed'
else
  skip 'zsh reads its script' 'zsh is not installed'
fi
if command -v fish >/dev/null; then
  fish -n "$folder/fish"
  verdict $? 'fish reads its script'
  while IFS='|' read -r line want; do
    got=$(HOME=$folder PATH=$folder/bin:$PATH fish --no-config -c "source $folder/fish
      complete -C \$argv[1]" "shardsim $line" | cut -f 1 | sort | tr '\n' ' ')
    [ "$got" = "$want " ] || { echo "# fish: '$line' gives '$got'" >&2; false; }
    verdict $? "fish: shardsim $line"
  done <<'LINES'
sim|simulate
simulate --strategy fsdp|fsdp1 fsdp2
simulate --causal=o|--causal=off --causal=on
simulate --hwprofiles a|a-folder/
simulate --hwprofiles=a|--hwprofiles=a-folder/
simulate --trace a-fi|a-file.yaml
simulate --strategy "fsdp|fsdp1 fsdp2
simulate --cluster '2 x dgx-h|2 x dgx-h100 2 x dgx-h200
validate tr|training
validate training --max-e|--max-error
LINES
else
  skip 'fish reads its script' 'fish is not installed'
fi
if command -v groff >/dev/null; then
  said=$(cat "$folder"/man1/*.1 | groff -man -ww -z 2>&1)
  [ -z "$said" ] || { printf '# %s\n' "$said" >&2; false; }
  verdict $? 'manual pages are formatted without a warning'
else
  skip 'manual pages are formatted without a warning' 'groff is not installed'
fi

# What the scripts ask has a name by itself, says nothing of mistakes, and is there at once.
for line in '' -- nonsense 'simulate --nonsense=' 'simulate --=' "simulate '\"" 'validate - -' \
  'simulate \' 'nonsense nonsense' '= = ='; do
  "$program" complete -- "$line" >/dev/null 2>"$folder/err" </dev/null && [ ! -s "$folder/err" ]
  verdict $? "complete -- $line"
done
SHARDSIM_DATADIR=$folder/none "$program" complete -- simulate --model '' \
  >"$folder/out" 2>"$folder/err" &&
  [ ! -s "$folder/err" ] && grep -qx :file "$folder/out"
verdict $? 'complete without profiles and models'
tab=$(printf '\t')
"$program" complete -- simulate --seq-l | grep -q "^--seq-len$tab.*tokens"
verdict $? 'complete says what an option is'
! { "$program" --help; ls "$folder/man1"; "$program" complete -- ''; } | grep -w complete >&2
verdict $? 'complete is in no list of commands'
name='complete takes less than 50 ms of CPU'
if [ "$3" = none ]; then
  TIMEFORMAT='%3U %3S'
  for _ in 1 2 3; do
    { time "$program" complete -- simulate --set '' >/dev/null; } 2>&1
  done | awk '{ ms = 1000 * ($1 + $2); if (NR == 1 || ms < least) least = ms }
    END { print "# ms of CPU: " least; exit least >= 50 }' >&2
  verdict $? "$name"
else
  skip "$name" 'a sanitizer slows it'
fi
[ "$("$program" manual validate training)" = "$(cat "$folder/man1/shardsim-validate-training.1")" ]
verdict $? 'one page by itself is the same'
"$program" completion tcsh 2>/dev/null
[ $? -eq 2 ]
verdict $? 'an unknown shell is bad usage'
"$program" manual simulat 2>&1 | grep -q "did you mean 'simulate'"
verdict $? 'an unknown page has a hint'
echo "1..$number"
exit $failed
