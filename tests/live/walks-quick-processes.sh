#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Processes of a few milliseconds: most of their stacks are taken before their mappings and tables are known, and are finished in user space. Repeated
# until there are 2,000 stacks: a fast machine gives few for each process. Not judged are stacks whose page the kernel has in its hands: while it copies a
# page after a fork, it is mapped nowhere until all CPUs know.
source "$(dirname "$0")/lib.sh"
stacks=0 complete=0 held_in_all=0
for ((i = 0; stacks < 2000 && i < 20; i++)); do
  "$CICADA" record -F 3999 --stats -o recording.txt -- bash -c 'for i in {1..300}; do /bin/ls /; sort /dev/null; grep -c x /etc/passwd; xz --version; done >/dev/null' 2>err ||
    fail "record ended with $?"
  grep -qE '^ +[1-9][0-9,]* +finished in user space' err || fail "nothing had to be finished: this tests nothing"
  read -r percent of < <(sed -nE 's/^ +([0-9.]+) % of ([0-9,]+) user stacks are complete.*/\1 \2/p' err | tr -d ,)
  echo "$percent % of $of stacks are complete"
  held=$(awk -v RS= '/^[^\n]*unreadable stack memory/ && /ptep_clear_flush/ { ++n } END { print n + 0 }' recording.txt)
  stacks=$((stacks + of - held)) held_in_all=$((held_in_all + held)) complete=$(awk -v sum="$complete" -v percent="$percent" -v of="$of" 'BEGIN { print sum + percent * of / 100 }')
done
echo "$stacks judged, of $held_in_all more the kernel was copying the stack"
((stacks >= 2000)) || fail "too few stacks: $stacks"
awk -v complete="$complete" -v stacks="$stacks" 'BEGIN { exit !(complete >= 0.995 * stacks) }' || fail "$complete of $stacks stacks are complete"
