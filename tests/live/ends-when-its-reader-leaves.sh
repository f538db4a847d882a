#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# -o - into a pipe that nobody reads any more: ends with 125 and a line that says so, and is not killed by SIGPIPE in the middle of other results.
source "$(dirname "$0")/lib.sh"
start "$WORKLOADS/split" 30
wait_for 10 said_something
mkfifo pipe
exec 3<>pipe
TMPDIR=$T "$CICADA" record -F 997 -d 1 -p "$pid" -o - -o x.svg -o x.cicada >pipe 3>&- 2>err &
cicada=$!
started+=("$cicada")
exec 3>&-
code=0
wait "$cicada" || code=$?
[[ $code == 125 ]] || fail "ended with $code instead of 125"
grep -q 'the reader closed the pipe' err || fail "nobody said that the reader is gone"
[[ -s x.svg ]] || fail "the other result was not written"
"$CICADA" report x.cicada | grep -q hot || fail "the recording is not whole"
