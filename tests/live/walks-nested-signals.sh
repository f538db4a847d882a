#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A signal on an alternate stack inside another signal, once tables are loaded: the copy holds one stack, not two.
source "$(dirname "$0")/lib.sh"
record_running -- nested_signals
