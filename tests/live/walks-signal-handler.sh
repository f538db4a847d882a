#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From the handler through the trampoline into what was interrupted.
source "$(dirname "$0")/lib.sh"
record_truth -- signal_handler 1
