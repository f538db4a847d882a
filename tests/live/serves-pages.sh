#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: cicada-*
# `cicada serve` in a real browser: live, several pages, asleep and awake, started again, to the end of what is recorded; with Ctrl-C it is gone.
source "$(dirname "$0")/lib.sh"
tree=$(cd "$LIVE/../.." && pwd)
[[ -x ${CICADA_CHROMIUM:-/usr/bin/chromium} ]] || skip "no chromium: apt-get install chromium"
[[ -d $tree/build/npm/node_modules/playwright-core ]] || skip "no playwright-core: ./dev setup installs it"
start_workload chain_gcc_O2_pie
target=$pid
# serve WHERE: its pid in the file `server`; what it says in `said`.
cat >serve.sh <<'SH'
"$CICADA" serve --listen "$1" -F 499 -p "$2" >said.new 2>&1 &
echo $! >server
until grep -q 'http://' said.new; do kill -0 "$(cat server)" || { cat said.new; exit 1; }; sleep 0.05; done
mv said.new said
SH
export CICADA
bash serve.sh 127.0.0.1:0 "$target"
started+=("$(cat server)")
address=$(grep -o 'http://[^ ]*' said)
port=${address#http://127.0.0.1:}
port=${port%%/*}
again="kill -INT \$(cat server); while kill -0 \$(cat server) 2>/dev/null; do sleep 0.05; done; bash serve.sh 127.0.0.1:$port $target"
"$tree/tests/browser/with-node" "$tree/build/npm" "$tree/tests/browser/live.mjs" "$address" "${PICTURES:-$T}" "$tree/build/npm" \
  "pkill -STOP -P \$(cat server) -x cicada-serves && sleep 4" "pkill -CONT -P \$(cat server) -x cicada-serves" "$again" "kill -KILL $target" || { cat said; fail "the page"; }
[[ $(grep -o 'http://[^ ]*' said) == "$address" ]] || fail "another address after the second start"
server=$(cat server)
started+=("$server")
kill -0 "$server" || fail "it ended before Ctrl-C"
grep -q 'stays until Ctrl-C' said || fail "it does not say that the page stays"
kill -INT "$server"
gone() { ! kill -0 "$server" 2>/dev/null; }
wait_for gone
curl -s "$address" && fail "somebody answers still"
exit 0
