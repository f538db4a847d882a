#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Threads with names of their own.
source "$(dirname "$0")/lib.sh"
ANY_NAME=1 record_truth --group-by thread -- threads 1.5
