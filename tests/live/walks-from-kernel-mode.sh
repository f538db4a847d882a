#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Samples in kernel mode have kernel frames on top of a whole user stack.
source "$(dirname "$0")/lib.sh"
record_truth -- in_kernel 1
