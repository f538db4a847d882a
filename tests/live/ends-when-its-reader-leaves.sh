#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -o - into a pipe that nobody reads any more: ends with 125 and a line that says so, and is not killed by SIGPIPE in the middle of other results.
source "$(dirname "$0")/lib.sh"
start_workload split
mkfifo pipe
exec 3<>pipe
TMPDIR=$T begin_record -F 997 -p "$pid" -o - -o x.svg -o x.cicada >pipe 3>&-
exec 3>&-
let_work 1 "$pid"
code=0
end_record || code=$?
[[ $code == 125 ]] || fail "ended with $code instead of 125"
grep -q 'the reader closed the pipe' err || fail "nobody said that the reader is gone"
[[ -s x.svg ]] || fail "the other result was not written"
"$CICADA" report x.cicada | grep hot >/dev/null || fail "the recording is not whole"
