#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1 MiB between a frame and its caller, once its table is loaded: no rescue copy reaches that far, so the first ~10 ms of a cold start are
# incomplete (docs/kernel.md).
source "$(dirname "$0")/lib.sh"
record_running -- big_frame 20
