#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plain programs: a run is a round. What changed is found and named; the command's failure is told; FIFOs are made with care.
source "$(dirname "$0")/lib.sh"
client=$T/bench_client
ln -s "$WORKLOADS/bench_client" "$client"  # a path of one word, wherever the tree lies
# A busy machine makes the runs' times so unlike each other that more of them are needed.
for runs in 10 40 160; do
  "$CICADA" bench --force -o two --runs $runs "$client spin 1 15" "$client spin 2 90" 2>err || fail "bench ended with $?"
  ! grep -qE '\+[0-9.]+ % \(± [0-9.]+\) in (work_002|spin)' err || break
done
grep -q 'slower' err || fail "six times as long is not slower"
grep -qE '\+[0-9.]+ % \(± [0-9.]+\) in (work_002|spin)' err || fail "no function explains it"
python3 - "$runs" <<'PY' || fail "bench.json"
import json, sys
wanted = int(sys.argv[1])
result = json.load(open("two/bench.json"))
a, b = (one["runs"] for one in result["benchmarks"])
assert len(a) == len(b) == wanted and len(result["recordings"]) == 2 * wanted
assert all(sum(run["samples"] for run in each) > 5 * wanted for each in (a, b)), (a, b)
for run in a + b:
    assert run["samples"] > 0 and run["resources"]["user_ns"] > 0 and run["resources"]["page_faults"] > 0, run
    assert run["wall_ns"] >= run["cpu_ns"] * 0.9, run  # both since exec; user_ns has what the process was before, too
assert min(r["wall_ns"] for r in a) >= 15e6 and min(r["wall_ns"] for r in b) >= 90e6
PY
[[ -s two/flamegraphs/0002.html && -s two/flamegraphs/difference-2.html && -s two/index.html ]] || fail "pages are missing"
# What went before is not replaced unasked.
expect_error 125 'force' "$CICADA" bench -q -o two -- true
code=0
"$CICADA" bench -q -o fails --runs 3 -- bash -c 'exit 7' 2>err || code=$?
((code == 7)) || fail "exit code $code, not the command's"
[[ $(python3 -c 'import json; print(len(json.load(open("fails/bench.json"))["recordings"]))') == 1 ]] || fail "went on after a failure"
# Warm-up and preparation come before, in their order.
"$CICADA" bench -q -o prepared --runs 2 --warmup 1 --prepare 'echo prepare >>log' -- bash -c 'echo run >>log' 2>err || fail "bench ended with $?"
[[ $(tr '\n' ' ' <log) == "prepare run prepare run prepare run " ]] || fail "order: $(tr '\n' ' ' <log)"
# Peak memory is the command's own: as much as the shell itself has used when it ends, not cicada's before exec. The kernel counts pages in batches
# of each CPU.
"$CICADA" bench -q -o memory --runs 3 -- sh -c 'while read -r name kib unit; do [ "$name" != VmHWM: ] || echo "$kib"; done </proc/self/status >>peaks' 2>err || fail "bench ended with $?"
python3 - <<'PY' || fail "peak memory"
import json
own = [1024 * int(line) for line in open("peaks")]
told = [run["resources"]["peak_bytes"] for run in json.load(open("memory/bench.json"))["benchmarks"][0]["runs"]]
assert len(own) == len(told) == 3 and all(abs(o - t) <= 1 << 19 for o, t in zip(own, told)), (own, told)
PY
# Files of clients are read with the user's rights, and no links.
chmod 755 "$T"
install -d -o nobody theirs
printf '{"benchmarks": "secret words"}' >secret.json
chmod 600 secret.json
(cd theirs && SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) "$CICADA" bench -o result -- sh -c "mkdir -p result/results; ln -s $T/secret.json result/results/1.json; ln $T/secret.json result/results/2.json
  mkfifo result/results/3.json; echo '{' >result/results/4.json; exec $client jvm 1 1") 2>err || fail "bench ended with $?"
grep -q '4.json: no JSON' err || fail "a file that cannot be read is not told"
! grep -q 'secret words' err theirs/result/bench.json || fail "a file that the user cannot read"
# A runner that is there already: who it is, and what is not done meanwhile.
start "$CICADA" bench -q -o first -- bash -c 'echo $$ >sleeper; exec sleep infinity'
at_exit 'kill "$(<sleeper)"'
wait_for test -s sleeper
"$CICADA" bench -o second --runs 2 -- true 2>err || fail "bench beside another ended with $?"
grep -q "process $pid (cicada).*not told apart" err || fail "another runner is not told"
[[ $(python3 -c 'import json; print(len(json.load(open("second/bench.json"))["benchmarks"][0]["runs"]))') == 2 ]] || fail "not measured beside another runner"
kill -KILL "$pid"  # its FIFOs do not wait for the command
gone() { [[ -z $(compgen -G '/tmp/runner.*.fifo') ]]; }
wait_for gone
