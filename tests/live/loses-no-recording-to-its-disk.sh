#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# While it records, the disk fills up, or the directory of the output is removed, or the file system goes read-only: the recording is elsewhere, it is said
# where, and nothing half-written is left.
source "$(dirname "$0")/lib.sh"
mkdir disk elsewhere
mount -t tmpfs -o size=1m tmpfs disk || skip "no tmpfs"
trap 'umount -l "$T/disk" 2>/dev/null || true; clean_up' EXIT
start "$WORKLOADS/split" 60
wait_for 10 said_something

# meanwhile COMMAND: while a recording into disk/directory runs.
meanwhile() {
  mkdir -p disk/directory
  TMPDIR=$T/elsewhere "$CICADA" record -F 997 -d 2 -p "$pid" -o disk/directory/x.cicada 2>err &
  local cicada=$! code=0
  started+=("$cicada")
  sleep 1
  eval "$1" || true
  wait "$cicada" || code=$?
  [[ $code == 125 ]] || fail "$1: ended with $code instead of 125"
  local saved
  saved=$(grep -o "$T/elsewhere/cicada-[0-9]*\.cicada" err | head -n 1)
  [[ -n $saved ]] || fail "$1: it is not said where the recording is"
  "$CICADA" report "$saved" | grep -q hot || fail "$1: what was saved is no recording"
  rm "$saved"
}
meanwhile 'head -c 9999999 /dev/zero >disk/filler 2>/dev/null'
rm disk/filler
[[ -z $(ls -A disk/directory) ]] || fail "left on the full disk: $(ls -A disk/directory)"
meanwhile 'rm -r disk/directory'
meanwhile 'mount -o remount,ro disk'
mount -o remount,rw disk
[[ -z $(ls -A disk/directory) ]] || fail "left on the read-only disk: $(ls -A disk/directory)"
