#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two libraries take turns at one address.
source "$(dirname "$0")/lib.sh"
record_truth -- reload 5
grep -q 'same address' truth || fail "the workload did not reuse the address"
