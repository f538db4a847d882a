#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1 MiB between a frame and its caller.
source "$(dirname "$0")/lib.sh"
record_truth -- big_frame 1
