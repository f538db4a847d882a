#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Aligned for vectors, with alloca: a CFA behind a saved pointer.
source "$(dirname "$0")/lib.sh"
grep -qw avx /proc/cpuinfo || skip "the CPU has no AVX"
record_truth -- realigned 1
