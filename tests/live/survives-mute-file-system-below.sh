#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The program lies on an overlay, of which the kernel answers for itself, in mounts that are not ours. Below it is a file system whose server
# takes questions and answers none: who waits for it cannot be killed, and a process with such a thread does not end.
source "$(dirname "$0")/lib.sh"
run_on_hanging_file_system chain_gcc_O2_static
mkdir empty over
unshare -m --propagation private sh -c 'mount -t overlay none -o lowerdir=mnt:empty over && exec over/program "$1"' sh "$FOREVER" >over.out &
below=$!
started+=("$below")
over_runs_or_ended() { [[ -s over.out ]] || ! kill -0 "$below" 2>/dev/null; }
wait_for over_runs_or_ended
kill -0 "$below" 2>/dev/null || skip "no overlay over FUSE in this kernel"
for when in before meanwhile; do
  [[ $when == meanwhile ]] || kill -HUP "$fs"
  begin_record -F 997 -p "$below" -o recording.txt
  let_work 1 "$below"
  [[ $when == before ]] || kill -USR2 "$fs"
  let_work 1 "$below"
  end_record_soon "$below"
  (($(grep -c "^program $below/" recording.txt) > 500)) || fail "the program's samples are missing ($when)"
  [[ $when == meanwhile ]] || kill -HUP "$fs"
done
