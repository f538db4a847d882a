#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Mozilla's profiler-cli loads .firefox.json.gz (upgrading it from version 55): threads, samples and functions are there.
# PROFILER_CLI: the command, quoted for a shell, e.g. "node24 …/profiler-cli" (./dev setup installs @firefox-devtools/profiler-cli and node from npm).
set -euo pipefail
generator=${1:?usage: firefox-reads-our-file.sh GENERATOR}
eval "command=(${PROFILER_CLI:-$(command -v profiler-cli || true)})"
cli() { "${command[@]}" "$@"; }
((${#command[@]} > 0)) || { echo "skipped: profiler-cli is not installed (npm: @firefox-devtools/profiler-cli, node ≥ 24); set PROFILER_CLI"; exit 77; }
dir=$(mktemp -d)
export HOME=$dir XDG_RUNTIME_DIR=$dir
trap 'cli stop --all >/dev/null 2>&1 || true; rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }

"$generator" golden.firefox.json.gz
# Its daemon has 500 ms to start, which is not enough beside compilers; then it is there the next time.
for try in {1..60}; do
  ! cli load golden.firefox.json.gz >load 2>&1 || break
  [ "$try" != 60 ] && grep -q 'did not become ready' load || fail "profiler-cli load" load
  sleep 1
done
cli profile info >info 2>&1 || fail "profiler-cli profile info" info
has 'golden' info
has 'worker.* 90\.000ms' info  # CPU time: 10 samples of 10 ms; the first has none before it to measure from
cli thread functions >functions 2>&1 || fail "profiler-cli thread functions" functions
has 'inner' functions
has 'sys_read' functions
cli thread samples >samples 2>&1 || fail "profiler-cli thread samples" samples
has 'main' samples
echo ok
