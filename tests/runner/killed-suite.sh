#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# killed-suite.sh [TURNS [SEED]]: kills ./dev test at random moments of the tests that could hang a machine (silent file systems, memory, storms), with all that
# is in its session or itself alone, and looks whether the machine is as before: ps and mount answer, no process, cgroup, file system, or setting is
# left, and the next run works. By hand, as root, in a built tree; a turn takes half a minute.
set -euo pipefail
turns=${1:-20} seed=${2:-$((SRANDOM % 32768))}
RANDOM=$seed
cd "$(dirname "$0")/../.."
echo "seed $seed"
tests=(live.survives-mute-file-system live.survives-hanging-file-system live.survives-mute-tmp live.survives-file-system-that-falls-silent live.counts-every-run
  attacks.ends-though-a-map-is-silent attacks.stacks-have-a-budget attacks.neighbours-keep-their-share live.follows-cpus-that-come-and-go)
fail() {
  echo "FAILED: $*"
  exit 1
}
settings() { cat /proc/sys/kernel/bpf_stats_enabled /proc/sys/fs/protected_* /sys/devices/system/cpu/online; }
mounts() { timeout 20 mount || fail "mount does not answer"; }
houses() { compgen -G '/sys/fs/cgroup/cicada-test/*/' || compgen -G '/sys/fs/cgroup/*/cicada-test/*/' || true; }
before=$(settings) mounted=$(mounts)
for ((turn = 1; turn <= turns; turn++)); do
  name=${tests[RANDOM % ${#tests[@]}]} moment=$((1500 + RANDOM % 15000)) how=$((RANDOM % 2))
  setsid ./dev test --strict "^${name//./\\.}\$" >/dev/null 2>&1 &
  run=$!
  sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
  if ((how)); then kill -KILL -- "-$run" 2>/dev/null || true; else kill -KILL "$run" 2>/dev/null || true; fi
  wait "$run" 2>/dev/null || true
  timeout 120 flock /run/cicada-tests/lock true || fail "$name, killed after $moment ms: its keeper still works"
  timeout 20 ps -ef >/dev/null || fail "$name, killed after $moment ms: ps does not answer"
  [[ $(mounts) == "$mounted" ]] || fail "$name, killed after $moment ms: mounts differ"
  [[ -z $(houses) ]] || fail "$name, killed after $moment ms: left $(houses)"
  [[ $(settings) == "$before" ]] || fail "$name, killed after $moment ms: settings differ"
  echo "ok      $turn of $turns: $name, killed after $moment ms, $( ((how)) && echo "with its session" || echo "alone")"
done
./dev test --strict '^live\.measures-split$' || fail "the next run"
