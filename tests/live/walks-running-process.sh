#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A process that was there before: its mappings are scanned, its tables loaded.
source "$(dirname "$0")/lib.sh"
record_running -- chain_gcc_O2_pie
