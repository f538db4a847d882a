#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A multi-threaded C++ program: queues, hash maps, sorting, the allocator.
source "$(dirname "$0")/lib.sh"
record_truth -- pipeline 3
