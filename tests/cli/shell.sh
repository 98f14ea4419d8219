#!/bin/bash
# Manual pages and completion hold every option that the program's own help lists, scripts and pages
# are what their readers take, and a line typed into bash and fish completes. In zsh only the
# script's syntax and its text are looked at. Usage: shell.sh PROGRAM SOURCE-ROOT.
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

# What bash offers for LINE, whose last word is being typed.
offers() { # LINE
  (
    COMP_LINE=$1 COMP_POINT=${#1}
    # shellcheck source=/dev/null
    . "$folder/bash"
    _shardsim
    printf '%s\n' "${COMPREPLY[@]}"
  )
}

# Every option of WORDS is offered by bash, and stands in the other two scripts and in the page.
holds_all() { # WORDS...
  local bad=0 page line="'$*'" name where
  name=_shardsim_$(echo "$*" | tr ' -' __)
  page=$folder/man1/shardsim-$(echo "$*" | tr ' ' -).1
  options "$@" >"$folder/want"
  [ -s "$folder/want" ] || { echo "# $*: no options" >&2; return 1; }
  offers "shardsim $* --" | sed -n 's/^--//p' | sort -u >"$folder/got.bash"
  sed -n "/^$name() {/,/^}/s/^ *'\**--\([a-z0-9-]*[a-z0-9]\).*/\1/p" "$folder/zsh" |
    sort -u >"$folder/got.zsh"
  grep -F -- "$line" "$folder/fish" | sed -n 's/.* -l \([a-z0-9-]*\).*/\1/p' |
    sort -u >"$folder/got.fish"
  sed -n 's/\\-/-/g; s/^\(\\fB-.\\fR, \)\{0,1\}\\fB--\([a-z0-9-]*\).*/\2/p' "$page" |
    sort -u >"$folder/got.man"
  for where in bash zsh fish man; do
    diff "$folder/want" "$folder/got.$where" >"$folder/diff" && continue
    sed "s/^/# $* in $where: /" "$folder/diff" >&2
    bad=1
  done
  return $bad
}

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
COMP_WORDBREAKS=$' \t\n"\'><=;|&(:'
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
offered 'shardsim sensitivity --map mesh.t' mesh.tp=
offered 'shardsim sweep --vary mesh.t' mesh.tp=
offered 'shardsim compare --sort step_time_s' step_time_s
offered 'shardsim regress --tolerance step_time_s' step_time_s=
offered 'shardsim simulate --emit meg' megatron-lm
offered 'shardsim validate t' training
offered 'shardsim validate training --max-e' --max-error
offered 'shardsim calibrate -o a' a-file.yaml a-folder
offered 'shardsim hardware mi300' mi300x-192 mi300x-8
offered 'shardsim completion ' bash fish zsh
COMP_WORDBREAKS=' '
offered 'shardsim simulate --strategy=fsdp' --strategy=fsdp1 --strategy=fsdp2

bash -n "$folder/bash"
verdict $? 'bash reads its script'
if command -v zsh >/dev/null; then
  zsh -n "$folder/zsh"
  verdict $? 'zsh reads its script'
else
  skip 'zsh reads its script' 'zsh is not installed'
fi
if command -v fish >/dev/null; then
  fish -n "$folder/fish"
  verdict $? 'fish reads its script'
  while IFS='|' read -r line want; do
    got=$(HOME=$folder fish --no-config -c "source $folder/fish
      complete -C 'shardsim $line'" | cut -f 1 | sort | tr '\n' ' ')
    [ "$got" = "$want " ] || { echo "# fish: '$line' gives '$got'" >&2; false; }
    verdict $? "fish: shardsim $line"
  done <<'LINES'
sim|simulate
simulate --strategy fsdp|fsdp1 fsdp2
simulate --causal=o|--causal=off --causal=on
simulate --hwprofiles a|a-folder/
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
[ "$("$program" manual validate training)" = "$(cat "$folder/man1/shardsim-validate-training.1")" ]
verdict $? 'one page by itself is the same'
"$program" completion tcsh 2>/dev/null
[ $? -eq 2 ]
verdict $? 'an unknown shell is bad usage'
"$program" manual simulat 2>&1 | grep -q "did you mean 'simulate'"
verdict $? 'an unknown page has a hint'
echo "1..$number"
exit $failed
