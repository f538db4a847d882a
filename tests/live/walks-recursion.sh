#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 20 levels from the first instruction, 900 in a running process: for the first milliseconds after an exec a stack of 190 KB is more than
# a copy holds.
source "$(dirname "$0")/lib.sh"
record_truth -- recursion 1 20
SETTLED=1 record_running -- recursion 900
