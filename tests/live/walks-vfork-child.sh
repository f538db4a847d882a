#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The child of vfork on its parent's stack.
source "$(dirname "$0")/lib.sh"
record_truth -- vfork 1
