#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The server of a program's file system takes each question and answers none, as sshfs without its network: who waits for it cannot be killed, and
# a process with such a thread does not end. From when names are to be looked up, from the beginning, and where it still says what files there are
# and answers nothing about what is in them.
source "$(dirname "$0")/lib.sh"
run_on_hanging_file_system chain_gcc_O2_static
record_and_end() {
  begin_record -F 997 -p "$victim" -o recording.txt
  let_work 1 "$victim"
  [[ $1 != later ]] || kill -USR2 "$fs"
  let_work 1 "$victim"
  end_record_soon "$victim"
  lines=$(grep -c 'does not answer' err || true)
  # Said once; unless the names were read before it fell silent.
  [[ $lines == 1 ]] || { [[ $lines == 0 && $1 == later ]] && grep -q ' leaf (' recording.txt; } || fail "$lines lines about the file system"
  (($(grep -c "^program $victim/" recording.txt) > 500)) || fail "the program's samples are missing"
}
kill -HUP "$fs"
record_and_end now-about-contents
kill -HUP "$fs"
record_and_end later
record_and_end now
