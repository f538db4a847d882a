#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stacks made by makecontext.
source "$(dirname "$0")/lib.sh"
record_truth -- coroutines 1
