#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 70 to 30 within the statistical error.
source "$(dirname "$0")/lib.sh"
record_truth -- split 3
