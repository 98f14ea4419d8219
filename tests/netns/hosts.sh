#!/bin/sh
# Hosts on one machine: runs an MPI program between network namespaces whose links have a limited
# rate.
#
#   hosts.sh [OPTION]... PROGRAM [ARGUMENT]...
#
#   -n HOSTS      h1, h2, ... (2)
#   -r MBIT       rate of each host's card, each way, in Mbit/s (100)
#   -l 1,2,1,3    hosts of the ranks (one on each): ranks of one host share its card
#   -s HOST:MBIT  the card of one host has another rate
#   -u MBIT       two bridges with half of the hosts each, and a link of this rate between them
#   -d MS:PROGRAM wires on which everything takes MS more, one way; PROGRAM is delay.c's
#   -e LIBRARY    loaded into the ranks before others (yield.c)
#   -m KEY=VALUE  a further parameter of Open MPI; may be repeated
#
#        h1 [card]---+          +---[card] h3
#                    | bridge 1 |
#        h2 [card]---+----------+---[card] h4
#
# A card is a veth pair with an HTB limit at both ends: what the host sends, and what the bridge
# sends to it. With a delay it is a pair of TAP devices, and a program carries what one gets to the
# other. All of it lies in network, mount, process and host name namespaces of its own.
# Nothing of this machine is touched, and nothing is left: when the first process in there ends, in
# whatever way, the kernel ends the others and takes the namespaces down. That process ends with
# this script, also when the script is killed.
#
# Exit status: that of mpirun; 77 with the reason on stderr where such hosts cannot be made; 2 for a
# wrong call.
set -eu

name=${0##*/}
subnet=10.213.77
# Packets (trains of up to 64 KiB) that a card's queue holds: more than TCP's windows, so that none
# is dropped.
queue=1000
# Packets that a connection may send at first. Us of its rate that a card may send at once: what the
# kernel's timer needs.
first=700 burst_us=1000
# On long wires: bytes and packets on a connection's way, more than a wire holds. And shorter bursts
# and trains: HTB lets a whole train go and waits for its time afterwards. Between the steps of a
# ring that wait is over before the next step's data arrive, and each step would save a train.
window=16777216 far_first=4000 far_burst_us=200 train=16384

wrong ()
{
  echo "$name: $1" >&2
  exit 2
}

skip ()
{
  echo "$name: skipped: $1" >&2
  exit 77
}

# ---- what there is -------------------------------------------------------------------------------

require_tools ()
{
  [ "$(id -u)" = 0 ] || skip "network namespaces need root"
  for tool in ip tc unshare setpriv mpirun; do
    command -v $tool > /dev/null || skip "no '$tool' here"
  done
  unshare -n -m -u -p --fork --mount-proc true 2> /dev/null || skip "no namespaces can be made here"
  unshare -n -m sh -c '
    mount -t tmpfs tmpfs /run && mkdir /run/netns && ip netns add host0 &&
    ip link add card0 type veth peer name card1 && ip link add bridge0 type bridge &&
    tc qdisc add dev card0 root handle 1: htb default 1 &&
    tc class add dev card0 parent 1: classid 1:1 htb rate 1mbit &&
    tc qdisc add dev card0 parent 1:1 pfifo limit 10' > /dev/null 2>&1 ||
    skip "this kernel has no veth, bridge, HTB or pfifo, or no named namespaces"
  [ -z "$delay" ] || unshare -n -m sh -c 'mount -t tmpfs tmpfs /run && mknod /run/tun c 10 200 &&
    ip tuntap add dev wire0 mode tap && : < /run/tun' > /dev/null 2>&1 ||
    skip "this kernel has no TAP devices"
}

# ---- the network ---------------------------------------------------------------------------------

# limit_rate DEVICE MBIT [tc's option for the namespace]...: of what DEVICE sends.
limit_rate ()
{
  device=$1 mbit=$2
  shift 2
  # And two packets.
  burst=$(( mbit * burst_us / 8 + 3028 ))
  tc "$@" qdisc add dev "$device" root handle 1: htb default 1
  tc "$@" class add dev "$device" parent 1: classid 1:1 htb rate "${mbit}mbit" burst $burst \
    cburst $burst quantum 3028
  tc "$@" qdisc add dev "$device" parent 1:1 handle 10: pfifo limit $queue
}

add_bridge ()
{
  ip link add "$1" type bridge
  ip link set "$1" up
}

# The far end of port$1 is a card, or the wire of a program that runs until all of this ends.
add_card ()
{
  if [ -z "$delay" ]; then
    ip link add "port$1" type veth peer name eth0 netns "h$1"
    return
  fi
  for end in wire port; do
    ip link set "$end$1" txqueuelen $queue gso_max_size $train
  done
  ip link set "wire$1" netns "h$1" name eth0
}

lay_wires ()
{
  mknod /run/tun c 10 200
  # shellcheck disable=SC2046 # numbers
  "${delay#*:}" "${delay%%:*}" /run/tun $(seq "$hosts") > /run/wires &
  until grep -qs ready /run/wires; do
    kill -0 $! || exit 1
    sleep 0.01
  done
}

# add_host NUMBER BRIDGE MBIT
add_host ()
{
  ip netns add "h$1"
  add_card "$1"
  ip link set "port$1" master "$2" up
  ip -n "h$1" link set lo up
  ip -n "h$1" addr add "$subnet.$1/24" dev eth0
  ip -n "h$1" link set eth0 up
  # One congestion control on every machine that this runs on, and the one that most clusters have.
  # What is measured is a connection in its stride: it starts with a wide window and keeps it when
  # it was silent for a step. Nothing is lost here, so a late answer (a busy processor's) must not
  # pass for a loss: no probes, a patient timer.
  ip -n "h$1" route replace "$subnet.0/24" dev eth0 src "$subnet.$1" congctl lock cubic \
    initcwnd $first rto_min 5s
  # shellcheck disable=SC2016 # the inner shell's
  ip netns exec "h$1" sh -c '
    cd /proc/sys/net/ipv4 && echo 0 > tcp_slow_start_after_idle && echo 0 > tcp_early_retrans &&
      [ -z "$1" ] || for direction in r w; do echo "4096 $2 $2" > tcp_${direction}mem; done
  ' sh "$delay" $window 2> /dev/null || :
  limit_rate eth0 "$3" -n "h$1"
  limit_rate "port$1" "$3"
  echo "$subnet.$1 h$1" >> /run/hosts
}

join_bridges ()
{
  add_bridge bridge2
  ip link add up1 type veth peer name up2
  ip link set up1 master bridge1 up
  ip link set up2 master bridge2 up
  limit_rate up1 "$1"
  limit_rate up2 "$1"
}

build_network ()
{
  mount -t tmpfs tmpfs /run
  mkdir /run/netns /run/tmp
  printf '127.0.0.1 localhost\n%s.254 %s\n' $subnet "$(hostname)" > /run/hosts
  ip link set lo up
  add_bridge bridge1
  ip addr add $subnet.254/24 dev bridge1
  [ -z "$uplink" ] || join_bridges "$uplink"
  if [ -n "$delay" ]; then
    first=$far_first burst_us=$far_burst_us
    lay_wires
  fi
  host=1
  while [ $host -le "$hosts" ]; do
    bridge=bridge1 mbit=$rate
    [ -z "$uplink" ] || [ $(( host * 2 )) -le "$hosts" ] || bridge=bridge2
    [ $host != "${slow%:*}" ] || mbit=${slow#*:}
    add_host $host $bridge "$mbit"
    host=$(( host + 1 ))
  done
  mount --bind /run/hosts /etc/hosts
}

# ---- the program ---------------------------------------------------------------------------------

# What mpirun calls to start its daemon: AGENT HOST COMMAND... A host name of its own keeps Open MPI
# from shared memory.
write_agent ()
{
  cat > /run/agent << 'END'
#!/bin/sh
host=$1
shift
exec ip netns exec "$host" unshare -u sh -c 'hostname "$1"; shift; exec sh -c "$*"' sh "$host" "$@"
END
  chmod +x /run/agent
}

run_ranks ()
{
  write_agent
  echo "$ranks" | tr , '\n' | sed 's/^/h/' > /run/ranks
  export TMPDIR=/run/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  # Every message is sent at once, as NCCL sends over sockets, whose slots are posted ahead. Open
  # MPI would shake hands from 64 KiB on, and the answer waits behind the data in the card's queue
  # or on the connection (docs/bench-collectives.md).
  mpirun -n "$(wc -l < /run/ranks)" --mca rmaps seq --hostfile /run/ranks --bind-to none \
    --mca plm rsh --mca plm_rsh_agent /run/agent --mca pml ob1 --mca btl tcp,self \
    --mca btl_tcp_if_include $subnet.0/24 --mca oob_tcp_if_include $subnet.0/24 \
    --mca btl_tcp_eager_limit 16777216 --mca btl_tcp_rndv_eager_limit 16777216 \
    --mca mpi_yield_when_idle 1 "$@" < /dev/null
}

# In the namespaces, as their first process.
run_inside ()
{
  build_network
  status=0
  for parameter in $parameters; do
    set -- --mca "${parameter%%=*}" "${parameter#*=}" "$@"
  done
  [ -z "$library" ] || set -- -x "LD_PRELOAD=$library" "$@"
  run_ranks "$@" || status=$?
  exit $status
}

# The first process dies with `unshare`, and `unshare` with this shell.
run_outside ()
{
  require_tools
  trap 'kill -KILL $child 2> /dev/null; wait $child 2> /dev/null; exit 130' INT TERM HUP
  setpriv --pdeathsig KILL unshare -n -m -u -p --fork --kill-child=KILL --mount-proc \
    sh "$0" --inside "$hosts" "$rate" "$ranks" "$slow" "$uplink" "$library" "$parameters" "$delay" \
    "$@" &
  child=$!
  status=0
  wait $child || status=$?
  exit $status
}

if [ "${1:-}" = --inside ]; then
  hosts=$2 rate=$3 ranks=$4 slow=$5 uplink=$6 library=$7 parameters=$8 delay=$9
  shift 9
  run_inside "$@"
fi

hosts=2 rate=100 ranks='' slow=0:0 uplink='' library='' parameters='' delay=''
while getopts n:r:l:s:u:d:e:m: option; do
  case $option in
    n) hosts=$OPTARG ;;
    r) rate=$OPTARG ;;
    l) ranks=$OPTARG ;;
    s) slow=$OPTARG ;;
    u) uplink=$OPTARG ;;
    d) delay=$OPTARG ;;
    e) library=$OPTARG ;;
    m) parameters="$parameters $OPTARG" ;;
    *) wrong "see the head of $0" ;;
  esac
done
shift $(( OPTIND - 1 ))
[ $# -gt 0 ] || wrong "no program"
case $hosts:$rate in
  *[!0-9:]* | :* | *:) wrong "-n and -r take whole numbers" ;;
esac
case $hosts in
  [2-8]) ;;
  *) wrong "-n takes 2 to 8 hosts" ;;
esac
[ -n "$ranks" ] || ranks=$(seq -s , "$hosts")
run_outside "$@"
