#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Plain programs: a run is a round. What changed is found and named; the command's failure is told; FIFOs are made with care.
source "$(dirname "$0")/lib.sh"
client=$T/bench_client
ln -s "$WORKLOADS/bench_client" "$client"  # a path of one word, wherever the tree lies
# A busy machine makes the runs' times so unlike each other that more of them are needed.
for runs in 10 40 160; do
  code=0
  "$CICADA" bench --force -o two --runs $runs "$client spin 1 15" "$client spin 2 90" 2>err || code=$?
  ((code == 1)) || fail "bench ended with $code, and the second is slower"
  ! grep -qE '\+[0-9.]+ % \(± [0-9.]+\) in (work_002|spin)' err || break
done
grep -q 'slower' err || fail "six times as long is not slower"
grep -qE 'CPU time .* → .*: slower' err || fail "six times the CPU time is not slower"
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
# Until they are told apart, at most so long; what cannot be told is no difference, but for --strict.
code=0
"$CICADA" bench --force -o two --max-time 0.1 --strict 'sleep 0.01' 'sleep 0.01' 2>err || code=$?
((code == 2)) || fail "bench ended with $code, and one run of each says nothing"
grep -qE 'cannot tell: at least 9 runs of each needed for 2 %' err || fail "how many runs are needed is not said"
"$CICADA" bench --force -o two --precision 60 --threshold 60 --max-time 20 --name a --name b 'sleep 0.01' 'sleep 0.01' 2>err || fail "bench ended with $?"
python3 -c 'import json; r = json.load(open("two/bench.json")); assert [(b["name"], len(b["runs"]) >= 8) for b in r["benchmarks"]] == [("a", True), ("b", True)], r["benchmarks"]' || fail "runs"
# Two results of one benchmark each are compared whatever they are called.
"$CICADA" bench -q -o before --runs 5 -- "$client" spin 1 15 2>err && "$CICADA" bench -q -o after --runs 5 -- "$client" spin 2 90 2>err || fail "bench ended with $?"
code=0
"$CICADA" bench compare --json before after >compared.json 2>err || code=$?
((code == 1)) || fail "compare ended with $code"
python3 - <<'PY' || fail "compare --json"
import json
(one,) = json.load(open("compared.json"))["benchmarks"]
assert one["verdict"] == "slower" and one["interval"][0] > 2 and one["runs"] == [5, 5] and one["runs_needed"] == 0, one
assert [more["name"] for more in one["more"]][0] == "CPU time" and one["more"][0]["verdict"] == "slower", one
PY
expect_error 125 'no such benchmark' "$CICADA" bench compare --match 1=7 before after
# Every run reads the same, recorded or not.
seq 1000 >input
"$CICADA" bench -q -o reads --runs 3 -- sh -c 'wc -l >>lines' <input 2>err || fail "bench ended with $?"
"$CICADA" bench -q -o named --runs 2 --input input -- sh -c 'wc -l >>lines' </dev/null 2>err || fail "bench ended with $?"
seq 5 | "$CICADA" bench -o piped --runs 2 -- sh -c 'wc -l >>lines' 2>err || fail "bench ended with $?"
seq 5 | "$CICADA" bench -q -o once -- sh -c 'wc -l >>lines' 2>err || fail "bench ended with $?"
[[ $(tr '\n' ' ' <lines) == "1000 1000 1000 1000 1000 1000 1000 1000 1000 1000 0 0 0 0 5 " ]] || fail "standard input: $(tr '\n' ' ' <lines)"
code=0
"$CICADA" bench compare --strict once once >out 2>err || code=$?
((code == 2)) && grep -q 'cannot tell: at least 5 runs of each' out || fail "one run of each: $code, $(<out)"
"$CICADA" bench -o piped --force --runs 2 -- true 2>err </dev/null || fail "bench ended with $?"
! grep -q 'is a pipe' err || fail "no pipe is called one"
# Each command with each value.
"$CICADA" bench -q -o scanned --runs 1 --setup 'echo setup >>scans' --cleanup 'echo cleanup >>scans' --scan n=1,2 --scan m=x,y 'sh -c "echo {n}{m} >>scans"' 2>err || fail "bench ended with $?"
[[ $(tr '\n' ' ' <scans) == "setup 1x 1x 1y 1y 2x 2x 2y 2y cleanup " ]] || fail "scan: $(tr '\n' ' ' <scans)"
expect_error 125 'no command has {k}' "$CICADA" bench -q -o scanned --scan k=1 'true'
"$CICADA" bench -q -o scanned --force --runs 1 --scan n=1,2 'true' -- sh -c 'echo {n} >>rest' 2>err || fail "bench ended with $?"
[[ $(tr '\n' ' ' <rest) == "1 1 2 2 " ]] || fail "scan behind --: $(tr '\n' ' ' <rest)"
# Habits of other tools are answered.
expect_error 125 '--warmup N' "$CICADA" bench -w 3 -- true
expect_error 125 '--scan NAME' "$CICADA" bench -L n 1,2 'true {n}'
expect_error 125 'bench.json' "$CICADA" bench --export-json=x.json -- true
expect_error 125 'always recorded' "$CICADA" record -g true
# A run that is cut off is none, while it is measured (the third) and while it is recorded (the fourth); those before are kept.
for last in 3 4; do
  rm -f begun
  start "$CICADA" bench -o cut --force --runs 100 -- sh -c "echo >>begun; [ \$(wc -l <begun) -lt $last ] || exec sleep 600"
  begun() { [[ -e begun ]] && (($(wc -l <begun) >= last)) && pgrep -P "$pid" -x sleep >/dev/null; }
  wait_for begun
  code=0
  kill -INT "$pid"
  pkill -TERM -P "$pid" -x sleep || true  # the terminal would send it Ctrl-C, too; what begins in the background of a script takes no notice of that
  wait "$pid" || code=$?
  ((code == 130)) || fail "bench that was interrupted ended with $code"
  [[ $(grep -c 'was cut off: that run does not count' out) == 1 ]] || fail "that a run was cut off is said $(grep -c 'was cut off' out) times" out
  python3 -c 'import json; (one,) = json.load(open("cut/bench.json"))["benchmarks"]; assert len(one["runs"]) == 1, one["runs"]' || fail "what was complete"
done
# Times are those of runs beside which nothing is recorded: as many as of the others, and what recording costs is said.
"$CICADA" bench -o both --runs 4 -- sh -c "echo >>both.log; exec $client spin 1 15" 2>err || fail "bench ended with $?"
[[ $(wc -l <both.log) == 8 ]] || fail "$(wc -l <both.log) runs, not 4 recorded and 4 not"
grep -qE 'recorded .* \([+-][0-9.]+ %\), which does not count' err || fail "what recording costs is not said"
python3 -c 'import json; (one,) = json.load(open("both/bench.json"))["benchmarks"]; assert all(run["times_ns"] != [run["wall_ns"]] and run["samples"] > 0 for run in one["runs"]), one' || fail "times of what was recorded"
"$CICADA" bench -o single -- true 2>err || fail "bench ended with $?"
grep -q 'includes what recording cost' err || fail "of one run it is not said that it was recorded"
# Where no terminal limits them, names are whole.
"$CICADA" bench -o long-name -n 2 --name "$(printf 'name-%.0s' {1..60})end" -- true 2>err || fail "bench ended with $?"
grep -q "^$(printf 'name-%.0s' {1..60})end  *[0-9]" err || fail "a name is shortened in a pipe"
# What the command did before its exec is not its own: it cannot have worked longer than it took.
"$CICADA" bench -q -o true --runs 10 -- true 2>err || fail "bench ended with $?"
python3 -c 'import json, statistics; (one,) = json.load(open("true/bench.json"))["benchmarks"]; print(*[(run["resources"]["user_ns"] + run["resources"]["system_ns"], run["times_ns"][0]) for run in one["runs"]]); assert all(run["resources"]["user_ns"] + run["resources"]["system_ns"] < 1.1 * run["times_ns"][0] for run in one["runs"])' >err 2>&1 || fail "CPU time of what takes no time"
# What went before is not replaced unasked.
expect_error 125 'force' "$CICADA" bench -q -o two -- true
code=0
"$CICADA" bench -q -o fails --runs 3 -- bash -c 'exit 7' 2>err || code=$?
((code == 7)) || fail "exit code $code, not the command's"
"$CICADA" bench -o ignored --runs 2 --ignore-failure -- bash -c 'exit 7' 2>err_ignored || fail "bench ended with $?"
expect_error 125 'precision: 0: expected a number above 0' "$CICADA" bench --precision 0 true true
expect_error 125 'max-time: -1: expected a number above 0' "$CICADA" bench --max-time -1 true true
# One that fails later on has no row.
rm -f turns
code=0
"$CICADA" bench -q -o later --runs 5 -- bash -c 'echo >>turns; (($(wc -l <turns) < 3))' 2>err || code=$?
((code == 1)) || fail "exit code $code, not the command's"
[[ $(python3 -c 'import json; print(*[len(one["runs"]) for one in json.load(open("later/bench.json"))["benchmarks"]])') == 1 ]] || fail "a run that failed is a row"
grep -q 'exit code 7' err_ignored || fail "a failure that is ignored is not said"
[[ $(python3 -c 'import json; print(len(json.load(open("fails/bench.json"))["recordings"]))') == 1 ]] || fail "went on after a failure"
# Warm-up and preparation come before, in their order.
"$CICADA" bench -q -o prepared --runs 2 --warmup 1 --prepare 'echo prepare >>log' -- bash -c 'echo run >>log' 2>err || fail "bench ended with $?"
[[ $(tr '\n' ' ' <log) == "prepare run prepare run prepare run prepare run prepare run " ]] || fail "order: $(tr '\n' ' ' <log)"
# Peak memory is the command's own: as much as the shell itself has used when it ends, not cicada's before exec. The kernel counts pages in batches
# of each CPU.
"$CICADA" bench -q -o memory --runs 3 -- sh -c 'while read -r name kib unit; do [ "$name" != VmHWM: ] || echo "$kib"; done </proc/self/status >>peaks' 2>err || fail "bench ended with $?"
python3 - <<'PY' || fail "peak memory"
import json
own = [1024 * int(line) for line in open("peaks")]
own = [own[i] for i in (1, 2, 5)]  # those that were not recorded: it is every other one's turn first
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
