# SPDX-License-Identifier: Apache-2.0
# What the live tests share. Each test runs with CICADA (the binary) and WORKLOADS (the directory of tests/workloads) in its
# environment, in a directory of its own, as root.
set -euo pipefail
: "${CICADA:?}" "${WORKLOADS:?}"
LIVE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ -z ${POOLS:-} ]] || { mkdir -p "$POOLS" && POOL=$POOLS/$(basename "$0" .sh) && rm -f "$POOL"; }
T=$(mktemp -d "${TMPDIR:-/tmp}/cicada-live.XXXXXX")
cd "$T"

# Only processes of this test, by their ids.
started=()
clean_up() {
  local code=$?
  ((${#started[@]} == 0)) || kill -KILL "${started[@]}" 2>/dev/null || true
  if ((code != 0 && code != 77)) && [[ -n ${KEEP:-} ]]; then
    echo "kept: $T"
  else
    rm -rf "$T" 2>/dev/null || { sleep 1; rm -rf "$T"; }  # a child of who was killed may write its last file
  fi
}
trap clean_up EXIT

skip() {
  echo "SKIP: $*"
  exit 77
}
fail() {
  echo "FAILED: $*"
  for file in err err.txt; do [[ -f $file ]] && sed 's/^/  | /' "$file"; done
  exit 1
}
((EUID == 0)) || skip "needs root"

# The kernel guards files in /tmp until the test ends, as on every distribution: without that run times are not told to write maps there.
guard_shared_directories() {
  guards_before=$(sysctl fs.protected_symlinks fs.protected_regular)
  trap 'sysctl -q -p - <<<"$guards_before" >/dev/null; clean_up' EXIT
  sysctl -q fs.protected_symlinks=1 fs.protected_regular=1
}

# start COMMAND…: in the background; its pid in $pid, its output in $T/out.
start() {
  : >out  # at once: what another said before is not taken for what this one says
  "$@" >out 2>&1 &
  pid=$!
  started+=("$pid")
}

# wait_for SECONDS CONDITION…: until the condition holds.
wait_for() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || fail "waited in vain for: $*"
    sleep 0.05
  done
}
said_something() { [[ -s out ]]; }

# run_on_hanging_file_system WORKLOAD: in the background, from a file system of its own ($T/mnt) that answers nobody after a USR1 to $fs. The
# workload's pid in $victim.
run_on_hanging_file_system() {
  mkdir mnt
  "$WORKLOADS/hanging_fs" "$T/mnt" "$WORKLOADS/$1" >fs.out 2>&1 &
  fs=$!
  started+=("$fs")
  trap 'kill -KILL $fs 2>/dev/null || true; umount -l "$T/mnt" 2>/dev/null || true; clean_up' EXIT
  wait_for 10 mounted_or_ended
  grep -q mounted fs.out || skip "no FUSE in this kernel"
  "$T/mnt/program" 60 >program.out &
  victim=$!
  started+=("$victim")
  wait_for 10 test -s program.out
}
mounted_or_ended() { [[ -s fs.out ]] || ! kill -0 "$fs" 2>/dev/null; }

# record_truth OPTIONS… -- WORKLOAD ARGUMENTS…: a recording from the first instruction to the end, compared with the truth.
record_truth() {
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  local workload=$1
  shift
  "$CICADA" record -F 997 "${options[@]}" -o recording.txt -- "$WORKLOADS/$workload" "$@" >truth 2>err || fail "record -- $workload ended with $?"
  WALK=${WALK:-exec} compare_with_truth "$workload"
}

# record_running OPTIONS… -- WORKLOAD ARGUMENTS…: the same for a process that runs already, by its pid, for two seconds.
record_running() {
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  local workload=$1
  shift
  start "$WORKLOADS/$workload" "$@"
  wait_for 10 said_something
  "$CICADA" record -F 997 -d 2 "${options[@]}" -p "$pid" -o recording.txt 2>err || fail "record -p ended with $?"
  cp out truth
  compare_with_truth "$workload"
}

# compare_with_truth NAME: threads of this name only; all of them with ANY_NAME=1 (the workload renames its threads). What it finds goes into the
# pool of WALK, a class of walks (live.truth-of-all judges the pools). LEAST=P: P % are enough for what is else true of every sample, and
# nothing goes into a pool.
compare_with_truth() {
  [[ -z ${LEAST:-} ]] || sed -i -E "s/^((chain|through|inside|depth) .*|complete)$/& min $LEAST/" truth
  local only=()
  [[ -n ${ANY_NAME:-} ]] || only=("$(basename "$1")")
  [[ -z ${POOL:-} ]] || only+=(--class "${WALK:-running}" --pool "$POOL")
  python3 -B "$LIVE/truth.py" recording.txt err truth "${only[@]}" || fail "$1: the recording contradicts the truth"
}

# expect_error CODE TEXT COMMAND…: this exit code, one line on standard error, which contains TEXT.
expect_error() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" >stdout 2>err || got=$?
  [[ $got == "$code" ]] || fail "exit code $got instead of $code: $*"
  [[ $(wc -l <err) == 1 ]] || fail "not one line: $*"
  grep -qF -- "$text" err || fail "the message does not contain '$text': $*"
}

# record_foreign NAME [HZ]: a workload of another toolchain (tests/workloads/foreign), while it runs, by its pid, for two seconds.
record_foreign() {
  local name=$1 frequency=${2:-997} command
  command=$(foreign_command "$name") || skip "$command"
  start bash -c "exec $command 60"
  wait_for 20 said_all
  "$CICADA" record -F "$frequency" -d 2 --stats -p "$pid" -o recording.txt 2>err || fail "record -p ended with $?"
  rm -f "/tmp/perf-$pid.map"
  cp out truth
  WALK=foreign ANY_NAME=1 compare_with_truth "$name"
}
foreign_command() { "$LIVE/../workloads/foreign/build.sh" "$1" "$WORKLOADS/foreign"; }
said_all() { grep -qE '^(complete|addresses|share)' out; }
