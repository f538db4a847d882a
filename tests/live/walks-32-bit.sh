#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A 32-bit program, by frame pointers.
source "$(dirname "$0")/lib.sh"
record_foreign bits32
