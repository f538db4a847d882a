#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1 MiB between a frame and its caller, once its mappings and tables are known: no copy reaches that far (docs/kernel.md).
source "$(dirname "$0")/lib.sh"
SETTLED=1 record_running -- big_frame
