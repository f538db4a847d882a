#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# leaves in /tmp: cicada-*
# What is not a browser reads `cicada serve`, too: `go tool pprof`, a scrape; of a running recording, of another recorder's, of a file. Who answers has no
# rights. Bad words are refused with one line.
source "$(dirname "$0")/lib.sh"
command -v go >/dev/null || skip "no go: apt-get install golang-go"
# serve ARGUMENTS…: its pid in $server, its address in $address.
serve() {
  : >said
  "$CICADA" serve --listen 127.0.0.1:0 "$@" >said 2>&1 &
  server=$!
  started+=("$server")
  wait_for said_its_address
  address=$(grep -o 'http://[^ ]*' said)
}
said_its_address() { grep -q 'http://' said || { ! kill -0 "$server" 2>/dev/null && { cat said; fail "serve ended"; }; }; }
end_server() {
  kill -INT "$server"
  wait_for server_ended
  local code=0
  wait "$server" || code=$?
  [[ $code == 0 ]] || { cat said; fail "serve ended with $code"; }
}
server_ended() { ! kill -0 "$server" 2>/dev/null; }
export HOME=$T GOFLAGS=-mod=mod PPROF_TMPDIR=$T

start_workload chain_gcc_O2_pie
target=$pid
serve --no-token -F 499 -p "$target"
[[ $address =~ ^http://127.0.0.1:[0-9]+/$ ]] || fail "a token: $address"
viewer=$(pgrep -P "$server" -x cicada-serves)
[[ $(stat -c %u "/proc/$viewer") != 0 || $(awk '/^Uid/ { print $2 }' "/proc/$viewer/status") != 0 ]] || fail "who answers is root"
awk '/^CapEff/ { c = $2 } /^Seccomp:/ { s = $2 } END { exit !(s == 2 && (c == "0000000000000000" || c == "0000000400000000")) }' "/proc/$viewer/status" || fail "who answers has rights: $(grep -E 'Cap|Seccomp' "/proc/$viewer/status")"
# As pull-based collectors ask, and as people do.
curl -fsS "${address}debug/pprof/profile?seconds=2" -o scraped.pb.gz || fail "no profile"
go tool pprof -raw scraped.pb.gz >raw.txt 2>err.txt || fail "go tool pprof does not read it"
grep -q 'leaf' raw.txt || fail "no names"
go tool pprof -top "${address}debug/pprof/profile?seconds=1" >top.txt 2>err.txt || fail "go tool pprof does not fetch it"
grep -q 'leaf' top.txt || { cat top.txt; fail "go tool pprof shows nothing"; }
"$CICADA" report --json scraped.pb.gz >scraped.json || fail "we do not read it"
python3 - <<'PY' || fail "the scrape is not what was asked for"
import json
report = json.load(open("scraped.json"))
main = [f for f in report["functions"] if f["name"] == "main"]
print(report["total"], main)
assert report["total"] > 0 and main and main[0]["total"] >= 0.98 * report["total"]
PY
[[ $(curl -s -o /dev/null -w '%{http_code}' "${address}debug/pprof/profile?seconds=99999") == 400 ]] || fail "too many seconds"
[[ $(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "$address") == 4?? ]] || fail "a foreign host name"
end_server

# Another recorder's: it goes on when who looks has gone.
begin_record --attachable -F 499 -p "$target" -o end.cicada
serve --attach "$recorder"
curl -fsS "${address}download?format=.folded" -o now.folded || fail "nothing of the other recorder"
has_more_than_at_first() {
  curl -fsS "${address}download?format=.folded" -o later.folded
  (($(awk '{ n += $NF } END { print n + 0 }' later.folded) > $(awk '{ n += $NF } END { print n + 0 }' now.folded)))
}
wait_for has_more_than_at_first  # it follows
end_server
end_record_soon "$target"
# A file, and the whole of it as a profile at once.
serve end.cicada
curl -fsS "${address}debug/pprof/profile" -o whole.pb.gz
[[ $("$CICADA" report --json whole.pb.gz | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])') == $("$CICADA" report --json end.cicada | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])') ]] || fail "not the whole recording"
port=${address#http://127.0.0.1:}
port=${port%%/*}

# refused EXIT-CODE WORD ARGUMENTS…: one line with that word.
refused() {
  local expected=$1 word=$2 code=0
  shift 2
  timeout 60 "$CICADA" serve "$@" >x 2>err.txt || code=$?
  [[ $code == "$expected" && $(wc -l <err.txt) == 1 ]] && grep -q -- "$word" err.txt || fail "serve $*: $code, not one line with '$word'"
}
refused 125 "is taken; .* is free" --listen "127.0.0.1:$port" end.cicada
refused 125 "no-token" --no-token --listen 0.0.0.0:0 end.cicada
refused 125 "missing.cicada" missing.cicada
refused 125 "lib.sh" "$LIVE/lib.sh"
refused 125 "no recording that can be looked at" --attach 999999
refused 125 "--frequency" end.cicada -F 99
refused 125 "-o\|--output" --attach 999999 -o x.cicada
refused 125 "999999" -p 999999
refused 125 "not an address\|address" --listen nowhere.example:80 end.cicada
end_server
# A page may stop the recording; where there is no token nobody may.
serve -F 499 -p "$target" -o stopped.folded
[[ $(curl -s -o /dev/null -w '%{http_code}' -X POST "${address}stop") == 200 ]] || fail "it does not stop"
wait_for grep -q 'stays until Ctrl-C' said
grep -q 'main;' stopped.folded || fail "what was stopped was not written"
end_server
serve --no-token -F 499 -p "$target"
[[ $(curl -s -o /dev/null -w '%{http_code}' -X POST "${address}stop") == 405 ]] || fail "somebody without a token stops it"
end_server
# The target is gone before the first sample; what it left is shown until Ctrl-C. And a command's own exit code.
serve -o written.cicada -- true
wait_for grep -q 'stays until Ctrl-C' said
curl -fsS "$address" -o page.html || fail "the page did not stay"
end_server
[[ -s written.cicada ]] || fail "nothing was written"
exit 0
