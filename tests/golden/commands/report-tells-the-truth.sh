#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The known truth of golden_profile, as report tells it: 70 inner, 30 sys_read, 10 of them in the second thread.
set -euo pipefail
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}") generator=$(realpath "$2")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }
code() { local want=$1 got=0; shift; "$@" >out 2>err || got=$?; [ "$got" = "$want" ] || fail "exit code $got instead of $want: $*" out err; }

"$generator" golden.cicada golden.folded golden.pb.gz
for input in golden.cicada golden.folded golden.pb.gz; do
  code 0 "$cicada" report "$input"
  has '70\.0 % +70\.0 % +70  inner' out
  has '30\.0 % +30\.0 % +30  sys_read' out
  has '100\.0 % +main$' out
done
code 0 "$cicada" report golden.cicada
has 'host +golden' out
has 'complete +100 % of 100 user stacks' out
code 0 "$cicada" report golden.cicada --callers sys_read
has '100\.0 % +30 +sys_read' out
has '100\.0 % +100\.0 % +30 +└ main' out
code 0 "$cicada" report golden.cicada --callees work
has '100\.0 % +100\.0 % +70 +└ inner \[inlined\]' out
code 0 "$cicada" report golden.cicada --by thread
has '10\.0 % +10  worker; <b>&" \(4712\)' out
code 0 "$cicada" report golden.cicada --filter thread=4712
has 'samples +10$' out
code 0 "$cicada" report golden.cicada --filter time=500ms.. --filter function=sys_read
has 'samples +15$' out
code 0 "$cicada" report golden.cicada --json
python3 -c 'import json; j = json.load(open("out")); assert j["total"] == 100 == sum(n["self"] for n in j["tree"])' || fail json out
code 125 "$cicada" report golden.cicada --callers nosuch
has 'no samples in a function nosuch' err
code 125 "$cicada" report golden.cicada --filter planet=mars
code 125 "$cicada" report golden.cicada --filter time=2s..1s
has 'time=2s\.\.1s: ends before it begins' err
code 125 "$cicada" report golden.cicada -n -1
code 0 "$cicada" report golden.cicada --filter process=nobody
has 'no samples pass the filter' err
code 0 "$cicada" report golden.cicada --filter state=nosuch
has 'no samples pass the filter' err
! grep -q '^complete' out || fail "completeness of no samples" out
# Formats that add up equal stacks have as many samples as the recording that they were made of.
code 0 "$cicada" convert golden.cicada golden.folded golden.pb.gz golden.firefox.json.gz
for input in golden.folded golden.pb.gz; do
  code 0 "$cicada" report "$input"
  has 'samples +100$' out
done
code 125 "$cicada" report golden.firefox.json.gz
has 'not a format that cicada reads as a profile' err
code 125 "$cicada" report nosuch.cicada
head -c 200 golden.cicada >cut.cicada
"$cicada" report cut.cicada >out 2>err || [ $? = 125 ] || fail "a cut recording" out err
mkfifo pipe.cicada
code 125 timeout 300 "$cicada" report pipe.cicada
if [ -w /dev/full ]; then
  "$cicada" report golden.cicada >/dev/full 2>err && fail "a full disk is no success" err
  has 'o space' err
fi
echo ok
