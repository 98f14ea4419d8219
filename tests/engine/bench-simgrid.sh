#!/bin/sh
# 1 000 flows that start at once (10 000 take SimGrid minutes), by shardsim and by SimGrid: seconds
# of both, their ratio, and how far the finish times are apart (SimGrid's program fails beyond
# 1e-6).
# Usage: bench-simgrid.sh SHARDSIM BENCH-SIMGRID SOURCE-ROOT
set -eu
flows=$3/tests/data/validation/flows
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
sed 's, B/s,,' "$flows/links_ft1024.csv" >"$folder/links.csv"
begin=$(date +%s%N)
"$1" flows --links "$flows/links_ft1024.csv" --flows "$flows/1000_t0.csv" --format csv \
  >"$folder/finish.csv"
end=$(date +%s%N)
simgrid=$("$2" "$folder/links.csv" "$flows/1000_t0.csv" "$folder/finish.csv" \
  --log=root.thres:warning)
echo "$simgrid"
echo "$simgrid" | awk -v ns="$((end - begin))" '{
  printf "shardsim, the whole process: %.3f s; ", ns / 1e9
  printf "SimGrid, its run alone, over that: %.1f\n", $4 / (ns / 1e9)
}'
