#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# .txt has the layout of `perf script`: a folding script written for that gives the same stacks as our own folded output.
set -euo pipefail
generator=${1:?usage: perf-scripts-read-our-text.sh GENERATOR}
command -v perl >/dev/null || { echo "skipped: perl is not installed"; exit 77; }
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
cd "$dir"
"$generator" golden.txt golden.folded
# What stackcollapse-perf.pl does, in six lines: a header line, then "address function (image)" leaf first, then a blank line.
perl -ne '
  if (/^\S.*?\s+\d+\/\d+\s+\[\d+\]\s+[\d.]+:\s+\d+\s+\S+:$/) { @s = (); $in = 1 }
  elsif ($in && /^\s+[0-9a-f]+ (.+) \(.*\)$/) { unshift @s, $1 }
  elsif ($in && /^$/) { $n{join ";", @s}++; $in = 0 }
  END { print map { "$_ $n{$_}\n" } sort keys %n }' golden.txt | LC_ALL=C sort >a
LC_ALL=C sort golden.folded >b
cmp a b || { echo "FAILED: stacks differ"; cat a b; exit 1; }
echo ok
