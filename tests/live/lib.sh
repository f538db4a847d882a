# SPDX-License-Identifier: Apache-2.0
# What the live tests share. Each test runs with CICADA (the binary) and WORKLOADS (the directory of tests/workloads) in its
# environment, in a directory of its own, as root.
set -euo pipefail
: "${CICADA:?}" "${WORKLOADS:?}"
LIVE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
T=$(mktemp -d "${TMPDIR:-/tmp}/cicada-live.XXXXXX")
cd "$T"

# What the recordings contribute to live.truth-of-all: "missing" until the test has passed, then what they found.
if [[ -n ${POOLS:-} ]]; then
  mkdir -p "$POOLS"
  POOL=$T/.pool RESULT=$POOLS/$(basename "$0" .sh)
  echo "missing $(basename "$0" .sh)" >"$RESULT"
fi

# at_exit COMMAND: what the test has to undo, whatever happens; the last one first.
undo=()
at_exit() { undo=("$1" "${undo[@]}"); }

# Only processes of this test, by their ids.
started=()
clean_up() {
  local code=$? step
  for step in "${undo[@]}"; do eval "$step" || true; done
  ((${#started[@]} == 0)) || kill -KILL "${started[@]}" 2>/dev/null || true
  if [[ -n ${RESULT:-} ]] && ((code == 0 || code == 77)); then
    rm -f "$RESULT"
    ((code == 77)) || [[ ! -f $POOL ]] || mv "$POOL" "$RESULT"
  fi
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
  at_exit 'sysctl -q -p - <<<"$guards_before" >/dev/null'
  sysctl -q fs.protected_symlinks=1 fs.protected_regular=1
}

# start COMMAND…: in the background; its pid in $pid, its output in $T/out.
start() {
  : >out  # at once: what another said before is not taken for what this one says
  "$@" >out 2>&1 &
  pid=$!
  started+=("$pid")
}

# start_workload PROGRAM ARGUMENTS…: one of tests/workloads, or a path; the arguments are those behind the seconds. It has said its truth and works
# until it is killed.
FOREVER=600
start_workload() {
  local program=$1
  [[ $program == */* ]] || program=$WORKLOADS/$program
  start "$program" $FOREVER "${@:2}"
  wait_for said_something
}

# wait_for CONDITION…: until the condition holds. Three minutes are the bound of a hang, not of a slow machine.
wait_for() {
  local deadline=$((SECONDS + 180))
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
  at_exit 'kill -KILL $fs 2>/dev/null; umount -l "$T/mnt" 2>/dev/null'
  wait_for mounted_or_ended
  grep -q mounted fs.out || skip "no FUSE in this kernel"
  "$T/mnt/program" $FOREVER >program.out &
  victim=$!
  started+=("$victim")
  wait_for test -s program.out
}
mounted_or_ended() { [[ -s fs.out ]] || ! kill -0 "$fs" 2>/dev/null; }

# begin_record OPTIONS…: a recording in the background, by the pid $recorder, which samples when this returns. What it says: err.
begin_record() {
  "$CICADA" record "$@" 2>err &
  recorder=$!
  started+=("$recorder")
  wait_for samples_or_ended
}
# The threads that look names up are made as soon as it samples.
samples_or_ended() { grep -qsx cicada-names /proc/"$recorder"/task/*/comm || recorder_ended; }
# end_record: ends it as Ctrl-C does, unless its target has ended; gives back its exit code.
end_record() {
  kill -INT "$recorder" 2>/dev/null || true
  wait_for_recorder
}
wait_for_recorder() {
  wait_for recorder_ended
  wait "$recorder"
}
recorder_ended() { ! kill -0 "$recorder" 2>/dev/null; }

# end_record_soon PID: the same, of a recording whose end could wait for others: before that process, which works meanwhile, has used 5 s of CPU time.
# A second is usual.
end_record_soon() {
  local before used
  before=$(used_ms "$1")
  end_record || fail "record ended with $?"
  used=$(($(used_ms "$1") - before))
  echo "the end took $used ms of the target"
  ((used <= 5000)) || fail "the recording took $used ms of its target's CPU time to end"
}

# let_work SECONDS PID: until the process has used so much more CPU time. PID/task/TID: the thread.
let_work() {
  local until
  until=$(($(used_ms "$2") + $(awk -v seconds="$1" 'BEGIN { print int(1000 * seconds) }')))
  wait_for has_used "$until" "$2"
}
has_used() {
  local used
  used=$(used_ms "$2") || fail "process $2 is gone"
  ((used >= $1))
}
used_ms() {
  local fields
  fields=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  fields=(${fields##*) })
  echo $(((fields[11] + fields[12]) * 10))
}

# kill_and_wait PID: a child of this shell.
kill_and_wait() {
  kill -KILL "$1"
  wait "$1" 2>/dev/null || true
}

# record_while_working SECONDS PID OPTIONS…: a recording, of which the process sees so many seconds of CPU time: as many samples on a busy machine
# as on an idle one.
record_while_working() {
  begin_record "${@:3}"
  let_work "$1" "$2"
  end_record || fail "record ended with $?"
}

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

# record_running OPTIONS… -- WORKLOAD ARGUMENTS…: the same for a process that runs already, by its pid, for two seconds of its CPU time. The
# arguments are those behind the seconds. SETTLED=1: judged is its settled part.
record_running() {
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  local workload=$1
  shift
  start_workload "$workload" "$@"
  record_while_working 2 "$pid" -F 997 "${options[@]}" -p "$pid" -o recording.txt
  kill_and_wait "$pid"
  cp out truth
  if [[ -n ${SETTLED:-} ]]; then
    settled <recording.txt >last.txt
    mv last.txt recording.txt
  fi
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

# settled <TEXT: the last two thirds of a recording of a running process. Before that its tables may be on their way, and the copy of a stack from which
# user space finishes it then may be too short.
settled() { awk '/^[^ \t]/ { ++n } { line[NR] = $0; of[NR] = n } END { for (i = 1; i <= NR; ++i) if (of[i] > n / 3) print line[i] }'; }
samples_in() { grep -cE '^[^[:space:]]' "$1"; }
now() { python3 -c 'import time; print(time.monotonic())'; }  # by the samples' clock

# expect_error CODE TEXT COMMAND…: this exit code, one line on standard error, which contains TEXT.
expect_error() {
  local code=$1 text=$2 got=0
  shift 2
  "$@" >stdout 2>err || got=$?
  [[ $got == "$code" ]] || fail "exit code $got instead of $code: $*"
  [[ $(wc -l <err) == 1 ]] || fail "not one line: $*"
  grep -qF -- "$text" err || fail "the message does not contain '$text': $*"
}

# record_foreign NAME [HZ]: a workload of another toolchain (tests/workloads/foreign), while it runs, by its pid, for two seconds of its CPU time.
record_foreign() {
  local name=$1 frequency=${2:-997} command
  command=$(foreign_command "$name") || skip "$command"
  start bash -c "exec $command $FOREVER"
  wait_for said_all
  record_while_working 2 "$pid" -F "$frequency" --stats -p "$pid" -o recording.txt
  kill_and_wait "$pid"
  rm -f "/tmp/perf-$pid.map"
  cp out truth
  WALK=foreign ANY_NAME=1 compare_with_truth "$name"
}
foreign_command() { "$LIVE/../workloads/foreign/build.sh" "$1" "$WORKLOADS/foreign"; }
said_all() { grep -qE '^(complete|addresses|share)' out; }
