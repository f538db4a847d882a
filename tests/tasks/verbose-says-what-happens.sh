#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# -v says what is opened, loaded, attached and walked late: each thing once, whatever the number of samples. Without -v none of it.
source "$(dirname "$0")/lib.sh"
code 0 "$CICADA" record -F 997 -v -o x.cicada -- "$WORKLOADS/split" 1
has err.txt '^cicada: (cpu-clock|cycles): opened on [0-9]+ CPUs, 997 Hz$'
has err.txt '^cicada: BPF programs: loaded and attached in [0-9]+ ms$'
has err.txt '^cicada: process [0-9]+: watched$'
has err.txt '^cicada: .*/libc\.so\.6: unwind table of [1-9][0-9]* KiB loaded$'
has err.txt '^cicada: .*/split: opened for names: symbols'
# How many files a process maps on its way to its program, and which of their tables are loaded by then, is a matter of time: once each.
but_tables() { grep '^cicada: ' err.txt | grep -vc ': unwind table of '; }
lines=$(but_tables)
code 0 "$CICADA" record -F 4999 -v -o y.cicada -- "$WORKLOADS/split" 2
(($(but_tables) <= lines + 10)) || fail "it says more when there are more samples: $lines, then $(but_tables)"
twice=$(sed -n 's/^cicada: \(.*\): unwind table of .*/\1/p' err.txt | sort | uniq -d)
[[ -z $twice ]] || fail "tables are loaded twice: $twice"
[[ -z $(grep '^cicada: ' err.txt | sort | uniq -d) ]] || fail "said twice: $(grep '^cicada: ' err.txt | sort | uniq -d)"
code 0 "$CICADA" record -F 997 -o z.cicada -- "$WORKLOADS/split" 1
lacks err.txt '^cicada: '
