#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1 MiB between a frame and its caller, once its mappings are known: no copy reaches that far, so the first milliseconds after an exec
# are incomplete (docs/kernel.md).
source "$(dirname "$0")/lib.sh"
record_running -- big_frame
