#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No event tells of mremap: the miss does.
source "$(dirname "$0")/lib.sh"
record_truth -- remap 4
