#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Two children that never exec load different libraries at one address.
source "$(dirname "$0")/lib.sh"
record_truth -- prefork_plugins 2
grep -q 'same address' truth || fail "the workload did not reuse the address"
