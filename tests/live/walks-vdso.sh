#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Samples inside the vDSO.
source "$(dirname "$0")/lib.sh"
record_truth -- vdso 1
