#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A return address behind the end of its function; a function that has left by a jump.
source "$(dirname "$0")/lib.sh"
record_truth -- noreturn 1
record_truth -- tail_calls 1
