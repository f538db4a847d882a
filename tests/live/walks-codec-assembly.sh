#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Assembly without call-frame information in a program that has it.
source "$(dirname "$0")/lib.sh"
grep -qw avx2 /proc/cpuinfo || skip "this CPU has no AVX2"
record_truth -- codec 2
