#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --no-kernel: samples in the kernel are still there, with their user stacks and no frame of the kernel. Without it they have them.
source "$(dirname "$0")/lib.sh"
inside() { grep -cE '^\s.* \(\[kernel\]\)$|^\sffff' "$1" || true; }
"$CICADA" record -F 997 -o with.txt -- "$WORKLOADS/in_kernel" 1 >truth 2>err || fail "record ended with $?"
"$CICADA" record -F 997 --no-kernel -o without.txt -- "$WORKLOADS/in_kernel" 1 >truth 2>err || fail "record --no-kernel ended with $?"
(($(inside with.txt) > 100)) || fail "no kernel frames at all: $(inside with.txt)"
(($(inside without.txt) == 0)) || fail "--no-kernel: $(inside without.txt) kernel frames"
printf 'chain main;ask;enter_kernel\nshare enter_kernel 90\nabsent ~.*(read_iter_zero|vfs_read|ksys_read).* 0\n' >truth
cp without.txt recording.txt
compare_with_truth in_kernel
