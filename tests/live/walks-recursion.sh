#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 20 and 900 levels, each of them.
source "$(dirname "$0")/lib.sh"
record_truth -- recursion 1 20
record_truth -- recursion 1 900
