#!/bin/bash
# A sweep as an array of a real Slurm: a controller and two node daemons on this machine, in a
# folder of their own, with their own key and ports; all of it ends with the script.
# Usage: sweep-slurm.sh PROGRAM SOURCE-ROOT. Exits with 77 and a reason where that cannot be had.
set -u
program=$(realpath "$1")
source=$2
export PATH=$PATH:/usr/sbin:/sbin

skip() {
  echo "skipped: $1" >&2
  exit 77
}
for tool in munged slurmctld slurmd sbatch sinfo; do
  command -v "$tool" >/dev/null || skip "there is no $tool (Debian: slurm-wlm, munge)"
done
[ "$(id -u)" -eq 0 ] || skip 'not root, and the daemons start jobs as their users'

folder=$(mktemp -d)
chmod 755 "$folder"
pids=()
cleanup() {
  local pid
  [ "${#pids[@]}" -eq 0 ] || kill "${pids[@]}" 2>/dev/null
  for pid in "${pids[@]}"; do
    timeout 10 tail --pid="$pid" -f /dev/null || kill -9 "$pid" 2>/dev/null
  done
  rm -rf "$folder"
}
trap cleanup EXIT

fail() {
  echo "$1" >&2
  tail -n 20 "$folder"/*.log "$folder"/work/*.out >&2 2>/dev/null
  exit 1
}

# Free ports: of the controller and of each node.
base=$((20000 + $$ % 20000))
export SLURM_CONF=$folder/slurm.conf
mkdir "$folder/state" "$folder/spool-n0" "$folder/spool-n1" "$folder/work"
cat >"$SLURM_CONF" <<CONF
ClusterName=shardsim
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
CredType=cred/munge
SlurmctldPort=$base
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmdSpoolDir=$folder/spool-%n
StateSaveLocation=$folder/state
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SelectType=select/linear
SchedulerParameters=sched_interval=1,batch_sched_delay=0
KillWait=1
InactiveLimit=0
NodeName=n0 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=1
NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=1
PartitionName=all Nodes=n0,n1 Default=YES MaxTime=INFINITE State=UP
CONF

start() { # LOG PROGRAM...: a daemon in the foreground, as a child
  local log=$1
  shift
  "$@" >"$folder/$log.log" 2>&1 &
  pids+=("$!")
}

head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 600 "$folder/munge.key"
start munged munged --foreground --force --key-file="$folder/munge.key" \
  --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
  --seed-file="$folder/munged.seed"
for _ in $(seq 50); do [ -S "$folder/munge.socket" ] && break; sleep 0.1; done
[ -S "$folder/munge.socket" ] || skip "munged does not start: $(tail -n 1 "$folder/munged.log")"
start controller slurmctld -D -c
start node0 slurmd -D -N n0
start node1 slurmd -D -N n1
for _ in $(seq 150); do
  [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break
  sleep 0.1
done
[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] ||
  skip "the node daemons do not come up: $(tail -n 1 "$folder/node0.log" "$folder/controller.log")"

# The job of docs/sweep.md, on both nodes.
cd "$folder/work" || exit 1
cp "$source/tests/cli/input/good.yaml" grid.yaml
cp -r "$source/docs/worked/hwprofiles" hwprofiles
cat >array.sh <<JOB
#!/bin/bash
#SBATCH --array=0-3
#SBATCH --output=task-%a.out
export SHARDSIM_DATADIR=$SHARDSIM_DATADIR
touch node-\$SLURM_ARRAY_TASK_ID-\$SLURMD_NODENAME
"$program" sweep grid.yaml --hwprofiles hwprofiles --store "part-\$SLURM_ARRAY_TASK_ID.db" \\
  --vary training.micro_batch=1..12 --vary training.grad_accum=1..10 \\
  --shard "\$SLURM_ARRAY_TASK_ID/4"
JOB
run_array() { # a submission, to its end
  sbatch --wait array.sh >submitted.out 2>&1 || fail 'the array failed'
}
run_array
ls node-*-n0 node-*-n1 >/dev/null 2>&1 || fail "not both nodes had work: $(ls node-*)"
"$program" merge -o all.db part-*.db >merge.out || fail 'merge failed'
"$program" sweep --store all.db --format csv >all.csv
"$program" sweep grid.yaml --hwprofiles hwprofiles --store one.db \
  --vary training.micro_batch=1..12 --vary training.grad_accum=1..10 >/dev/null
"$program" sweep --store one.db --format csv >one.csv
cmp all.csv one.csv || fail 'the merged parts are not the sweep'
[ "$(wc -l <all.csv)" -eq 121 ] || fail 'rows are missing'

# A part that is gone, and three that are not: submitted again, only the one runs.
rm part-2.db
run_array
grep -q '30 of them from before' task-1.out || fail 'a part was run again'
grep -q "^30 runs in 'part-2.db'$" task-2.out || fail 'the part that was gone did not run'
echo 'an array of 4 tasks on 2 nodes: 120 runs, as in one sweep' >&2
