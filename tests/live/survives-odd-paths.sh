#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Blanks, newlines, backslashes and a real " (deleted)" in a path; of a process that was there before and of one that comes while
# recording.
source "$(dirname "$0")/lib.sh"
# judge NAME: the samples of the program are the known chain.
judge() {
  local good all
  read -r good all < <(awk '/leaf/ { all += $NF } /main;first;second;third;leaf/ { good += $NF } END { print good + 0, all + 0 }' x.folded)
  ((all >= 100 && (all - good) * 1000 <= 3 * all + 999)) || fail "'$1': $good of $all samples have the chain"
}
for name in 'with  blanks' $'new\nline' 'back\012slash' 'still here (deleted)' $'bell\a and \xff'; do
  mkdir -p "$T/$name"
  cp "$WORKLOADS/chain_gcc_O2_pie" "$T/$name/$name"
  "$CICADA" record -F 997 -o x.folded -- "$T/$name/$name" 0.5 >truth 2>err || fail "record -- '$name' ended with $?"
  judge "$name"
  start_workload "$T/$name/$name"
  record_while_working 1 "$pid" -F 997 -p "$pid" -o x.folded
  judge "$name"
  kill_and_wait "$pid"
done
