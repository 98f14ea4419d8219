#!/bin/sh
# What hosts.sh leaves behind: nothing. Usage: teardown.sh DELAY (delay.c's). TAP.
# Ends it in four ways while ranks run, and asserts that no process, network namespace, link or
# mount of it is left. Says nothing about what the kernel frees later on its own.
set -u
here=$(dirname "$(realpath "$0")")
number=0
failed=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# A duration that no other process sleeps for: it finds the ranks.
mark="8640$$.25"

verdict ()
{ # STATUS NAME
  number=$(( number + 1 ))
  if [ "$1" -eq 0 ]; then
    echo "ok $number - $2"
  else
    echo "not ok $number - $2"
    failed=1
  fi
}

# Processes that were started with the mark: ranks, mpirun, its daemons, the scripts.
marked ()
{
  # Not grep itself.
  grep -lzsx -e "[8]${mark#8}" /proc/[0-9]*/cmdline | cut -d/ -f3
}

# Network namespaces of the marked processes, as the kernel names them.
spaces ()
{
  for process in $(marked); do
    readlink "/proc/$process/ns/net"
  done | sort -u | grep -vxF "$(readlink /proc/self/ns/net)"
}

# Processes of any kind in one of the namespaces listed in FILE.
inside ()
{
  for space in /proc/[0-9]*/ns/net; do
    readlink "$space" 2> /dev/null
  done | grep -xFf "$1"
}

links ()
{
  ip -o link show | cut -d: -f2
}

# wait_until COMMAND: for at most 20 s.
wait_until ()
{
  turn=0
  until "$@"; do
    turn=$(( turn + 1 ))
    [ $turn -lt 200 ] || return 1
    sleep 0.1
  done
}

# Two ranks that sleep, mpirun, and two hosts' namespaces and its own.
is_up ()
{
  [ "$(spaces | wc -l)" -ge 2 ] && [ "$(pgrep -xc -f "sleep $mark")" -eq 2 ]
}

is_gone ()
{
  [ -z "$(marked)" ] && [ -z "$(inside "$folder/spaces")" ]
}

# ends_with NAME COMMAND...: starts hosts, ends them with COMMAND PID of hosts.sh, and looks around.
ends_with ()
{
  name=$1
  shift
  links > "$folder/links"
  mounts=$(cat /proc/self/mounts)
  # What runs in the background of a script ignores an interrupt, unless told.
  setsid env --default-signal=INT sh "$here/hosts.sh" -n 2 sleep "$mark" > "$folder/log" 2>&1 &
  child=$!
  if ! wait_until is_up; then
    sed 's/^/# /' "$folder/log" >&2
    verdict 1 "$name: the hosts did not come up"
    kill -s KILL -- "-$child" 2> /dev/null
    return
  fi
  spaces > "$folder/spaces"
  "$@" "$child"
  wait_until is_gone
  verdict $? "$name: no process and no network namespace is left"
  links | cmp -s - "$folder/links"
  verdict $? "$name: no link is left"
  [ "$(cat /proc/self/mounts)" = "$mounts" ]
  verdict $? "$name: no mount is left"
  wait "$child" 2> /dev/null
}

kill_group ()
{
  kill -s INT -- "-$1"
}

kill_rank ()
{
  pkill -KILL -o -x -f "sleep $mark"
}

sh "$here/hosts.sh" -n 2 true > "$folder/log" 2>&1
status=$?
if [ $status -eq 77 ]; then
  echo "1..0 # SKIP $(sed -n 's/.*skipped: //p' "$folder/log")"
  exit 0
fi
verdict $status "hosts that end by themselves"
# The program that carries the frames of long wires would run for ever: under a name of its own.
cp "$1" "$folder/wires"
sh "$here/hosts.sh" -n 2 -d "1:$folder/wires" true > "$folder/log" 2>&1
status=$?
if [ $status -eq 77 ]; then
  verdict 0 "hosts on long wires # SKIP $(sed -n 's/.*skipped: //p' "$folder/log")"
else
  ! pgrep -f "^$folder/wires" > /dev/null && [ $status -eq 0 ]
  verdict $? 'hosts on long wires'
fi
ends_with 'interrupt at the terminal' kill_group
ends_with 'terminated' kill -TERM
ends_with 'killed' kill -KILL
ends_with 'a rank is killed' kill_rank
echo "1..$number"
exit $failed
