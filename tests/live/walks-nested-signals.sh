#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A signal on an alternate stack inside another signal.
source "$(dirname "$0")/lib.sh"
record_truth -- nested_signals 1.5
