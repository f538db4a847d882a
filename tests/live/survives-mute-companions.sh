#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program whose debug file is said to be on a file system that takes each question and answers none: who looks for it there cannot be killed. The
# recording ends, says so, and leaves nobody behind once the file system is gone.
source "$(dirname "$0")/lib.sh"
run_on_hanging_file_system chain_gcc_O2_static
cp "$WORKLOADS/chain_gcc_O2_static" program
objcopy --only-keep-debug program program.debug
objcopy --strip-all --add-gnu-debuglink=program.debug program
rm program.debug
ln -s mnt .debug
./program $FOREVER >program2.out &
stripped=$!
started+=("$stripped")
wait_for test -s program2.out
kill -USR2 "$fs"
begin_record -F 997 -p "$stripped" -o recording.txt
let_work 2 "$stripped"
end_record_soon "$stripped"
lines=$(grep -c 'program.debug: its file system does not answer' err || true)
((lines >= 1 && lines <= 4)) || fail "$lines lines about the file system, one for each look of the four that may hang"
(($(grep -c "^program $stripped/" recording.txt) > 1000)) || fail "the program's samples are missing"
kill -KILL "$fs"
nobody_left() { ! grep -qsx cicada-helper /proc/[0-9]*/comm; }
wait_for nobody_left
