#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 200 benchmarks of 50 programs, each exec'd while nothing is sampled, in every order in which clients send; some work in children that announce
# nothing, some after a dlopen between two benchmarks, some clients die. Each has a flame graph of its own function and of no other.
source "$(dirname "$0")/lib.sh"
"$CICADA" bench -q -o all -- "$WORKLOADS/bench_client" all 50 2>err || fail "bench ended with $?"
python3 -B "$LIVE/bench_pages.py" all 200 || fail "flame graphs are not those of their benchmarks"
# CPU time is that of the windows: what ran between them is not missing.
"$CICADA" report all/run-1.cicada >report || fail "report ended with $?"
python3 - <<'PY' || fail "CPU times of benchmarks"
import json, math
runs = [run for one in json.load(open("all/bench.json"))["benchmarks"] for run in one["runs"]]
known = [run for run in runs if run["cpu_by"] == "scheduler"]
assert len(known) >= 0.9 * len(runs), f"{len(known)} of {len(runs)} have one"
used, samples = sum(run["cpu_ns"] for run in known) * 1e-9, sum(run["samples"] for run in known)
# A sample each 1/997 s of it, but for chance, and for what begins and ends beside the windows.
assert abs(samples - 997 * used) < 4 * math.sqrt(997 * used) + 0.03 * samples, f"{used:.3f} s, {samples} samples"
most = lambda run: 1.1 * len(run["processes"]) * run["wall_ns"] + 2e6
assert all(run["cpu_ns"] < most(run) for run in known), [run for run in known if run["cpu_ns"] >= most(run)]
PY
grep -q 'samples' report && ! grep 'has no samples' report || fail "report on windows: $(head -20 report)"
[[ -z $(compgen -G '/tmp/runner.*.fifo') ]] || fail "FIFOs are abandoned"
# Two at a time, told apart by their processes.
"$CICADA" bench -q -o beside -- "$WORKLOADS/bench_client" beside 2>err || fail "bench ended with $?"
python3 -B "$LIVE/bench_pages.py" beside 2 || fail "benchmarks that ran side by side are mixed"
# Twenty at a time, in every order in which clients send.
: >bench_client.lock
orders=(tinybench vitest pytest criterion divan go)
for ((i = 0; i < 20; i++)); do printf '"%s" %s %d 3 &\n' "$WORKLOADS/bench_client" "${orders[i % 6]}" $((3 * i)); done >many.sh
echo wait >>many.sh
"$CICADA" bench -q -o many -- bash many.sh 2>err || fail "bench ended with $?"
python3 -B "$LIVE/bench_pages.py" many 60 || fail "benchmarks of twenty clients are mixed"
rm bench_client.lock
# One after the other under the same pid.
"$CICADA" bench -q -o reuse -- "$WORKLOADS/bench_client" reuse >out 2>err || fail "bench ended with $?"
if grep -q reused out; then python3 -B "$LIVE/bench_pages.py" reuse 2 || fail "two programs with one pid are mixed"; fi
# Two at a time in one process: marked, both.
"$CICADA" bench -o overlap -- "$WORKLOADS/bench_client" overlap 2>err || fail "bench ended with $?"
python3 -c 'import json; assert [run["ambiguous"] for one in json.load(open("overlap/bench.json"))["benchmarks"] for run in one["runs"]] == [True, True]' || fail "ambiguous benchmarks are not marked"
grep -q '2 benchmarks ran while another .* counts in both' err || fail "that samples count in both is not said"
# What no client sends is refused, and the next message understood.
"$CICADA" bench -o odd -- "$WORKLOADS/bench_client" odd 2>err || fail "bench ended with $?"
grep -q 'speaks version 3' err || fail "another version of the protocol is not told"
python3 -B "$LIVE/bench_pages.py" odd 1 || fail "a benchmark after what no client sends"
# In a pid namespace, where it calls itself 1.
"$CICADA" bench -q -o inside -- unshare -pf --mount-proc "$WORKLOADS/bench_client" vitest 0 3 2>err || fail "bench ended with $?"
python3 -B "$LIVE/bench_pages.py" inside 3 || fail "a client in a pid namespace was not found"
# Under sudo: the command, the FIFOs and the results are the user's.
chmod 755 "$T"
install -d -o nobody theirs
(cd theirs && SUDO_UID=$(id -u nobody) SUDO_GID=$(id -g nobody) "$CICADA" bench -q -o result -- sh -c "id -u >user; stat -c '%U %a' /tmp/runner.*.fifo >>user; '$WORKLOADS/bench_client' go 4 1") 2>err || fail "bench ended with $?"
python3 -B "$LIVE/bench_pages.py" theirs/result 1 || fail "a benchmark of another user"
[[ $(tr '\n' ' ' <theirs/user) == "$(id -u nobody) nobody 600 nobody 600 " ]] || fail "FIFOs: $(tr '\n' ' ' <theirs/user)"
[[ -z $(find theirs/result ! -user nobody) ]] || fail "results are not the user's"
