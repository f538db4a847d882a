#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `go tool pprof` reads .pb.gz: the totals, the inlined call, the lines, the labels; and we read what it writes.
set -euo pipefail
generator=${1:?usage: pprof-reads-our-file.sh GENERATOR}
command -v go >/dev/null || { echo "skipped: go is not installed (apt-get install golang-go)"; exit 77; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export HOME=$dir PPROF_TMPDIR=$dir GOFLAGS=-mod=mod
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }

"$generator" golden.pb.gz golden.folded
go tool pprof -top -unit=ms golden.pb.gz >top 2>err || fail "pprof -top" err
has 'Type: cpu' top
has 'File: golden' top
has 'of 1000ms total' top
has '700ms 70\.00% .* inner \(inline\)' top
has '300ms 30\.00% .* sys_read' top
go tool pprof -top -sample_index=samples golden.pb.gz >count 2>err || fail "pprof -top -sample_index" err
has 'of 100 total' count
go tool pprof -traces -sample_index=samples golden.pb.gz >traces 2>err || fail "pprof -traces" err
has 'thread: *worker; <b>&"' traces
has 'process: *golden' traces
go tool pprof -raw golden.pb.gz >raw 2>err || fail "pprof -raw" err
has 'inner /src/golden\.cc:32' raw
has '/usr/bin/golden 0123456789abcdef' raw
go tool pprof -top -sample_index=samples -tagfocus=thread=worker golden.pb.gz >worker 2>err || fail "pprof -tagfocus" err
has '^ *10 +10\.00%' worker

go tool pprof -proto -output again.pb.gz golden.pb.gz >/dev/null 2>err || fail "pprof -proto" err
"$generator" --convert again.pb.gz again.folded
sort again.folded >a; sort golden.folded >b
cmp -s a b || fail "stacks differ after pprof wrote them again" a b
echo ok
