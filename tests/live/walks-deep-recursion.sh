#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1,000 levels: with main and what is before it, just within the 1,024 frames. From exec, what is sampled before the mappings are in the kernel
# (a millisecond or two, more on a crowded machine) has a stack of 208 KB, and a copy to finish it from ends at 64.
source "$(dirname "$0")/lib.sh"
record_running -- recursion 1000
LEAST=99 record_truth -- recursion 1 1000
