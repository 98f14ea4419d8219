#!/bin/sh
# Makes the compiler call that docs/bench.md gives for this machine: NVIDIA's when CUDA's folder is
# given, MPI's otherwise.
# Usage: compile.sh SOURCE-ROOT CUDA-HOME (empty: none).
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$1"
CUDA_HOME=$2
export CUDA_HOME
compiler=$([ -n "$2" ] && echo cc || echo mpicc)
call=$(sed ':a; /\\$/ { N; s/\\\n *//; ba }' docs/bench.md | # continued lines in one
  sed -n "s|^\($compiler -O2 .*\) -o shardsim-bench$|\1|p")
[ -n "$call" ] || { echo "docs/bench.md has no compiler call for $compiler" >&2; exit 1; }
sh -c "$call -O0 -Wall -Wextra -Werror -o $folder/shardsim-bench" # -O0: quicker
"$folder/shardsim-bench" --version >&2
