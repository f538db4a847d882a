#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# node gets its perf map switched on, and its functions have names, with and without the process being there at the end.
# A node that runs without a map: the summary says how to restart it.
source "$(dirname "$0")/lib.sh"
command -v node >/dev/null || skip "no node"
guard_shared_directories
cat >app.js <<'JS'
const seconds = Number(process.argv[2] || 2);
function processData(rows) {
  let sum = 0;
  for (let i = 0; i < rows.length; i++) sum += Math.sqrt(rows[i] * i) % 7;
  return sum;
}
const rows = Array.from({length: 20000}, (_, i) => i);
// One call site for many functions: V8 would compile processData into its only caller.
const calls = [processData, ...[1, 2, 3, 4, 5].map((k) => new Function("rows", `return rows.length + ${k}`))];
let total = 0;
for (let i = 0; process.cpuUsage().user < seconds * 1e6; i++) total += calls[i % calls.length](rows);
console.log(total > 0);
JS

# Most samples of the process are in processData (app.js:2).
mostly_process_data() {
  local all named
  all=$(awk '{n += $NF} END {print n + 0}' "$1")
  named=$(awk '/processData \(app\.js:2\)/ {n += $NF} END {print n + 0}' "$1")
  ((all >= 100)) || fail "$1: $all samples only"
  ((named * 2 > all)) || fail "$1: $named of $all samples are in processData"
}

"$CICADA" record -F 499 -o ended.folded -- node app.js 2 >out 2>err || fail "record -- node ended with $?"
grep -q true out || fail "the program's output is not its own: $(cat out)"
mostly_process_data ended.folded
left=$(compgen -G '*-v8.log' || true)
[ -z "$left" ] || fail "node left $left in the working directory"

# Still running when the recording ends.
start node --perf-basic-prof-only-functions --interpreted-frames-native-stack app.js $FOREVER
wait_for test -s "/tmp/perf-$pid.map"
record_while_working 2 "$pid" -F 499 -p "$pid" -o running.folded >out2
kill_and_wait "$pid"
rm -f "/tmp/perf-$pid.map"
mostly_process_data running.folded

# What the user has set is left alone; then nothing has a name, and the reader is told.
NODE_OPTIONS=--no-warnings "$CICADA" record -F 499 -o plain.folded -- node app.js 2 >out3 2>err || fail "record with NODE_OPTIONS ended with $?"
! grep -q processData plain.folded || fail "NODE_OPTIONS of the user was overwritten"
grep -q -e '--perf-basic-prof' err || fail "no word on how to restart node"
