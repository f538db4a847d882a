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
lines=$(grep -c '^cicada: ' err.txt)
code 0 "$CICADA" record -F 4999 -v -o y.cicada -- "$WORKLOADS/split" 2
(($(grep -c '^cicada: ' err.txt) <= lines + 10)) || fail "it says more when there are more samples: $lines, then $(grep -c '^cicada: ' err.txt)"
[[ -z $(grep '^cicada: ' err.txt | sort | uniq -d) ]] || fail "said twice: $(grep '^cicada: ' err.txt | sort | uniq -d)"
code 0 "$CICADA" record -F 997 -o z.cicada -- "$WORKLOADS/split" 1
lacks err.txt '^cicada: '
