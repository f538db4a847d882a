#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 1,000 levels: with main and what is before it, just within the 1,024 frames.
source "$(dirname "$0")/lib.sh"
record_truth -- recursion 1 1000
