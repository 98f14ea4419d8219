#!/bin/sh
# Builds docs/examples/zero2-by-hand.c as docs/adding-a-strategy.md says and runs it with --plugin.
# Usage: plugin.sh PROGRAM SOURCE-ROOT SANITIZER. It asserts that the plug-in is found and
# explained, that its schedule runs, that it moves the bytes of its closed form, and that a second
# plug-in of the same name and one without the symbol are refused. No times.
set -u
program=$(realpath "$1")
source=$2
sanitizer=$3
if [ "$sanitizer" != none ]; then
  echo "1..0 # SKIP the plug-in would need the sanitizer's run-time, too"
  exit 0
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number=0
failed=0
ok() { # NAME, after a command
  status=$?
  number=$((number + 1))
  if [ $status -eq 0 ]; then echo "ok $number - $1"; else
    echo "not ok $number - $1"
    failed=1
  fi
}
run() { "$program" "$@" --plugin "$folder/example.so"; }

# shellcheck disable=SC2046 # flags are words
cc -shared -fPIC -I"$source/src" -o "$folder/example.so" "$source/docs/examples/zero2-by-hand.c" \
  $(pkg-config --cflags glib-2.0) >&2
ok 'it builds'
run strategies | grep -q '^zero2-by-hand '
ok 'it is listed'
run strategies zero2-by-hand >"$folder/text" && grep -q 'arXiv:1910.02054' "$folder/text" &&
  grep -q 'Where each state lives' "$folder/text"
ok 'it is explained'
run strategies zero2-by-hand --cluster '2 x dgx-a100' --model gpt2-xl --seq-len 512 --format csv \
  >"$folder/forms"
ok 'it states its closed forms'
run simulate --cluster '2 x dgx-a100' --model gpt2-xl --seq-len 512 --strategy zero2-by-hand \
  --format json \
  >"$folder/result"
ok 'it runs'
# One reduce-scatter and one all-gather of 2 P bytes over 16 ranks: each rank sends 15/16 of both, P
# = 1 557 611 200.
sent=$(awk -F'[:,]' \
  '/"inter_node_bytes_per_gpu"/ { inter = $2; n++ } /"intra_node_bytes_per_gpu"/ { intra = $2 }
       n == 1 && intra { printf "%.0f", inter + intra; exit }' "$folder/result")
awk -v sent="$sent" \
  'BEGIN { want = 2 * 15 / 16 * 2 * 1557611200; exit !(sent >= want && sent < want * 1.001) }'
ok "a rank sends 4 P 15/16 bytes: $sent"
"$program" strategies --plugin "$folder/example.so" --plugin "$folder/example.so" 2>"$folder/error"
[ $? -eq 2 ] && grep -q "zero2-by-hand" "$folder/error"
ok 'a second strategy of the same name is refused'
echo 'int nothing;' | cc -shared -fPIC -x c -o "$folder/empty.so" - >&2
"$program" strategies --plugin "$folder/empty.so" 2>"$folder/error"
[ $? -eq 2 ] && grep -q "shardsim_strategy" "$folder/error"
ok 'a shared object without a strategy is refused'
echo "1..$number"
exit $failed
