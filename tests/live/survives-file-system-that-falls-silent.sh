#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The file system of a program answers nobody any more when its code has been recorded and its names are still to be looked up.
source "$(dirname "$0")/lib.sh"
run_on_hanging_file_system chain_gcc_O2_static
# Names while it answers …
record_while_working 0.5 "$victim" -q -F 997 -p "$victim" -o answered.folded
grep -q ';main;' answered.folded || fail "no names: $(head -3 answered.folded)"
# … and when it does not: a recording none the less, an end, and one line.
begin_record -F 997 -p "$victim" -o recording.txt
let_work 1 "$victim"
kill -USR1 "$fs"
let_work 1 "$victim"
end_record_soon "$victim"
lines=$(grep -c 'does not answer' err || true)
# Said once; unless the names were read before it fell silent.
[[ $lines == 1 ]] || { [[ $lines == 0 ]] && grep -q ' leaf (' recording.txt; } || fail "$lines lines about the file system"
(($(grep -c "^program $victim/" recording.txt) > 500)) || fail "the program's samples are missing"
