#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Processes of a few milliseconds: most of their stacks are taken before their mappings and tables are known, and are finished in user space.
source "$(dirname "$0")/lib.sh"
"$CICADA" record -F 3999 --stats -o recording.txt -- bash -c 'for i in {1..300}; do /bin/ls /; sort /dev/null; grep -c x /etc/passwd; xz --version; done >/dev/null' 2>err ||
  fail "record ended with $?"
grep -qE '^ +[1-9][0-9,]* +finished in user space' err || fail "nothing had to be finished: this tests nothing"
read -r percent of < <(sed -nE 's/^ +([0-9.]+) % of ([0-9,]+) user stacks are complete.*/\1 \2/p' err | tr -d ,)
echo "$percent % of $of stacks are complete"
((of >= 2000)) || fail "too few stacks: $of"
awk -v p="$percent" 'BEGIN { exit !(p >= 99.5) }' || fail "$percent % of $of stacks are complete"
