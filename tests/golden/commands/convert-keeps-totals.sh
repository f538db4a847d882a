#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# convert and merge: totals survive every way round; bad input leaves no file.
set -euo pipefail
cicada=$(realpath "${1:?usage: $0 CICADA GENERATOR}") generator=$(realpath "$2")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() { echo "FAILED: $1"; shift; cat "$@"; exit 1; }
has() { grep -Eq -- "$1" "$2" || fail "no line matches: $1" "$2"; }
code() { local want=$1 got=0; shift; "$@" >out 2>err || got=$?; [ "$got" = "$want" ] || fail "exit code $got instead of $want: $*" out err; }

"$generator" golden.cicada golden.folded
total() { awk '{ s += $NF } END { print s + 0 }' "$1"; }
for format in cicada pb.gz folded; do
  code 0 "$cicada" convert golden.cicada "x.$format"
  code 0 "$cicada" convert "x.$format" y.folded
  sort golden.folded >a; sort y.folded >b
  cmp -s a b || fail "stacks differ after $format" a b
done
code 0 "$cicada" convert golden.cicada x.svg x.html x.json x.speedscope.json x.firefox.json.gz x.codeguru.json x.txt
for format in svg html json speedscope.json firefox.json.gz codeguru.json txt; do [ -s x.$format ] || fail "no x.$format" err; done
code 0 "$cicada" convert golden.cicada grouped.folded --group-by process,thread
has '^golden \(4711\);worker.* \(4712\);main;' grouped.folded
[ "$(total grouped.folded)" = 100 ] || fail "grouping changes the total" grouped.folded
code 0 "$cicada" convert golden.cicada part.folded --filter function='^sys_'
[ "$(total part.folded)" = 30 ] || fail "the filter keeps another part" part.folded
code 0 "$cicada" convert golden.cicada golden.cicada --force
code 0 "$cicada" merge golden.cicada golden.folded x.pb.gz -o all.folded
[ "$(total all.folded)" = 300 ] || fail "merge loses samples" all.folded
code 125 "$cicada" convert golden.cicada x.unknown
has 'must end in one of' err
head -c 5000 /dev/urandom >junk.cicada
code 125 "$cicada" convert junk.cicada junk.svg
code 125 "$cicada" merge golden.cicada junk.cicada -o merged.svg
[ ! -e junk.svg ] && [ ! -e merged.svg ] || fail "a file is left after an error" err
[ -z "$(find . -name '.*' -type f)" ] || fail "temporary files are left" err
code 125 "$cicada" convert golden.cicada /nonexistent/x.svg
echo ok
