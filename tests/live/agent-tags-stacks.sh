#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# examples/agent: whose code runs, told apart by an environment variable; of processes that live 60 ms, too.
source "$(dirname "$0")/lib.sh"
agent=$(dirname "$CICADA")/examples/agent/agent
[[ -x $agent ]] || fail "$agent was not built"

"$agent" -i 2 -n 2 JOB_ID >tables 2>err &
agent_pid=$!
started+=("$agent_pid")
JOB_ID=long-lived "$WORKLOADS/recursion" 30 6 >/dev/null &
started+=($!)
JOB_ID=short-lived "$WORKLOADS/exec_storm" 0.06 150 >/dev/null &
started+=($!)
wait "$agent_pid" || fail "the agent ended with $?"

[[ $(grep -c 'JOB_ID  *function' tables) == 2 ]] || fail "not two tables: $(<tables)"
# share_of TAG FUNCTION: of the second table, in percent
share_of() { awk -v tag="$1" -v code="$2" '/JOB_ID/ { table++ } table == 2 && $3 == tag && $4 ~ code { sum += $1 } END { print sum + 0 }' tables; }
long=$(share_of long-lived '^recurse') short=$(share_of short-lived '^short_leaf')
awk -v a="$long" -v b="$short" 'BEGIN { exit !(a >= 3 && b >= 3) }' || fail "long-lived has $long %, short-lived $short %: $(<tables)"
# Nobody else has this code: of its samples 97 % are tagged (a process may end before its environment was read).
strangers=$(awk '/JOB_ID/ { table++ } table == 2 && $3 == "-" && $4 ~ /^(short_leaf|recurse)/ { sum += $1 } END { print sum + 0 }' tables)
awk -v a="$long" -v b="$short" -v c="$strangers" 'BEGIN { exit !(c <= 0.03 * (a + b)) }' || fail "$strangers % of the workloads' samples have no tag: $(<tables)"

"$agent" -i 600 JOB_ID >tables 2>err &
agent_pid=$!
started+=("$agent_pid")
sleep 1.5
kill -TERM "$agent_pid"
wait "$agent_pid" || fail "after SIGTERM the agent ended with $?"
grep -q 'JOB_ID  *function' tables || fail "no table after SIGTERM"
"$agent" >out 2>&1 && fail "no usage error"
grep -q usage out || fail "no usage"
