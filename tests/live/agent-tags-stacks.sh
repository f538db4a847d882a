#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/agent: whose code runs, told apart by an environment variable; of processes that live 60 ms, too.
source "$(dirname "$0")/lib.sh"
agent=$(dirname "$CICADA")/examples/agent/agent
[[ -x $agent ]] || fail "$agent was not built"

JOB_ID=long-lived "$WORKLOADS/recursion" $FOREVER 6 >/dev/null &
long_lived=$!
started+=("$long_lived")
JOB_ID=short-lived "$WORKLOADS/exec_storm" 0.06 1000000 >/dev/null &
started+=($!)
"$agent" -i 2 JOB_ID >tables 2>err &
agent_pid=$!
started+=("$agent_pid")
# samples_of TAG FUNCTION FIRST: in the tables from that one on
samples_of() {
  awk -v tag="$1" -v code="$2" -v first="$3" '/JOB_ID/ { table++; total = $(NF - 1); sub(/[(]/, "", total) } table >= first && $3 == tag && $4 ~ code { sum += $1 * total / 100 }
    END { printf "%d\n", sum }' tables
}
both_are_seen() {
  kill -0 "$agent_pid" 2>/dev/null || fail "the agent has ended"
  (($(samples_of long-lived '^recurse' 2) >= 100 && $(samples_of short-lived '^short_leaf' 2) >= 100))
}
wait_for both_are_seen
# What `record` promises holds for who embeds it: strangers' files are read by processes that can do nothing else.
zygote=$(pgrep -P "$agent_pid" -x cicada-zygote) && pgrep -P "$zygote" -x cicada-parser >/dev/null || fail "the agent reads files itself"
[[ $(grep CapEff "/proc/$agent_pid/status") != "$(grep CapEff /proc/self/status)" ]] || fail "the agent kept all capabilities"
kill -TERM "$agent_pid"
wait "$agent_pid" || fail "the agent ended with $?"
# Nobody else has this code: of its samples 97 % are tagged (a process may end before its environment was read).
long=$(samples_of long-lived '^recurse' 2) short=$(samples_of short-lived '^short_leaf' 2) strangers=$(samples_of - '^(short_leaf|recurse)' 2)
echo "$long samples of the long-lived, $short of the short-lived, $strangers without a tag"
((100 * strangers <= 3 * (long + short))) || fail "$strangers of the workloads' samples have no tag: $(<tables)"

"$agent" -i 600 JOB_ID >tables 2>err &
recorder=$!
started+=("$recorder")
wait_for samples_or_ended
let_work 0.5 "$long_lived"
kill -TERM "$recorder"
wait "$recorder" || fail "after SIGTERM the agent ended with $?"
grep -q 'JOB_ID  *function' tables || fail "no table after SIGTERM"
(($(samples_of long-lived '^recurse' 1) > 0)) || fail "nothing in the table after SIGTERM"
"$agent" >out 2>&1 && fail "no usage error"
grep -q usage out || fail "no usage"
