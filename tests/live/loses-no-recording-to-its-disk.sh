#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# While it records, the disk fills up, or the directory of the output is removed, or the file system goes read-only: the recording is elsewhere, it is said
# where, and nothing half-written is left.
source "$(dirname "$0")/lib.sh"
mkdir disk elsewhere
mount -t tmpfs -o size=1m tmpfs disk || skip "no tmpfs"
at_exit 'umount -l "$T/disk"'
start_workload split

# meanwhile COMMAND: while a recording into disk/directory runs. Fails, if that does: it may come too late.
meanwhile() {
  mkdir -p disk/directory
  local code=0 provoked=true
  TMPDIR=$T/elsewhere begin_record -F 997 -p "$pid" -o disk/directory/x.cicada
  eval "$1" || provoked=false
  let_work 1 "$pid"
  end_record || code=$?
  $provoked || return 1
  [[ $code == 125 ]] || fail "$1: ended with $code instead of 125"
  local saved
  saved=$(grep -o "$T/elsewhere/cicada-[0-9]*\.cicada" err | head -n 1)
  [[ -n $saved ]] || fail "$1: it is not said where the recording is"
  "$CICADA" report "$saved" | grep hot >/dev/null || fail "$1: what was saved is no recording"
  rm "$saved"
}
# What was written before the disk was full, a second after the beginning, stays if it is a recording.
nothing_half_written() {
  [[ -n $(ls -A disk/directory) ]] || return 0
  [[ $(ls -A disk/directory) == x.cicada ]] && grep -q 'the file has the samples up to then' err || fail "left on the disk: $(ls -A disk/directory)"
  "$CICADA" report disk/directory/x.cicada | grep hot >/dev/null || fail "what is left on the disk is no recording"
  rm disk/directory/x.cicada
}
meanwhile 'head -c 9999999 /dev/zero >disk/filler 2>/dev/null || true'
rm disk/filler
nothing_half_written
meanwhile 'rm -r disk/directory || true'  # what is written meanwhile may be in it again
meanwhile 'wait_for test -e disk/directory/x.cicada && rm -r disk/directory'  # after a second
for try in 1 2 3 4 5; do
  # A file that is open for writing keeps the file system writable: the recording is one after a second.
  ! meanwhile 'mount -o remount,ro disk' || break
  ((try < 5)) || fail "the file system could not be made read-only in time"
  rm -f disk/directory/*
done
mount -o remount,rw disk
nothing_half_written
