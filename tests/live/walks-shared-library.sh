#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Program, library, program again.
source "$(dirname "$0")/lib.sh"
record_truth -- shared_library 1
